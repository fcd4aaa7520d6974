"""Hugging Face checkpoints on disk: which folder, whether it may be loaded, and its tokenizer and configuration."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from cuecard.errors import InputError, MissingExtraError
from cuecard.models.auto_classes import FROM_DISK, loading
from cuecard.models.embeddings.sentence_encoder import minilm_folder
from cuecard.models.saved import PICKLED

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

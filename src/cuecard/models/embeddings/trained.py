"""Vectors from a model that was trained here: what enters its last layer, as in PECO."""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path

import numpy as np

from cuecard.cache import cached_arrays
from cuecard.data import Instances
from cuecard.errors import InputError
from cuecard.models.saved import DESCRIPTION, load_model, read_description
from cuecard.stats.arrays import Singles


def is_trained(folder: Path) -> bool:
    """Return whether a folder was written by a model's `save`, not by another program."""
    try:
        return (folder / DESCRIPTION).is_file() and "model" in read_description(folder)
    except InputError:
        return True  # a broken file of ours is told when it is read


def trained_vectors(data: Instances, folder: Path) -> Singles:
    """Return one vector per row from the model saved in a folder, from disk where they were made before."""
    key = blake2b(b"trained 2", digest_size=20)
    for file in sorted(path for path in folder.iterdir() if path.is_file()):
        key.update(file.name.encode())
        with file.open("rb") as opened:
            while block := opened.read(1 << 20):
                key.update(block)
    for column in ("example_id", "premise", "hypothesis"):
        for value in data.table[column]:
            encoded = b"\0" if value is None else str(value).encode("utf-8", "surrogatepass")
            key.update(len(encoded).to_bytes(8, "little") + encoded)
    return cached_arrays("vectors", key.hexdigest(), [len(data)], lambda: [_vectors(data, folder)])[0]


def _vectors(data: Instances, folder: Path) -> Singles:
    model = load_model(folder)
    alone = getattr(model, "embed_alone", None)
    one_text = not data.grouped and any((data.table[side] == "").all() for side in ("premise", "hypothesis"))
    vectors = np.asarray(alone(data) if alone and one_text else model.embed(data), dtype=np.float32)
    if vectors.ndim != 2 or len(vectors) != len(data) or not np.isfinite(vectors).all():
        raise InputError(
            f"{folder}: the model returned vectors of shape {vectors.shape} for {len(data)} rows, or missing "
            "values."
        )
    return vectors

"""Texts become vectors: by TF-IDF and SVD, by a sentence encoder, or by a model fine-tuned on the task."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.errors import UsageError
from cuecard.models.lexical_embedding import lexical_embedding
from cuecard.models.sentence_encoder import encode_sentences, minilm_folder
from cuecard.registry import Registry, unknown_name

FloatMatrix = npt.NDArray[np.float32]


class Embedder(Protocol):
    """A function from distinct texts to their vectors, one row each."""

    def __call__(self, texts: pl.Series, *, tokens: str, seed: int) -> FloatMatrix:
        """Return the vectors of the texts."""
        ...


EMBEDDERS: Registry[Embedder] = Registry("embedding", group="cuecard.embedders")


@EMBEDDERS.register("tfidf")
def _tfidf(texts: pl.Series, *, tokens: str, seed: int) -> FloatMatrix:
    return lexical_embedding(texts, tokens=tokens, seed=seed)


@EMBEDDERS.register("minilm")
def _minilm(texts: pl.Series, *, tokens: str, seed: int) -> FloatMatrix:
    del tokens, seed  # the encoder has its own tokens and draws nothing at random
    return encode_sentences(texts, minilm_folder())


def embed(
    texts: pl.Series, method: str = "tfidf", *, tokens: str = "default", seed: int = 0
) -> tuple[FloatMatrix, npt.NDArray[np.int64]]:
    """Return vectors of the distinct texts, and which of them each text has.

    Args:
        texts: the texts; a missing one counts as empty.
        method: "tfidf", "minilm", another registered name, or the folder of a transformer checkpoint with its
            weights as safetensors. A sentence encoder gives the mean of its last layer; a fine-tuned classifier
            gives what enters its last linear layer, as in PECO.
        tokens: tokenisation for "tfidf".
        seed: seed of what is drawn at random.
    """
    texts = texts.cast(pl.String).fill_null("")
    distinct = texts.unique(maintain_order=True)
    codes = texts.cast(pl.Enum(distinct)).to_physical().cast(pl.Int64).to_numpy()
    check_embedding(method)
    if method in EMBEDDERS.names():
        return EMBEDDERS.get(method)(distinct, tokens=tokens, seed=seed), codes
    return encode_sentences(distinct, Path(method)), codes


def check_embedding(method: str) -> None:
    """Raise if there is neither an embedding of that name nor a folder."""
    if method in EMBEDDERS.names() or Path(method).is_dir():
        return
    if "/" in method or "\\" in method or Path(method).exists():
        raise UsageError(f"{method}: an embedding is the folder of a checkpoint, and this is none.")
    raise unknown_name("embedding", method, [*EMBEDDERS.names(), "PATH"])

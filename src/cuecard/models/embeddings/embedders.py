"""Texts become vectors: by TF-IDF and SVD, by a sentence encoder, or by a model fine-tuned on the task."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data import Instances
from cuecard.errors import UsageError
from cuecard.models.embeddings.lexical import lexical_embedding
from cuecard.models.embeddings.sentence_encoder import encode_sentences, minilm_folder
from cuecard.models.embeddings.trained import is_trained, trained_vectors
from cuecard.registry import Registry, unknown_name
from cuecard.stats.arrays import Singles
from cuecard.text import Tokens


class Embedder(Protocol):
    """A function from distinct texts to their vectors, one row each."""

    def __call__(self, texts: pl.Series, *, tokens: str, seed: int) -> Singles:
        """Return the vectors of the texts."""
        ...


EMBEDDERS: Registry[Embedder] = Registry("embedding", group="cuecard.embedders")


@EMBEDDERS.register("tfidf")
def _tfidf(texts: pl.Series, *, tokens: str, seed: int) -> Singles:
    return lexical_embedding(texts, tokens=tokens, seed=seed)


@EMBEDDERS.register("minilm")
def _minilm(texts: pl.Series, *, tokens: str, seed: int) -> Singles:
    del tokens, seed  # the encoder has its own tokens and draws nothing at random
    return encode_sentences(texts, minilm_folder())


def embed(
    texts: pl.Series,
    method: str = "tfidf",
    *,
    tokens: str = "default",
    seed: int = 0,
    data: Instances | None = None,
    tokenised: Tokens | None = None,
) -> tuple[Singles, npt.NDArray[np.int64]]:
    """Return vectors of the distinct texts, and which of them each text has.

    Args:
        texts: the texts; a missing one counts as empty.
        method: "tfidf", "minilm", another registered name, the folder of a model that was trained and saved here, or
            the folder of a transformer checkpoint with its weights as safetensors. A sentence encoder gives the mean
            of its last layer; a trained model or fine-tuned classifier gives what enters its last layer, as in PECO.
        tokens: tokenisation for "tfidf".
        seed: seed of what is drawn at random.
        data: for a model trained here, the instances it reads: one per text, with equal texts read alike. Without
            them, each text is read as a hypothesis without a premise.
        tokenised: for "tfidf", the texts in that tokenisation where it is at hand.
    """
    texts = texts.cast(pl.String).fill_null("")
    distinct = texts.unique(maintain_order=True)
    codes = texts.cast(pl.Enum(distinct)).to_physical().cast(pl.Int64).to_numpy()
    check_embedding(method)
    if method == "tfidf" and tokenised is not None:
        first = np.empty(len(distinct), dtype=np.int64)
        first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
        return lexical_embedding(tokenised.gather(first), seed=seed), codes
    if method in EMBEDDERS.names():
        return EMBEDDERS.get(method)(distinct, tokens=tokens, seed=seed), codes
    folder = Path(method)
    if is_trained(folder):
        _, first = np.unique(codes, return_index=True)
        return trained_vectors(_rows(texts) if data is None else data, folder)[first], codes
    return encode_sentences(distinct, folder), codes


def _rows(texts: pl.Series) -> Instances:
    """Return the texts as hypotheses of pairs, for a model that reads instances."""
    columns = {
        "example_id": pl.int_range(len(texts), eager=True).cast(pl.String),
        "position": pl.zeros(len(texts), pl.Int32, eager=True),
        "split": pl.repeat("train", len(texts), eager=True),
        "premise": pl.repeat("", len(texts), eager=True),
        "hypothesis": texts,
        "label": pl.repeat("none", len(texts), dtype=pl.Enum(["none"]), eager=True),
    }
    return Instances(pl.DataFrame(columns), "pair", ("none",))


def check_embedding(method: str) -> None:
    """Raise if there is neither an embedding of that name nor a folder."""
    if method in EMBEDDERS.names() or Path(method).is_dir():
        return
    if "/" in method or "\\" in method or Path(method).exists():
        names = ", ".join(EMBEDDERS.names())
        raise UsageError(
            f"{method} is not a folder: give one with a trained model or a transformer checkpoint, or one of {names}."
        )
    raise unknown_name("embedding", method, [*EMBEDDERS.names(), "PATH"])

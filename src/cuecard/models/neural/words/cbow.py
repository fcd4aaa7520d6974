"""Word vectors from the training texts alone: continuous bag of words with negative sampling (Mikolov et al. 2013)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from cuecard.models.neural.words import _kernels
from cuecard.models.neural.words.vocabulary import FIRST_WORD, UNKNOWN
from cuecard.text import Tokens

EPOCHS = 5
WINDOW = 5
NEGATIVES = 5
#: Learning rate at the beginning and at the end.
RATES = (0.05, 0.0005)
#: A word more frequent than this share of the text is left out now and then, the more frequent the more often.
FREQUENT = 1e-3
#: Wrong answers are drawn in proportion to the count to this power.
FLATTENING = 0.75
_DRAWS = 1 << 20


def cbow_vectors(
    texts: Sequence[Tokens], weights: npt.NDArray[np.float64], n_words: int, dimensions: int, *, seed: int
) -> npt.NDArray[np.float32]:
    """Return vectors of all word numbers, learned from weighted texts; those of no word are zero.

    A text is drawn as often as its weight says (with replacement, where weights differ): an epoch of weighted
    texts is one of a set in which they have these shares.

    Args:
        texts: columns of texts, each with one text per weight.
        weights: how much the texts of a row count.
        n_words: how many word numbers there are.
        dimensions: of the vectors.
        seed: of all that is drawn.
    """
    ids = np.concatenate([text.ids for text in texts])
    ends = np.cumsum([0] + [len(text.ids) for text in texts])
    offsets = np.concatenate([[0], *(end + t.offsets[1:] for end, t in zip(ends[:-1], texts, strict=True))])
    weight = np.tile(weights, len(texts))
    generator = np.random.default_rng([seed, 3])
    counts = np.bincount(ids, weights=np.repeat(weight, np.diff(offsets)), minlength=n_words)
    counts[:UNKNOWN] = 0
    vectors = ((generator.random((n_words, dimensions)) - 0.5) / dimensions).astype(np.float32)
    contexts = np.zeros_like(vectors)
    if counts.sum() > 0:
        share = counts / counts.sum()
        with np.errstate(divide="ignore"):
            keep = np.minimum(1.0, np.sqrt(FREQUENT / share) + FREQUENT / share).astype(np.float32)
        flat = counts**FLATTENING
        negatives = generator.choice(n_words, size=_DRAWS, p=flat / flat.sum()).astype(np.int32)
        rates = np.linspace(*RATES, EPOCHS + 1)
        even = np.allclose(weight, weight[0])
        for epoch in range(EPOCHS):
            n = len(weight)
            order = generator.permutation(n) if even else generator.choice(n, size=n, p=weight / weight.sum())
            _kernels.cbow_epoch(
                ids,
                offsets,
                order,
                keep,
                negatives,
                WINDOW,
                NEGATIVES,
                rates[epoch],
                rates[epoch + 1],
                int(generator.integers(1 << 30)),
                vectors,
                contexts,
            )
    vectors[:UNKNOWN] = 0
    vectors[UNKNOWN + 1 : FIRST_WORD] = 0
    return vectors

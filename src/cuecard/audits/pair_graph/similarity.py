"""How alike the two texts of a pair are, drawn beside the features of the graph (Selection, Figure 1)."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import sparse

from cuecard.models.embeddings import embed as embedded
from cuecard.stats.arrays import Floats
from cuecard.text import Tokens, tokenise

#: Similarity is only drawn, so a sample of pairs is enough; slow kinds get a smaller one.
PAIRS = {"tfidf": 20_000}
PAIRS_OF_AN_ENCODER = 2_000
PAIRS_TO_MOVE = 3_000
#: Dimensions of the word vectors that words are moved between.
WORD_DIMENSIONS = 64
#: A vector this much shorter than the longest is rounding error.
NOTHING = 1e-5


def pairs_compared(embed: str) -> int:
    """Return how many pairs are compared by an embedding."""
    return PAIRS.get(embed, PAIRS_OF_AN_ENCODER)


def cosine_similarity(
    first: pl.Series,
    second: pl.Series,
    embed: str = "tfidf",
    *,
    seed: int = 0,
    tokenised: Tokens | None = None,
) -> Floats:
    """Return the cosine of the embeddings of two columns of texts, 0 where a text has no vector.

    `tokenised` are the default tokens of the first column, then of the second, where they are at hand.
    """
    texts = pl.concat([first.alias("text"), second.alias("text")])
    vectors, codes = embedded(texts, embed, seed=seed, tokenised=tokenised)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    # A text without words is not quite the zero vector after the decomposition, and has no direction.
    without = lengths <= NOTHING * lengths.max(initial=0)
    directions = np.where(without, 0, vectors / np.where(without, 1, lengths))
    product = np.einsum("ij,ij->i", directions[codes[: len(first)]], directions[codes[len(first) :]])
    similarity: Floats = np.clip(product.astype(np.float64), -1, 1)
    return similarity


def has_transport() -> bool:
    """Return whether POT, the optimal-transport library of the extra `transport`, is installed."""
    return find_spec("ot") is not None


def word_movers_distance(
    first: pl.Series, second: pl.Series, *, seed: int = 0, tokenised: Tokens | None = None
) -> Floats:
    """Return the least total distance that the words of one text travel to become the other's (Kusner et al. 2015).

    Words lie where the texts put them: vectors of length one from the singular value decomposition of which word
    occurs in which text. nan where a text has no word. Needs the package POT (extra `transport`). `tokenised` is as for
    `cosine_similarity`.
    """
    import ot
    from sklearn.utils.extmath import randomized_svd

    encoded = tokenised or tokenise(pl.concat([first.alias("text"), second.alias("text")]))
    counts = sparse.csr_matrix(
        (np.ones(len(encoded.ids)), encoded.ids, encoded.offsets), shape=(len(encoded), encoded.n_types)
    )
    counts.sum_duplicates()
    rank = min(WORD_DIMENSIONS, *(side - 1 for side in counts.shape))
    if rank < 1:
        return np.full(len(first), np.nan)
    rarity = np.log((1 + counts.shape[0]) / (1 + np.bincount(counts.indices, minlength=counts.shape[1]))) + 1
    _, singular, right = randomized_svd(counts.multiply(rarity).tocsr(), rank, n_iter=4, random_state=seed)
    words = right.T * singular
    lengths = np.linalg.norm(words, axis=1, keepdims=True)
    words = words / np.where(lengths > 0, lengths, 1)
    distances = np.full(len(first), np.nan)
    for pair in range(len(first)):
        a, b = (_bag(counts, row) for row in (pair, len(first) + pair))
        if len(a[0]) and len(b[0]):
            cost = np.sqrt(np.maximum(2 - 2 * words[a[0]] @ words[b[0]].T, 0))
            distances[pair] = ot.emd2(a[1], b[1], np.ascontiguousarray(cost, dtype=np.float64))
    return distances


def _bag(counts: sparse.csr_matrix, row: int) -> tuple[npt.NDArray[np.int64], Floats]:
    """Return the distinct words of a text and the share of each."""
    start, end = counts.indptr[row : row + 2]
    amounts = counts.data[start:end].astype(np.float64)
    return counts.indices[start:end], amounts / amounts.sum() if end > start else amounts

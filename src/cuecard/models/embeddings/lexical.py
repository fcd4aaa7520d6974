"""TF-IDF reduced by SVD (latent semantic analysis), from integer tokens; needs no model."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.sparse import csr_matrix, diags_array
from threadpoolctl import threadpool_limits

from cuecard.stats.decomposition import projected_svd
from cuecard.text import Tokens, tokenise

#: Dimensions kept; the clusters are then made on fewer.
DIMENSIONS = 128
#: A word of one text alone says nothing about which texts are alike.
LEAST_TEXTS = 2


def lexical_embedding(
    texts: pl.Series | Tokens, *, tokens: str = "default", dimensions: int = DIMENSIONS, seed: int = 0
) -> npt.NDArray[np.float32]:
    """Return vectors of the texts: rows of length one of log(1 + count) × idf, projected on the first dimensions.

    A text without any word that occurs in two texts is the zero vector. Texts may come tokenised.
    """
    weighted = tfidf(texts, tokens)
    rank = min(dimensions, *(side - 1 for side in weighted.shape))
    if rank < 1:
        return np.zeros((len(texts), 1), dtype=np.float32)
    with threadpool_limits(limits=1):  # the number of threads must not change the last digit
        left, singular, _ = projected_svd(weighted, rank, seed=seed)
    return np.asarray(left * singular, dtype=np.float32)


def tfidf(texts: pl.Series | Tokens, tokens: str = "default") -> csr_matrix:
    """Return the weighted words of every text as sparse rows of length one."""
    encoded = texts if isinstance(texts, Tokens) else tokenise(texts, tokens)
    counts = csr_matrix(
        (np.ones(len(encoded.ids), dtype=np.float32), encoded.ids, encoded.offsets),
        shape=(len(encoded), encoded.n_types),
    )
    counts.sum_duplicates()
    frequency = np.bincount(counts.indices, minlength=encoded.n_types)
    # In the order of the alphabet, so that the order of words in the texts has no influence at all.
    shared = encoded.vocabulary.arg_sort().to_numpy()
    shared = shared[frequency[shared] >= LEAST_TEXTS]
    counts = counts[:, shared]
    counts.data = np.log1p(counts.data)
    rarity = np.log((1 + len(encoded)) / (1 + frequency[shared])) + 1
    weighted = csr_matrix(counts @ diags_array(rarity.astype(np.float32)))
    lengths = np.sqrt(np.asarray(weighted.power(2).sum(axis=1)).ravel())
    return csr_matrix(diags_array(1 / np.where(lengths > 0, lengths, 1)) @ weighted)

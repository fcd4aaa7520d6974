"""A corpus of SNLI's shape and any size, for benchmarks: made-up words, Zipf frequencies."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import product

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data.demo.nli import LABELS

#: Sizes of SNLI: tokens per premise and hypothesis, pairs per premise, pairs in train.
PREMISE_TOKENS, HYPOTHESIS_TOKENS, PAIRS_PER_PREMISE, SNLI_PAIRS = 14.0, 7.5, 3, 550_000
#: Pairs made at a time, whole premises.
CHUNK_PAIRS = 90_000
_TYPES = 50_000
#: Zipf's law holds up to about this rank; beyond it frequencies fall with the square, as SNLI's do.
_TAIL_RANK = 1000


def demo_corpus(n: int = SNLI_PAIRS, seed: int = 0) -> pl.DataFrame:
    """Return n pairs as `premise, hypothesis, label`, all labels independent of the texts."""
    return pl.concat(demo_corpus_chunks(n, seed))


def demo_corpus_chunks(n: int, seed: int = 0, start: int = 0) -> Iterator[pl.DataFrame]:
    """Yield the pairs of `demo_corpus` chunk after chunk, from chunk number `start` on."""
    for chunk, first in enumerate(range(0, n, CHUNK_PAIRS)):
        if chunk >= start:
            yield _chunk(min(CHUNK_PAIRS, n - first), np.random.default_rng([seed, chunk]))


def _chunk(n: int, rng: np.random.Generator) -> pl.DataFrame:
    premises = random_texts(-(-n // PAIRS_PER_PREMISE), PREMISE_TOKENS, rng)
    codes = rng.integers(0, len(LABELS), n)
    return pl.DataFrame(
        {
            "premise": premises.gather(np.arange(n) // PAIRS_PER_PREMISE),
            "hypothesis": random_texts(n, HYPOTHESIS_TOKENS, rng),
            "label": pl.Series(LABELS, dtype=pl.Enum(LABELS)).gather(codes),
        }
    )


def random_texts(n: int, mean_tokens: float, rng: np.random.Generator) -> pl.Series:
    """Return n texts of about this many words."""
    words, cumulative = _vocabulary()
    # Half of a length is fixed, half varies, which gives about SNLI's spread.
    lengths = int(mean_tokens / 2) + rng.poisson(mean_tokens - int(mean_tokens / 2), n)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    ids = np.minimum(np.searchsorted(cumulative, rng.random(offsets[-1])), len(words) - 1)
    import pyarrow as pa  # slow to import, and the other generators do without

    lists = pa.LargeListArray.from_arrays(pa.array(offsets, pa.int64()), words.gather(ids).to_arrow())
    joined = pl.from_arrow(lists)
    assert isinstance(joined, pl.Series)
    joined = joined.list.join(" ")
    return joined.str.slice(0, 1).str.to_uppercase() + joined.str.slice(1) + "."


@lru_cache(maxsize=1)
def _vocabulary() -> tuple[pl.Series, npt.NDArray[np.float64]]:
    """Return the words, frequent ones short, and their cumulative probabilities."""
    syllables = ["".join(s) for s in product("bdfgklmnprstvz", "aeiou")]
    short = ["".join(s) for s in product(syllables, repeat=2)]
    long = ["".join(s) for s in product(syllables[::2], syllables, syllables[1::2])]
    order = np.random.default_rng(0).permutation(len(long))[: _TYPES - len(syllables) - len(short)]
    words = syllables + short + [long[i] for i in order]
    rank = np.arange(1.0, _TYPES + 1)
    weights = 1 / (rank * (1 + rank / _TAIL_RANK))
    return pl.Series(words, dtype=pl.String), np.cumsum(weights / weights.sum())

"""How many texts have each token, by label; and within the examples of a multiple-choice task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from cuecard.data.parallel import on_threads, parts_of_rows
from cuecard.stats import _native
from cuecard.text.ngrams import NGrams
from cuecard.text.tokens import Tokens

#: Below this many tokens a second thread costs more than it saves.
TOKENS_PER_THREAD = 1 << 19

#: Arrays from outside are brought to one layout, so that each loop is compiled once.
_COMPILED_FOR: tuple[Literal["C"], Literal["W"]] = ("C", "W")


def presence_counts(
    tokens: Tokens | NGrams, label_codes: npt.NDArray[np.int32], n_labels: int, *, threads: int | None = None
) -> npt.NDArray[np.int64]:
    """Return in how many texts of each label every type occurs: an array of types × labels.

    A type counts once per text. A text whose code is negative is left out.
    """
    codes = np.require(label_codes, np.int32, _COMPILED_FOR)
    # Every thread has counts of its own: they must stay small beside the tokens.
    at_least = max(TOKENS_PER_THREAD, tokens.n_types * n_labels)
    bounds = parts_of_rows(tokens.offsets, threads, at_least)

    def count(part: int) -> npt.NDArray[np.int64]:
        counts: npt.NDArray[np.int64] = _native.count_presence(
            tokens.ids, tokens.offsets, *bounds[part], codes, tokens.n_types, n_labels
        )
        return counts

    first, *others = on_threads(count, len(bounds))
    for counts in others:
        first += counts
    return first


def presence(tokens: Tokens | NGrams) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """Return the distinct types of every text in compressed rows: `indptr` and `indices`."""
    indices, indptr = _native.distinct_in_rows(tokens.ids, tokens.offsets, tokens.n_types)
    return indptr, indices


@dataclass(frozen=True, eq=False)
class WithinExampleCounts:
    """How often the right row of an example has a feature, by its number of rows and of rows with it.

    Entry i says: `n_examples[i]` examples of `size[i]` rows have `having[i]` rows with feature
    `feature[i]`, and in `n_right[i]` of them the right row is one of these. Entries are sorted by feature,
    size and having.
    """

    feature: npt.NDArray[np.int64]
    size: npt.NDArray[np.int64]
    having: npt.NDArray[np.int64]
    n_examples: npt.NDArray[np.int64]
    n_right: npt.NDArray[np.int64]


def within_example_counts(
    indptr: npt.NDArray[np.int64],
    indices: npt.NDArray[np.int32],
    example_codes: npt.NDArray[np.int64],
    right: npt.NDArray[np.bool_],
    n_features: int,
) -> WithinExampleCounts:
    """Return how often the right row of an example has a feature, by how many of its rows have it.

    `indptr` and `indices` are the distinct features of every row; the rows of an example are adjacent and
    share their code. Examples in which no row has the feature say nothing about it and are not counted.
    """
    features, sizes, having, right_has = _native.features_of_examples(
        np.require(indices, np.int32, _COMPILED_FOR),
        np.require(indptr, np.int64, _COMPILED_FOR),
        np.require(example_codes, np.int64, _COMPILED_FOR),
        np.require(right, np.bool_, _COMPILED_FOR),
        n_features,
    )
    base = int(sizes.max(initial=0)) + 1
    numbers, keys = _native.number_keys((features * base + sizes) * base + having)
    n_examples = np.bincount(numbers, minlength=len(keys))
    n_right = np.bincount(numbers[right_has], minlength=len(keys))
    order = np.argsort(keys)
    keys = keys[order]
    return WithinExampleCounts(
        feature=keys // base**2,
        size=keys // base % base,
        having=keys % base,
        n_examples=n_examples[order],
        n_right=n_right[order],
    )

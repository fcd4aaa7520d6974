"""Fifteen features of a pair's texts that name no word: BLEU, length, overlap (Bowman et al. 2015)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cuecard.data import Instances
from cuecard.stats.arrays import Floats, Ints
from cuecard.text import Encoded, Tokens, encode, ngrams, presence
from cuecard.text.annotate.word_roles import WORD_CLASSES, word_classes

UNLEXICALIZED_FEATURES = (
    "bleu_1", "bleu_2", "bleu_3", "bleu_4", "length_difference",
    *(f"{kind}_overlap{part}" for kind in ("word", *WORD_CLASSES) for part in ("", "_rate")),
)  # fmt: skip


def unlexicalized_features(data: Instances, *, by_product: bool = False) -> Floats:
    """Return the columns `UNLEXICALIZED_FEATURES` of every pair.

    BLEU is that of the hypothesis against the premise, cumulative up to n-grams of that length. Overlap counts distinct
    words of the hypothesis that the premise has; its rate is their share of the hypothesis' distinct words of that
    class, or with `by_product` the number divided by the product of both texts' numbers of words, as in the authors'
    code. Word classes are English; in other languages nearly all words count as nouns.
    """
    encoded = encode(data)
    bleu = bleu_scores(encoded.hypothesis, encoded.premise)
    difference = encoded.premise.lengths - encoded.hypothesis.lengths
    return np.column_stack([bleu, difference, _overlaps(encoded, by_product=by_product)])


def bleu_scores(texts: Tokens, references: Tokens) -> Floats:
    """Return BLEU-1 … BLEU-4 of every text against its one reference, unsmoothed: 0 where no n-gram matches."""
    matches = np.stack([_shared_runs(texts, references, size) for size in range(1, 5)], axis=1)
    lengths, reference_lengths = texts.lengths.astype(np.float64), references.lengths
    possible = np.maximum(lengths[:, None] - np.arange(4), 1)
    with np.errstate(divide="ignore"):
        logs = np.log(matches / possible)
        means = np.cumsum(logs, axis=1) / np.arange(1, 5)
        penalty = np.minimum(1 - reference_lengths / np.maximum(lengths, 1), 0)
    scores: Floats = np.exp(means + penalty[:, None])
    return scores


def _shared_runs(texts: Tokens, references: Tokens, size: int) -> Ints:
    """Return how many runs of `size` tokens of every text are in its reference, each at most as often as there."""
    n = len(texts)
    ids = np.concatenate([texts.ids, references.ids])
    offsets = np.concatenate([texts.offsets, references.offsets[1:] + texts.offsets[-1]])
    runs = ngrams(Tokens(ids, offsets, texts.vocabulary), size)
    rows = np.repeat(np.tile(np.arange(n), 2), np.diff(runs.offsets))
    keys = rows * (int(runs.ids.max(initial=0)) + 1) + runs.ids
    end = runs.offsets[n]
    own, times = np.unique(keys[:end], return_counts=True)
    others, at_most = np.unique(keys[end:], return_counts=True)
    shared, one, other = np.intersect1d(own, others, assume_unique=True, return_indices=True)
    of_rows = shared // (int(runs.ids.max(initial=0)) + 1)
    return np.bincount(of_rows, weights=np.minimum(times[one], at_most[other]), minlength=n).astype(np.int64)


def _overlaps(encoded: Encoded, *, by_product: bool) -> Floats:
    """Return number and rate of shared words over all words and over each word class."""
    classes = word_classes(encoded.vocabulary.to_list())
    n, width = len(encoded.instances), max(len(classes), 1)
    words = _keys(encoded.hypothesis, width)
    shared = words[np.isin(words, _keys(encoded.premise, width), assume_unique=True)]
    columns = []
    for kind in (None, *range(len(WORD_CLASSES))):
        counts = []
        for keys in (shared, words):
            of_kind = keys if kind is None else keys[classes[keys % width] == kind]
            counts.append(np.bincount(of_kind // width, minlength=n))
        whole = encoded.premise.lengths * encoded.hypothesis.lengths if by_product else counts[1]
        columns += [counts[0], counts[0] / np.maximum(whole, 1)]
    return np.column_stack(columns)


def _keys(tokens: Tokens, width: int) -> npt.NDArray[np.int64]:
    """Return text × word of every distinct word as one number."""
    indptr, indices = presence(tokens)
    rows = np.repeat(np.arange(len(indptr) - 1, dtype=np.int64), np.diff(indptr))
    return rows * width + indices

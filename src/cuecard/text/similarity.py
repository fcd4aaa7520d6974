"""Texts that may share a source: edited, extended or filled into a template, but no near copies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuecard.data.space import MEMORY, Space
from cuecard.stats import _native
from cuecard.stats.arrays import Codes, Floats, Ints, chunks
from cuecard.text.tokens import Tokens, presence_counts

Ids = npt.NDArray[np.int32]

#: The texts that are looked at for every text: so many by shared rare words, of which so many by words in order.
CANDIDATES, NEAREST = 20, 5
#: Occurrences of its rarest words that are looked up for every text.
LOOKED_UP = 1_000
#: Texts whose words are read at a time.
READ = 1 << 18
#: Texts that share less than this part of their weight are not joined.
LEAST_SIMILAR = 0.2
#: Added to the weight of every word, so that common words in the same order count a little.
COMMON_WORD = 0.2
#: Less similar texts say nothing of dependence: they may share a frequent word that goes with a label.
ALIKE = 0.3
#: Texts are called dependent if labels of nearest neighbours surely correlate more than this; in sets of independent
#: texts, whose words go with a label, they correlate by 0.3 at most.
DEPENDENT = 0.35
#: Texts whose nearest neighbours are looked at to know, and the fewest that have one.
ASKED, FEWEST_PAIRS = 2_000, 50
#: Distinct texts of a unit of similar ones, at most.
LARGEST_UNIT = 10


@dataclass(frozen=True, eq=False)
class DistinctTexts:
    """Distinct texts, and the group of examples that each belongs to."""

    texts: Tokens
    group: Ints


def similar_groups(sides: Sequence[DistinctTexts], groups: Ints, *, largest: int, most: int) -> Ints:
    """Return a number for every group: groups of similar texts share one, 0, 1, 2, ….

    `groups` has the group of every example. The most similar texts are joined first, and only as long as a group holds
    at most `largest` examples (`most` where one group holds more than that already): no chain of ever less similar
    texts ties a dataset together. No single threshold separates texts of one source from others that merely use the
    same words.
    """
    pairs = [_similar_pairs(side) for side in sides if len(side.texts) > 1]
    return (
        _joined(pairs, np.bincount(groups), largest, most) if pairs else np.arange(groups.max(initial=-1) + 1)
    )


@dataclass(frozen=True)
class NeighbourAgreement:
    """How far labels of texts and of their most similar other texts correlate, with a 95 % confidence interval."""

    correlation: float
    low: float
    high: float
    pairs: int
    similarity: float

    @property
    def dependent(self) -> bool:
        """Whether similar texts may well share a source, and the label that was given to it."""
        return self.low > DEPENDENT


def neighbour_agreement(
    texts: Tokens, rows: Codes, shares: Callable[[Ints], Floats], prior: Floats, space: Space = MEMORY
) -> NeighbourAgreement | None:
    """Return how far labels of nearest neighbours correlate, looked up for a random sample of distinct texts.

    `rows` are those of the distinct texts, and `shares` returns the shares of every label among the copies of some of
    them. None where few texts have a neighbour.
    """
    spread = 1.0 - float((prior**2).sum())
    if len(rows) < FEWEST_PAIRS or spread <= 0:
        return None
    asked = np.sort(np.random.default_rng(0).permutation(len(rows))[:ASKED]).astype(np.int64)
    frequency, sharing = _sharing_rare_words(texts, rows, asked)
    candidates = texts.gathered(rows[sharing], space)
    nearest, similarity = _nearest(candidates, np.searchsorted(sharing, asked), 1, frequency, len(rows))
    having = (nearest[:, 0] >= 0) & (similarity[:, 0] >= ALIKE)
    n = int(having.sum())
    if n < FEWEST_PAIRS:
        return None
    one, other = (shares(of) for of in (asked[having], sharing[nearest[having, 0]]))
    products = ((one - prior) * (other - prior)).sum(axis=1) / spread
    mean, half = float(products.mean()), 1.96 * float(products.std(ddof=1)) / np.sqrt(n)
    return NeighbourAgreement(mean, mean - half, mean + half, n, float(similarity[having, 0].mean()))


def similar_units(texts: Tokens) -> Ints:
    """Return a number for every text that the few most similar ones share."""
    alone = np.arange(len(texts))
    pairs = [_similar_pairs(DistinctTexts(texts, alone))]
    return _joined(pairs, np.ones(len(texts), dtype=np.int64), LARGEST_UNIT, LARGEST_UNIT)


def _joined(pairs: Sequence[tuple[Ids, Ids, Floats]], sizes: Ints, largest: int, most: int) -> Ints:
    one, other, similarity = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
    order = np.lexsort((other, one, -similarity))
    leader = _native.join_up_to(one[order], other[order], sizes, largest, most)
    return np.unique(leader, return_inverse=True)[1].astype(np.int64)


def _similar_pairs(side: DistinctTexts) -> tuple[Ids, Ids, Floats]:
    """Return the groups of pairs of similar texts, and how similar these are."""
    nearest, similarity = _nearest(side.texts, np.arange(len(side.texts)), NEAREST)
    text, place = np.nonzero((nearest >= 0) & (similarity >= LEAST_SIMILAR))
    group = side.group.astype(np.int32)
    return group[text], group[nearest[text, place]], similarity[text, place]


def _sharing_rare_words(texts: Tokens, rows: Codes, asked: Ints) -> tuple[Ints, Ints]:
    """Return in how many texts of `rows` each word is, and the texts that share a word that some of them look up."""
    frequency = np.zeros(texts.n_types, dtype=np.int64)
    for some in chunks(len(rows), READ):
        part = texts.gather(rows[some])
        frequency += presence_counts(part, np.zeros(len(part), dtype=np.int32), 1)[:, 0]
    looked_up = np.zeros(texts.n_types, dtype=np.bool_)
    own = texts.gather(rows[asked])
    for i in range(len(asked)):
        words = np.unique(own.ids[own.offsets[i] : own.offsets[i + 1]])
        if not len(words):
            continue
        spent, word = 0, words[0]
        for word in words[np.argsort(frequency[words])]:
            if spent + frequency[word] > (LOOKED_UP if spent else 20 * LOOKED_UP):
                break
            spent += int(frequency[word])
        # Words that are as frequent as the last one may be looked up in its place.
        looked_up[words[frequency[words] <= frequency[word]]] = True
    found = [asked]
    for some in chunks(len(rows), READ):
        part = texts.gather(rows[some])
        before = np.append(0, np.cumsum(looked_up[part.ids]))[part.offsets]
        found.append(some.start + np.flatnonzero(np.diff(before)))
    return frequency, np.unique(np.concatenate(found))


def _nearest(
    texts: Tokens, asked: Ints, nearest: int, frequency: Ints | None = None, n_texts: int = 0
) -> tuple[Ids, Floats]:
    return _native.nearest_texts(
        np.ascontiguousarray(texts.ids, dtype=np.int32),
        texts.offsets - texts.offsets[0],
        asked,
        texts.n_types,
        COMMON_WORD,
        nearest,
        CANDIDATES,
        LOOKED_UP,
        frequency,
        n_texts,
    )

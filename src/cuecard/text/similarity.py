"""Texts that may share a source: edited, extended or filled into a template, but no near copies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuecard.data.space import MEMORY, Space
from cuecard.stats import _native
from cuecard.stats.arrays import Bools, Codes, Floats, Ints, chunks, follows
from cuecard.text.tokens import Tokens, presence_counts

Ids = npt.NDArray[np.int32]

#: The texts that are compared with every text: by shared rare words, and of those by words in order.
CANDIDATES, NEAREST = 20, 5
#: Occurrences of its rarest words that are looked up for every text.
LOOKED_UP = 1_000
#: Occurrences that some texts look up together.
TOGETHER = 1 << 22
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
    nearest, similarity = _nearest_of_many(texts, rows, asked, space)
    having = (nearest >= 0) & (similarity >= ALIKE)
    n = int(having.sum())
    if n < FEWEST_PAIRS:
        return None
    one, other = (shares(of) for of in (asked[having], nearest[having]))
    products = ((one - prior) * (other - prior)).sum(axis=1) / spread
    mean, half = float(products.mean()), 1.96 * float(products.std(ddof=1)) / np.sqrt(n)
    return NeighbourAgreement(mean, mean - half, mean + half, n, float(similarity[having].mean()))


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


def _nearest_of_many(texts: Tokens, rows: Codes, asked: Ints, space: Space) -> tuple[Ints, Floats]:
    """Return the text of `rows` that is nearest to each of some, -1 where there is none, and how similar it is.

    Where texts are on disk, only those are compared that share a word that is looked up, some of the asked ones at a
    time: nearest are the same.
    """
    if space.folder is None:
        chosen = texts.rows(0, len(rows)) if follows(rows) and rows[0] == 0 else texts.gather(rows)
        place, similar = _nearest(chosen, asked, 1)
        return place[:, 0].astype(np.int64), similar[:, 0]
    frequency = np.zeros(texts.n_types, dtype=np.int64)
    distinct = np.zeros(len(texts), dtype=np.bool_)
    distinct[rows] = True
    for chunk in chunks(len(texts), READ):
        codes = np.where(distinct[chunk], 0, -1).astype(np.int32)
        frequency += presence_counts(texts.rows(chunk.start, chunk.stop), codes, 1)[:, 0]
    batches = _batches(texts.gather(rows[asked]), frequency)
    found = [space.growing(np.int64) for _ in batches]
    for chunk in chunks(len(rows), READ):
        part = texts.gather(rows[chunk])
        for sharing, (_, looked_up) in zip(found, batches, strict=True):
            before = np.searchsorted(np.flatnonzero(looked_up[part.ids]), part.offsets)
            sharing.add(chunk.start + np.flatnonzero(np.diff(before)))
    nearest, similarity = np.full(len(asked), -1, dtype=np.int64), np.zeros(len(asked))
    for sharing, (places, _) in zip(found, batches, strict=True):
        own = asked[places]
        compared = np.zeros(len(rows), dtype=np.bool_)
        compared[sharing.array()] = compared[own] = True
        among = np.flatnonzero(compared)
        place, similar = _nearest(
            texts.gathered(rows[among], space), np.searchsorted(among, own), 1, frequency, len(rows)
        )
        nearest[places] = np.where(place[:, 0] >= 0, among[place[:, 0]], -1)
        similarity[places] = similar[:, 0]
        space.release()
    return nearest, similarity


def _batches(asked: Tokens, frequency: Ints) -> list[tuple[slice, Bools]]:
    """Return ranges of texts that look up at most `TOGETHER` occurrences of words, and the words of each range."""
    batches: list[tuple[slice, Bools]] = []
    start = together = 0
    looked_up = np.zeros(len(frequency), dtype=np.bool_)
    for i in range(len(asked)):
        words = np.unique(asked.ids[asked.offsets[i] : asked.offsets[i + 1]])
        words = words[np.argsort(frequency[words])]
        spent = np.cumsum(frequency[words])
        # The rarest words that have `LOOKED_UP` occurrences together, and those as frequent as the last one.
        n = int(np.searchsorted(spent, LOOKED_UP, side="right"))
        n = max(n, int(len(words) > 0 and spent[0] <= 20 * LOOKED_UP))
        if n:
            n = int(np.searchsorted(frequency[words], frequency[words[n - 1]], side="right"))
        if n and together and together + spent[n - 1] > TOGETHER:
            batches.append((slice(start, i), looked_up))
            start, together, looked_up = i, 0, np.zeros(len(frequency), dtype=np.bool_)
        if n:
            looked_up[words[:n]] = True
            together += int(spent[n - 1])
    return [*batches, (slice(start, len(asked)), looked_up)]


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

"""Texts as integers: token ids, offsets and a vocabulary; runs of n tokens; how many texts have each, by label."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import sparse

from cuecard.data.parallel import on_threads, parts_of_rows, running_total
from cuecard.data.space import MEMORY, Engine, Space
from cuecard.errors import UsageError
from cuecard.stats import _native
from cuecard.stats.arrays import Bools, Codes, Ints, chunks


@dataclass(frozen=True, eq=False)
class Tokens:
    """Tokenised texts: those of text i are `ids[offsets[i]:offsets[i + 1]]`, indices into `vocabulary`."""

    ids: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]
    vocabulary: pl.Series

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Number of tokens of every text."""
        return np.diff(self.offsets)

    @property
    def n_types(self) -> int:
        """Number of different tokens there may be: the size of the vocabulary."""
        return len(self.vocabulary)

    def words(self, i: int) -> list[str]:
        """Return the tokens of one text as strings."""
        return self.vocabulary.gather(self.ids[self.offsets[i] : self.offsets[i + 1]]).to_list()

    def rows(self, first: int, last: int) -> Tokens:
        """Return the texts from `first` up to, not including, `last`, without copying their tokens."""
        begin, end = self.offsets[first], self.offsets[last]
        offsets = self.offsets[first : last + 1]
        return Tokens(self.ids[begin:end], offsets - begin if begin else offsets, self.vocabulary)

    def gather(self, rows: npt.NDArray[np.integer]) -> Tokens:
        """Return the texts of the given numbers, in that order; the vocabulary stays."""
        return Tokens(*gather_rows(self.ids, self.offsets, rows), self.vocabulary)

    def gathered(self, rows: npt.NDArray[np.integer], space: Space) -> Tokens:
        """Return what `gather` does, where the arrays of the dataset are."""
        ids, sizes = space.growing(np.int32), space.growing(np.int64)
        for chunk in chunks(len(rows)):
            part = self.gather(rows[chunk])
            ids.add(part.ids)
            sizes.add(part.lengths)
        every = sizes.array()
        return Tokens(
            ids.array(), space.totals(every[chunk] for chunk in chunks(len(every))), self.vocabulary
        )

    def renumbered(self) -> Tokens:
        """Return the same texts over the types that occur, numbered in the order of their first occurrence."""
        order, ids = occurrence_order(self.ids, self.n_types)
        return Tokens(ids, self.offsets, self.vocabulary.gather(order))

    def renamed(self, names: pl.Series) -> Tokens:
        """Return the same texts with type i called `names[i]`; types of one name become one.

        The vocabulary stays in the order in which names first occur in the old one.
        """
        vocabulary = names.unique(maintain_order=True)
        if len(vocabulary) == len(names):
            return Tokens(self.ids, self.offsets, names)
        codes = names.cast(pl.Enum(vocabulary)).to_physical().cast(pl.Int32).to_numpy()
        return Tokens(np.take(codes, self.ids), self.offsets, vocabulary)


def occurrence_order(
    ids: npt.NDArray[np.int32], n_types: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """Return the types that occur in the order of their first occurrence, and the ids numbered in that order."""
    first = np.full(n_types, len(ids), dtype=np.int64)
    first[ids[::-1]] = np.arange(len(ids) - 1, -1, -1)  # of equal places, the last one written stays
    occurring = np.flatnonzero(first < len(ids))
    order = occurring[np.argsort(first[occurring])]
    numbers = np.empty(n_types, dtype=np.int32)
    numbers[order] = np.arange(len(order), dtype=np.int32)
    return order, np.take(numbers, ids)


#: A larger share of all rows, in their order, is copied by leaving out the others.
MOST_ROWS = 0.5


def gather_rows(
    ids: npt.NDArray[np.int32], offsets: npt.NDArray[np.int64], rows: npt.NDArray[np.integer]
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """Return ids and offsets of the rows of the given numbers, in that order."""
    sizes = offsets[rows + 1] - offsets[rows]
    new_offsets = running_total(sizes)
    if len(rows) > (len(offsets) - 1) * MOST_ROWS and (np.diff(rows) > 0).all():
        chosen = np.zeros(len(offsets) - 1, dtype=np.bool_)
        chosen[rows] = True
        return ids[offsets[0] : offsets[-1]][np.repeat(chosen, np.diff(offsets))], new_offsets
    places = np.repeat(offsets[rows] - new_offsets[:-1], sizes)
    places += np.arange(len(places))
    return np.take(ids, places), new_offsets


def one_vocabulary(parts: Iterable[Tokens], space: Space) -> Tokens:
    """Return texts that were tokenised in several parts, over one vocabulary in the order of first occurrence."""
    words = pl.DataFrame(schema={"word": pl.String, "number": pl.Int32})
    lengths = space.growing(np.int64)

    def numbered() -> Iterator[npt.NDArray[np.int32]]:
        nonlocal words
        for part in parts:
            own = pl.DataFrame({"word": part.vocabulary})
            known = own.join(words, on="word", how="left", maintain_order="left")
            new = known.filter(pl.col("number").is_null()).select("word")
            new = new.with_columns(
                number=pl.int_range(words.height, words.height + new.height, dtype=pl.Int32)
            )
            words = pl.concat([words, new]).rechunk()
            numbers = own.join(words, on="word", how="left", maintain_order="left")["number"].to_numpy()
            lengths.add(part.lengths)
            yield np.take(numbers, part.ids)

    ids = space.joined(np.int32, numbered())
    sizes = lengths.array()
    return Tokens(ids, space.totals(sizes[chunk] for chunk in chunks(len(sizes))), words["word"])


#: Below this many tokens a second thread costs more than it saves.
TOKENS_PER_THREAD = 1 << 18


@dataclass(frozen=True, eq=False)
class NGrams:
    """The n-grams of texts: those of text i are `ids[offsets[i]:offsets[i + 1]]`, indices into `members`.

    Row j of `members` holds the n tokens of n-gram j as indices into `words`. No n-gram crosses from one text
    into the next. N-grams are numbered in order of first occurrence.
    """

    ids: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]
    members: npt.NDArray[np.int32]
    words: pl.Series

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def n(self) -> int:
        """Number of tokens in an n-gram."""
        return int(self.members.shape[1])

    @property
    def n_types(self) -> int:
        """Number of different n-grams."""
        return len(self.members)

    def names(self, which: npt.NDArray[np.integer] | None = None) -> pl.Series:
        """Return n-grams as strings such as "is sleeping": all of them, or those of the given numbers."""
        members = self.members if which is None else self.members[which]
        columns = [self.words.gather(members[:, k]).alias(str(k)) for k in range(self.n)]
        return pl.DataFrame(columns).select(pl.concat_str(pl.all(), separator=" ").alias("token")).to_series()


def ngrams(tokens: Tokens, n: int, *, threads: int | None = None) -> NGrams:
    """Return the runs of n tokens within each text, as integers."""
    if n < 1:
        raise UsageError(f"n must be at least 1, not {n}.")
    ids, offsets = tokens.ids, tokens.offsets
    members = np.arange(tokens.n_types, dtype=np.int32)[:, None]
    for length in range(2, n + 1):
        ids, offsets, distinct = _one_longer(tokens, ids, offsets, length, threads)
        last = (distinct % max(1, tokens.n_types)).astype(np.int32)
        members = np.column_stack([members[distinct // max(1, tokens.n_types)], last])
    return NGrams(ids, offsets, members, tokens.vocabulary)


def frequent_ngrams(tokens: Tokens, n: int, at_least: int, space: Space) -> NGrams:
    """Return the runs of n tokens that occur at least this many times, in the order of their first occurrence.

    Others are not numbered: a table of counts by hash rules nearly all of them out, so that memory grows with the
    number of frequent ones.
    """
    ids, offsets = tokens.ids, tokens.offsets
    members = np.arange(tokens.n_types, dtype=np.int32)[:, None]
    for length in range(2, n + 1):
        ids, offsets, distinct = _frequent_longer(tokens, ids, offsets, length, at_least, space)
        last = (distinct % max(1, tokens.n_types)).astype(np.int32)
        members = np.column_stack([members[distinct // max(1, tokens.n_types)], last])
    frequent, starts = kept_ids(ids, offsets, None, space)
    return NGrams(frequent, starts, members, tokens.vocabulary)


def kept_ids(
    ids: Codes, offsets: Ints, number: Codes | None, space: Space
) -> tuple[npt.NDArray[np.int32], Ints]:
    """Return the ids of every row that are not negative, or have a number that is not, and where each row begins.

    Ids are replaced by their numbers where these are given.
    """
    kept, sizes = space.growing(np.int32), space.growing(np.int64)
    for rows in space.ranges(len(offsets) - 1):
        begin = int(offsets[rows.start])
        own = ids[begin : int(offsets[rows.stop])]
        own = own if number is None else number[own]
        there = own >= 0
        before = running_total(there.astype(np.int64))
        sizes.add(np.diff(before[offsets[rows.start : rows.stop + 1] - begin]))
        kept.add(own[there])
    every = sizes.array()
    return kept.array(), space.totals(every[chunk] for chunk in chunks(len(every)))


#: Bits of the hash by which n-grams are counted before they are numbered: as many as half of the tokens need.
LEAST_BITS, MOST_BITS = 24, 27
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def _frequent_longer(
    tokens: Tokens,
    prefixes: npt.NDArray[np.int32],
    prefix_offsets: npt.NDArray[np.int64],
    n: int,
    at_least: int,
    space: Space,
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return what `_one_longer` does with a number of -1 for n-grams that are rare, or whose prefix is."""

    def numbered() -> Iterator[tuple[slice, npt.NDArray[np.int32], npt.NDArray[np.int64]]]:
        """Yield where the n-grams of a chunk are among all, their places among the distinct keys, and these."""
        end = 0
        for rows in space.ranges(len(tokens)):
            own = slice(rows.start, rows.stop + 1)
            keys, _ = _native.ngram_keys(
                prefixes, prefix_offsets[own], tokens.ids, tokens.offsets[own], n, tokens.n_types
            )
            yield slice(end, end + len(keys)), *_native.number_keys(keys)
            end += len(keys)

    bits = min(MOST_BITS, max(LEAST_BITS, len(tokens.ids).bit_length() - 1))

    def hashed(keys: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        return ((keys.view(np.uint64) * _GOLDEN) >> np.uint64(64 - bits)).astype(np.int64)

    counts = np.zeros(1 << bits, dtype=np.uint32)
    for _, numbers, distinct in numbered():
        np.add.at(counts, hashed(distinct), np.bincount(numbers, minlength=len(distinct)).astype(np.uint32))
    candidates = np.empty(0, dtype=np.int64)
    for _, _, distinct in numbered():
        likely = np.sort(distinct[(counts[hashed(distinct)] >= at_least) & (distinct >= 0)])
        new = likely[~is_in_rising(likely, candidates)]
        candidates = np.sort(np.concatenate([candidates, new]), kind="stable") if len(new) else candidates
    del counts
    offsets = space.totals(
        np.maximum(np.diff(tokens.offsets[some.start : some.stop + 1]) - n + 1, 0)
        for some in chunks(len(tokens))
    )
    ids = space.array(np.int32, int(offsets[-1]))
    code = np.full(len(candidates), -1, dtype=np.int32)
    times, used = np.zeros(len(candidates), dtype=np.int64), 0
    for where, numbers, distinct in numbered():
        order = np.argsort(distinct)  # keys in order are looked up where others were before
        place = np.empty(len(distinct), dtype=np.int64)
        place[order] = np.searchsorted(candidates, distinct[order])
        place[place == len(candidates)] = 0
        there = np.flatnonzero(candidates[place] == distinct) if len(candidates) else place[:0]
        new = place[there][code[place[there]] < 0]
        code[new] = np.arange(used, used + len(new), dtype=np.int32)
        used += len(new)
        times[place[there]] += np.bincount(numbers, minlength=len(distinct))[there]
        of_distinct = np.full(len(distinct), -1, dtype=np.int32)
        of_distinct[there] = code[place[there]]
        ids[where] = of_distinct[numbers]
    in_order = np.argsort(code)
    frequent = times[in_order] >= at_least
    renumbered = np.where(frequent, np.cumsum(frequent) - 1, -1).astype(np.int32)
    of_codes = np.append(renumbered, np.int32(-1))
    for some in space.ranges(len(ids)):
        ids[some] = of_codes[ids[some]]
    return ids, offsets, candidates[in_order[frequent]]


def is_in_rising(values: Ints, rising: Ints) -> Bools:
    """Return which values are among rising ones."""
    if not len(rising):
        return np.zeros(len(values), dtype=np.bool_)
    return np.asarray(rising[np.minimum(np.searchsorted(rising, values), len(rising) - 1)] == values)


def _one_longer(
    tokens: Tokens,
    prefixes: npt.NDArray[np.int32],
    prefix_offsets: npt.NDArray[np.int64],
    n: int,
    threads: int | None,
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the n-grams' numbers, their offsets, and each number's key `prefix · types + last token`."""
    bounds = parts_of_rows(tokens.offsets, threads, TOKENS_PER_THREAD)

    def number(part: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        first, last = bounds[part]
        keys, key_offsets = _native.ngram_keys(
            prefixes,
            prefix_offsets[first : last + 1],
            tokens.ids,
            tokens.offsets[first : last + 1],
            n,
            tokens.n_types,
        )
        return *_native.number_keys(keys), np.diff(key_offsets)

    parts = on_threads(number, len(bounds))
    offsets = running_total(np.concatenate([part[2] for part in parts]))
    if len(parts) == 1:
        return parts[0][0], offsets, parts[0][1]
    numbers, distinct = _native.number_keys(np.concatenate([part[1] for part in parts]))
    type_bounds = running_total(np.array([len(part[1]) for part in parts]))
    id_bounds = running_total(np.array([len(part[0]) for part in parts]))
    ids = np.empty(id_bounds[-1], dtype=np.int32)

    def renumber(part: int) -> None:
        own_numbers = numbers[type_bounds[part] : type_bounds[part + 1]]
        np.take(own_numbers, parts[part][0], out=ids[id_bounds[part] : id_bounds[part + 1]], mode="clip")

    on_threads(renumber, len(parts))
    return ids, offsets, distinct


#: Below this many tokens a second thread costs more than it saves.
COUNTED_PER_THREAD = 1 << 19

#: Arrays from outside are brought to one layout, so that each loop is compiled once.
_COMPILED_FOR: tuple[Literal["C"], Literal["W"]] = ("C", "W")


def presence_counts(
    tokens: Tokens | NGrams,
    label_codes: npt.NDArray[np.int32],
    n_labels: int,
    *,
    threads: int | None = None,
    engine: Engine = MEMORY.engine,
) -> npt.NDArray[np.int64]:
    """Return in how many texts of each label every type occurs: an array of types × labels.

    A type counts once per text. A text whose code is negative is left out.
    """
    codes = np.require(label_codes, np.int32, _COMPILED_FOR)
    # Every part has counts of its own: they must stay small beside the tokens.
    at_least = max(COUNTED_PER_THREAD, tokens.n_types * n_labels)
    parts = [
        (
            tokens.ids[tokens.offsets[first] : tokens.offsets[last]],
            tokens.offsets[first : last + 1],
            codes[first:last],
        )
        for first, last in parts_of_rows(tokens.offsets, threads or engine.parts, at_least)
    ]
    return engine.merged(partial(_counted_part, tokens.n_types, n_labels), parts, _sum)


def _counted_part(
    n_types: int, n_labels: int, part: tuple[npt.NDArray[np.int32], Ints, npt.NDArray[np.int32]]
) -> Ints:
    """Return `presence_counts` of some rows: their ids, where each begins among those of all rows, and their codes."""
    ids, offsets, codes = part
    own = offsets - offsets[0] if offsets[0] else offsets
    return _native.count_presence(ids, own, 0, len(codes), codes, n_types, n_labels)


def _sum(one: Ints, other: Ints) -> Ints:
    return one + other


def presence(tokens: Tokens | NGrams) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """Return the distinct types of every text in compressed rows: `indptr` and `indices`."""
    every = np.arange(tokens.n_types, dtype=np.int32)
    indices, indptr = _native.distinct_in_rows(tokens.ids, tokens.offsets, every, tokens.n_types)
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
    changes = np.flatnonzero(example_codes[1:] != example_codes[:-1]) + 1
    starts = np.concatenate([np.zeros(1, np.int64), changes, np.array([len(example_codes)])])
    of_examples = np.diff(starts)
    base = int(of_examples.max(initial=0)) + 1
    # One product gives both: the right row counts for itself and, in the next digit, for being right.
    digits = 1 + base * right.astype(np.int64)
    shape = len(of_examples), len(right)
    gathered = sparse.csr_matrix((digits, np.arange(len(right)), starts), shape=shape)
    ones = np.ones(len(indices), dtype=np.int64)
    counted = gathered @ sparse.csr_matrix((ones, indices, indptr), shape=(len(right), n_features))
    features, having, right_has = counted.indices.astype(np.int64), counted.data % base, counted.data >= base
    sizes = np.repeat(of_examples, np.diff(counted.indptr))
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

"""The features of the linear learner: what is learned of training rows, and made of any rows afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cuecard.data import GROUPED_TASKS, Instances, Task
from cuecard.data.instances import first_rows
from cuecard.models.linear.ngram_features import (
    BITS,
    HashColumns,
    HashedRows,
    count_documents,
    feature_rows,
    frequent_columns,
    hash_rows,
    word_keys,
    word_overlap,
)
from cuecard.models.saved import expected
from cuecard.models.text_model import Condition
from cuecard.stats.arrays import Bools, Floats, Ints, follows
from cuecard.text import Encoded, Tokens
from cuecard.text.encoded import Side

State = dict[str, npt.NDArray[Any]]
#: A text of a row, or both as one: the premise followed by the hypothesis.
Reading = Side | Literal["joined"]

#: A row's n-grams have length 1; figures beside them are kept smaller, so that they do not drown the words.
BESIDE_WORDS = 0.25
#: Premise words cannot decide alone in most tasks; they get half the length in the full input.
PREMISE_SHARE = 0.5
BINS = 10
#: Features of more rows than this are made of those that are asked for, some examples at a time.
MANY, AT_A_TIME = 1 << 20, 50_000


@dataclass(frozen=True, eq=False)
class InputRows:
    """What features are made of: the words of rows, and figures about their texts.

    Rows of an example are adjacent; `first_row` is the first of each, with the number of rows at the end. `stable`
    features are those of the words themselves, the same in every dataset; others are of the words' places in this
    vocabulary. `chosen` are the rows of the instances that these are, None for all; `known_keys` what `keys` returns.
    """

    encoded: Encoded
    first_row: Ints
    stable: bool = True
    chosen: Ints | None = None
    known_keys: Ints | None = None

    @property
    def data(self) -> Instances:
        """The instances."""
        return self.encoded.instances

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.first_row[-1])

    @property
    def many(self) -> bool:
        """Whether the features of all rows are too many to make at once."""
        return self.n_rows > MANY

    def take(self, rows: Ints) -> InputRows:
        """Return some of all rows, those of an example adjacent."""
        grouped = self.data.grouped
        firsts = first_rows(self.data.example_codes[rows]) if grouped else np.arange(len(rows) + 1)
        return replace(self, first_row=firsts, chosen=rows, known_keys=self.keys)

    def chunks(self) -> Iterator[tuple[InputRows, slice]]:
        """Yield chunks of all rows with whole examples, each with where it is."""
        if not self.many or self.chosen is not None:
            yield self, slice(None)
            return
        for start in range(0, len(self.first_row) - 1, AT_A_TIME):
            first, last = (
                int(row) for row in self.first_row[[start, min(start + AT_A_TIME, len(self.first_row) - 1)]]
            )
            yield self.take(np.arange(first, last)), slice(first, last)

    @cached_property
    def keys(self) -> Ints | None:
        """The number each word is known by."""
        if self.known_keys is not None or not self.stable:
            return self.known_keys
        return word_keys(self.encoded.vocabulary)

    @cached_property
    def _last(self) -> dict[tuple[Reading | None, int], HashedRows]:
        return {}

    def hashed(self, side: Reading | None, ngrams: int) -> HashedRows:
        """Return the n-grams of one side as hashes, or for None the words of the hypothesis with their sharing.

        The last answer is kept: what is learned of rows is mostly wanted for the same rows at once.
        """
        if (side, ngrams) not in self._last:
            texts = [] if side is None else [self.tokens(side)]
            both = (self.tokens("premise"), self.tokens("hypothesis")) if side is None else None
            self._last.clear()
            self._last[side, ngrams] = hash_rows(texts, ngrams=ngrams, shared=both, keys=self.keys)
        return self._last[side, ngrams]

    def tokens(self, side: Reading) -> Tokens:
        """Return the texts of one side, or premise and hypothesis as one text."""
        if side == "joined":
            tokens = replace(self.encoded, scope="both").scoped
        else:
            tokens = self.encoded.premise if side == "premise" else self.encoded.hypothesis
        if self.chosen is None:
            return tokens
        if follows(self.chosen):
            return tokens.rows(int(self.chosen[0]), int(self.chosen[-1]) + 1)
        return tokens.gather(self.chosen)

    def columns(self, side: Reading | None, ngrams: int, counted: Bools | None) -> HashColumns:
        """Return columns for the n-grams that at least two of the counted rows have, of all rows for None."""
        frequency, n = np.zeros(1 << BITS, dtype=np.int32), 0
        for chunk, where in self.chunks():
            hashed = chunk.hashed(side, ngrams)
            used = np.ones(len(hashed.starts), np.bool_) if counted is None else counted[where]
            if used.any():
                count_documents(hashed, used, frequency)
                n += int(used.sum())
        return frequent_columns(frequency, n)

    def lengths(self, side: Side) -> Ints:
        """Return the number of tokens of one side's texts."""
        return self.tokens(side).lengths

    def characters(self, side: Side) -> Floats:
        """Return the number of characters of one side's texts."""
        return self._taken(self.data.characters(side)).astype(np.float64)

    def words(self) -> tuple[Ints, Ints]:
        """Return how many distinct words of the hypothesis the premise has, and how many there are."""
        return word_overlap(self.tokens("premise"), self.tokens("hypothesis"))

    def _taken(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        if self.chosen is None:
            return values
        return values[self.chosen[0] :][: len(self.chosen)] if follows(self.chosen) else values[self.chosen]

    @cached_property
    def overlap(self) -> tuple[Floats, Floats, Floats]:
        """The share and number of shared words, and the number of new ones, of every row."""
        shared, distinct = self.words()
        return (
            shared / np.maximum(distinct, 1),
            shared.astype(np.float64),
            (distinct - shared).astype(np.float64),
        )

    def relative(self, values: Floats) -> Floats:
        """Return by how much a row's logarithm lies above the mean of its example."""
        logs, sizes = np.log1p(values), np.diff(self.first_row)
        if len(values) == 0:
            return logs
        return np.asarray(logs - np.repeat(np.add.reduceat(logs, self.first_row[:-1]) / sizes, sizes))

    def extremes(self, values: Floats) -> Floats:
        """Return columns for having the largest and the smallest value of the example; ties share the 1."""
        if len(values) == 0:
            return np.zeros((0, 2))
        starts, sizes = self.first_row[:-1], np.diff(self.first_row)
        columns = []
        for best in (np.maximum.reduceat(values, starts), np.minimum.reduceat(values, starts)):
            is_best = (values == np.repeat(best, sizes)).astype(np.float64)
            columns.append(is_best / np.repeat(np.add.reduceat(is_best, starts), sizes))
        return np.column_stack(columns)


Maker = Callable[[InputRows], sparse.csr_matrix]


class Block(Protocol):
    """A kind of features: what it learns of counted rows is all it needs to make any rows."""

    def learn(self, rows: InputRows, counted: Bools | None) -> State:
        """Return what is to be remembered of the counted rows; of all rows where None is given."""
        ...

    def maker(self, state: State) -> Maker:
        """Return the function that makes the features of rows."""
        ...

    def width(self, state: State) -> int:
        """Return how many features are made of a row; raise a ValueError or KeyError if nothing can learn that."""
        ...


@dataclass(frozen=True)
class WordBlock:
    """Word n-grams of one side; of no side, single words of the hypothesis, each with whether they are shared."""

    side: Reading | None
    ngrams: int = 1
    equal: bool = False

    def learn(self, rows: InputRows, counted: Bools | None) -> State:
        """Return the features that occur twice, with their inverse document frequencies or all `equal`."""
        columns = rows.columns(self.side, self.ngrams, counted)
        return {"slots": columns.slots, "idf": np.ones(len(columns)) if self.equal else columns.idf}

    def maker(self, state: State) -> Maker:
        """Return the function that makes each row's features; columns are looked up once for all rows."""
        columns = HashColumns(state["slots"], state["idf"])
        return lambda rows: feature_rows(rows.hashed(self.side, self.ngrams), columns)

    def width(self, state: State) -> int:
        """Return the number of known n-grams; their hashes must be distinct and within the table of hashes."""
        slots = expected(state, "slots", np.int32, None)
        expected(state, "idf", np.float64, len(slots))
        if len(slots) and not (slots.min() >= 0 and slots.max() < 1 << BITS):
            raise ValueError(f"hashes of n-grams lie outside 0 to {(1 << BITS) - 1}")
        if len(np.unique(slots)) != len(slots):
            raise ValueError("two n-grams have the same hash")
        return len(slots)


@dataclass(frozen=True)
class Binned:
    """Figures cut into bins that are equally filled in counted rows; equal values are never split."""

    what: Literal["premise length", "hypothesis length", "overlap", "relative length", "share"]

    def learn(self, rows: InputRows, counted: Bools | None) -> State:
        """Return the edges of the bins of every figure."""
        values: dict[str, list[tuple[Floats, Ints]]] = {}
        for chunk, where in rows.chunks():
            for i, column in enumerate(self._figures(chunk)):
                seen = column if counted is None else column[counted[where]]
                values.setdefault(str(i), []).append(np.unique(seen, return_counts=True))
        return {name: _edges(parts) for name, parts in values.items()}

    def maker(self, state: State) -> Maker:
        """Return the function that says for each figure which of its bins every row falls into."""
        return lambda rows: side_by_side(
            *(_in_bins(column, state[str(i)]) for i, column in enumerate(self._figures(rows)))
        )

    def width(self, state: State) -> int:
        """Return the number of bins of all figures; their edges must ascend."""
        n = {"overlap": 3, "share": 1, "relative length": 1}.get(self.what, 2)
        edges = [expected(state, str(i), np.float64, None) for i in range(n)]
        if not all((np.diff(part) > 0).all() for part in edges):
            raise ValueError(f"the edges of the bins of {self.what} do not ascend")
        return sum(len(part) + 1 for part in edges)

    def _figures(self, rows: InputRows) -> tuple[Floats, ...]:
        if self.what == "overlap":
            return rows.overlap
        if self.what == "share":
            return rows.overlap[:1]
        if self.what == "relative length":
            return (rows.relative(rows.characters("hypothesis")),)
        side: Side = "premise" if self.what == "premise length" else "hypothesis"
        return rows.lengths(side).astype(np.float64), rows.characters(side)


@dataclass(frozen=True)
class WithinExample:
    """Figures of a choice beside those of the other choices of its example; nothing to learn."""

    what: Literal["length", "overlap"]

    def learn(self, rows: InputRows, counted: Bools | None) -> State:
        """Return nothing."""
        return {}

    def maker(self, state: State) -> Maker:
        """Return the function that makes the figures of every row."""
        return self._figures

    def _figures(self, rows: InputRows) -> sparse.csr_matrix:
        if self.what == "length":
            characters = rows.characters("hypothesis")
            columns = [rows.relative(characters), rows.extremes(characters)]
        else:
            share, shared, new = rows.overlap
            columns = [share, rows.relative(shared), rows.relative(new), rows.extremes(share)]
        return sparse.csr_matrix(np.column_stack(columns))

    def width(self, state: State) -> int:
        """Return the number of figures."""
        return 3 if self.what == "length" else 5


#: Name → a block and the share it gets of a row's length.
FeatureBlocks = Mapping[str, tuple[Block, float]]


def feature_blocks(task: Task, condition: Condition, *, ngrams: int = 2) -> FeatureBlocks:
    """Return the features that the linear learner sees of a task's data under a condition."""
    words: FeatureBlocks = {"hypothesis words": (WordBlock("hypothesis", ngrams), 1.0)}
    if task in GROUPED_TASKS:
        choices = {**words, "length": (WithinExample("length"), BESIDE_WORDS)}
        if condition == "choices":
            return choices
        shared: FeatureBlocks = {"shared words": (WordBlock(None), 1.0)}
        return {**choices, **shared, "overlap": (WithinExample("overlap"), BESIDE_WORDS)}
    if condition == "premise":
        return {
            "premise words": (WordBlock("premise", ngrams), 1.0),
            "premise length": (Binned("premise length"), BESIDE_WORDS),
        }
    length: FeatureBlocks = {"hypothesis length": (Binned("hypothesis length"), BESIDE_WORDS)}
    if condition == "hypothesis" or task == "text":
        return {**words, **length}
    return {
        **words,
        "shared words": (WordBlock(None), 1.0),
        "premise single words": (WordBlock("premise"), PREMISE_SHARE),
        **length,
        "overlap": (Binned("overlap"), BESIDE_WORDS),
    }


def side_by_side(*blocks: sparse.csr_matrix) -> sparse.csr_matrix:
    """Return blocks of features side by side."""
    return sparse.hstack(blocks, format="csr")


def _edges(parts: Sequence[tuple[Floats, Ints]]) -> Floats:
    """Return where bins end that are equally filled by values, which are given with their numbers."""
    values, place = np.unique(np.concatenate([part for part, _ in parts]), return_inverse=True)
    counts = np.bincount(place, weights=np.concatenate([number for _, number in parts]))
    n = int(counts.sum())
    if n == 0:
        return np.empty(0)
    # The next higher one of sorted values, as `numpy.quantile` has it with the method "higher".
    ranks = np.ceil(np.arange(1, BINS) / BINS * (n - 1))
    edges: Floats = np.unique(values[np.searchsorted(np.cumsum(counts), ranks, side="right")])
    return edges


def _in_bins(values: Floats, edges: Floats) -> sparse.csr_matrix:
    codes = np.searchsorted(edges, values, side="right").astype(np.int32)
    n = len(codes)
    return sparse.csr_matrix((np.ones(n), codes, np.arange(n + 1)), shape=(n, len(edges) + 1))

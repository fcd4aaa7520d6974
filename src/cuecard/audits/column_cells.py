"""Cells of columns, ids and the order of rows, and how well the cells of other folds predict the label.

Cells are made without a look at the labels: values, or at most 32 bins of an order, ties together. Accuracies are those
of rules learned on other folds. The tests are of values or numbers and labels, where one row of each text counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from cuecard.data.examples import Examples
from cuecard.stats.arrays import Bools, Floats, Ints
from cuecard.stats.scores.contingency import average_ranks, combined_log_p, contingency_log_p, rank_log_p
from cuecard.stats.scores.cross_fit_intervals import cross_fit_inflation, mean_interval
from cuecard.wording import display_text, percent, plural

Kind = Literal["column", "annotation", "id", "order", "copied"]
MOST_BINS, PER_BIN = 32, 20
#: A column with more values than this is a text or an identifier.
MOST_VALUES = 2_000
MOST_SHAPES = 60
FOLDS = 5
#: How many times ordered cells are joined in twos, and the weight of their joint share, in examples.
HALVED, ORDERED_PRIOR = (4, 3, 2, 1, 0), 10.0
#: Numbers of ranges in which numbers are tested, beside their ranks.
BINS_TESTED = (4, 12, 32)
_DATES = ("%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d")
_TIMES = ("%H:%M:%S", "%H:%M")
_ROW, _PREVIOUS = "row order", "previous row"
#: What is said of a row where the one before has the same or a similar text, whose label would be that of a copy.
_SIMILAR = "after a row of the same or a similar text"


@dataclass(frozen=True, eq=False)
class Cells:
    """What a rule sees of every example: a cell, and where the cells are in order, numbers that thresholds divide."""

    column: str
    kind: Kind
    codes: Ints
    shown: pl.Series
    numbers: Floats | None = None


@dataclass(frozen=True, eq=False)
class Rule:
    """How well a rule does: p is one-sided until it is corrected for the number of rules, `says` what it goes by."""

    column: str
    kind: Kind
    n: int
    accuracy: float
    low: float
    high: float
    chance: float
    p_value: float
    says: str
    complete: bool = False

    @property
    def found(self) -> bool:
        """Whether it is associated with the label, by its test."""
        return self.p_value <= 0.05

    @property
    def predicts(self) -> bool:
        """Whether it surely has a higher accuracy than chance as well."""
        return self.low > self.chance

    @property
    def gain(self) -> float:
        """Which part of what chance leaves it surely reaches."""
        return max(0.0, (self.low - self.chance) / max(1 - self.chance, 1e-9))


def moments_of(values: pl.Series) -> pl.Series:
    """Return dates and times that are written as text as what they are; other columns as they are."""
    if values.dtype != pl.String:
        return values
    text = values.str.slice(0, 19).str.replace("T", " ", literal=True)
    for kind, formats in ((pl.Datetime, _DATES), (pl.Time, _TIMES)):
        for written in formats:
            read = text.str.strptime(
                kind if kind == pl.Time or "%H" in written else pl.Date, written, strict=False
            )
            if read.null_count() <= values.null_count() + 0.05 * len(values):
                return read
    return values


def numbers_of(values: pl.Series) -> Floats | None:
    """Return what orders the values of a column: numbers, dates and times, also those written as text."""
    values = moments_of(values)
    if not (values.dtype.is_numeric() or values.dtype.is_temporal()):
        return None
    numbers = values.to_physical().cast(pl.Float64).fill_null(float("nan")).to_numpy().copy()
    numbers[np.isinf(numbers)] = np.nan
    return numbers


def _binned(numbers: Floats) -> Ints:
    """Return the bin of every number, equal ones together, 0 where it is missing."""
    bins = min(MOST_BINS, max(2, len(numbers) // PER_BIN))
    there = ~np.isnan(numbers)
    if not there.any():
        return np.zeros(len(numbers), dtype=np.int64)
    edges = np.unique(np.quantile(numbers[there], np.arange(1, bins) / bins, method="higher"))
    return np.where(there, 1 + np.searchsorted(edges, numbers, side="right"), 0).astype(np.int64)


def cells_of_column(values: pl.Series, kind: Kind) -> Iterator[Cells]:
    """Yield what a column says of every example: its values, their order, and the parts of an id or file name."""
    n, name = values.n_unique(), values.name
    if n < 2:
        return
    moments = moments_of(values)
    numbers = numbers_of(moments)
    if numbers is not None and n > 2:
        yield Cells(name, kind, _binned(numbers), values, numbers)
    if isinstance(moments.dtype, pl.Datetime) and (hours := moments.dt.time()).n_unique() > 2:
        seconds = numbers_of(hours)
        yield Cells(name, kind, _binned(seconds), hours.cast(pl.String), seconds)  # type: ignore[arg-type]
    if n <= min(MOST_VALUES, len(values) // 2):
        codes = values.rank("dense").fill_null(0).to_numpy().astype(np.int64)
        yield Cells(name, kind, codes, values.cast(pl.String))
    elif values.dtype == pl.String and numbers is None and bool((values.str.len_chars() <= 100).all()):
        kind = "id" if kind == "column" else kind
        last = values.str.extract(r"(\d{1,15})\D*$").cast(pl.Float64)
        if last.null_count() <= 0.1 * len(values) and last.n_unique() > 2:
            yield Cells(name, kind, _binned(numbers_of(last)), values, numbers_of(last))  # type: ignore[arg-type]
        shape, before = values.str.replace_all(r"\d+", "#"), values.str.extract(r"^(.*?)\d+\D*$")
        for part in (shape, before):  # the folder of a file may end in a number
            if 2 <= part.n_unique() <= MOST_SHAPES:
                yield Cells(name, kind, part.rank("dense").fill_null(0).to_numpy().astype(np.int64), part)


def cells_of_rows(examples: Examples, gold: Ints, units: Ints) -> Iterator[Cells]:
    """Yield what the order of rows says, and the ids, unless these count the rows as they are."""
    n = len(examples)
    row = np.arange(n, dtype=np.float64)
    rows = pl.Series([f"row {i}" for i in range(1, n + 1)])
    yield Cells(_ROW, "order", _binned(row), rows, row)
    before = np.concatenate([[0], np.where(units[1:] == units[:-1], 1, gold[:-1] + 2)])
    names = pl.Series(
        [
            "at the first row",
            _SIMILAR,
            *(f"after a row labelled “{shown(name)}”" for name in answers_of(examples)),
        ]
    )
    yield Cells(_PREVIOUS, "order", before.astype(np.int64), names.gather(before))
    ids = examples.ids.alias("example_id")
    if (
        not ids.str.contains(r"^(row )?\d+$").all()
        or (np.diff(ids.cast(pl.Float64, strict=False).to_numpy()) < 0).any()
    ):
        numbers = ids.cast(pl.Int64, strict=False)
        yield from cells_of_column(ids if numbers.null_count() else numbers, "id")


@dataclass(frozen=True, eq=False)
class Learner:
    """Predicts the answers of examples from cells, cross-fitted: copies of a text are in one fold."""

    gold: Ints
    names: tuple[str, ...]
    weights: Floats | None
    units: Ints
    fold: Ints

    @classmethod
    def of(cls, examples: Examples, seed: int) -> Learner:
        """Return the learner of some examples, with folds."""
        units = np.unique(examples.units("example"), return_inverse=True)[1].astype(np.int64)
        fold = (np.random.default_rng(seed).permutation(int(units.max()) + 1) % FOLDS)[units]
        return cls(examples.gold, answers_of(examples), examples.weights, units, fold)

    def probabilities(self, codes: Ints, *, ordered: bool = False) -> Floats:
        """Return the share of every label in the same cell of other folds, beside some examples of the prior.

        The prior of ordered cells is the share in both of two neighbours, that of these the share in four, and so on:
        a trend shows in few large cells, and what happens in a narrow range in small ones.
        """
        k = len(self.names)
        shares = np.full((len(codes), k), 1 / k)
        levels = [np.zeros_like(codes), codes]
        if ordered:
            levels[1:] = [
                np.where(codes > 0, 1 + (np.maximum(codes, 1) - 1 >> halved), 0) for halved in HALVED
            ]
        for level, cell in enumerate(levels):
            cells = int(cell.max()) + 1
            place = (self.fold * cells + cell) * k + self.gold
            counts = np.bincount(place, self.weights, FOLDS * cells * k).reshape(FOLDS, cells, k)
            others = counts.sum(axis=0) - counts
            shares = others[self.fold, cell] + (ORDERED_PRIOR if ordered and level else 1.0) * shares
            shares /= shares.sum(axis=1, keepdims=True)
        return shares

    def rule(self, cells: Cells, probabilities: Floats) -> Rule:
        """Return how well the likeliest label of each cell does."""
        hits = (probabilities.argmax(axis=1) == self.gold).astype(np.float64)
        accuracy, low, high = mean_interval(
            hits, units=self.units, weights=self.weights, inflation=cross_fit_inflation(FOLDS)
        )
        chance = float(
            np.bincount(self.gold, self.weights).max()
            / (len(hits) if self.weights is None else self.weights.sum())
        )
        p = float(np.exp(self._log_p(cells)))
        ends = max(low, 0.0), min(high, 1.0)
        said, complete = self._says(cells), self._decided(cells)
        return Rule(cells.column, cells.kind, len(hits), accuracy, *ends, chance, p, said, complete)

    def _log_p(self, cells: Cells) -> float:
        """Return the log p-value of the cells, or the order of the numbers, against the labels; copies count once."""
        first = np.unique(self.units, return_index=True)[1]
        gold = self.gold[first]
        if cells.numbers is None:
            return contingency_log_p(cells.codes[first], gold)
        numbers = cells.numbers[first]
        there = ~np.isnan(numbers)
        ranks = np.zeros(len(numbers))
        ranks[there] = average_ranks(numbers[there])
        tests = [rank_log_p(numbers[there], gold[there])]
        for bins in BINS_TESTED:
            binned = np.ceil(ranks * bins / max(int(there.sum()), 1))
            tests.append(contingency_log_p(binned, gold))
        return combined_log_p([*tests[:2], *tests])  # few large ranges and trends are what most leaks are

    def _decided(self, cells: Cells) -> bool:
        """Return whether every value that occurs twice goes with one label, or every side of one threshold."""
        if cells.kind != "column":
            return False
        if cells.numbers is not None:
            return self.threshold(cells.numbers)[1] == len(self.gold)
        table = self._table(cells.codes)
        return bool((table.max(axis=1) == table.sum(axis=1)).all())

    def _table(self, codes: Ints) -> Ints:
        k = len(self.names)
        return np.bincount(codes * k + self.gold, minlength=(int(codes.max()) + 1) * k).reshape(-1, k)

    def threshold(self, numbers: Floats) -> tuple[int, int]:
        """Return the example whose number divides labels best, and how many are right by the side they are on."""
        order = np.argsort(numbers, kind="stable")
        marks = self.gold[order][:, None] == np.arange(len(self.names))
        below = np.cumsum(marks, axis=0)
        right = below[:-1].max(axis=1) + (below[-1] - below[:-1]).max(axis=1)
        right[~(numbers[order][1:] > numbers[order][:-1])] = 0
        best = int(right.argmax())
        return int(order[best + 1]), int(right[best])

    def _says(self, cells: Cells) -> str:
        """Return the threshold, bin or values that tell most about the label, with shares and counts."""
        table = self._table(cells.codes)
        within, most = int(table.max(axis=1).sum()), int(table.sum(axis=0).max())
        if cells.numbers is not None:
            example, right = self.threshold(cells.numbers)
            if 5 * (right - most) >= 4 * (within - most):
                above, below = (
                    compared(cells.numbers, cells.numbers[example])
                    for compared in (np.greater_equal, np.less)
                )
                where = shown(cells.shown[example])
                return f"from {where} on, {self._usual(above)}; before, {self._usual(below)}"
        expected = table.sum(axis=1) * (table.sum(axis=0) / table.sum())[table.argmax(axis=1)]
        parts = []
        for cell in np.argsort(expected - table.max(axis=1), kind="stable")[:2]:
            inside = cells.codes == cell
            members = np.flatnonzero(inside)
            if not len(members):
                continue
            value = cells.shown[int(members[0])]
            where = value if cells.column == _PREVIOUS else f"at “{shown(value)}”"
            if cells.numbers is not None:
                ends = members[[np.argmin(cells.numbers[members]), np.argmax(cells.numbers[members])]]
                where = " to ".join(shown(cells.shown[int(end)]) for end in ends)
                where = f"from {where}"
            parts.append(f"{where}, {self._usual(inside)}")
        return "; ".join(parts)

    def _usual(self, inside: Bools) -> str:
        counts = np.bincount(self.gold[inside], minlength=len(self.names))
        label = self.names[int(counts.argmax())]
        return f"{percent(counts.max() / max(counts.sum(), 1))} of {plural(int(counts.sum()), 'example')} are “{label}”"


def answers_of(examples: Examples) -> tuple[str, ...]:
    """Return what people call the answers: labels, or places from 1."""
    names = examples.answer_names
    return tuple(f"answer {i + 1}" for i in range(len(names))) if examples.grouped else names


def shown(value: object) -> str:
    """Return a value or a name as sentences show it."""
    return f"{value:.6g}" if isinstance(value, float) else display_text(value, 60)

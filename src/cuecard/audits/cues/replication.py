"""Which rows have which cues, and whether a cue of train replicates in test, or in both halves of train."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import sparse

from cuecard.data import Instances
from cuecard.data.space import MEMORY, Space
from cuecard.features import CueCounts
from cuecard.stats import _native
from cuecard.stats.arrays import Bools, Floats, Ints, chunks, divided
from cuecard.stats.cues.replication import OUTCOMES, ShrunkShares, held_interval, replication
from cuecard.stats.units.codes import counts_of_codes, first_of_code

#: Rows that are looked at first where a few with a cue are wanted.
FIRST_ROWS = 1 << 12


@dataclass(frozen=True, eq=False)
class CueRows:
    """Which instances (rows) have which cues (columns).

    Attributes:
        n_cues: the number of cues.
        read: yields consecutive slices of all rows, 0/1; no example has rows in two of them.
    """

    n_cues: int
    read: Callable[[], Iterator[sparse.csr_matrix]]

    @classmethod
    def of(cls, parts: Iterable[sparse.spmatrix], n_cues: int, space: Space = MEMORY) -> CueRows:
        """Return the rows of consecutive chunks, kept where the arrays of the dataset are."""
        columns, sizes, bounds = space.growing(np.int32), space.growing(np.int64), [0]
        for part in map(sparse.csr_matrix, parts):
            columns.add(part.indices)
            sizes.add(np.diff(part.indptr))
            bounds.append(bounds[-1] + part.shape[0])
        of_rows, cues = sizes.array(), columns.array()
        starts = space.totals(of_rows[rows] for rows in chunks(len(of_rows)))

        def read() -> Iterator[sparse.csr_matrix]:
            for first, last in pairwise(bounds):
                own = starts[first : last + 1]
                here = cues[own[0] : own[-1]]
                ones = np.ones(len(here), dtype=np.int64)
                yield sparse.csr_matrix((ones, here, own - own[0]), shape=(last - first, n_cues))

        slices = list(read()) if space.folder is None else None
        return cls(n_cues, lambda: read() if slices is None else iter(slices))

    def slices(self, stop: int | None = None) -> Iterator[tuple[slice, sparse.csr_matrix]]:
        """Yield which rows, and what they have, up to a row."""
        start = 0
        for rows in self.read():
            end = start + rows.shape[0]
            if stop is not None and end >= stop:
                yield slice(start, stop), rows[: stop - start]
                return
            yield slice(start, end), rows
            start = end

    def blocks(self, bounds: Ints) -> Iterator[sparse.csr_matrix]:
        """Yield what the rows between bounds have, however they are sliced; the first bound is 0."""
        slices = self.slices(int(bounds[-1]))
        where, rows = next(slices)
        for start, end in pairwise(bounds.tolist()):
            parts = []
            while where.stop < end:
                parts.append(rows[max(start - where.start, 0) :])
                where, rows = next(slices)
            parts.append(rows[max(start - where.start, 0) : end - where.start])
            yield sparse.vstack(parts, format="csr") if len(parts) > 1 else parts[0]

    def first(
        self, columns: Sequence[int], wanted: Callable[[int, slice], Bools], stop: int, n: int
    ) -> list[Ints]:
        """Return the first n rows before `stop` that have each of some cues and are wanted.

        Args:
            columns: numbers of the cues.
            wanted: returns which of some rows are wanted for a cue, by its place in `columns`.
            stop: the row to end before.
            n: how many rows to return for each, at most.
        """
        found = [np.empty(0, dtype=np.int64) for _ in columns]
        for where, rows in self.slices(stop):
            if all(len(some) >= n for some in found):
                break
            # The first rows have most of them: few are looked at, then as many as were before.
            start, end = 0, min(FIRST_ROWS, rows.shape[0])
            while start < end and any(len(some) < n for some in found):
                here, part = (
                    rows[start:end, list(columns)].tocsc(),
                    slice(where.start + start, where.start + end),
                )
                for i, some in enumerate(found):
                    having = np.sort(here.indices[here.indptr[i] : here.indptr[i + 1]])
                    having = having[wanted(i, part)[having]][: n - len(some)]
                    found[i] = np.concatenate([some, having + part.start]).astype(np.int64)
                start, end = end, min(2 * end, rows.shape[0])
        return found


def cue_rows(counts: CueCounts, data: Instances, cues: pl.DataFrame) -> CueRows:
    """Return which instances have which of the cues: instances × rows of `cues`."""
    numbered = cues.select("family", "feature", row=pl.int_range(pl.len()))
    families = [(counts.rows[name], own) for (name,), own in numbered.group_by("family", maintain_order=True)]
    listed = [
        (rows, rows.columns(own.select("feature", cue=pl.int_range(pl.len()))), len(own))
        for rows, own in families
    ]
    every = np.concatenate(
        [np.empty(0, np.int32), *(own["row"].cast(pl.Int32).to_numpy() for _, own in families)]
    )

    def chunk(rows: slice) -> sparse.csr_matrix:
        parts = [sparse.csr_matrix((rows.stop - rows.start, 0), dtype=np.int8)]
        for of_family, column, n in listed:
            bounds = of_family.offsets[rows.start : rows.stop + 1]
            ids = of_family.ids[bounds[0] : bounds[-1]]
            indices, indptr = _native.distinct_in_rows(ids, bounds - bounds[0], column, n)
            ones = np.ones(len(indices), dtype=np.int8)
            parts.append(sparse.csr_matrix((ones, indices, indptr), (rows.stop - rows.start, n)))
        joined = sparse.hstack(parts, format="csr")
        return sparse.csr_matrix((joined.data, every[joined.indices], joined.indptr), joined.shape)

    return CueRows.of(map(chunk, data.chunks()), cues.height, data.space)


HOLDS, VANISHES, REVERSES, OPEN = OUTCOMES
#: Units that are drawn at a time.
AT_A_TIME = 1 << 20
#: Columns of `held_shares`.
COLUMNS = (
    *("outcome", "again_n", "again_texts", "again_share", "again_at_chance"),
    *("held_share", "held_low", "held_high", "coverage"),
)


@dataclass(frozen=True, eq=False)
class SampleShares:
    """Instances of each cue's label among the instances that have the cue, in a part of the data.

    Where an example has several instances, only examples whose instances differ in the cue are counted.
    """

    k: Floats
    n: Floats
    chance: Floats
    examples: Floats


def held_shares(
    cues: pl.DataFrame,
    rows: CueRows,
    sample: Instances,
    units: npt.NDArray[np.int64],
) -> pl.DataFrame:
    """Return what a second sample says about every cue: one row per cue, in the order of the columns of `rows`.

    `again_n`, `again_texts` and `again_share` are of all rows of the test split, and missing without one; copies of a
    text count in intervals only. `again_at_chance` is the share there at the chance level of train.
    `outcome` is what that says about the share of train; without a test split, what either half of train says about the
    other. `held_share`, `held_low` and `held_high` are of train (corrected for selection) and test together, at the
    chance level of train: between both shares.
    `coverage` is the share of examples the cue concerns: of train, or of test where it is smaller. `units` are those of
    the texts, or for grouped tasks of the questions.
    """
    in_train = (sample.table["split"] == "train").to_numpy()
    in_test = ~in_train
    label = cues["label"].replace_strict(
        {name: i for i, name in enumerate(sample.labels)}, return_dtype=pl.Int64
    )
    codes = label.to_numpy()
    has_test = bool(in_test.any())
    parts = (in_test,) if has_test else _halves(sample, units)
    train, *others = sample_shares(rows, sample, codes, [in_train, *parts])
    coverage = train.examples / max(sample.train.n_examples, 1)
    share, n = cues["adjusted_share"].to_numpy(), cues["effective_n"].to_numpy()
    chance = cues["chance"].to_numpy()
    missing = np.full(cues.height, np.nan)
    if has_test:
        [again] = others
        # Test has label shares of its own: a share is compared with what chance gives there.
        there = again.chance if sample.grouped else _test_prior(sample, in_train)[codes]
        texts, squares = _unit_sums(rows, sample, units, in_test)
        worth = again.n * np.nan_to_num(divided(again.examples, squares))
        found = replication(share, n, again.k, again.n, chance, chance_again=there, effective_again=worth)
        outcome, both = found.outcome, found.share
        corrected = ShrunkShares(*(cues[f"adjusted_{part}"].to_numpy() for part in ("share", "low", "high")))
        low, high = held_interval(corrected, cues["share"].to_numpy(), n, found.again, worth)
        low, high = np.minimum(low, both), np.maximum(high, both)
        again_n, again_share = again.n, divided(again.k, again.n)
        again_at_chance = np.where(again.n > 0, found.again, np.nan)
        coverage = np.minimum(
            coverage, again.examples / max(len(np.unique(sample.example_codes[in_test])), 1)
        )
    else:
        outcome = _between_halves(others, sample, codes)
        both, low, high = (
            cues[name].to_numpy() for name in ("adjusted_share", "adjusted_low", "adjusted_high")
        )
        again_n = again_share = again_at_chance = texts = missing
    return pl.DataFrame(
        {
            "outcome": [OUTCOMES[code] for code in outcome],
            "again_n": again_n,
            "again_texts": texts,
            "again_share": again_share,
            "again_at_chance": again_at_chance,
            "held_share": both,
            "held_low": low,
            "held_high": high,
            "coverage": coverage,
        },
        schema_overrides={"outcome": pl.String},
    ).with_columns(pl.col("again_n", "again_texts", "again_share", "again_at_chance").fill_nan(None))


def _unit_sums(rows: CueRows, sample: Instances, units: Ints, part: Bools) -> tuple[Floats, Floats]:
    """Return in how many units some example of a part has each cue, and Σ over units of (examples with it)²."""
    n_units = int(units.max(initial=-1)) + 1
    counts = sparse.csr_matrix((n_units, rows.n_cues), dtype=np.int64)
    for where, some in rows.slices():
        chosen = part[where]
        if chosen.any():
            having = concerned(some, sample, where, chosen)
            codes = units[where][chosen]
            if sample.grouped:
                codes = codes[np.unique(sample.example_codes[where][chosen], return_index=True)[1]]
            ones = np.ones(len(codes), dtype=np.int64)
            counts += (
                sparse.csr_matrix((ones, (codes, np.arange(len(codes)))), (n_units, len(codes))) @ having
            )
    return _sums(counts > 0).astype(np.float64), _sums(counts.multiply(counts)).astype(np.float64)


def sample_shares(
    rows: CueRows, sample: Instances, label: npt.NDArray[np.int64], parts: Sequence[Bools]
) -> list[SampleShares]:
    """Return how often each cue has its label in each of some parts of the rows; `label` is a code per cue."""
    counted = [_Counted(rows.n_cues) for _ in parts]
    for where, some in rows.slices():
        for counts, part in zip(counted, parts, strict=True):
            if part[where].any():
                counts.add(some, sample, label, where, part[where])
    return [counts.shares(label, sample.grouped) for counts in counted]


class _Counted:
    """Counts of every cue that are added up over slices of rows: whole numbers, so that slices do not matter."""

    def __init__(self, n_cues: int) -> None:
        self.n, self.k, self.examples = (np.zeros(n_cues, dtype=np.int64) for _ in range(3))
        #: Instances with each cue, by the number of instances of their example.
        self.by_size: dict[int, npt.NDArray[np.int64]] = {}

    def add(
        self, some: sparse.csr_matrix, sample: Instances, label: Ints, where: slice, chosen: Bools
    ) -> None:
        """Add the chosen ones of some rows."""
        if not sample.grouped:
            codes = np.where(chosen, sample.label_codes[where], -1).astype(np.int32)
            starts, n_labels = some.indptr.astype(np.int64), len(sample.labels)
            counts = _native.count_presence(
                some.indices, starts, 0, len(codes), codes, some.shape[1], n_labels
            )
            n = counts.sum(axis=1)
            self.n += n
            self.examples += n
            self.k += counts[np.arange(len(label)), label]
            return
        present, codes = some[chosen], sample.label_codes[where][chosen]
        # An example whose instances all have the cue, or none, says nothing of it.
        member, size = _members(sample.example_codes[where][chosen])
        having = (member @ present).tocsr()
        right = (member @ present.multiply((codes == 0)[:, None]).tocsr()).tocsr()
        of_size = np.repeat(size, np.diff(having.indptr))
        differs = having.copy()
        differs.data = (having.data < of_size).astype(np.int64)
        counted = having.multiply(differs).tocsr()
        self.n += _sums(counted)
        self.examples += _sums(differs)
        self.k += _sums(right.multiply(differs))
        for each in np.unique(size):
            before = self.by_size.get(int(each), 0)
            self.by_size[int(each)] = before + _sums(counted[size == each])

    def shares(self, label: Ints, grouped: bool) -> SampleShares:
        """Return what the counts say."""
        n, k, examples = (part.astype(np.float64) for part in (self.n, self.k, self.examples))
        if not grouped:
            return SampleShares(k, n, np.full(len(label), np.nan), examples)
        expected = np.zeros(len(label))
        for size in sorted(self.by_size):
            expected += self.by_size[size] / size
        is_right = label == 0
        chance = divided(np.where(is_right, expected, n - expected), n)
        return SampleShares(np.where(is_right, k, n - k), n, chance, examples)


def concerned(some: sparse.csr_matrix, sample: Instances, where: slice, chosen: Bools) -> sparse.csr_matrix:
    """Return which examples among some rows (rows) each cue (columns) concerns: those that have it, or differ in it."""
    present = some if chosen.all() else some[chosen]
    if not sample.grouped:
        return present
    member, size = _members(sample.example_codes[where][chosen])
    having = (member @ present).tocsr()
    having.data = (having.data < np.repeat(size, np.diff(having.indptr))).astype(np.int64)
    return having


def _members(examples: Ints) -> tuple[sparse.csr_matrix, Ints]:
    """Return which instances (columns) each example (rows) has, and how many."""
    _, example = np.unique(examples, return_inverse=True)
    ones = np.ones(len(example), dtype=np.int64)
    return sparse.csr_matrix((ones, (example, np.arange(len(example))))), np.bincount(example)


def _sums(matrix: sparse.spmatrix) -> npt.NDArray[np.int64]:
    return np.asarray(matrix.sum(axis=0), dtype=np.int64).ravel()


def _test_prior(sample: Instances, in_train: Bools) -> Floats:
    counts = counts_of_codes(sample.label_codes[~in_train], len(sample.labels))
    prior: Floats = counts / counts.sum()
    return prior


def _halves(sample: Instances, units: npt.NDArray[np.int64]) -> tuple[Bools, Bools]:
    """Return the first copies of train in two halves; units are never divided."""
    first = first_of_code(units)
    if sample.grouped:  # a question counts with all its choices, or not at all
        first = first[sample.first_rows[:-1]][sample.example_codes]
    rng = np.random.default_rng(0)
    of_examples = units[sample.first_rows[:-1]] if sample.grouped else units
    n = int(of_examples.max(initial=-1)) + 1
    drawn = [rng.random(min(AT_A_TIME, n - i)) < 0.5 for i in range(0, n, AT_A_TIME)]
    in_first = np.concatenate([np.zeros(0, dtype=np.bool_), *drawn])
    in_first = in_first[of_examples][sample.example_codes] if sample.grouped else in_first[units]
    return first & in_first, first & ~in_first


def _between_halves(
    halves: Sequence[SampleShares], sample: Instances, label: npt.NDArray[np.int64]
) -> npt.NDArray[np.int8]:
    """Return the worse of what each half of train says about the other half's share."""
    prior = counts_of_codes(sample.label_codes, len(sample.labels)) / max(len(sample.label_codes), 1)
    outcomes = []
    one, two = halves
    for here, there in ((one, two), (two, one)):
        chance = np.where(np.isnan(there.chance), prior[label], there.chance)
        share = np.where(here.n > 0, divided(here.k, here.n), chance)
        outcomes.append(replication(share, here.n, there.k, there.n, chance).outcome)
    rank = np.array([1, 2, 3, 0], dtype=np.int8)  # open, holds, vanishes, reverses: from least to most severe
    worse = np.maximum(rank[outcomes[0]], rank[outcomes[1]])
    back = np.array([3, 0, 1, 2], dtype=np.int8)
    return back[worse]

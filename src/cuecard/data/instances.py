"""One table for every task: an instance is (premise, hypothesis, label)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import pairwise
from threading import RLock
from typing import Literal, TypeVar, get_args

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data.answer_texts import normal_answers
from cuecard.data.fingerprint import beginning_hashes, fingerprint, mixed, row_hashes
from cuecard.data.parallel import Memo
from cuecard.data.space import MEMORY, Space, compact
from cuecard.data.units import (
    UNIT_SCOPES,
    Marks,
    UnitScope,
    choice_units,
    closest_copies,
    column_units,
    copies,
    example_units,
    question_units,
    read_marks,
    sketch,
)
from cuecard.errors import UsageError
from cuecard.registry import unknown_name
from cuecard.stats.arrays import Array, Codes, chunks

T = TypeVar("T")
Task = Literal["pair", "choice", "preference", "text", "open"]
TASKS: tuple[Task, ...] = get_args(Task)
#: Tasks whose examples have a label (or options) to predict; of `open`, the answer itself is what is predicted.
LABELLED_TASKS: tuple[Task, ...] = ("pair", "choice", "preference", "text")

#: Columns every table of instances has; all others are the user's own (genre, annotator, …).
COLUMNS = ("example_id", "position", "split", "premise", "hypothesis", "label")

#: Examples of a split that are taken for what needs texts in memory.
SAMPLED = 50_000
#: Number of derived objects that are kept: those of a run, with the texts in two or three tokenisations.
MOST_DERIVED = 24

#: What is derived: the units of choices and of questions, and the marks of answers.
#: Options are fixed if at least this share of the questions offers the same ones.
FIXED_SHARE = 0.9
_CHOICES, _MARKS = ("units of choices",), ("answer marks",)

#: Held while a part of instances is taken, so that two threads take the same one and share what is derived from it.
_TAKING = RLock()

#: Tasks whose examples have several instances, of which the model picks one.
GROUPED_TASKS: frozenset[Task] = frozenset({"choice", "preference"})


@dataclass(frozen=True)
class LoadReport:
    """What reading the files decided and left out, for the user to see."""

    files: tuple[str, ...] = ()
    recognised: Mapping[str, str] = field(default_factory=dict)  # role -> the user's column
    dropped: Mapping[str, int] = field(default_factory=dict)  # reason -> rows left out
    notes: tuple[str, ...] = ()


@dataclass(eq=False)
class _Links:
    """What instances share with others: what is derived from their texts, their splits, and where they come from."""

    memo: Memo = field(default_factory=lambda: Memo(MOST_DERIVED))
    taken: dict[tuple[str, ...], Instances] = field(default_factory=dict)
    twin: Instances | None = None
    origin: tuple[Instances, npt.NDArray[np.int64] | None] | None = None


@dataclass(frozen=True, eq=False)
class Instances:
    """A labelled dataset as a table of (premise, hypothesis, label), whatever the task was.

    The rows of an example (the choices of a question, the two answers of a preference) stand together, in the
    order of their `position`; training rows come before test rows. `label` is a polars Enum over `labels`.
    """

    table: pl.DataFrame
    task: Task
    labels: tuple[str, ...]
    name: str = "data"
    report: LoadReport = field(default_factory=LoadReport)
    #: Column whose values are the units of independence; copies of texts are by default.
    cluster: str | None = None
    #: Column with the weight of every row in its own data, such as the share of a pair in its prompt.
    weight: str | None = None
    #: Where arrays about its rows are: in memory, or mapped from files.
    space: Space = field(default=MEMORY, repr=False)
    #: What one analysis leaves to the next ones: it goes by these very rows and columns, weights included.
    remembered: dict[str, object] = field(default_factory=dict, init=False, repr=False)
    _links: _Links = field(default_factory=lambda: _Links(), init=False, repr=False)

    def __post_init__(self) -> None:
        missing = [c for c in COLUMNS if c not in self.table.columns]
        if missing:
            raise UsageError(f"A table of instances needs the columns {', '.join(missing)}.")

    def __len__(self) -> int:
        return self.table.height

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name} {self.split(name).n_examples:,}" for name in self.splits)
        return f"Instances({self.name!r}, task={self.task!r}, labels={list(self.labels)}, examples: {sizes})"

    @property
    def grouped(self) -> bool:
        """Whether an example has several instances, so that chance and folds are per example."""
        return self.task in GROUPED_TASKS

    @property
    def labelled(self) -> bool:
        """Whether a label is predicted, or which of several texts is right; otherwise, it is the hypothesis itself."""
        return self.task in LABELLED_TASKS

    @cached_property
    def splits(self) -> tuple[str, ...]:
        """Names of the splits that have rows, train first."""
        return tuple(self.table["split"].unique(maintain_order=True).cast(pl.String).to_list())

    def split(self, name: str) -> Instances:
        """Return the instances of one split."""
        return self.rows(self.in_splits(name))

    def in_splits(self, *names: str) -> npt.NDArray[np.bool_]:
        """Return which rows belong to some splits."""
        split = self.table["split"]
        if isinstance(split.dtype, pl.Enum):  # its codes take a sixteenth of the memory of texts
            codes = [code for code, name in enumerate(split.dtype.categories) if name in names]
            return split.to_physical().is_in(codes).to_numpy()
        return split.cast(pl.String).is_in(names).to_numpy()

    def rows(self, which: npt.NDArray[np.bool_]) -> Instances:
        """Return some of the rows, which share what is derived from the texts of the whole dataset."""
        if which.all():
            return self
        first, n = int(which.argmax()), int(np.count_nonzero(which))
        if which[first : first + n].all():  # the rows of a split stand together
            table, numbers = self.table.slice(first, n), self._numbers(n, first)
        else:
            table, numbers = self.table.filter(pl.Series(which)), np.flatnonzero(which)
        part = replace(self, table=table)
        whole, own = self._origin or (self._twin, None)
        return part._from(whole, numbers if own is None else taken(own, numbers))

    def chunks(self) -> Iterator[slice]:
        """Yield ranges of rows, of whole examples, whose texts and what is made of them are in memory together."""
        ends = [rows.stop for rows in self.space.ranges(len(self))]
        if self.grouped and len(ends) > 1:
            ends = np.unique(self.first_rows[np.searchsorted(self.first_rows, ends)]).tolist()
        for first, last in pairwise([0, *ends]):
            yield slice(first, last)

    def chunk(self, rows: slice) -> Instances:
        """Return a range of rows as a dataset of its own, in memory."""
        return replace(self, table=self.table[rows], space=replace(self.space, folder=None))

    def sample(self) -> Instances:
        """Return what analyses see that need all texts in memory: the dataset itself where it fits.

        Of one that does not fit, these are at most `SAMPLED` examples of every split, drawn by a hash of their content.
        """
        return self if self.space.folder is None else self.derived(("sample",), self._sample)

    def _sample(self) -> Instances:
        rows = self.shown_rows
        return self if rows is None else replace(self, table=compact(self.table[rows]), space=MEMORY)

    @cached_property
    def shown_rows(self) -> npt.NDArray[np.int64] | None:
        """The rows whose examples are listed one by one: those of the sample; None for all."""
        if self.space.folder is None:
            return None
        first, split = self.first_rows if self.grouped else self.split_codes[:0], self.split_codes
        hashes = self.row_hashes
        if self.grouped:
            hashes = np.add.reduceat(hashes, first[:-1]) if len(first) > 1 else hashes[:0]
            split = split[first[:-1]]
        chosen = np.zeros(len(hashes), dtype=np.bool_)
        for code in np.unique(split):
            chosen[self._least(hashes, split == code)] = True
        return np.flatnonzero(chosen[self.example_codes] if self.grouped else chosen).astype(np.int64)

    def _least(self, hashes: npt.NDArray[np.uint64], which: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        """Return at most `SAMPLED` of some places: those of the smallest hashes, and the first of equal ones."""
        rows, least = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.uint64)
        for chunk in chunks(len(hashes)):
            own = chunk.start + np.flatnonzero(which[chunk])
            rows, least = (
                np.append(rows, own),
                np.append(least, mixed(hashes[own] + np.uint64(self.space.seed))),
            )
            order = np.argsort(least, kind="stable")[:SAMPLED]
            rows, least = rows[order], least[order]
        return rows

    @cached_property
    def split_codes(self) -> npt.NDArray[np.int8]:
        """The place of every row's split in `splits`."""
        codes = np.zeros(len(self), dtype=np.int8)
        for code, name in enumerate(self.splits):
            codes[self.in_splits(name)] = code
        return codes

    def relabelled(self, codes: Codes) -> Instances:
        """Return the same rows with other labels, as codes of `labels`; they share what is derived from the texts."""
        labels = pl.Series(
            "label", np.array(self.labels, dtype=object)[codes].tolist(), dtype=pl.Enum(self.labels)
        )
        other = replace(self, table=self.table.with_columns(labels))
        whole, numbers = self._origin or (self._twin, None)
        return other._from(whole, numbers)

    @property
    def train_and_test(self) -> Instances:
        """The instances of these two splits: all but those of dev."""
        return self._splits("train", "test")

    def _splits(self, *names: str) -> Instances:
        """Return the instances of some splits, taken once."""
        if set(self.splits) <= set(names):
            return (
                self  # not kept: instances that hold themselves are not freed before the garbage is collected
            )
        taken = self._links.taken
        with _TAKING:
            if names not in taken:
                taken[names] = self.rows(self.in_splits(*names))
            return taken[names]

    @property
    def train(self) -> Instances:
        """The instances that cues are counted on."""
        return self._splits("train")

    @property
    def test(self) -> Instances | None:
        """The instances that cues are confirmed on, if there are any."""
        return self._splits("test") if "test" in self.splits else None

    @cached_property
    def label_codes(self) -> npt.NDArray[np.int32]:
        """Index into `labels` for every row."""
        codes = self.table["label"].to_physical()
        return self.space.computed(np.int32, len(self), lambda chunk: codes[chunk].cast(pl.Int32).to_numpy())

    @cached_property
    def example_codes(self) -> npt.NDArray[np.int64]:
        """A number for every row that rows of the same example share, 0, 1, 2, … in order."""
        if not self.grouped:
            return self._numbers(len(self))
        if len(self) == 0:
            return np.empty(0, dtype=np.int64)
        starts = self.table.select(
            (
                (pl.col("example_id") != pl.col("example_id").shift(1))
                | (pl.col("split") != pl.col("split").shift(1))
            ).fill_null(True)
        ).to_series()
        codes: npt.NDArray[np.int64] = np.cumsum(starts.to_numpy()).astype(np.int64) - 1
        return codes

    def _numbers(self, n: int, first: int = 0) -> npt.NDArray[np.int64]:
        """Return n numbers that follow each other."""
        return self.space.computed(
            np.int64, n, lambda chunk: np.arange(first + chunk.start, first + chunk.stop, dtype=np.int64)
        )

    @cached_property
    def first_rows(self) -> npt.NDArray[np.int64]:
        """The first row of every example, and the number of rows at the end."""
        return first_rows(self.example_codes) if self.grouped else self._numbers(len(self) + 1)

    @property
    def n_examples(self) -> int:
        """How many examples (questions, pairs, prompts) there are."""
        return int(self.example_codes[-1]) + 1 if len(self) else 0

    # What is derived from the rows, and kept with them.

    @property
    def whole(self) -> Instances:
        """The dataset these rows were taken from; the instances themselves where they are no part of another."""
        return self if self._origin is None else self._origin[0]

    @property
    def row_numbers(self) -> npt.NDArray[np.int64] | None:
        """The numbers of these rows in `whole`; None where they are all of them."""
        return None if self._origin is None else self._origin[1]

    def derived(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what `make` returns, made once for these instances and kept as long as they are.

        The key names what is derived and every parameter it depends on, such as ``("tokens", "stubborn")``. The value
        must be immutable and must not hold the instances, or they could not be dropped. It goes by texts, labels,
        splits and examples; instances with other extra columns share it.
        """
        return self._memo.get(key, make)

    def has_derived(self, key: Hashable) -> bool:
        """Return whether the value of a key is there already."""
        return key in self._memo

    @property
    def _memo(self) -> Memo:
        return self._links.memo

    @property
    def _twin(self) -> Instances:
        """The same instances for parts to refer to: a part that held these, which hold the part, could not be freed."""
        with _TAKING:
            if self._links.twin is None:
                self._links.twin = self._sharing(replace(self))
            return self._links.twin

    @property
    def _origin(self) -> tuple[Instances, npt.NDArray[np.int64] | None] | None:
        return self._links.origin

    def _from(self, whole: Instances, numbers: npt.NDArray[np.int64] | None) -> Instances:
        self._links.origin = (whole, numbers)
        return self

    def _sharing(self, other: Instances) -> Instances:
        """Return other instances of the same rows, which share what is derived from these."""
        other._links.memo = self._memo
        return other if self._origin is None else other._from(*self._origin)

    def __getstate__(self) -> dict[str, object]:
        """Return the fields alone, to copy or send: what was derived is derived again."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.init}

    def __setstate__(self, state: dict[str, object]) -> None:
        for name, value in {**state, "remembered": {}, "_links": _Links()}.items():
            object.__setattr__(self, name, value)

    def units(self, scope: UnitScope = "hypothesis") -> npt.NDArray[np.int64]:
        """Return a number for every row that rows share which are one observation, found once and kept.

        The unit of a feature of the hypothesis (or premise) is the copies and near copies of that text; `choices` are
        examples with the same hypotheses, `example` those with the same premise too, and `choice` the same choice in
        copies of a question. Where `cluster` names a column,
        its values are the units of every scope. Numbers of a split are those of the whole dataset, with gaps.
        """
        if scope not in UNIT_SCOPES:
            raise unknown_name("scope of units", scope, list(UNIT_SCOPES))
        if self.cluster is not None:
            return self._column_units
        return self.derived(("units", scope), lambda: self._part_of_whole(lambda whole: whole._units(scope)))

    def closest_units(self, scope: Literal["hypothesis", "premise"]) -> npt.NDArray[np.int64]:
        """Return a number for every row that rows share whose texts are the nearest of near copies, or copies.

        They divide the units of templates: hundreds of sentences that share most of their words. A column of clusters
        is not divided.
        """
        if self.cluster is not None:
            return self._column_units
        return self.derived(
            ("closest units", scope), lambda: self._part_of_whole(lambda whole: whole._closest_units(scope))
        )

    def _closest_units(self, scope: Literal["hypothesis", "premise"]) -> npt.NDArray[np.int64]:
        return self.derived(
            ("closest units", scope),
            lambda: closest_copies(self.table[scope], self.units(scope), self.space),
        )

    @cached_property
    def _column_units(self) -> npt.NDArray[np.int64]:
        return self._part_of_whole(lambda whole: column_units(whole.table, str(whole.cluster)))

    def _part_of_whole(self, find: Callable[[Instances], npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
        """Return these rows' units among those of the whole, where they are found once over all splits."""
        units = find(self.whole)
        units = units if self.row_numbers is None else taken(units, self.row_numbers)
        units.flags.writeable = False
        return units

    def _units(self, scope: UnitScope) -> npt.NDArray[np.int64]:
        return self.derived(("units", scope), lambda: self.space.stored(self._find_units(scope)))

    def _find_units(self, scope: UnitScope) -> npt.NDArray[np.int64]:
        if (
            scope == "choices" and self.fixed_options
        ):  # options are labels: what is independent are the questions
            return self.units("premise")
        if self.grouped and scope in ("hypothesis", "choices"):
            of_texts, of_questions = self.derived(_CHOICES, self._choice_units)
            return of_texts if scope == "hypothesis" else of_questions
        if scope == "hypothesis" or scope == "premise":
            return copies(self.table[scope], space=self.space)
        examples, hypothesis = self.example_codes, self.units("hypothesis")
        if scope == "choice":
            return choice_units(self.table, examples, hypothesis, self.units("choices"))
        if scope == "example" and not self.labelled:
            return self.units("premise")
        if scope == "example" and self.grouped:
            return example_units(np.arange(len(self)), self.units("choices"), self.units("premise"))
        premise = self.units("premise") if scope == "example" else None
        return example_units(examples, hypothesis, premise, self.space)

    @property
    def answer_codes(self) -> npt.NDArray[np.int64]:
        """A number for every row that rows with the same answer in words share, whatever its case and punctuation."""
        whole = self.whole
        codes = whole.derived(("answer codes",), lambda: whole.space.stored(whole._answer_codes()))
        return codes if self.row_numbers is None else taken(codes, self.row_numbers)

    def _answer_codes(self) -> npt.NDArray[np.int64]:
        forms = (normal_answers(self.table["hypothesis"][rows]).hash() for rows in self.chunks())
        hashes = self.space.joined(np.uint64, (form.to_numpy() for form in forms))
        return np.unique(hashes, return_inverse=True)[1].astype(np.int64)

    @cached_property
    def fixed_options(self) -> tuple[str, ...]:
        """The options that nearly all questions offer, in the order of the first of these; empty if they differ."""
        if self.task != "choice" or self.n_examples < 2:
            return ()
        return self.derived(("fixed options",), lambda: self._options_of_all(ordered=False))

    @property
    def fixed_order(self) -> bool:
        """Whether nearly all questions offer the same options in the same order."""
        return bool(self.fixed_options and self._options_of_all(ordered=True))

    def _options_of_all(self, *, ordered: bool) -> tuple[str, ...]:
        hashes = self.table["hypothesis"].hash().to_numpy()
        places = np.arange(len(self), dtype=np.uint64) - self.first_rows[self.example_codes].astype(np.uint64)
        sums = np.add.reduceat(mixed(hashes + places if ordered else hashes), self.first_rows[:-1])
        _, first, count = np.unique(sums, return_index=True, return_counts=True)
        most = int(count.argmax())
        if count[most] < FIXED_SHARE * len(sums):
            return ()
        rows = slice(int(self.first_rows[first[most]]), int(self.first_rows[first[most] + 1]))
        return tuple(self.table["hypothesis"][rows].to_list())

    def _choice_units(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        return question_units(
            self.example_codes, sketch(self.table["hypothesis"], self.first_rows, space=self.space)
        )

    def answer_marks(self, *, with_units: bool = False) -> Marks:
        """Return which answers may have signs, and how many words each shares with its prompt, read once and kept.

        Who needs units, too, has them found in the same pass.
        """
        if self.whole.has_derived(_MARKS) and self.row_numbers is not None:
            marks = self.whole.derived(_MARKS, self.whole._marks)
            return Marks(marks.signs[self.row_numbers], marks.shared[self.row_numbers])
        if with_units and self.row_numbers is None and self.cluster is None:
            return self.derived(_MARKS, self._marks_and_units)
        return self.derived(_MARKS, self._marks)

    def _marks(self) -> Marks:
        return read_marks(self.table["hypothesis"], self.first_rows, self._prompts)

    def _marks_and_units(self) -> Marks:
        if self.has_derived(_CHOICES):
            return self._marks()
        sketches = sketch(self.table["hypothesis"], self.first_rows, self._prompts, space=self.space)
        self.derived(_CHOICES, lambda: question_units(self.example_codes, sketches))
        return sketches.marks

    @property
    def _prompts(self) -> pl.Series:
        """The prompts of all examples; the answers of one have the same."""
        return self.table["premise"].gather(self.first_rows[:-1])

    def clustered_by(self, column: str | None) -> Instances:
        """Return the same instances with a column's values as units of independence."""
        if column is not None:
            column_units(self.table, column)  # raises where it cannot be used
        other = self._sharing(replace(self, cluster=column))
        if self._origin is not None and column is not None:
            whole, numbers = self._origin
            values = whole.table[column] if column in whole.table.columns else None
            same = values is not None and self.table[column].equals(
                values if numbers is None else values.gather(numbers)
            )
            return other._from(whole.clustered_by(column), numbers) if same else replace(self, cluster=column)
        return other

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the content: the same texts, labels and splits in the same order give the same one.

        Neither ids nor extra columns are part of it.
        """
        return fingerprint(self.row_hashes, task=self.task, examples=self.example_codes)

    @cached_property
    def row_hashes(self) -> npt.NDArray[np.uint64]:
        """A number for every row that changes with its texts, label, split and position."""
        return self.space.computed(
            np.uint64,
            len(self),
            lambda chunk: row_hashes(self.table.slice(chunk.start, chunk.stop - chunk.start)),
        )

    def sampled_texts(self, n: int) -> pl.Series:
        """Return premises and hypotheses of n rows chosen by hash: the same whatever the order of the rows."""
        chosen = self.table[self.sampled_rows(n)]
        return pl.concat([chosen["premise"], chosen["hypothesis"].alias("premise")])

    def sampled_rows(self, n: int) -> npt.NDArray[np.int64]:
        """Return n rows chosen by hash."""
        if len(self) <= n:
            rows = np.arange(len(self))
        else:
            # The first characters tell most texts apart; whole texts are hashed only where they decide.
            texts = self.table["hypothesis"]
            beginnings = self.space.joined(
                np.uint64, (beginning_hashes(texts[some]) for some in self.space.ranges(len(self)))
            )
            rows = np.flatnonzero(beginnings <= np.partition(beginnings, n - 1)[n - 1])
        return rows[np.argsort(row_hashes(self.table[rows]), kind="stable")][:n]

    def distinct_texts(self, side: Literal["premise", "hypothesis"]) -> int:
        """Return how many texts there are that differ in more than case, spaces and punctuation."""
        return len(np.unique(copies(self.table[side], near=False)))

    def characters(self, side: Literal["premise", "hypothesis"]) -> Codes:
        """Return the number of characters of every text of one side."""
        whole = self.whole
        characters = whole.derived(("characters", side), lambda: whole._characters(side))
        return characters if self.row_numbers is None else taken(characters, self.row_numbers)

    def _characters(self, side: str) -> Codes:
        characters = self.space.array(np.uint32, len(self))
        for rows in self.chunks():
            characters[rows] = self.table[side][rows].str.len_chars().to_numpy()
        return characters

    def blank(self, side: Literal["premise", "hypothesis"]) -> npt.NDArray[np.bool_]:
        """Return which texts of one side have nothing but white space."""
        blank = np.empty(len(self), dtype=np.bool_)
        for rows in chunks(len(self)):
            blank[rows] = (self.table[side][rows].fill_null("").str.strip_chars() == "").to_numpy()
        return blank

    def with_columns(self, **columns: pl.Series | pl.Expr) -> Instances:
        """Return the same instances with extra columns added or replaced."""
        other = replace(self, table=self.table.with_columns(**columns))
        return other if columns.keys() & {*COLUMNS, self.cluster} else self._sharing(other)


def is_range(rows: npt.NDArray[np.int64]) -> bool:
    """Return whether rising numbers follow each other without a gap."""
    return len(rows) > 0 and int(rows[-1]) - int(rows[0]) == len(rows) - 1


def taken(values: Array, rows: npt.NDArray[np.int64]) -> Array:
    """Return the values of some rows; they share the memory of all where no row is left out between them."""
    return values[int(rows[0]) :][: len(rows)] if is_range(rows) else values[rows]


def first_rows(codes: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Return where each run of rows of one code begins, and the number of rows at the end.

    >>> first_rows([0, 0, 1, 2, 2, 2])
    array([0, 2, 3, 6])
    """
    each = np.asarray(codes)
    changes = np.flatnonzero(each[1:] != each[:-1]) + 1
    return np.concatenate([[0], changes, [len(each)] if len(each) else []]).astype(np.int64)

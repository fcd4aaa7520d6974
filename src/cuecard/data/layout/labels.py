"""Raw label values become named classes in a stable order; values that mean "no label" become null."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

import polars as pl

from cuecard.data.reading.raw import RawTable
from cuecard.errors import InputError
from cuecard.registry import unknown_name

#: Values that mean nobody gave a label. "-1" is one only where all other labels are whole numbers.
MISSING = ("", "-")
UNLABELLED = "unlabelled"
#: Names that tables of counts per label (`train_NAME`, `test_NAME`) need for the count over all labels.
RESERVED = ("count",)
#: More classes than this are a sign that the column holds texts or scores.
MAX_CLASSES = 1000
#: More different numbers with a fraction than this are scores, not classes.
MAX_SCORES = 10


@dataclass(frozen=True)
class LabelScheme:
    """Raw value → name, and the names in their order; a value that is not a key has no label."""

    names: tuple[str, ...]
    mapping: Mapping[str, str]
    notes: tuple[str, ...] = ()

    @property
    def dtype(self) -> pl.Enum:
        """The Enum over the names."""
        return pl.Enum(self.names)

    def encode(self, values: pl.Series) -> pl.Series:
        """Return raw label texts as an Enum over the names, null where there is no label."""
        if all(raw == name for raw, name in self.mapping.items()):
            return values.cast(self.dtype, strict=False)
        return values.replace_strict(
            list(self.mapping), list(self.mapping.values()), default=None, return_dtype=self.dtype
        )


def label_texts(values: pl.Series) -> pl.Series:
    """Return label values as text: 1.0 as "1" where all are whole numbers, true and false in lower case."""
    if values.dtype == pl.String:
        return values
    if values.dtype.is_nested() or values.dtype == pl.Binary:
        raise InputError(
            f"Column {values.name!r} holds {str(values.dtype)[:80]}, not one value per row: name another column "
            "with --columns."
        )
    if values.dtype.is_float():
        whole = values.cast(pl.Int64, strict=False)
        # Numbers too large for an integer are no whole numbers here, and not missing either.
        equal = (whole.cast(pl.Float64) == values.cast(pl.Float64)).fill_null(False)
        same = equal | values.is_null() | values.is_nan().fill_null(True)
        if same.all():
            return whole.cast(pl.String)
    return values.cast(pl.String)


def learn_labels(
    values: Iterable[str | None],
    *,
    where: str,
    column: str,
    mapping: Mapping[str, str | None] | None = None,
    strict: bool = True,
    keep_unlabelled: bool = False,
) -> LabelScheme:
    """Return the classes among raw label values, ordered by the mapping, otherwise by number, otherwise by name.

    A mapping names raw values (`{"0": "entailment"}`; None or "" makes a value a missing label); values that
    already are one of its names stay. Any other is an error, or keeps its own name if not `strict`.
    Where rows have no label, `keep_unlabelled` adds a class for them.
    """
    mapping = {str(raw): name for raw, name in mapping.items()} if mapping else None
    values = set(values)
    seen = {v for v in values if v is not None}
    missing = {v for v in seen if v.strip() in MISSING and v not in (mapping or {})}
    rest = seen - missing
    if "-1" in rest and all(is_whole(v) for v in rest) and "-1" not in (mapping or {}):
        missing.add("-1")
    rest = seen - missing
    if mapping:
        renamed = {raw: name for raw, name in mapping.items() if name}
        order = list(dict.fromkeys(renamed.values()))
        names_by_value = {raw: renamed.get(raw, raw) for raw in rest if raw in renamed or raw in order}
        unmapped = tuple(sorted(v for v in rest if v not in names_by_value and v not in mapping))
        if strict and unmapped:
            raise InputError(
                f"Column {column!r} of {where} has {_some(unmapped)}, which --labels does not name: name every value, "
                f"or drop its rows with an empty name, --labels {_renaming(renamed, {})},{unmapped[0]}=."
            )
        names_by_value |= {raw: raw for raw in unmapped}
        order += sorted(unmapped, key=_label_order(set(unmapped)))
        names = [name for name in order if name in names_by_value.values()]
    else:
        names_by_value = {raw: raw for raw in rest}
        names = sorted(rest, key=_label_order(rest))
    if mapping is None and len(names) > MAX_SCORES and (numbers := _scores(names)):
        raise InputError(
            f"Column {column!r} of {where} has {len(names):,} different numbers, such as {names[0]} and {names[-1]}: "
            "these are scores, not classes. Name another column with --columns label=…, or instead set a threshold: "
            f"--labels '{column}>{numbers[len(numbers) // 2]:g}'."
        )
    if len(names) > MAX_CLASSES:
        raise InputError(
            f"Column {column!r} of {where} has {len(names):,} different values, too many for labels: "
            f"name the label column with --columns label=…, or set a threshold with --labels '{column}>NUMBER'."
        )
    no_class = "-1" in missing and mapping is None
    if no_class and len(names) == 1:
        raise InputError(
            f"Column {column!r} of {where} has the values -1 and {names[0]}, and -1 often means that nobody gave a "
            f"label: type --labels -1=NAME,{names[0]}=NAME if it is a class."
        )
    if not names:
        raise InputError(
            f"Every label in column {column!r} of {where} is missing or unknown: give labelled rows."
        )
    if len(names) == 1:
        raise InputError(
            f"Column {column!r} of {where} has only one class, {names[0]!r}: "
            "give rows of at least two classes, or name another column with --columns label=…"
        )
    for name in RESERVED:
        if name in names:
            raise InputError(
                f"Column {column!r} of {where} has a label {name!r}, a name that CueCard reserves: "
                f"rename it with --labels {_renaming(names_by_value, {name: 'NAME'})}."
            )
    ordered = {raw: names_by_value[raw] for raw in sorted(names_by_value)}
    if keep_unlabelled and UNLABELLED not in names and not values <= set(names_by_value):
        names.append(UNLABELLED)
    notes = list(_alike_notes(names, names_by_value))
    if no_class and len(names) <= 10:
        typed = ",".join(f"{value}=NAME" for value in ("-1", *names))
        notes.append(f"The label -1 is read as no label; if it is a class, type --labels {typed}.")
    return LabelScheme(tuple(names), ordered, tuple(notes))


#: A label is missing from a split, and not only rare, if chance would have put this many examples of it there.
SURELY_MISSING = 10.0


def check_labels_shared(
    counts: Mapping[str, Mapping[str, int]], names_by_value: Mapping[str, str], split: str
) -> None:
    """Raise if train and another split each have a label that the other lacks: one label may have two names.

    `counts` has the examples of every label by split. Labels that are too rare to be in both splits are not meant.
    """
    train, other = counts["train"], counts[split]
    alone = [_alone(train, other), _alone(other, train)]
    if not all(alone):
        return
    of_train, of_other = alone
    joined = {name: _same_label(name, of_train, of_other) for name in of_other}
    typed = shlex.quote(_renaming(names_by_value, joined))
    apart = shlex.quote(_renaming(names_by_value, {}))
    raise InputError(
        f"Only the training set has the label {_some(tuple(of_train))}, and only the {split} set "
        f"{_some(tuple(of_other))}: if they mean the same, join them with --labels {typed}; otherwise type "
        f"--labels {apart}."
    )


def _alone(counts: Mapping[str, int], others: Mapping[str, int]) -> list[str]:
    """Return the labels of a split that another one lacks and, by its size, should have."""
    share = sum(others.values()) / max(1, sum(counts.values()))
    return [
        name
        for name, n in counts.items()
        if name != UNLABELLED and n * share >= SURELY_MISSING and not others.get(name)
    ]


def _same_label(name: str, of_train: Sequence[str], of_other: Sequence[str]) -> str:
    """Return the label of train that another split's label must be, or NAME where it is not sure."""
    if len(of_train) == len(of_other) == 1:
        return of_train[0]
    alike = [one for one in of_train if _plain(one) == _plain(name)]
    near = alike or get_close_matches(name.casefold(), [one.casefold() for one in of_train], n=2, cutoff=0.6)
    found = [one for one in of_train if one in near or one.casefold() in near]
    return found[0] if len(found) == 1 else "NAME"


def _scores(names: Iterable[str]) -> list[float]:
    """Return the numbers in order if all names are numbers and some have a fraction; otherwise nothing."""
    try:
        numbers = sorted(float(name) for name in names)
    except ValueError:
        return []
    return [] if all(number.is_integer() for number in numbers) else numbers


def _alike_notes(names: Iterable[str], names_by_value: Mapping[str, str]) -> Iterator[str]:
    """Yield a note for labels that differ only in case, in spaces or in how a number is written."""
    alike: dict[str, list[str]] = {}
    for name in names:
        alike.setdefault(_plain(name), []).append(name)
    groups = {plain: group for plain, group in alike.items() if len(group) > 1}
    numbers = {name: plain for plain, group in groups.items() if is_whole(plain) for name in group}
    if numbers:
        yield (
            f"The labels {_some(tuple(numbers))} have numbers written in two ways and are read as different classes; "
            f"merge them with --labels {_renaming(names_by_value, numbers)}."
        )
    for plain, group in groups.items():
        if not is_whole(plain):
            renaming = _renaming(names_by_value, dict.fromkeys(group, group[-1].strip()))
            # On the command line, spaces around a value are lost.
            typed = all(raw == raw.strip() for raw in names_by_value)
            yield (
                f"The labels {', '.join(map(repr, group))} differ only in case or spaces and are read as "
                "different classes; if they mean the same, "
                + (f"merge them with --labels {renaming}." if typed else "use one spelling in the file.")
            )


def _plain(name: str) -> str:
    """Return a label without case and surplus spaces, and 1.0 as 1."""
    plain = " ".join(name.split()).casefold()
    whole, dot, decimals = plain.partition(".")
    return whole if dot and decimals and not decimals.strip("0") and is_whole(whole) else plain


def _renaming(names_by_value: Mapping[str, str], new: Mapping[str, str]) -> str:
    """Return what to type for --labels so that some names change and no other value is left out."""
    pairs = {raw: new.get(name, name) for raw, name in sorted(names_by_value.items())}
    first = sorted(pairs, key=lambda raw: names_by_value[raw] not in new)
    return ",".join(f"{raw}={pairs[raw]}" for raw in first)


def is_whole(value: str) -> bool:
    """Return whether a text is a whole number of at most 99 digits."""
    return len(value) < 100 and value.removeprefix("-").isdecimal()


def _label_order(values: set[str]) -> type[str] | type[int]:
    return int if all(is_whole(v) for v in values) else str


def _some(values: tuple[str, ...]) -> str:
    shown = ", ".join(repr(v) for v in values[:5])
    return shown + (", …" if len(values) > 5 else "")


_THRESHOLD = re.compile(
    r"^\s*(?P<column>[^<>=,]+?)\s*(?P<sign>>=|<=|>|<)\s*(?P<value>[-+]?[\d.]+(?:[eE][-+]?\d+)?)\s*"
    r"(?:=\s*(?P<meets>[^<>=,]+?)\s*,\s*(?P<fails>[^<>=,]+?)\s*)?$"
)
_NAMES = {
    ">": ("above {0}", "at most {0}"),
    ">=": ("at least {0}", "below {0}"),
    "<": ("below {0}", "at least {0}"),
    "<=": ("at most {0}", "above {0}"),
}


@dataclass(frozen=True)
class Threshold:
    """A column of numbers and where it is cut; the first class is that of the numbers that meet the condition.

    `own_names` are names of both classes that the user gave.
    """

    column: str
    sign: str
    value: float
    own_names: tuple[str, str] | None = None

    @property
    def names(self) -> tuple[str, str]:
        """Names of the two classes, such as "above 3.6" and "at most 3.6"."""
        if self.own_names:
            return self.own_names
        meets, fails = (name.format(f"{self.value:g}") for name in _NAMES[self.sign])
        return meets, fails

    @property
    def label(self) -> str:
        """Name of the column of labels."""
        return f"{self.column}{self.sign}{self.value:g}"

    def applied(self, raw: RawTable) -> RawTable:
        """Return the table with a column of labels, empty where the number is."""
        if self.column not in raw.frame.columns:
            raise unknown_name(f"column of {raw.where}", self.column, raw.frame.columns)
        values = raw.frame[self.column]
        numbers = values.cast(pl.Float64, strict=False) if not values.dtype.is_nested() else None
        if numbers is None or numbers.null_count() > values.null_count():
            bad = None if numbers is None else int((numbers.is_null() & values.is_not_null()).arg_max() or 0)
            which = f" ({raw.place(bad)} has {values[bad]!r})" if bad is not None else ""
            raise InputError(
                f"Column {self.column!r} of {raw.where} does not hold numbers{which}: name a "
                "column of numbers in --labels."
            )
        meets = {">": numbers > self.value, ">=": numbers >= self.value, "<": numbers < self.value}.get(
            self.sign, numbers <= self.value
        )
        present = numbers.is_not_null() & numbers.is_not_nan().fill_null(False)
        names = self.names
        labels = pl.select(
            pl.when(present & meets)
            .then(pl.lit(names[0]))
            .when(present)
            .then(pl.lit(names[1]))
            .alias(self.label)
        ).to_series()
        return replace(raw, frame=raw.frame.with_columns(labels))


def parse_threshold(text: str) -> Threshold | None:
    """Return the threshold that was typed, None if it is none."""
    match = _THRESHOLD.match(text)
    try:
        if not match:
            return None
        own_names = (match["meets"], match["fails"]) if match["meets"] else None
        return Threshold(match["column"], match["sign"], float(match["value"]), own_names)
    except ValueError:
        return None

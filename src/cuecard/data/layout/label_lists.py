"""Several labels per row: one of them against the rest, or every set of labels as a class."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

import polars as pl

from cuecard.data.layout.labels import label_texts
from cuecard.data.layout.option_texts import option_lists
from cuecard.data.reading.raw import RawTable
from cuecard.errors import InputError
from cuecard.registry import unknown_name

_TYPED = re.compile(r"^\s*(?P<column>[^<>=,]+?)\s+has\s+(?P<label>[^<>=,]+?)\s*$")
#: In place of a label: every set of labels is a class, and sets of less than this share of the rows are one.
ALL, RARE = "*", 0.01
OTHER_SETS = "other sets"


@dataclass(frozen=True)
class Membership:
    """Which rows have a label among several; the first class is that of the rows that do."""

    column: str
    member: str

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the two classes; none where every set of labels is one."""
        return () if self.member == ALL else (self.member, f"not {self.member}")

    @property
    def label(self) -> str:
        """Name of the column of labels."""
        return f"{self.column} has {self.member}"

    def applied(self, raw: RawTable) -> RawTable:
        """Return the table with a column of labels, empty where the list of labels is missing."""
        if self.column not in raw.frame.columns:
            raise unknown_name(f"column of {raw.where}", self.column, raw.frame.columns)
        lists = label_lists(raw.frame[self.column])
        if lists is None:
            raise InputError(
                f"Column {self.column!r} of {raw.where} has one label per row: leave out --labels."
            )
        if self.member == ALL:
            sets = lists.list.unique().list.sort().list.join(" + ")
            counts = sets.value_counts(name="n").filter(pl.col("n") >= max(2, RARE * len(sets)))
            common = sets.is_in(counts[sets.name].implode()) | sets.is_null()
            labels = pl.select(pl.when(common).then(sets).otherwise(pl.lit(OTHER_SETS))).to_series()
        else:
            first, second = self.names
            has = lists.list.contains(self.member)
            if not has.any():
                raise unknown_name(f"label in {self.column!r}", self.member, _by_frequency(lists)[:30])
            labels = pl.select(
                pl.when(has).then(pl.lit(first)).when(has.is_not_null()).then(pl.lit(second))
            ).to_series()
        return replace(raw, frame=raw.frame.with_columns(labels.alias(self.label)))


def parse_membership(text: str) -> Membership | None:
    """Return the label among several that was typed, such as `labels has joy`; None if it is none."""
    match = _TYPED.match(text)
    return Membership(match["column"], match["label"]) if match else None


def label_lists(values: pl.Series) -> pl.Series | None:
    """Return the labels of every row where a column holds lists of them or texts such as "['joy', 'fear']"."""
    if isinstance(values.dtype, pl.List) and not values.dtype.inner.is_nested():
        return values.cast(pl.List(pl.String))
    if values.dtype != pl.String or not values.head(200).drop_nulls().str.contains(r"^\s*\[.*\]\s*$").all():
        return None
    return option_lists(values) if values.null_count() < len(values) else None


def with_one_label(raws: Mapping[str, RawTable], columns: Mapping[str, str]) -> dict[str, RawTable]:
    """Return the tables with one label per row; of several, the most frequent one is compared with the rest."""
    lists = {split: label_lists(raw.frame[columns[split]]) for split, raw in raws.items()}
    first = lists["train"]
    if first is None:
        return dict(raws)
    names = raws["train"].class_names.get(columns["train"])
    single = all(each is None or bool((each.list.len().fill_null(0) <= 1).all()) for each in lists.values())
    ranked = _by_frequency(first)
    settled = {}
    for split, raw in raws.items():
        column, each = columns[split], lists[split]
        if each is None:
            each = (
                pl.Series(label_texts(raw.frame[column]), dtype=pl.String)
                .reshape((len(raw.frame), 1))
                .arr.to_list()
            )
        if single or not ranked:
            settled[split] = replace(raw, frame=raw.frame.with_columns(each.list.first().alias(column)))
            continue
        top = Membership(column, ranked[0])
        labels = top.applied(replace(raw, frame=raw.frame.with_columns(each.alias(column)))).frame[top.label]
        named = f" ({names[int(ranked[0])]})" if names and ranked[0].isdecimal() else ""
        shown = f"{ranked[0]!r}{named}"
        note = (
            f"Column {column!r} of {raw.where} holds several labels per row: the most frequent one, {shown}, is "
            f"compared with the rest. For another, type --labels '{column} has {ranked[-1]}'; for every set of "
            f"labels as a class, --labels '{column} has {ALL}'."
        )
        settled[split] = replace(
            raw, frame=raw.frame.with_columns(labels.alias(column)), notes=(*raw.notes, note)
        )
    return settled


def _by_frequency(lists: pl.Series) -> list[str]:
    counts = (
        lists.explode()
        .drop_nulls()
        .alias("label")
        .value_counts(name="n")
        .sort("n", "label", descending=[True, False])
    )
    return counts["label"].to_list()

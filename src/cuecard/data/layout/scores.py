"""Labels of other kinds: scores, cut into two classes, and lists, of which one label is compared with the rest."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

import polars as pl

from cuecard.data.instances import COLUMNS, Task
from cuecard.data.layout.labels import MAX_SCORES, Threshold, is_whole, label_texts
from cuecard.data.layout.matching import by_normal_name, fill
from cuecard.data.layout.option_texts import option_lists
from cuecard.data.layout.roles import missing_roles
from cuecard.data.reading.raw import RawTable
from cuecard.errors import InputError
from cuecard.registry import unknown_name

#: What scores are called beside one text or two.
NAMES = (
    *(
        "score",
        "similarity",
        "similarity_score",
        "sim",
        "relatedness_score",
        "relatedness",
        "rating",
        "label",
    ),
    *("stars", "toxicity"),
)


def scores(values: pl.Series) -> pl.Series | None:
    """Return the numbers of a column that holds scores, not classes: many, some of them with a fraction."""
    if values.dtype != pl.String and not values.dtype.is_numeric():
        return None
    numbers = values.cast(pl.Float64, strict=False)
    if numbers.null_count() > values.null_count():
        return None
    numbers = numbers.drop_nulls().drop_nans()
    many = numbers.n_unique() > MAX_SCORES and (numbers != numbers.floor()).any()
    return numbers if many else None


def median_threshold(values: pl.Series) -> Threshold | None:
    """Return the threshold that cuts scores at their median; None where a column holds none."""
    numbers = scores(values)
    if numbers is None:
        return None
    median = numbers.median()
    assert isinstance(median, float)
    rounded = float(f"{median:.3g}")
    if (numbers > rounded).any() and (numbers <= rounded).any():
        return Threshold(values.name, ">", rounded)
    return Threshold(values.name, ">" if (numbers > median).any() else ">=", median)


def threshold_without_labels(raw: RawTable, task: Task | None) -> Threshold | None:
    """Return where scores beside one text or two are cut, where nothing but labels is missing."""
    names = by_normal_name(raw.frame.schema)
    both: tuple[Task, Task] = ("pair", "text")
    for each in both:
        roles = fill(each, {}, names, raw.frame)
        if task in (None, each) and missing_roles(each, roles) == ["label"]:
            columns = [names[name] for name in NAMES if name in names]
            thresholds = (median_threshold(raw.frame[c]) for c in columns)
            return next((t for t in thresholds if t is not None), None)
    return None


def cut_at_median(raws: dict[str, RawTable], threshold: Threshold) -> dict[str, RawTable]:
    """Return the tables with the classes of a threshold, and the note that says so."""
    note = (
        f"Column {threshold.column!r} holds scores: analyses that need classes compare those above and below the "
        f"median, {threshold.value:g}; the section Scores uses the scores. For another threshold, type --labels "
        f"'{threshold.column}>NUMBER'."
    )
    cut = {split: threshold.applied(raw) for split, raw in raws.items()}
    return {**cut, "train": replace(cut["train"], notes=(*cut["train"].notes, note))}


_MEMBER = re.compile(r"^\s*(?P<column>[^<>=,]+?)\s+has\s+(?P<label>[^<>=,]+?)\s*$")
#: In place of a label: every set of labels is a class, and sets of less than this share of the rows are one.
ALL, RARE = "*", 0.01
OTHER_SETS = "other sets"


@dataclass(frozen=True)
class Membership:
    """Which rows have a label among several; the first class is that of the rows that do."""

    column: str
    member: str
    #: The sets of labels that are classes, where every set is one: those of the training set that are not rare.
    common: frozenset[str] | None = None

    def learned(self, train: RawTable) -> Membership:
        """Return the same with the sets of labels that are classes in the training set, where every set is one."""
        lists = named_lists(train, self.column) if self.column in train.frame.columns else None
        if self.member != ALL or lists is None:
            return self
        counts = _sets(lists).value_counts(name="n").filter(pl.col("n") >= max(2, RARE * len(lists)))
        return replace(self, common=frozenset(counts.to_series(0).drop_nulls().to_list()))

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
        lists = named_lists(raw, self.column)
        if lists is None:
            raise InputError(
                f"Column {self.column!r} of {raw.where} has one label per row: leave out --labels."
            )
        if self.member == ALL:
            sets, common = _sets(lists), self.common
            if common is None:
                common = self.learned(raw).common or frozenset()
            kept = sets.is_in(sorted(common)) | sets.is_null()
            labels = pl.select(pl.when(kept).then(sets).otherwise(pl.lit(OTHER_SETS))).to_series()
        else:
            first, second = self.names
            has = lists.list.contains(_class_name(raw, self.column, self.member))
            if not has.any():
                raise unknown_name(f"label in {self.column!r}", self.member, _by_frequency(lists)[:30])
            labels = pl.select(
                pl.when(has).then(pl.lit(first)).when(has.is_not_null()).then(pl.lit(second))
            ).to_series()
        return replace(raw, frame=raw.frame.with_columns(lists.alias(self.column), labels.alias(self.label)))


def parse_membership(text: str) -> Membership | None:
    """Return the label among several that was typed, such as `labels has joy`; None if it is none."""
    match = _MEMBER.match(text)
    return Membership(match["column"], match["label"]) if match else None


def _sets(lists: pl.Series) -> pl.Series:
    """Return the set of labels of every row as one text."""
    return lists.list.unique().list.sort().list.join(" + ")


_PLURAL = ("labels", "emotions", "tags", "topics", "categories", "classes", "genres")


def label_lists(values: pl.Series) -> pl.Series | None:
    """Return the labels of every row where a column holds lists of them or texts such as "['joy', 'fear']".

    In a column with a name in the plural, labels with commas between them are a list, too.
    """
    if isinstance(values.dtype, pl.List) and not values.dtype.inner.is_nested():
        return values.cast(pl.List(pl.String))
    if values.dtype != pl.String or values.null_count() == len(values):
        return None
    if values.drop_nulls().str.contains(r"^\s*\[.*\]\s*$").all():
        return option_lists(values)
    if values.name.strip().lower() not in _PLURAL:
        return None
    lists = values.str.split(",").list.eval(pl.element().str.strip_chars())
    # Names of single labels with a comma have more parts than there are names.
    several = (lists.list.len() > 1).any() and lists.explode().n_unique() <= values.n_unique()
    return lists if several else None


def named_lists(raw: RawTable, column: str) -> pl.Series | None:
    """Return `label_lists` of a column, with the names that the file has for numbers of classes."""
    lists = label_lists(raw.frame[column])
    names = raw.class_names.get(column)
    if lists is None or not names:
        return lists
    return lists.list.eval(pl.element().replace({str(i): name for i, name in enumerate(names)}))


def _class_name(raw: RawTable, column: str, member: str) -> str:
    """Return the name of a class that may be given by its number."""
    names = raw.class_names.get(column, ())
    return names[int(member)] if is_whole(member) and 0 <= int(member) < len(names) else member


def all_labels(column: str) -> str:
    """Return the extra column that keeps the lists of labels of a column of which one label is compared."""
    return f"all {column}"


def lists_column(label: str, schema: Mapping[str, pl.DataType]) -> str | None:
    """Return the extra column of instances with the lists of labels of which `label` is one; None without lists."""
    membership = parse_membership(label)
    name = all_labels(label) if membership is None else membership.column
    name = f"original_{name}" if name in COLUMNS else name
    return name if schema.get(name) == pl.List(pl.String) else None


def with_one_label(raws: Mapping[str, RawTable], columns: Mapping[str, str]) -> dict[str, RawTable]:
    """Return the tables with one label per row; of several, the most frequent one is compared with the rest.

    The lists are kept in a column of their own (`all_labels`).
    """
    lists = {split: named_lists(raw, columns[split]) for split, raw in raws.items()}
    first = lists["train"]
    if first is None:
        return dict(raws)
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
            numbers = label_lists(raw.frame[column])  # whose names the scheme of labels knows
            values = (each if numbers is None else numbers).list.first()
            settled[split] = replace(raw, frame=raw.frame.with_columns(values.alias(column)))
            continue
        top = Membership(column, ranked[0])
        labels = top.applied(replace(raw, frame=raw.frame.with_columns(each.alias(column)))).frame[top.label]
        note = (
            f"Column {column!r} of {raw.where} holds several labels per row: the most frequent one, {ranked[0]!r}, is "
            "compared with the rest; the section Each label covers all. For another, type --labels "
            f"'{column} has {ranked[-1]}'; for every set of labels as a class, --labels '{column} has {ALL}'."
        )
        frame = raw.frame.with_columns(each.alias(all_labels(column)), labels.alias(column))
        class_names = {name: names for name, names in raw.class_names.items() if name != column}
        settled[split] = replace(raw, frame=frame, class_names=class_names, notes=(*raw.notes, note))
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

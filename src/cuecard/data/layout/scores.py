"""Scores in place of labels: which column holds them, and where it is cut into two classes."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from cuecard.data.instances import Task
from cuecard.data.layout.labels import MAX_SCORES, Threshold
from cuecard.data.layout.matching import by_normal_name, fill
from cuecard.data.layout.roles import missing_roles
from cuecard.data.reading.raw import RawTable

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

"""What is in the dataset: sizes, balance, lengths, duplicates and what test shares with train."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from cuecard import wording
from cuecard.card.card import Card, Section
from cuecard.data import Task
from cuecard.report.length_bins import length_bins
from cuecard.report.view import SECTION_VIEWS, ChartView, Column, KeyFigure, SectionView, TableView
from cuecard.wording import listed

_NOUN = {"pair": "pairs", "choice": "questions", "preference": "preferences", "text": "texts"}
#: What examples of a split are called.
_SPLIT = {"train": "training", "dev": "validation"}
MOST_DUPLICATES = 20


@SECTION_VIEWS.register("overview")
def overview(card: Card, section: Section) -> SectionView:
    """Return the first look at a dataset."""
    summary = section.summary
    return SectionView(
        lead=[*_sizes(card, summary), *_overlap(card, summary), *_repeats(summary)],
        figures=_figures(card, summary),
        charts=_charts(card),
        tables=[_duplicates(card.tables["duplicates"])] if _has_rows(card, "duplicates") else [],
    )


def _has_rows(card: Card, table: str) -> bool:
    return table in card.tables and card.tables[table].height > 0


def _sizes(card: Card, summary: dict[str, Any]) -> list[str]:
    splits: dict[str, Any] = summary.get("splits", {})
    if not splits:
        return []
    sizes = listed([f"{wording.count(s['examples'])} {_SPLIT.get(name, name)}" for name, s in splits.items()])
    first, split = next(iter(splits.items()))
    sentence = f"The dataset has {sizes} {_NOUN[card.dataset.task]}"
    total = sum(split["labels"].values())
    if card.dataset.task in ("choice", "preference"):
        return [f"{sentence}{_options(card.dataset.task, splits)}."]
    sentence += f" with {wording.plural(len(split['labels']), 'label')}"
    if not total:
        return [f"{sentence}."]
    label, most = max(split["labels"].items(), key=lambda item: item[1])
    share = wording.percent(most / total)
    return [
        f"{sentence}; the majority baseline (“{label}”) is {share} in the {_SPLIT.get(first, first)} set."
    ]


def _options(task: Task, splits: Mapping[str, Any]) -> str:
    """Return how many choices a question has, or responses a preference, where their number is on the card."""
    options = sum(split.get("instances", 0) for split in splits.values())
    examples = sum(split["examples"] for split in splits.values())
    if not examples or not options:
        return ""
    noun = "choices" if task == "choice" else "responses"
    sizes = [split.get("instances_per_example") for split in splits.values()]
    if all(sizes) and len({size for one in sizes for size in (one["min"], one["max"])}) == 1:
        return f" with {wording.count(options // examples)} {noun} each"
    return f" with {options / examples:.1f} {noun} on average"


def _overlap(card: Card, summary: dict[str, Any]) -> list[str]:
    overlap = summary.get("overlap") or {}
    tests = overlap.get("test_examples")
    if not tests:
        return []
    shared, second = overlap["sentence"], overlap["hypothesis"]
    if not shared:
        return [f"None of the {wording.count(tests)} test examples shares a text with the training set."]
    sentence = (
        f"{wording.count(shared)} of {wording.count(tests)} test examples ({wording.percent(shared / tests)}) "
        f"{'shares' if shared == 1 else 'share'} a text with the training set"
    )
    if card.dataset.task != "text":
        article = "a" if card.dataset.task in ("choice", "preference") else "the"
        sentence += (
            f": {wording.count(second)} of them {article} {_text_name(card)}, "
            f"{wording.count(overlap['pair'])} the whole input"
        )
    return [f"{sentence}."]


def _repeats(summary: dict[str, Any]) -> list[str]:
    conflicting = summary.get("conflicting_labels")
    if not conflicting:
        return []
    return [f"{wording.plural(conflicting, 'example')} have the same input as an example with another label."]


def _figures(card: Card, summary: dict[str, Any]) -> list[KeyFigure]:
    figures = [
        KeyFigure(f"{name} examples", wording.count(split["examples"]))
        for name, split in summary.get("splits", {}).items()
    ]
    train: dict[str, Any] = next(iter(summary.get("splits", {}).values()), {})
    for field in ("hypothesis", "premise"):
        lengths = train.get(f"{field}_tokens") or {}
        if lengths.get("max"):
            reach = f"middle 90 %: {wording.number(lengths['p5'])}–{wording.number(lengths['p95'])}"
            name = _text_name(card) if field == "hypothesis" else field
            figures.append(KeyFigure(f"words per {name} (median)", wording.number(lengths["median"]), reach))
    if "vocabulary" in summary:
        figures.append(KeyFigure("distinct words", wording.count(summary["vocabulary"])))
    duplicates = summary.get("duplicates", {})
    if duplicates:
        near = f"{wording.count(duplicates['normalised'])} ignoring case and punctuation"
        figures.append(KeyFigure("duplicates", wording.count(duplicates["exact"]), near))
    empty = sum(
        split.get("empty_hypothesis", 0)
        + (split.get("empty_premise", 0) if card.dataset.task != "text" else 0)
        for split in summary.get("splits", {}).values()
    )
    if empty:
        figures.append(KeyFigure("empty texts", wording.count(empty)))
    return figures


def _charts(card: Card) -> list[ChartView]:
    charts = []
    # Where every example has one right choice, labels are balanced and premises are shared by construction.
    grouped = card.dataset.task in ("choice", "preference")
    if _has_rows(card, "label_balance") and not grouped:

        def balance() -> Any:
            from cuecard.report.charts.audits.overview import label_balance

            return label_balance(card.tables, card.dataset.labels)

        charts.append(
            ChartView(
                "Label balance",
                balance,
                alt="Bars of the share of each label in each split.",
                caption="Share of each label among the instances of a split.",
                wide=False,
            )
        )
    fields = ("hypothesis",) if grouped else ("hypothesis", "premise")
    if _has_rows(card, "lengths"):
        charts += [_length_chart(card, field) for field in fields if _varies(card, field)]
    return charts


def _varies(card: Card, field: str) -> bool:
    train = (pl.col("field") == field) & (pl.col("split").cast(pl.String) == "train")
    return card.tables["lengths"].filter(train)["tokens"].n_unique() > 1


def _length_chart(card: Card, field: str) -> ChartView:
    name = _text_name(card) if field == "hypothesis" else field

    def draw() -> Any:
        from cuecard.report.charts.audits.overview import length_distribution

        return length_distribution(card.tables, card.dataset.labels, field, name=name)

    lengths = card.tables["lengths"].filter(
        (pl.col("field") == field) & (pl.col("split").cast(pl.String) == "train")
    )
    bins = length_bins(lengths)
    cut = f" {wording.percent(bins.cut)} of the texts are longer and not shown." if bins.cut else ""
    return ChartView(
        f"Length of the {name}",
        draw,
        alt=f"Curves of the number of words in the {name}, one per label, in the training set.",
        caption=f"Share of each label's training instances. If the curves differ, length is a cue.{cut}",
        wide=False,
    )


def _text_name(card: Card) -> str:
    """Return what the judged text is called in this task."""
    return {"pair": "hypothesis", "choice": "choice", "preference": "response", "text": "text"}[
        card.dataset.task
    ]


def _duplicates(frame: pl.DataFrame) -> TableView:
    columns = [n for n in ("premise", "hypothesis", "labels", "count", "splits") if n in frame.columns]
    if (frame["premise"] == "").all():
        columns.remove("premise")
    return TableView(
        title="Repeated inputs",
        columns=[Column(name.capitalize(), "count" if name == "count" else "text") for name in columns],
        rows=frame.select(columns).head(MOST_DUPLICATES).rows(),
        total=frame.height,
        source="tables/duplicates.parquet",
        caption="Inputs that occur more than once, most frequent first.",
    )

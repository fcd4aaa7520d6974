"""Weights under which the pair graph says nothing about the label: what they do, and what they cost."""

from __future__ import annotations

from typing import Any

from cuecard.card.card import Card, Section
from cuecard.report import numbers
from cuecard.report.sections.lexical_weights import reaudited
from cuecard.report.texts import display_text
from cuecard.report.view import SECTION_VIEWS, Column, KeyFigure, SectionView, TableView


@SECTION_VIEWS.register("neutral_weights")
def neutral_weights(card: Card, section: Section) -> SectionView:
    """Return the leak before and after, what is left of every split, and how the weights spread."""
    summary = section.summary
    before, after = (summary["leakage_accuracy"][key] for key in ("unweighted", "weighted"))
    return SectionView(
        lead=[
            f"A forest on the pair graph alone is right on {_interval(before)} as it stands and on {_interval(after)} "
            f"under the weights, where the majority is {numbers.percent(summary['majority']['weighted'])}."
        ],
        figures=[
            KeyFigure(
                "effective sample size", numbers.percent(summary["effective_share"]), "of the examples"
            ),
            KeyFigure("largest weight", numbers.number(summary["largest"]), "the mean is 1"),
            KeyFigure("would be infinite", numbers.count(summary["infinite"])),
            KeyFigure("cut to the limit", numbers.count(summary["clipped"])),
        ],
        tables=[*reaudited(card), _splits(summary), _quantiles(summary)],
        notes=_notes(summary),
    )


def _interval(found: dict[str, float]) -> str:
    low, high = numbers.percent(found["low"]), numbers.percent(found["high"])
    return f"{numbers.percent(found['accuracy'])} ({low} to {high})"


def _splits(summary: dict[str, Any]) -> TableView:
    columns = [
        Column("Split"),
        Column("Examples", "count"),
        Column("Worth", "count", "effective sample size"),
        Column("Share", "percent", "effective sample size as a share of the examples"),
        Column("Smallest", "number"),
        Column("Largest", "number"),
        Column("Infinite", "count", "would have been infinite"),
        Column("Cut", "count", "cut to the largest weight allowed"),
    ]
    rows = [
        (name, split["examples"], split["effective_sample_size"], split["effective_sample_size"] / split["examples"],
         split["smallest"], split["largest"], split["infinite"], split["clipped"])
        for name, split in summary["splits"].items()
    ]  # fmt: skip
    return TableView("Weights by split", columns, rows, len(rows))


def _quantiles(summary: dict[str, Any]) -> TableView:
    rows = [(float(share), weight) for share, weight in summary["quantiles"].items()]
    return TableView(
        "How the weights spread",
        [Column("Share of examples below", "percent"), Column("Weight", "number")],
        rows,
        len(rows),
        source="tables/neutral_weights.parquet",
    )


def _notes(summary: dict[str, Any]) -> list[str]:
    left = [display_text(name, 40) for name in summary["unweighted_splits"]]
    return [
        *([f"Left unweighted, because all examples have one label: {', '.join(left)}."] if left else []),
        *(f"Not repeated: {name}; {why}." for name, why in summary.get("not_reaudited", {}).items()),
    ]

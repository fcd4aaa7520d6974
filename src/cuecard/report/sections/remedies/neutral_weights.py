"""Weights under which the pair graph does not predict the label: their effect and their cost."""

from __future__ import annotations

from typing import Any

from cuecard import wording
from cuecard.card.card import Card, Section
from cuecard.report.sections.remedies.lexical_weights import reaudited
from cuecard.report.view import SECTION_VIEWS, Column, KeyFigure, SectionView, TableView
from cuecard.wording import display_text


@SECTION_VIEWS.register("neutral_weights")
def neutral_weights(card: Card, section: Section) -> SectionView:
    """Return the leak before and after, what is left of every split, and how the weights spread."""
    summary = section.summary
    before, after = (summary["leakage_accuracy"][key] for key in ("unweighted", "weighted"))
    return SectionView(
        lead=[
            f"A random forest on the pair graph alone has an accuracy of {_interval(before)} unweighted and "
            f"{_interval(after)} with these weights; the weighted majority baseline is "
            f"{wording.percent(summary['majority']['weighted'])}."
        ],
        figures=[
            KeyFigure(
                "effective sample size", wording.percent(summary["effective_share"]), "of the examples"
            ),
            KeyFigure("largest weight", wording.number(summary["largest"]), "the mean is 1"),
            KeyFigure("infinite weights, replaced", wording.count(summary["infinite"])),
            KeyFigure("clipped weights", wording.count(summary["clipped"])),
        ],
        tables=[*reaudited(card), _splits(summary), _quantiles(summary)],
        notes=_notes(summary),
    )


def _interval(score: dict[str, float]) -> str:
    low, high = wording.percent(score["low"]), wording.percent(score["high"])
    return f"{wording.percent(score['accuracy'])} (95 % CI {low} to {high})"


def _splits(summary: dict[str, Any]) -> TableView:
    columns = [
        Column("Split"),
        Column("Examples", "count"),
        Column("Effective n", "count", "effective sample size"),
        Column("Share", "percent", "effective sample size as a share of the examples"),
        Column("Smallest", "number"),
        Column("Largest", "number"),
        Column("Infinite", "count", "weights that would be infinite"),
        Column("Clipped", "count", "weights clipped to the maximum"),
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
        "Quantiles of the weights",
        [Column("Share of examples below", "percent"), Column("Weight", "number")],
        rows,
        len(rows),
        source="tables/neutral_weights.parquet",
    )


def _notes(summary: dict[str, Any]) -> list[str]:
    left = [display_text(name, 40) for name in summary["unweighted_splits"]]
    return [
        *([f"Not reweighted, because all examples have the same label: {', '.join(left)}."] if left else []),
        *(
            f"Not repeated with weights: {name} ({why})."
            for name, why in summary.get("not_reaudited", {}).items()
        ),
    ]

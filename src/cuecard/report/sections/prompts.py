"""The same examples asked with several prompts."""

from __future__ import annotations

from cuecard.card.card import Card, Section
from cuecard.report import numbers
from cuecard.report.texts import display_text
from cuecard.report.view import SECTION_VIEWS, Column, KeyFigure, SectionView, TableView


@SECTION_VIEWS.register("prompts")
def prompts(card: Card, section: Section) -> SectionView:
    """Return accuracy gaps and leans per prompt, and which prompt has the smallest gap."""
    summary = section.summary
    lead = [
        f"For “{display_text(cue, 40)}” the accuracy gap of {display_text(model, 60)} is the smallest."
        for cue, model in summary["smallest_gap"].items()
    ]
    columns = {
        "feature": Column("Cue"),
        "prompt": Column("Prompt"),
        "accuracy_with": Column("Right, with", "percent", "accuracy on examples with the cue"),
        "accuracy_without": Column("Right, without", "percent"),
        "gap": Column("ΔAcc", "points", "accuracy with the cue minus accuracy without, in points"),
        "gap_low": Column("from", "points", "lower end of the 95 % interval"),
        "gap_high": Column("to", "points", "upper end of the 95 % interval"),
        "usual_share": Column("On flat", "percent", "how often the usual label is predicted on equal labels"),
        "unanswered": Column("Unread", "count", "answers that could not be read; they count as wrong"),
        "q_value": Column("q", "probability"),
    }
    table = card.tables["prompts"]
    view = TableView(
        "Prompts beside each other",
        list(columns.values()),
        table.select(list(columns)).rows(),
        table.height,
        "tables/prompts.parquet",
    )
    figures = [
        KeyFigure(f"{display_text(name, 40)} accuracy", numbers.percent(known["accuracy"]))
        for name, known in summary["prompts"].items()
    ]
    notes = [
        f"{display_text(name, 60)}: {note}"
        for name, known in summary["prompts"].items()
        for note in known["how"]
    ]
    return SectionView(lead, figures, tables=[view], notes=notes)

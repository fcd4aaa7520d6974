"""The same examples with several prompts."""

from __future__ import annotations

from cuecard import wording
from cuecard.card.card import Card, Section
from cuecard.report.view import SECTION_VIEWS, Column, KeyFigure, SectionView, TableView
from cuecard.wording import display_text


@SECTION_VIEWS.register("prompts")
def prompts(card: Card, section: Section) -> SectionView:
    """Return accuracy gaps and leans per prompt, and which prompt has the smallest gap."""
    summary = section.summary
    lead = [
        f"For “{display_text(cue, 40)}”, {display_text(model, 60)} has the smallest accuracy gap."
        for cue, model in summary["smallest_gap"].items()
    ]
    columns = {
        "feature": Column("Cue"),
        "prompt": Column("Prompt"),
        "accuracy_with": Column("Acc. with", "percent", "accuracy on examples with the cue"),
        "accuracy_without": Column("Acc. without", "percent"),
        "gap": Column("ΔAcc", "points", "accuracy with the cue minus accuracy without, in points"),
        "gap_low": Column("CI low", "points", "lower end of the 95 % CI"),
        "gap_high": Column("CI high", "points", "upper end of the 95 % CI"),
        "usual_share": Column(
            "On balanced", "percent", "how often the usual label is predicted on balanced labels"
        ),
        "unanswered": Column("Unparsed", "count", "answers that could not be parsed; they count as wrong"),
        "q_value": Column("q", "probability"),
    }
    table = card.tables["prompts"]
    view = TableView.of("Comparison of prompts", "prompts", table, columns)
    figures = [
        KeyFigure(f"{display_text(name, 40)} accuracy", wording.percent(scores["accuracy"]))
        for name, scores in summary["prompts"].items()
    ]
    notes = [
        f"{display_text(name, 60)}: {note}"
        for name, scores in summary["prompts"].items()
        for note in scores["how"]
    ]
    return SectionView(lead, figures, tables=[view], notes=notes)

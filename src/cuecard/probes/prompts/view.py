"""What the study of prompts shows: the same examples with several prompts."""

from __future__ import annotations

from cuecard.view import Column, KeyFigure, Outcome, Table, View, interval_columns
from cuecard.wording import display_text, percent

_COLUMNS = {
    "feature": Column("Cue"),
    "prompt": Column("Prompt"),
    "accuracy_with": Column("Acc. with", "percent", "accuracy on examples with the cue"),
    "accuracy_without": Column("Acc. without", "percent"),
    "gap": Column("ΔAcc", "points", "accuracy with the cue minus accuracy without, in points"),
    **interval_columns("gap_", "points", brief=True),
    "usual_share": Column(
        "On balanced", "percent", "how often the usual label is predicted on balanced labels"
    ),
    "unanswered": Column("Unparsed", "count", "answers that could not be parsed; they count as wrong"),
    "q_value": Column("q", "probability"),
}


def prompts_view(outcome: Outcome) -> View:
    """Return accuracy gaps and leans per prompt, and which prompt has the smallest gap."""
    summary = outcome.summary
    prompts = summary["prompts"].items()
    lead = [
        f"For “{display_text(cue, 40)}”, {display_text(model, 60)} has the smallest accuracy gap."
        for cue, model in summary["smallest_gap"].items()
    ]
    return View(
        lead,
        figures=[
            KeyFigure(f"{display_text(name, 40)} accuracy", percent(scores["accuracy"]))
            for name, scores in prompts
        ],
        tables=[Table("Comparison of prompts", "prompts", _COLUMNS)],
        notes=[f"{display_text(name, 60)}: {note}" for name, scores in prompts for note in scores["how"]],
    )

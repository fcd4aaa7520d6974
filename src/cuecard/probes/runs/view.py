"""What runs show: models with the ranks left open, differences with intervals, and items to check."""

from __future__ import annotations

import polars as pl

from cuecard.view import Axis, Column, Intervals, KeyFigure, Outcome, Table, View, interval_columns
from cuecard.wording import display_text, percent, plural, points

_MODELS = {
    "model": Column("Model"),
    "accuracy": Column("Accuracy", "percent"),
    **interval_columns(brief=True),
    "best_rank": Column("Best rank", "count", "number of models that are surely better, plus one"),
    "worst_rank": Column("Worst rank", "count", "number of models less those that are surely worse"),
    "unanswered": Column("Unparsed", "count", "answers that could not be parsed", brief=False),
}
_DIFFERENCES = {
    "better": Column("Model"),
    "worse": Column("Less accurate"),
    "difference": Column("Difference", "points"),
    **interval_columns("", "points", brief=True),
    "p_adjusted": Column("p", "probability", "McNemar's exact test, adjusted over all pairs (Holm)"),
    "design_effect": Column("Design effect", "decimal", "of items that share texts", brief=False),
}
_ITEMS = {
    "item": Column("Item"),
    "why": Column("Why"),
    "key": Column("Key"),
    "answer": Column("Likelier answer"),
    "agreed": Column("Agreed", "percent", "models that give this answer"),
    "accuracy": Column("Accuracy", "percent", "of all models, with the key as it is"),
    "probability": Column("Key wrong", "percent", "probability that the key is wrong"),
    "q_value": Column("q", "probability", "better models fail it: exact rank test"),
}


def runs_view(outcome: Outcome) -> View:
    """Return the models by accuracy, their differences, and the items to check."""
    summary = outcome.summary
    resolves, room, keys = summary["resolves"], summary["headroom"], summary["keys"]
    lead = [
        f"{summary['different']:,} of {plural(summary['pairs'], 'pair')} of models differ; the {summary['n']:,} items "
        f"resolve differences of {points(resolves['value']).lstrip('+')} points between two models.",
        f"The best model fails {percent(room['value'])} of the items; every model solves "
        f"{percent(summary['by_all']['value'])}, none solves {percent(summary['by_none']['value'])}.",
    ]
    notes = list(summary["notes"])
    if keys["why"]:
        notes.append(f"Keys that may be wrong are not listed: {keys['why']}.")
    figures = [KeyFigure("smallest difference", f"{points(resolves['value']).lstrip('+')} points")]
    for name, title in (("kr20", "KR-20"), ("split_half", "split halves")):
        if summary["reliability"] and (value := summary["reliability"][name]):
            ends = f"95 % CI {value['low']:z.2f} to {value['high']:z.2f}"
            figures.append(KeyFigure(title, f"{value['value']:z.2f}", ends))
    if keys["wrong"] is not None:
        figures.append(KeyFigure("keys that may be wrong", f"{keys['wrong']:,}"))
    models = outcome.rows("runs")
    chart = Intervals(
        title="Accuracy of the models",
        data=models.with_columns(
            model=models["model"].map_elements(lambda name: display_text(name, 40), pl.String)
        ),
        alt="Accuracy of every model with its 95 % CI",
        caption="Models are compared in the table below: two intervals that overlap say little about a difference.",
        y="model",
        x=Axis("accuracy", "accuracy", "percent", domain=(0.0, 1.0)),
        low="low",
        high="high",
    )
    tables = [
        Table("Models", "runs", _MODELS),
        Table("Differences between models", "model_differences", _DIFFERENCES, searchable=True),
    ]
    if "items_to_check" in outcome.tables:
        tables.append(Table("Items to check", "items_to_check", _ITEMS, everywhere=True, searchable=True))
    return View(lead, figures=figures, charts=[chart], tables=tables, notes=notes)

"""What the parts of the input show: accuracy beside chance and the full input, by model and by slice."""

from __future__ import annotations

from cuecard.view import Axis, Column, Intervals, Outcome, Table, View, interval_columns
from cuecard.wording import display_text, percent

#: What success from part of the input does not prove.
CAUTION = (
    "This is a lead, not a proof of a leak: a model may infer what it is not shown, such as the question from its "
    "options."
)
_NAMES = {
    "full": "the full input",
    "choices": "the options alone",
    "question": "the question without its options",
    "hypothesis": "the hypothesis alone",
    "premise": "the premise alone",
    "no-context": "the question without its context",
    "blank": "no text at all",
    "swapped": "the question of a similar example",
    "open": "no options, in free text",
}


def part_name(name: str) -> str:
    """Return what a sentence calls an input."""
    return _NAMES.get(name, name)


_COLUMNS = {
    "model": Column("Model"),
    "input": Column("Input"),
    "accuracy": Column("Accuracy", "percent"),
    **interval_columns(brief=True),
    "chance": Column(
        "Chance",
        "percent",
        "one in the number of options, or what places alone give; the most frequent label",
    ),
    "p_above": Column("p", "probability", "accuracy above chance, exact, adjusted over the parts (Holm)"),
    "loss_difference": Column("Loss", "points", "accuracy in full minus accuracy with this input"),
    **interval_columns("loss_", "points", brief=True),
    "p_loss": Column("p of loss", "probability", "exact McNemar test, adjusted over the parts (Holm)"),
    "recovered": Column("Recovered", "percent", "(accuracy − chance) / (accuracy in full − chance)"),
    **interval_columns("recovered_"),
    "ratio": Column("%R", "percent", "accuracy / accuracy in full", brief=False),
    "learned": Column("Learned", "percent", "accuracy of our model of the same part", brief=False),
    "beyond_difference": Column("Beyond", "points", "accuracy minus that of our model", brief=False),
    **interval_columns("beyond_", "points"),
    "kappa": Column("κ of errors", "decimal", "errors with this input and in full", brief=False),
    **interval_columns("kappa_", "decimal"),
    "same_wrong": Column("Same wrong", "percent", "same answer where both are wrong", brief=False),
    "n": Column("Examples", "count"),
    "unanswered": Column("Unparsed", "count", brief=False),
}
_SLICES = {
    "model": Column("Model"),
    "input": Column("Input"),
    "column": Column("Column"),
    "value": Column("Value"),
    "n": Column("Examples", "count"),
    "accuracy": Column("Accuracy", "percent"),
    **interval_columns(brief=True),
    "loss_difference": Column("Loss", "points", "accuracy in full minus accuracy with this input"),
    **interval_columns("loss_", "points", brief=True),
    "q_value": Column("q", "probability", "of the loss, over all slices"),
}


def input_parts_view(outcome: Outcome) -> View:
    """Return accuracies by input beside chance, and by slice."""
    rows = outcome.summary["rows"]
    lead = [
        f"{display_text(row['model'], 60)} with {part_name(row['input'])}: {percent(row['accuracy'])}"
        + (f" (chance {percent(row['chance'])})." if row["chance"] else ".")
        for row in rows
    ]
    chart = Intervals(
        title="Accuracy by input",
        data=outcome.rows("input_parts"),
        alt="Accuracy of each model with each input, with 95 % CI and chance",
        caption="The tick is chance.",
        y="input",
        x=Axis("accuracy", "accuracy", "percent", domain=(0.0, 1.0)),
        low="low",
        high="high",
        series="model",
        tick="chance",
    )
    tables = [Table("Accuracy by input", "input_parts", _COLUMNS)]
    if "input_slices" in outcome.tables:
        tables.append(Table("By slice", "input_slices", _SLICES, searchable=True))
    return View(lead, charts=[chart], tables=tables, notes=[CAUTION])

"""Accuracy without the part of the input that matters."""

from __future__ import annotations

from typing import Any

from cuecard import wording
from cuecard.card.card import Card, Section
from cuecard.report.html.saliency import token_maps
from cuecard.report.view import SECTION_VIEWS, ChartView, Column, KeyFigure, SectionView, TableView, drawn
from cuecard.wording import display_text

CHARTS = "audits.partial_input"
MOST_EXAMPLES = 25
_EVALUATED = {"train": "training"}
_SCHEMES = {"train to test": "scored on the test set"}
_ACCURACY = {
    "hypothesis_only": "hypothesis-only accuracy",
    "premise_only": "premise-only accuracy",
    "choices_only": "choices-only accuracy",
    "length": "length-only accuracy",
    "full": "full-input accuracy",
}


@SECTION_VIEWS.register("partial_input")
def partial_input(card: Card, section: Section) -> SectionView:
    """Return the battery of baselines, where partial input is enough, and the examples that leak most."""
    summary = section.summary
    lines = {line["name"]: line for line in summary["baselines"]}
    primary = lines[summary["primary"]]
    return SectionView(
        lead=_lead(summary, primary),
        figures=_figures(summary, lines, primary),
        charts=_charts(card, section),
        tables=[_battery(card), *_learners(summary), _leaking(card)],
        notes=_notes(summary),
        maps=token_maps(
            card, {pair["learner"]: f"{pair['condition']} only" for pair in summary.get("learners", ())}
        ),
    )


def _lead(summary: dict[str, Any], primary: dict[str, Any]) -> list[str]:
    name = _ACCURACY[primary["name"]].capitalize()
    level = {
        "above": "significantly better than chance",
        "below": "significantly worse than chance, which is a leak, too",
        "at": "not significantly different from chance",
    }[primary["direction"]]
    auc = primary.get("auc")
    if primary["direction"] == "above" and primary["low"] <= primary["chance"] and auc is not None:
        level = f"significantly better than chance by its AUC of {auc:z.3f} (chance 0.5), not by its accuracy"
    first = (
        f"{name} is {wording.percent(primary['accuracy'])} on {wording.count(primary['n'])} "
        f"{_EVALUATED.get(summary['evaluated'], summary['evaluated'])} examples (95 % CI "
        f"{wording.percent(primary['low'])} to {wording.percent(primary['high'])}). Chance is "
        f"{wording.percent(primary['chance'])}; the model is {level}."
    )
    quiet = [
        f"{_ACCURACY[line['name']].capitalize()} is at chance: {wording.percent(line['accuracy'])}."
        for line in summary["baselines"]
        if line["kind"] == "partial" and line["direction"] == "at" and line["name"] != primary["name"]
    ]
    return [first, *quiet, *(_learner_sentence(pair) for pair in summary.get("learners", []))]


def _learner_sentence(pair: dict[str, Any]) -> str:
    full, part = pair["psc"], pair["ssc"]
    return (
        f"{display_text(pair['learner'], 60)}, trained on {wording.count(pair['train_examples'])} examples "
        f"({_SCHEMES.get(pair['scheme'], pair['scheme'])}), has an accuracy of {wording.percent(full['accuracy'])} "
        f"with the full input and {wording.percent(part['accuracy'])} with the {pair['condition']} only."
    )


def _figures(
    summary: dict[str, Any], lines: dict[str, dict[str, Any]], primary: dict[str, Any]
) -> list[KeyFigure]:
    figures = [
        KeyFigure(
            _ACCURACY[primary["name"]],
            wording.percent(primary["accuracy"]),
            f"chance {wording.percent(primary['chance'])}",
        ),
        KeyFigure("above chance", f"{100 * primary['delta_majority']:+z.1f}", "points"),
    ]
    if primary["percent_r"] is not None:
        full = f"of the full input's {wording.percent(lines['full']['accuracy'])}"
        figures.append(KeyFigure("relative accuracy", wording.percent(primary["percent_r"], 0), full))
    if primary.get("auc") is not None:
        figures.append(KeyFigure("AUC", f"{primary['auc']:z.3f}", "chance 0.5"))
    if primary["information"] is not None:
        figures.append(KeyFigure("information", f"{primary['information']:z.2f}", "bits about the label"))
    leak = summary["leak"]
    if leak["share_above_half"] is not None:
        figures.append(
            KeyFigure(
                "leak score above 0.5", wording.percent(leak["share_above_half"]), "of the examples scored"
            )
        )
    return figures


def _notes(summary: dict[str, Any]) -> list[str]:
    folds = summary["folds"]["count"]
    notes = [
        "Trained on the training set, scored on the test set."
        if summary["evaluated"] == "test"
        else f"Scored by {folds}-fold cross-validation; no model is scored on its own training examples."
    ]
    if summary["folds"]["note"]:
        notes.append(summary["folds"]["note"])
    return [*notes, *summary.get("learner_notes", [])]


def _charts(card: Card, section: Section) -> list[ChartView]:
    tables, summary = card.tables, section.summary
    lines = summary["baselines"]
    charts = [
        ChartView(
            "Baselines",
            drawn(CHARTS, "baselines", lines),
            alt="Accuracy of every baseline with 95 % CI and chance: "
            + ", ".join(
                f"{line['name'].replace('_', ' ')} {wording.percent(line['accuracy'])}" for line in lines
            ),
            caption="● differs from chance · ▲ does not · line: 95 % CI · ┆ chance",
        )
    ]
    if "leak_histogram" in tables and tables["leak_histogram"].height:
        charts.append(
            ChartView(
                "Leak scores",
                drawn(CHARTS, "leak_histogram", tables, card.dataset.labels, summary["evaluated"]),
                alt="Histogram of the probability of the correct answer under a partial-input model.",
                caption="Probability of the correct answer of each example under a model that sees part of the input.",
                wide=False,
            )
        )
    if "learning_curve" in tables and tables["learning_curve"].height > 1:
        charts.append(
            ChartView(
                "Learning curve",
                drawn(CHARTS, "learning_curve", tables["learning_curve"]),
                alt="Partial-input accuracy by number of training examples.",
                caption="Each point is a random training sample; the band shows 95 % CIs. ┆ chance",
                wide=False,
                name="learning_curve",
            )
        )
    if tables["partial_input_slices"].height:
        charts.append(
            ChartView(
                "Accuracy by slice",
                drawn(CHARTS, "slices", tables["partial_input_slices"]),
                alt="Partial-input accuracy by label, length and extra columns.",
                caption="● accuracy with 95 % CI · │ chance within the slice",
                name="slices",
            )
        )
    return charts


def _learners(summary: dict[str, Any]) -> list[TableView]:
    """Return the trained models with the full and with partial input, if any were asked for."""
    pairs = summary.get("learners", [])
    if not pairs:
        return []
    columns = [
        Column("Model"),
        Column("PSC", "percent", "accuracy with the full input"),
        Column("SSC", "percent", "accuracy with partial input"),
        Column("CI low", "percent", "lower end of the SSC's 95 % CI", brief=False),
        Column("CI high", "percent", "upper end of the SSC's 95 % CI", brief=False),
        Column("Chance", "percent", brief=False),
        Column("Δ_maj", "percent", "SSC minus chance"),
        Column("%R", "percent", "SSC divided by PSC"),
        Column("NBA", "percent", "share of examples with the same answer from both"),
        Column("NBR", "percent", "both correct / agreements (the paper's equation 8)"),
        Column("TRA", "decimal", "mean cosine of the two saliency maps"),
        Column(
            "NBR released", "percent", "both correct / PSC correct (as in the paper's table)", brief=False
        ),
        Column("p", "probability", "exact test of the SSC against chance, two-sided", brief=False),
        Column("Examples", "count"),
    ]
    rows = [
        (
            pair["learner"], pair["psc"]["accuracy"], pair["ssc"]["accuracy"], pair["ssc"]["low"],
            pair["ssc"]["high"], pair["chance"], pair["delta_maj"], pair["percent_r"], pair["nba"], pair["nbr"],
            pair["tra"], pair["nbr_released"], pair["ssc"]["p_value"], pair["n"],
        )
        for pair in pairs
    ]  # fmt: skip
    return [
        TableView(
            "Trained models", columns, rows, len(rows), "tables/learner_answers.parquet", everywhere=True
        )
    ]


def _battery(card: Card) -> TableView:
    columns = {
        "name": Column("Input"),
        "kind": Column("Kind", brief=False),
        "accuracy": Column("Accuracy", "percent"),
        "low": Column("CI low", "percent", "lower end of the 95 % confidence interval"),
        "high": Column("CI high", "percent", "upper end of the 95 % confidence interval"),
        "chance": Column("Chance", "percent"),
        "auc": Column("AUC", "decimal", "how well the probabilities rank the correct answer; chance is 0.5"),
        "p_value": Column("p", "probability", "two-sided test of the log score, or of accuracy for rules"),
        "q_value": Column("q", "probability", "p-value adjusted for the number of baselines", brief=False),
        "percent_r": Column("%R", "percent", "accuracy divided by full-input accuracy", brief=False),
        "information": Column("Bits", "decimal", "V-information about the answer"),
        "turned": Column(
            "Least likely", "percent", "accuracy of the least likely answer, if below chance", brief=False
        ),
        "n": Column("Examples", "count"),
    }
    frame = card.tables["baselines"].select(list(columns))
    return TableView(
        title="Baselines",
        columns=list(columns.values()),
        rows=[(str(row[0]).replace("_", " "), *row[1:]) for row in frame.rows()],
        total=frame.height,
        source="tables/baselines.parquet",
    )


def _leaking(card: Card) -> TableView:
    frame = card.tables["leaking_examples"]
    columns = {
        "leak_score": Column("Leak", "percent", "probability of the correct answer from partial input"),
        "pvi": Column("PVI", "decimal", "pointwise V-information in bits", brief=False),
        "label": Column("Label", "label"),
        "hypothesis": Column({"text": "Text", "pair": "Hypothesis"}.get(card.dataset.task, "Answer")),
        "premise": Column("Premise" if card.dataset.task == "pair" else "Question or prompt", brief=False),
        "example_id": Column("Example", brief=False),
        "split": Column("Split", brief=False),
    }
    return TableView.of("Examples that leak most", "leaking_examples", frame, columns, most=MOST_EXAMPLES)

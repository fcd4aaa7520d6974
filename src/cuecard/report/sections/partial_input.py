"""What can be guessed without reading what matters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cuecard.card.card import Card, Section
from cuecard.report import numbers
from cuecard.report.saliency import token_maps
from cuecard.report.texts import display_text
from cuecard.report.view import SECTION_VIEWS, ChartView, Column, KeyFigure, SectionView, TableView

MOST_EXAMPLES = 25
_FROM = {
    "hypothesis_only": "the hypothesis alone",
    "premise_only": "the premise alone",
    "choices_only": "the answers alone",
    "length": "the length alone",
    "full": "the full input",
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
    what = _FROM[primary["name"]]
    level = {
        "above": "above chance",
        "below": "below chance, which is a leak turned round",
        "at": "not different from chance",
    }[primary["direction"]]
    first = (
        f"From {what}, the learner finds the right answer for {numbers.percent(primary['accuracy'])} of "
        f"{numbers.count(primary['n'])} {summary['evaluated']} examples (95 % interval "
        f"{numbers.percent(primary['low'])} to {numbers.percent(primary['high'])}); chance is "
        f"{numbers.percent(primary['chance'])}: {level}."
    )
    quiet = [
        f"From {_FROM[line['name']]} it is at chance: {numbers.percent(line['accuracy'])}."
        for line in summary["baselines"]
        if line["kind"] == "partial" and line["direction"] == "at" and line["name"] != primary["name"]
    ]
    return [first, *quiet, *(_said_of(pair) for pair in summary.get("learners", []))]


def _said_of(pair: dict[str, Any]) -> str:
    full, part = pair["psc"], pair["ssc"]
    return (
        f"{display_text(pair['learner'], 60)}, trained on {numbers.count(pair['train_examples'])} examples "
        f"({pair['scheme']}), is right on {numbers.percent(full['accuracy'])} with the full input and on "
        f"{numbers.percent(part['accuracy'])} with the {pair['condition']} alone."
    )


def _figures(
    summary: dict[str, Any], lines: dict[str, dict[str, Any]], primary: dict[str, Any]
) -> list[KeyFigure]:
    figures = [
        KeyFigure(
            _FROM[primary["name"]],
            numbers.percent(primary["accuracy"]),
            f"chance {numbers.percent(primary['chance'])}",
        ),
        KeyFigure("above chance", f"{100 * primary['delta_majority']:+.1f}", "percentage points"),
    ]
    if primary["percent_r"] is not None:
        full = f"of the full input's {numbers.percent(lines['full']['accuracy'])}"
        figures.append(KeyFigure("reached", numbers.percent(primary["percent_r"], 0), full))
    if primary.get("auc") is not None:
        figures.append(KeyFigure("AUC", f"{primary['auc']:.3f}", "0.5 by chance"))
    if primary["information"] is not None:
        figures.append(KeyFigure("information", f"{primary['information']:.2f}", "bits about the answer"))
    leak = summary["leak"]
    if leak["share_above_half"] is not None:
        figures.append(
            KeyFigure(
                "leak score above ½", numbers.percent(leak["share_above_half"]), "of the examples scored"
            )
        )
    return figures


def _notes(summary: dict[str, Any]) -> list[str]:
    notes = [f"Scored by {summary['scheme']}, seen examples never guessed."]
    if summary["folds"]["note"]:
        notes.append(summary["folds"]["note"])
    return [*notes, *summary.get("learner_notes", [])]


def _charts(card: Card, section: Section) -> list[ChartView]:
    tables, summary = card.tables, section.summary
    lines = summary["baselines"]
    charts = [
        ChartView(
            "Baselines",
            _drawn("baselines", lines),
            alt="Share of right answers of every baseline with 95 % interval beside the chance level: "
            + ", ".join(
                f"{line['name'].replace('_', ' ')} {numbers.percent(line['accuracy'])}" for line in lines
            ),
            caption="● differs from chance · ▲ does not · line: 95 % interval · ┆ chance",
        )
    ]
    if "leak_histogram" in tables and tables["leak_histogram"].height:
        charts.append(
            ChartView(
                "Leak scores",
                _drawn("leak_histogram", tables, card.dataset.labels, summary["evaluated"]),
                alt="Histogram of the probability that the right answer is given from partial input.",
                caption="How likely the right answer of each example is to a learner that saw part of its input.",
                wide=False,
            )
        )
    if "learning_curve" in tables and tables["learning_curve"].height > 1:
        charts.append(
            ChartView(
                "How much data the shortcut needs",
                _drawn("learning_curve", tables["learning_curve"]),
                alt="Share of right answers from partial input by number of examples learned from.",
                caption="Points are draws, the band their 95 % intervals. ┆ chance",
                wide=False,
                name="learning_curve",
            )
        )
    if tables["partial_input_slices"].height:
        charts.append(
            ChartView(
                "Where it is enough",
                _drawn("slices", tables["partial_input_slices"]),
                alt="Share of right answers from partial input by label, length and extra columns.",
                caption="● right answers, with 95 % interval · │ chance within the slice",
                name="slices",
            )
        )
    return charts


def _drawn(name: str, *arguments: Any) -> Callable[[], Any]:
    def draw() -> Any:
        from cuecard.report.charts import partial_input as charts

        return getattr(charts, name)(*arguments)

    return draw


def _learners(summary: dict[str, Any]) -> list[TableView]:
    """Return the trained models with the full and with partial input, if any were asked for."""
    pairs = summary.get("learners", [])
    if not pairs:
        return []
    columns = [
        Column("Learner"),
        Column("PSC", "percent", "right answers with the full input"),
        Column("SSC", "percent", "right answers with partial input"),
        Column("from", "percent", "lower end of the SSC's 95 % interval", brief=False),
        Column("to", "percent", "upper end of the SSC's 95 % interval", brief=False),
        Column("Chance", "percent", brief=False),
        Column("Δ_maj", "percent", "SSC minus chance"),
        Column("%R", "percent", "SSC divided by PSC"),
        Column("NBA", "percent", "examples to which both give the same answer"),
        Column("NBR", "percent", "both right / agreements (the paper's equation 8)"),
        Column("TRA", "decimal", "cosine of the two saliency maps, on average"),
        Column(
            "NBR released", "percent", "both right / PSC right (what the paper's table holds)", brief=False
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
            "Trained learners", columns, rows, len(rows), "tables/learner_answers.parquet", everywhere=True
        )
    ]


def _battery(card: Card) -> TableView:
    columns = {
        "name": Column("Guess"),
        "kind": Column("Looks at", brief=False),
        "accuracy": Column("Right", "percent"),
        "low": Column("CI low", "percent", "lower end of the 95 % confidence interval"),
        "high": Column("CI high", "percent", "upper end of the 95 % confidence interval"),
        "chance": Column("Chance", "percent"),
        "auc": Column("AUC", "decimal", "how well probabilities rank the right answer; 0.5 by chance"),
        "p_value": Column("p", "probability", "two-sided test of the log score, or of hits for rules"),
        "q_value": Column("q", "probability", "p-value adjusted for the number of baselines", brief=False),
        "percent_r": Column("%R", "percent", "share of the full input's accuracy", brief=False),
        "information": Column("Bits", "decimal", "V-information about the answer"),
        "turned": Column(
            "Turned", "percent", "accuracy of the least likely answer, where below chance", brief=False
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
        "leak_score": Column("Leak", "percent", "probability of the right answer from partial input"),
        "pvi": Column("PVI", "decimal", "pointwise V-information in bits", brief=False),
        "label": Column("Label", "label"),
        "hypothesis": Column({"text": "Text", "pair": "Hypothesis"}.get(card.dataset.task, "Answer")),
        "premise": Column("Premise" if card.dataset.task == "pair" else "Question or prompt", brief=False),
        "example_id": Column("Example", brief=False),
        "split": Column("Split", brief=False),
    }
    return TableView(
        title="Examples that leak most",
        columns=list(columns.values()),
        rows=frame.select(list(columns)).head(MOST_EXAMPLES).rows(),
        total=frame.height,
        source="tables/leaking_examples.parquet",
    )

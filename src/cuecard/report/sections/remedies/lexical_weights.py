"""What weights do that make label shares equal with every feature, and what they cost."""

from __future__ import annotations

from typing import Any

from cuecard import wording
from cuecard.card.card import Card, Section
from cuecard.report.view import SECTION_VIEWS, ChartView, Column, KeyFigure, SectionView, TableView

MOST_ROWS = 500
_JUDGED = {
    "constrained": "balanced features",
    "strongest_words": "strongest words, including rare ones",
    "random_bigrams": "random bigrams, not balanced",
    "random_trigrams": "random trigrams, not balanced",
}


@SECTION_VIEWS.register("lexical_weights")
def lexical_weights(card: Card, section: Section) -> SectionView:
    """Return the balance before and after, the weights, and the cues that fall."""
    summary = section.summary
    return SectionView(
        lead=_lead(summary),
        figures=_figures(summary),
        charts=_charts(card, section),
        tables=[_judged(summary), *reaudited(card), *_cue_tables(card), *_balance_tables(card)],
        notes=[
            *(f"Not balanced: {reason}." for reason in summary.get("skipped", {}).values()),
            *(
                f"Not repeated with weights: {name} ({why})."
                for name, why in summary.get("not_reaudited", {}).items()
            ),
        ],
    )


def _lead(summary: dict[str, Any]) -> list[str]:
    err = summary["err"]["constrained"]
    ess = wording.percent(summary["ess"])
    sentences = [
        f"With these weights, the label shares of {wording.plural(summary['constrained'], 'feature')} are on average "
        f"{100 * err['after']:.2f} points away from the target; with equal weights, "
        f"{100 * err['before']:.2f} points. The effective sample size is {ess} of "
        f"{wording.plural(summary['examples'], 'example')}."
    ]
    cues = summary.get("cues")
    if cues and not cues["before"]["significant"] + cues["after"]["significant"]:
        sentences.append(
            f"The cue audit finds no significant feature among {wording.count(cues['before']['features'])}, neither "
            "with equal weights nor with these weights."
        )
    elif cues:
        before, after = cues["before"], cues["after"]
        sentences.append(
            f"The cue audit finds {wording.plural(before['significant'], 'significant feature')} with equal weights "
            f"and {wording.count(after['significant'])} with these weights, of {wording.count(before['features'])} "
            f"tested. For {wording.count(before['strong'])} and {wording.count(after['strong'])} of them, the "
            f"label share differs from chance by 10 points or more (95 % CI).{cues.get('counted', '')}"
        )
    off = summary.get("off_target", {})
    if "softened" in off:
        sentences.append(
            "Exact balance of all features would leave a very small effective sample size, so the balance is "
            "approximate, and at least half of the sample remains."
        )
    if "not reached" in off:
        sentences.append(
            "The solver stopped before every feature reached its target; the table lists these features."
        )
    return sentences


def _figures(summary: dict[str, Any]) -> list[KeyFigure]:
    left = summary["features"] - summary["constrained"]
    absent = f"{wording.count(left)} never occur with some label" if left else "all frequent features"
    quantiles = summary["quantiles"]
    return [
        KeyFigure("features balanced", wording.count(summary["constrained"]), absent),
        KeyFigure("effective sample size", wording.percent(summary["ess"]), "of the examples"),
        KeyFigure("largest weight", wording.number(summary["max_weight"]), "the mean is 1"),
        KeyFigure(
            "typical weights",
            f"{wording.decimal(quantiles['0.05'])}–{wording.decimal(quantiles['0.95'])}",
            "middle 90 %",
        ),
    ]


def _judged(summary: dict[str, Any]) -> TableView:
    columns = [
        Column("Evaluated on"),
        Column("Features", "count"),
        Column("Err, equal weights", "percent", "mean distance of the label shares from the target"),
        Column("Err, these weights", "percent", "mean distance of the label shares from the target"),
        Column(
            "Sampling error", "percent", "mean distance expected from random sampling, with these weights"
        ),
    ]
    rows = [
        (title, part["features"], part["before"], part["after"], part["chance_after"])
        for name, title in _JUDGED.items()
        if (part := summary["err"].get(name)) and part["features"]
    ]
    return TableView("Before and after", columns, rows, len(rows), "card.json")


def reaudited(card: Card) -> list[TableView]:
    """Return the measures of the audits that were repeated under weights, before and after."""
    if "reaudit" not in card.tables or card.tables["reaudit"].is_empty():
        return []
    frame = card.tables["reaudit"]
    columns = [
        Column("Audit"),
        Column("Measure"),
        Column("Equal weights"),
        Column("Chance", hint="chance with equal weights"),
        Column("These weights"),
        Column("Chance", hint="chance with these weights"),
        Column("Shuffled", hint="value with weights of this kind made from shuffled labels"),
        Column("p", hint="two-sided test against shuffled labels"),
    ]
    shown = ("value_before", "chance_before", "value_after", "chance_after")
    rows = [
        (
            row["audit"].replace("_", " "),
            row["label"],
            *(wording.in_unit(row[name], row["unit"]) for name in shown),
            wording.in_unit(row.get("expected_after"), row["unit"]),
            wording.probability(row.get("p_after")),
        )
        for row in frame.iter_rows(named=True)
    ]
    return [TableView("Audits before and after", columns, rows, len(rows), "tables/reaudit.parquet")]


def _charts(card: Card, section: Section) -> list[ChartView]:
    summary, tables = section.summary, card.tables

    def balance() -> Any:
        from cuecard.report.charts.remedies.lexical_weights import balance_before_after

        return balance_before_after(tables["strongest_words"])

    def histogram() -> Any:
        from cuecard.report.charts.remedies.lexical_weights import weight_histogram

        return weight_histogram(summary["histogram"])

    def trade_off() -> Any:
        from cuecard.report.charts.remedies.lexical_weights import err_against_ess

        ridge, before = summary.get("ridge", 0.0), summary["err"]["constrained"]["before"]
        return err_against_ess(tables["trade_off"], ridge, before)

    charts = []
    if tables["strongest_words"].height:
        charts.append(
            ChartView(
                "Label balance of the strongest words",
                balance,
                alt="For the words most associated with a label, the mean distance of the label shares from the "
                "target, with equal weights and with these weights; the table below has the numbers.",
                caption="0 % is perfect balance. Words below the minimum count are not balanced.",
                name="balance",
            )
        )
    charts.append(
        ChartView(
            "Weights",
            histogram,
            alt=f"Histogram of the weights of {summary['examples']:,} examples, from "
            f"{summary['quantiles']['0.0']:.3g} to {summary['max_weight']:.3g}; the mean is 1.",
            caption="┆ mean weight",
            wide=False,
            name="weights",
        )
    )
    if "trade_off" in section.tables:
        charts.append(
            ChartView(
                "Balance and effective sample size",
                trade_off,
                alt="Err of the balanced features against the effective sample size, one point per ridge.",
                caption="Each point is a value of --ridge: a higher ridge keeps more of the sample but balances less.",
                wide=False,
                name="trade_off",
            )
        )
    return charts


def _cue_tables(card: Card) -> list[TableView]:
    if "reweighted_cues" not in card.tables or card.tables["reweighted_cues"].is_empty():
        return []
    frame = card.tables["reweighted_cues"]
    columns = {
        "feature": Column("Feature"),
        "family": Column("Family"),
        "label": Column("Label", "label"),
        "count": Column("Train", "count", "training instances with the feature"),
        "share_before": Column("Share, equal weights", "percent", "share of the label among these instances"),
        "share_after": Column("Share, these weights", "percent", "weighted share of the same label"),
        "q_before": Column("q, equal weights", "probability"),
        "q_after": Column("q, these weights", "probability", "computed with the effective sample size"),
    }
    return [
        TableView.of(
            "Cues before and after", "reweighted_cues", frame, columns, most=MOST_ROWS, searchable=True
        )
    ]


def _balance_tables(card: Card) -> list[TableView]:
    # What some label never has is no balanced feature; it is in the table of those that stay unbalanced.
    balance, left = card.tables["balance"].filter("constrained"), card.tables["unbalanced"]
    columns = {
        "feature": Column("Feature"),
        "family": Column("Family"),
        "count": Column("Train", "count", "training instances with the feature"),
        "off_before": Column(
            "Distance, equal weights", "percent", "mean distance of the label shares from the target"
        ),
        "off_after": Column(
            "Distance, these weights", "percent", "mean distance of the label shares from the target"
        ),
    }
    views = [TableView.of("Balanced features", "balance", balance, columns, most=MOST_ROWS, searchable=True)]
    if left.height:
        reasons = [
            Column("Feature"),
            Column("Family"),
            Column("Train", "count"),
            Column("Reason"),
            Column("Largest distance", "percent", "largest distance of a label share from its target"),
            Column("Proof"),
        ]
        rows = (
            left.select("feature", "family", "count", "reason", "largest_off", "proof").head(MOST_ROWS).rows()
        )
        views.append(
            TableView(
                "Features that stay unbalanced", reasons, rows, left.height, "tables/unbalanced.parquet"
            )
        )
    return views

"""What weights show: the balance or the leak before and after, their spread, their cost, and the cues that fall."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from cuecard.analysis import Summary
from cuecard.view import Axis, Chart, Column, Histogram, KeyFigure, Outcome, Pairs, Scatter, Table, View
from cuecard.wording import ci, count, decimal, display_text, in_unit, number, percent, plural, probability

MOST_ROWS = 500
#: Features of which the balance is drawn.
MOST_DRAWN = 200
EQUAL, WEIGHTED = "equal weights", "these weights"
_JUDGED = {
    "constrained": "balanced features",
    "strongest_words": "strongest words, including rare ones",
    "random_bigrams": "random bigrams, not balanced",
    "random_trigrams": "random trigrams, not balanced",
}
_DISTANCE = "mean distance of the label shares from the target"


def lexical_weights_view(outcome: Outcome) -> View:
    """Return the balance before and after, the weights, and the cues that fall."""
    summary = outcome.summary
    return View(
        lead=[*_balance_sentence(summary), *_cue_sentence(summary), *_off_target(summary)],
        figures=_figures(summary),
        charts=_charts(outcome),
        tables=[_judged(summary), *reaudited(outcome), *_cues(outcome), *_features(outcome)],
        notes=[
            *(f"Not balanced: {reason}." for reason in summary.get("skipped", {}).values()),
            *not_repeated(summary),
        ],
    )


def not_repeated(summary: Summary) -> list[str]:
    """Return which audits were not repeated with the weights, and why."""
    audits = summary.get("not_reaudited", {}).items()
    return [f"Not repeated with weights: {name} ({why})." for name, why in audits]


def _balance_sentence(summary: Summary) -> list[str]:
    err = summary["err"]["constrained"]
    return [
        f"With these weights, the label shares of {plural(summary['constrained'], 'feature')} are on average "
        f"{100 * err['after']:.2f} points away from the target; with equal weights, "
        f"{100 * err['before']:.2f} points. The effective sample size is {percent(summary['ess'])} of "
        f"{plural(summary['examples'], 'example')}."
    ]


def _cue_sentence(summary: Summary) -> list[str]:
    cues = summary.get("cues")
    if not cues:
        return []
    before, after = cues["before"], cues["after"]
    if not before["significant"] + after["significant"]:
        return [
            f"The cue audit finds no significant feature among {count(before['features'])}, neither "
            "with equal weights nor with these weights."
        ]
    return [
        f"The cue audit finds {plural(before['significant'], 'significant feature')} with equal weights "
        f"and {count(after['significant'])} with these weights, of {count(before['features'])} "
        f"tested. For {count(before['strong'])} and {count(after['strong'])} of them, the "
        f"label share differs from chance by 10 points or more (95 % CI).{cues.get('counted', '')}"
    ]


def _off_target(summary: Summary) -> list[str]:
    off, sentences = summary.get("off_target", {}), []
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


def _figures(summary: Summary) -> list[KeyFigure]:
    left, quantiles = summary["features"] - summary["constrained"], summary["quantiles"]
    absent = f"{count(left)} never occur with some label" if left else "all frequent features"
    typical = f"{decimal(quantiles['0.05'])}–{decimal(quantiles['0.95'])}"
    return [
        KeyFigure("features balanced", count(summary["constrained"]), absent),
        KeyFigure("effective sample size", percent(summary["ess"]), "of the examples"),
        KeyFigure("largest weight", number(summary["max_weight"]), "the mean is 1"),
        KeyFigure("typical weights", typical, "middle 90 %"),
    ]


def _judged(summary: Summary) -> Table:
    columns = {
        "evaluated": Column("Evaluated on"),
        "features": Column("Features", "count"),
        "before": Column("Err, equal weights", "percent", _DISTANCE),
        "after": Column("Err, these weights", "percent", _DISTANCE),
        "chance_after": Column(
            "Sampling error", "percent", "mean distance expected from random sampling, with these weights"
        ),
    }
    rows = [
        {"evaluated": title, **{name: part[name] for name in columns if name in part}}
        for name, title in _JUDGED.items()
        if (part := summary["err"].get(name)) and part["features"]
    ]
    return Table("Before and after", "", columns, data=pl.DataFrame(rows))


def reaudited(outcome: Outcome) -> list[Table]:
    """Return the measures of the audits that were repeated under weights, before and after."""
    frame = outcome.rows("reaudit")
    if frame.is_empty():
        return []
    columns = {
        "audit": Column("Audit"),
        "label": Column("Measure"),
        "value_before": Column("Equal weights"),
        "chance_before": Column("Chance", hint="chance with equal weights"),
        "value_after": Column("These weights"),
        "chance_after": Column("Chance", hint="chance with these weights"),
        "expected_after": Column(
            "Shuffled", hint="value with weights of this kind made from shuffled labels"
        ),
        "p_after": Column("p", hint="two-sided test against shuffled labels"),
    }
    rows = [
        {
            "audit": row["audit"].replace("_", " "),
            "label": row["label"],
            "p_after": probability(row.get("p_after")),
        }
        | {name: in_unit(row.get(name), row["unit"]) for name in list(columns)[2:-1]}
        for row in frame.iter_rows(named=True)
    ]
    return [Table("Audits before and after", "reaudit", columns, data=pl.DataFrame(rows))]


def _charts(outcome: Outcome) -> list[Chart]:
    charts: list[Chart] = []
    if outcome.tables["strongest_words"].height:
        charts.append(_balance(outcome.tables["strongest_words"]))
    charts.append(_histogram(outcome.summary))
    if "trade_off" in outcome.tables:
        charts.append(_trade_off(outcome))
    return charts


def _balance(words: pl.DataFrame) -> Pairs:
    """Return each feature's label balance with equal weights and with these, worst first (the paper's Figure 2)."""
    return Pairs(
        title="Label balance of the strongest words",
        data=words.head(MOST_DRAWN),
        item="feature",
        before="off_before",
        after="off_after",
        axis=Axis("off_before", _DISTANCE, "fine_percent"),
        names=(EQUAL, WEIGHTED),
        ranked="features, most unbalanced first",
        tooltip={"count": Column("training instances", "count")},
        alt="For the words most associated with a label, the mean distance of the label shares from the "
        "target, with equal weights and with these weights; the table below has the numbers.",
        caption="0 % is perfect balance. Words below the minimum count are not balanced.",
        name="balance",
    )


def _histogram(summary: Summary) -> Histogram:
    """Return how many examples have which weight, on a logarithmic axis; 1 is the mean."""
    bins: Sequence[Mapping[str, float]] = summary["histogram"]
    ends = (bins[0]["from"], bins[-1]["to"])
    return Histogram(
        title="Weights",
        data=pl.DataFrame(bins),
        low=Axis("from", "weight (logarithmic; the mean is 1)", domain=ends, log=True, ticks=6),
        high="to",
        y=Axis("examples", "examples", "count", ticks=4),
        line=1.0,
        alt=f"Histogram of the weights of {summary['examples']:,} examples, from "
        f"{summary['quantiles']['0.0']:.3g} to {summary['max_weight']:.3g}; the mean is 1.",
        caption="┆ mean weight",
        wide=False,
        name="weights",
    )


def _trade_off(outcome: Outcome) -> Scatter:
    """Return Err against effective sample size, a point for every ridge; the chosen one stands out."""
    summary = outcome.summary
    chosen, before = summary.get("ridge", 0.0), summary["err"]["constrained"]["before"]
    rows = [
        {
            "ridge": f"{row['ridge']:g}",
            "chosen": row["ridge"] == chosen,
            **{key: row[key] for key in ("err", "ess", "max_weight")},
        }
        for row in outcome.tables["trade_off"].sort("ess").iter_rows(named=True)
    ]
    if before is not None:
        rows.append({"ridge": "equal weights", "chosen": False, "err": before, "ess": 1.0, "max_weight": 1.0})
    return Scatter(
        title="Balance and effective sample size",
        data=pl.DataFrame(rows),
        x=Axis("ess", "effective sample size", "percent", zero=False),
        y=Axis("err", "Err of the balanced features", "fine_percent", ticks=5),
        text="ridge",
        joined=True,
        chosen="chosen",
        tooltip={"max_weight": Column("largest weight", "number")},
        alt="Err of the balanced features against the effective sample size, one point per ridge.",
        caption="Each point is a value of --ridge: a higher ridge keeps more of the sample but balances less.",
        wide=False,
        name="trade_off",
    )


def _cues(outcome: Outcome) -> list[Table]:
    if outcome.rows("reweighted_cues").is_empty():
        return []
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
    return [Table("Cues before and after", "reweighted_cues", columns, most=MOST_ROWS, searchable=True)]


def _features(outcome: Outcome) -> list[Table]:
    # What some label never has is no balanced feature; it is in the table of those that stay unbalanced.
    balanced, left = outcome.tables["balance"].filter("constrained"), outcome.tables["unbalanced"]
    named = {
        "feature": Column("Feature"),
        "family": Column("Family"),
        "count": Column("Train", "count", "training instances with the feature"),
    }
    columns = named | {
        "off_before": Column("Distance, equal weights", "percent", _DISTANCE),
        "off_after": Column("Distance, these weights", "percent", _DISTANCE),
    }
    tables = [Table("Balanced features", "balance", columns, data=balanced, most=MOST_ROWS, searchable=True)]
    if left.height:
        columns = named | {
            "reason": Column("Reason"),
            "largest_off": Column(
                "Largest distance", "percent", "largest distance of a label share from its target"
            ),
            "proof": Column("Proof"),
        }
        tables.append(Table("Features that stay unbalanced", "unbalanced", columns, most=MOST_ROWS))
    return tables


_SPLITS = {
    "split": Column("Split"),
    "examples": Column("Examples", "count"),
    "effective_sample_size": Column("Effective n", "count", "effective sample size"),
    "share": Column("Share", "percent", "effective sample size as a share of the examples"),
    "smallest": Column("Smallest", "number"),
    "largest": Column("Largest", "number"),
    "infinite": Column("Infinite", "count", "weights that would be infinite"),
    "clipped": Column("Clipped", "count", "weights clipped to the maximum"),
}
_QUANTILES = {"below": Column("Share of examples below", "percent"), "weight": Column("Weight", "number")}


def neutral_weights_view(outcome: Outcome) -> View:
    """Return the leak before and after, what is left of every split, and how the weights spread."""
    summary = outcome.summary
    before, after = (summary["leakage_accuracy"][key] for key in ("unweighted", "weighted"))
    left = [display_text(name, 40) for name in summary["unweighted_splits"]]
    alike = f"Not reweighted, because all examples have the same label: {', '.join(left)}."
    return View(
        lead=[
            f"A random forest on the pair graph alone has an accuracy of {_interval(before)} unweighted and "
            f"{_interval(after)} with these weights; the weighted majority baseline is "
            f"{percent(summary['majority']['weighted'])}."
        ],
        figures=[
            KeyFigure("effective sample size", percent(summary["effective_share"]), "of the examples"),
            KeyFigure("largest weight", number(summary["largest"]), "the mean is 1"),
            KeyFigure("infinite weights, replaced", count(summary["infinite"])),
            KeyFigure("clipped weights", count(summary["clipped"])),
        ],
        tables=[*reaudited(outcome), _split_table(summary["splits"]), _quantiles(summary["quantiles"])],
        notes=[*([alike] if left else []), *not_repeated(summary)],
    )


def _interval(score: Mapping[str, float]) -> str:
    return f"{percent(score['accuracy'])} ({ci(score['low'], score['high'])})"


def _split_table(splits: Mapping[str, Summary]) -> Table:
    rows = [
        {"split": name, "share": split["effective_sample_size"] / split["examples"]}
        | {column: split[column] for column in _SPLITS if column in split}
        for name, split in splits.items()
    ]
    return Table("Weights by split", "", _SPLITS, data=pl.DataFrame(rows))


def _quantiles(quantiles: Mapping[str, float]) -> Table:
    rows = [{"below": float(share), "weight": weight} for share, weight in quantiles.items()]
    return Table("Quantiles of the weights", "neutral_weights", _QUANTILES, data=pl.DataFrame(rows))

"""Whether the graph of compared sentences gives the label away: scores, and Selection's Figures 1, 2 and 4."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from cuecard import wording
from cuecard.card.card import Card, Section
from cuecard.report.view import SECTION_VIEWS, ChartView, Column, KeyFigure, SectionView, TableView
from cuecard.wording import display_text

#: A curve that differs less from a line is one.
FLAT = 1e-3
#: How a set of features is called in the table.
NAMES = {
    "leakage": "all three features",
    "s1_freq": "frequency of the first sentence",
    "s2_freq": "frequency of the second sentence",
    "s1s2_inter": "two-step walks between the sentences",
    "without_s1_freq": "without first-sentence frequency",
    "without_s2_freq": "without second-sentence frequency",
    "without_s1s2_inter": "without the walks",
    "advanced": "advanced graph features",
    "unlexicalized": "length and overlap of the texts",
}


@SECTION_VIEWS.register("pair_graph")
def pair_graph(card: Card, section: Section) -> SectionView:
    """Return scores against the majority, where the leak comes from, and where it shows."""
    summary = section.summary
    return SectionView(
        lead=_lead(card, summary),
        figures=_figures(summary),
        charts=_charts(card),
        tables=[_scores(card)] if "pair_graph" in card.tables else [],
        notes=[
            f"Left out: {NAMES.get(name, name)} ({display_text(reason, 200)})."
            for name, reason in summary.get("left_out", {}).items()
        ],
    )


def _level(card: Card) -> str:
    return "chance" if card.dataset.task in ("choice", "preference") else "the majority baseline"


def _lead(card: Card, summary: dict[str, Any]) -> list[str]:
    accuracy, interval = summary["accuracy"], summary["intervals"]["leakage"]
    lead = [
        f"From sentence frequencies and pairings alone, a random forest has an accuracy of "
        f"{wording.percent(accuracy['leakage'])} on {wording.plural(interval['n'], 'example')} "
        f"(95 % CI {wording.percent(interval['low'])} to {wording.percent(interval['high'])}); {_level(card)} is "
        f"{wording.percent(accuracy['majority'])}."
    ]
    parts = summary.get("parts")
    if parts:
        lead.append(
            f"With a graph of the training set only, the accuracy is "
            f"{wording.percent(parts['train_only']['accuracy'])}; {wording.count(parts['shared']['n'])} of "
            f"{wording.plural(interval['n'], 'test example')} share a text with the training set."
        )
    return [*lead, _graph(summary["graph"])]


def _graph(graph: dict[str, Any]) -> str:
    again, itself = graph["sentences_repeated"], graph["self_pairs"]
    most = wording.count(graph["largest_frequency"])
    occur = "none occurs more than once"
    if again:
        occur = f"{wording.count(again)} occur more than once, the most frequent {most} times"
    return (
        f"{wording.plural(graph['pairs'], 'pair')} connect {wording.plural(graph['sentences'], 'distinct sentence')}; "
        + occur
        + (f", and {wording.plural(itself, 'pair')} connect a sentence with itself." if itself else ".")
    )


def _figures(summary: dict[str, Any]) -> list[KeyFigure]:
    graph = summary["graph"]
    return [
        KeyFigure("distinct sentences", wording.count(graph["sentences"])),
        KeyFigure("repeated sentences", wording.count(graph["sentences_repeated"])),
        KeyFigure("highest frequency", f"{wording.count(graph['largest_frequency'])} times"),
    ]


def _charts(card: Card) -> list[ChartView]:
    tables, labels = card.tables, card.dataset.labels

    def scores() -> Any:
        from cuecard.report.charts.audits.pair_graph import accuracies

        return accuracies(tables, NAMES)

    def quantiles() -> Any:
        from cuecard.report.charts.audits.pair_graph import quantile_curves

        return quantile_curves(varying(tables["pair_graph_quantiles"]), labels)

    def grid() -> Any:
        from cuecard.report.charts.audits.pair_graph import frequency_grid

        return frequency_grid(tables, labels)

    def shares() -> Any:
        from cuecard.report.charts.audits.pair_graph import label_shares

        return label_shares(tables, labels)

    views = [
        ChartView(
            "Accuracy from the graph",
            scores,
            alt="Accuracy of every set of graph features with its 95 % CI, and the majority baseline.",
            caption="Accuracy with 95 % CI; the line is the majority baseline (for choices, chance).",
            name="accuracy",
        ),
        ChartView(
            "Labels by frequency of both sentences",
            grid,
            alt="A grid of first by second sentence frequency, coloured by the share of a label.",
            caption="Share of one label among pairs by the frequency of both sentences; the last step means “or more”. "
            "Cells with few pairs are noisy; the tooltip shows the number of pairs.",
            name="frequencies",
        ),
        ChartView(
            "Labels by sentence frequency",
            shares,
            alt="Share of each label by the frequency of the first and the second sentence.",
            caption="With 95 % CIs. If the curves are flat, frequency does not predict the label.",
            name="labels",
        ),
        ChartView(
            "Graph features and text similarity",
            quantiles,
            alt="Distribution of each graph feature and of text similarity, as quantiles, by label.",
            caption="Features are shown as quantiles. The more the curves of the labels differ, the better the feature "
            "predicts the label. Text similarity is the cosine of the text vectors. "
            "A feature with one value has no curve.",
            name="similarity",
        ),
    ]
    # A chart of one value would be an empty axis.
    shown = {"frequencies": _repeated(tables), "labels": _repeated(tables), "similarity": _curved(tables)}
    return [view for view in views if shown.get(view.name, True)]


def _repeated(tables: Mapping[str, pl.DataFrame]) -> bool:
    """Whether a sentence occurs more often than another."""
    return tables["pair_graph_by_frequency"]["from"].n_unique() > 1


def _curved(tables: Mapping[str, pl.DataFrame]) -> bool:
    """Whether the values of any feature differ between pairs."""
    return not varying(tables["pair_graph_quantiles"]).is_empty()


def varying(quantiles: pl.DataFrame) -> pl.DataFrame:
    """Return the curves of features whose values differ between pairs: the quantiles of the others are all alike."""
    spread = pl.col("share").max() - pl.col("share").min()
    return quantiles.filter((spread > FLAT).over("feature"))


def _scores(card: Card) -> TableView:
    frame = card.tables["pair_graph"].with_columns(pl.col("features").replace(NAMES))
    columns = [
        Column("Features"),
        Column("Accuracy", "fine_percent"),
        Column("CI low", "percent"),
        Column("CI high", "percent"),
        Column("p", "probability", "exact one-sided test against the majority baseline"),
        Column("q", "probability", "p-value adjusted for the seven sets of leakage features"),
        Column("Examples", "count", brief=False),
    ]
    return TableView(
        title="Accuracy of every set of features",
        columns=columns,
        rows=frame.select("features", "accuracy", "low", "high", "p_value", "q_value", "n").rows(),
        total=frame.height,
        source="tables/pair_graph.parquet",
        caption="Exact one-sided test against the majority baseline; q is the Benjamini–Hochberg value over the seven "
        "sets of the three features; 95 % Wilson intervals.",
    )

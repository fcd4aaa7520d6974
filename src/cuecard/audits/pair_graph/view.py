"""What the pair graph shows: scores against the majority, where the leak comes from, and where it shows."""

from __future__ import annotations

import polars as pl

from cuecard.analysis import Summary
from cuecard.view import Axis, Chart, Column, HeatMap, Intervals, KeyFigure, Lines, Outcome, Table, View
from cuecard.wording import ci, count, display_text, percent, plural

#: A curve that differs less from a line is one.
FLAT = 1e-3
#: Labels of which a grid is drawn.
MOST_LABELS = 4
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
_FEATURES = {
    "s1_freq": "frequency of the first sentence",
    "s2_freq": "frequency of the second sentence",
    "s1s2_inter": "two-step walks",
    "similarity": "text similarity",
    "word_movers_distance": "Word Mover's Distance",
}


def pair_graph_view(outcome: Outcome) -> View:
    """Return scores against the majority, where the leak comes from, and where it shows."""
    summary, graph = outcome.summary, outcome.summary["graph"]
    return View(
        lead=_lead(outcome),
        figures=[
            KeyFigure("distinct sentences", count(graph["sentences"])),
            KeyFigure("repeated sentences", count(graph["sentences_repeated"])),
            KeyFigure("highest frequency", f"{count(graph['largest_frequency'])} times"),
        ],
        charts=_charts(outcome),
        tables=_scores(outcome),
        notes=[
            f"Left out: {NAMES.get(name, name)} ({display_text(reason, 200)})."
            for name, reason in summary.get("left_out", {}).items()
        ],
    )


def _lead(outcome: Outcome) -> list[str]:
    summary = outcome.summary
    accuracy, interval = summary["accuracy"], summary["intervals"]["leakage"]
    level = "chance" if outcome.task in ("choice", "preference") else "the majority baseline"
    lead = [
        f"From sentence frequencies and pairings alone, a random forest has an accuracy of "
        f"{percent(accuracy['leakage'])} on {plural(interval['n'], 'example')} "
        f"({ci(interval['low'], interval['high'])}); {level} is {percent(accuracy['majority'])}."
    ]
    if parts := summary.get("parts"):
        lead.append(
            f"With a graph of the training set only, the accuracy is {percent(parts['train_only']['accuracy'])}; "
            f"{count(parts['shared']['n'])} of {plural(interval['n'], 'test example')} share a text with the training "
            "set."
        )
    return [*lead, _graph(summary["graph"])]


def _graph(graph: Summary) -> str:
    repeated, itself = graph["sentences_repeated"], graph["self_pairs"]
    most = count(graph["largest_frequency"])
    occur = (
        f"{count(repeated)} occur more than once, the most frequent {most} times"
        if repeated
        else "none occurs more than once"
    )
    connected = f", and {plural(itself, 'pair')} connect a sentence with itself" if itself else ""
    sentences = plural(graph["sentences"], "distinct sentence")
    return f"{plural(graph['pairs'], 'pair')} connect {sentences}; {occur}{connected}."


def _charts(outcome: Outcome) -> list[Chart]:
    tables = outcome.tables
    charts: list[Chart] = [_accuracies(tables["pair_graph"])]
    if (
        tables["pair_graph_by_frequency"]["from"].n_unique() > 1
    ):  # a chart of one value would be an empty axis
        charts += [_grid(outcome), _shares(outcome)]
    curves = varying(tables["pair_graph_quantiles"])
    return [*charts, _similarity(outcome, curves)] if curves.height else charts


def _accuracies(table: pl.DataFrame) -> Intervals:
    return Intervals(
        title="Accuracy from the graph",
        data=table.with_columns(pl.col("features").replace(NAMES)),
        y="features",
        x=Axis("accuracy", "accuracy", "percent", zero=False),
        low="low",
        high="high",
        line=table["chance"][0],
        tooltip={"n": Column("examples", "count")},
        alt="Accuracy of every set of graph features with its 95 % CI, and the majority baseline.",
        caption="Accuracy with 95 % CI; the line is the majority baseline (for choices, chance).",
        name="accuracy",
    )


def _grid(outcome: Outcome) -> HeatMap:
    """Return a grid of S1_freq × S2_freq per label, coloured by the label's share (Figure 2)."""
    labels = outcome.labels
    # Two labels mirror each other, so one grid says it all.
    shown = list(labels)[:1] if len(labels) == 2 else list(labels)[:MOST_LABELS]
    place = pl.col("label").replace_strict({label: i for i, label in enumerate(shown)}, return_dtype=pl.Int64)
    cells = outcome.tables["pair_graph_grid"].filter(pl.col("label").is_in(shown))
    cells = cells.sort(place, maintain_order=True)
    return HeatMap(
        title="Labels by frequency of both sentences",
        data=cells,
        x="s1_freq",
        y="s2_freq",
        value=Axis("share", "share", "percent", domain=(0, 1)),
        x_title="frequency of the first sentence",
        y_title="frequency of the second sentence",
        middle=1 / len(labels),
        facet="label",
        steps=range(1, max(cells["s1_freq"].to_list() + cells["s2_freq"].to_list(), default=1) + 1),
        tooltip={"n": Column("pairs", "count")},
        alt="A grid of first by second sentence frequency, coloured by the share of a label.",
        caption="Share of one label among pairs by the frequency of both sentences; the last step means “or more”. "
        "Cells with few pairs are noisy; the tooltip shows the number of pairs.",
        name="frequencies",
    )


def _shares(outcome: Outcome) -> Lines:
    """Return the share of each label by how often a sentence occurs, with intervals (Figure 4)."""
    # A sentence that always occurs equally often has no curve.
    rows = outcome.tables["pair_graph_by_frequency"].filter(pl.col("from").n_unique().over("feature") > 1)
    several = pl.format("{}–{}", "from", "to")
    alone = pl.col("from").cast(pl.String)
    rows = rows.sort("from", maintain_order=True).with_columns(
        pl.col("feature").replace(_FEATURES),
        times=pl.when(pl.col("from") == pl.col("to")).then(alone).otherwise(several),
    )
    return Lines(
        title="Labels by sentence frequency",
        data=rows,
        x=Axis("times", "sentence frequency"),
        y=Axis("share", "share", "percent"),
        low="share_low",
        high="share_high",
        colour="label",
        facet="feature",
        named=True,
        points=True,
        colours=outcome.labels,
        tooltip={"n": Column("pairs", "count")},
        alt="Share of each label by the frequency of the first and the second sentence.",
        caption="With 95 % CIs. If the curves are flat, frequency does not predict the label.",
        name="labels",
    )


def _similarity(outcome: Outcome, curves: pl.DataFrame) -> Lines:
    """Return how each feature's quantiles are distributed within each label (Figure 1)."""
    return Lines(
        title="Graph features and text similarity",
        data=curves.with_columns(pl.col("feature").replace(_FEATURES)),
        x=Axis("quantile", "quantile of the feature", ticks=(0, 0.5, 1)),
        y=Axis("share", "share of the label's pairs", "percent"),
        colour="label",
        facet="feature",
        shape="step",
        colours=outcome.labels,
        alt="Distribution of each graph feature and of text similarity, as quantiles, by label.",
        caption="Features are shown as quantiles. The more the curves of the labels differ, the better the feature "
        "predicts the label. Text similarity is the cosine of the text vectors. A feature with one value has no curve.",
        name="similarity",
    )


def varying(quantiles: pl.DataFrame) -> pl.DataFrame:
    """Return the curves of features whose values differ between pairs: the quantiles of the others are all alike."""
    spread = pl.col("share").max() - pl.col("share").min()
    return quantiles.filter((spread > FLAT).over("feature"))


def _scores(outcome: Outcome) -> list[Table]:
    if "pair_graph" not in outcome.tables:
        return []
    columns = {
        "features": Column("Features"),
        "accuracy": Column("Accuracy", "fine_percent"),
        "low": Column("CI low", "percent"),
        "high": Column("CI high", "percent"),
        "auc": Column(
            "AUC", "decimal", "how well the probabilities rank the label; chance is 0.5", brief=False
        ),
        "auc_low": Column("AUC CI low", "decimal", brief=False),
        "auc_high": Column("AUC CI high", "decimal", brief=False),
        "p_value": Column(
            "p, log score", "probability", "two-sided test of the probabilities, not of the accuracy"
        ),
        "q_value": Column("q", "probability", "p-value adjusted for the seven sets of leakage features"),
        "n": Column("Examples", "count", brief=False),
    }
    caption = (
        "p is that of the log score: probabilities may know more about the label than the accuracy shows. Intervals "
        "are of the accuracy and of the AUC; q is the Benjamini–Hochberg value over the seven sets of the features."
    )
    rows = outcome.tables["pair_graph"].with_columns(pl.col("features").replace(NAMES))
    return [Table("Accuracy of every set of features", "pair_graph", columns, data=rows, caption=caption)]

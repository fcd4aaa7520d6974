"""What the cluster audit shows: the score beside chance, the map, the curve and the clusters to search."""

from __future__ import annotations

from typing import Any

import polars as pl

from cuecard.analysis import Summary
from cuecard.audits.clusters.external_clusters import BIASED
from cuecard.audits.clusters.findings import clusterings_agree, disagreement, giant_cluster
from cuecard.view import (
    Axis,
    Bars,
    Chart,
    Column,
    HeatMap,
    Histogram,
    KeyFigure,
    Lines,
    Outcome,
    PointMap,
    Table,
    View,
    interval_columns,
)
from cuecard.wording import ci, count, decimal, display_text, ends, listed, percent, plural, probability

MOST_BARS = 14
MOST_ROWS = 100
#: Clusters of which examples are shown.
MOST_EXAMPLES = 10
_EMBEDDINGS = {"tfidf": "the words they share (TF-IDF)", "minilm": "MiniLM sentence vectors"}
_SPLITS = {"train": "training set", "test": "test set", "dev": "dev set"}
_TEXTS = {"pair": "hypotheses", "choice": "choices", "preference": "responses", "text": "texts"}
#: How to read a map of clusters, whatever its texts are.
HOW_TO_READ = (
    "Each point is a text; similar texts are close together. Large points: clusters whose label distribution diverges "
    "from the whole by more than the threshold (use the slider). Choose a label in the legend; drag to move, "
    "Ctrl + wheel to zoom, double-click to reset."
)


def cluster_view(outcome: Outcome) -> View:
    """Return whether the labels of clusters differ, by how much, and in which clusters."""
    summary = outcome.summary
    return View(
        lead=[_made(outcome), cluster_verdict(outcome), *_comparisons(outcome)],
        figures=_figures(summary),
        charts=_charts(outcome),
        tables=[_clusters(outcome), _examples(outcome), *_settings(outcome)],
        notes=_notes(summary),
    )


def cluster_name(words: str, limit: int = 3) -> str:
    """Return the first words of a cluster as its name."""
    return display_text(", ".join(words.split(", ")[:limit]) or "no words", 60)


def _texts(outcome: Outcome) -> str:
    """Return what the clustered texts are called."""
    scope = outcome.summary["scope"]
    if scope == "hypothesis":
        return _TEXTS[outcome.task]
    return "premises" if scope == "premise" else "inputs"


def _made(outcome: Outcome) -> str:
    """Return what was clustered, by what, and what to expect of it."""
    summary, texts = outcome.summary, _texts(outcome)
    by = _EMBEDDINGS.get(summary["embedding"], f"vectors of {summary['embedding']}")
    of_split = f" of the {_SPLITS.get(summary['split'], summary['split'])}" if outcome.training else ""
    return (
        f"The {count(summary['instances'])} {texts}{of_split} "
        f"are grouped into {summary['k']} clusters by {by}, without the labels. If {texts} do not predict the label, "
        "every cluster has the label distribution of the whole set."
    )


def cluster_verdict(outcome: Outcome) -> str:
    """Return whether the labels of the clusters differ, as surely as the clusterings agree."""
    summary, alpha = outcome.summary, outcome.summary["alpha"]
    score = f"the PECO score is {summary['peco_exact_l2']:z.2f}, and {summary['null_mean']:z.2f} with shuffled labels"
    caveats = disagreement(summary, alpha) + giant_cluster(summary, _texts(outcome))
    if summary["p_value"] > alpha:
        return f"This is the case here: {score}.{caveats}"
    differing = summary["significant_clusters"]
    which = (
        f"{differing} of {plural(summary['k'], 'cluster')} {'differs' if differing == 1 else 'differ'} "
        "significantly from the whole set"
        if differing
        else f"none of the {summary['k']} clusters shown is significant by itself"
    )
    surely = "differ" if clusterings_agree(summary, alpha) else "may differ"
    return f"Here the clusters {surely}: {score}; {which}.{caveats}"


def _comparisons(outcome: Outcome) -> list[str]:
    """Return the results on changed texts and with training dynamics, if the card has them."""
    sentences = []
    if "cluster_transformations" in outcome.tables:
        original, *changed = outcome.tables["cluster_transformations"].iter_rows(named=True)
        excesses = [
            f"{row['excess']:z.2f} with {row['transformation'].replace('_', ' ')}"
            + ("" if row["p_value"] <= outcome.summary["alpha"] else " (not significant)")
            for row in changed
        ]
        sentences.append(
            f"On the original texts, the excess over shuffled labels is {original['excess']:z.2f}; on changed texts "
            f"it is {listed(excesses)}."
        )
    if "cluster_confidence" in outcome.tables:
        sentences.append(_confidence_sentence(outcome.tables["cluster_confidence"]))
    return sentences


def _confidence_sentence(histogram: pl.DataFrame) -> str:
    inside, outside = int(histogram["biased"].sum()), int(histogram["other"].sum())
    if not inside:
        return f"No cluster diverges by more than {BIASED}, so training confidence is not compared."
    sure = histogram.filter(pl.col("low") >= 0.5 - 1e-9)
    biased, other = (percent(float(sure[f"{name}_share"].sum())) for name in ("biased", "other"))
    return (
        f"The training confidence in the gold label is at least 50 % for {biased} of the "
        f"{count(inside)} examples in clusters that diverge by more than {BIASED}, and for "
        f"{other} of the {count(outside)} other examples."
    )


def _figures(summary: Summary) -> list[KeyFigure]:
    excess = ci(summary["excess_low"], summary["excess_high"], decimal)
    figures = [
        KeyFigure("PECO", decimal(summary["peco_exact_l2"]), f"chance {summary['null_mean']:z.2f}"),
        KeyFigure("above chance", decimal(summary["excess"]), excess),
    ]
    if "information" in summary:
        interval = f"95 % CI {summary['information_low']:z.3f} to {summary['information_high']:z.3f}"
        figures.append(KeyFigure("label information", f"{summary['information']:z.3f} bits", interval))
    leaning = f"{summary['leaning_clusters']} of {summary['k']}"
    return [
        *figures,
        KeyFigure("p-value", probability(summary["p_value"]), "permutation test"),
        KeyFigure("predictive clusters", leaning, "label share 10 points or more above chance"),
        KeyFigure("in predictive clusters", percent(summary["leaning_share"]), "of the sentences"),
    ]


def _notes(summary: Summary) -> list[str]:
    """Return how the numbers were made."""
    shuffled = (
        "Labels are shuffled within each example, so that each example keeps one correct text."
        if summary["null"] == "within-example"
        else "Labels are shuffled over all sentences."
    )
    excesses = summary["excess_by_start"]
    starts = plural(summary["starts"], "start")
    return [
        f"Number of clusters: {summary['why_k']}. Scores are means over {starts} of k-means. Their excess ranges from "
        f"{min(excesses):z.2f} to {max(excesses):z.2f}; {summary['starts_significant']} of {starts} "
        f"{'is' if summary['starts_significant'] == 1 else 'are'} significant. Map, curve and tables show "
        f"the clustering with the lowest inertia. {shuffled} Each shuffle is scored with every clustering, so the "
        "p-value is valid for all of them together.",
        f"The score computed like the authors' released code is {summary['peco_released_l2']:z.1f} (L2; 5.0 if no "
        f"cluster is biased) and {summary['peco_released_kl']:z.1f} (KL divergence).",
    ]


def _charts(outcome: Outcome) -> list[Chart]:
    tables = outcome.tables
    charts: list[Chart] = []
    if "cluster_map" in tables:
        charts.append(_map(outcome))
    if tables["clusters"].filter("significant").height:
        charts.append(_leaning(outcome, tables["clusters"].filter("significant")))
    charts.append(_curve(outcome))
    if outcome.rows("cluster_sweep").height > 1:
        charts.append(_sweep(tables["cluster_sweep"]))
    if "cluster_transformations" in tables:
        charts.append(_transformations(tables["cluster_transformations"]))
    if "cluster_confidence" in tables:
        charts.append(confidence_chart(tables["cluster_confidence"]))
    return charts


def _map(outcome: Outcome) -> PointMap:
    texts, size, total = _texts(outcome), outcome.tables["cluster_map"].height, outcome.summary["instances"]
    sampled = f" A sample of {count(size)} of {count(total)}." if size < total else ""
    return PointMap(
        title="Map of meaning",
        data="cluster_map",
        clusters=outcome.tables["clusters"],
        colours=outcome.labels,
        alt=f"Map of {count(size)} {texts}: similar texts are close together; texts in biased "
        "clusters are drawn large. The table of clusters below has the same numbers.",
        caption=f"Each point is one of the {texts}; similar texts are close together. Large points: clusters "
        "whose label distribution diverges from the whole by more than the threshold (use the slider)."
        f"{sampled} Choose a label in the legend; drag to move, Ctrl + wheel to zoom, double-click to reset.",
        name="map",
    )


def _leaning(outcome: Outcome, significant: pl.DataFrame) -> Bars:
    """Return the label shares of the clusters that lean most, one bar each."""
    rows: list[dict[str, Any]] = []
    used: set[str] = set()
    for row in significant.head(MOST_BARS).iter_rows(named=True):
        name = cluster_name(row["words"], 4)
        while name in used:
            name += "\N{ZERO WIDTH NON-JOINER}"  # two clusters of the same words stay two bars
        used.add(name)
        text = f"{percent(row['share'], 0)} {display_text(row['label'], 30)} of {count(row['size'])}"
        rows += [
            {
                "cluster": name,
                "label": label,
                "share": row[f"share_{label}"],
                "interval": ends(row[f"low_{label}"], row[f"high_{label}"]),
                "size": row["size"],
                "text": text,
            }
            for label in outcome.labels
        ]
    return Bars(
        title="Clusters that predict a label",
        data=pl.DataFrame(rows),
        y="cluster",
        x=Axis("share", "", "percent", domain=(0, 1.28), ticks=(0, 0.25, 0.5, 0.75, 1)),
        series="label",
        stacked=True,
        text="text",
        colours=outcome.labels,
        tooltip={"interval": Column("95 % CI"), "size": Column("sentences", "count")},
        alt="Label shares of the most predictive clusters, named by their words; the first are "
        f"{'; '.join(significant['words'].head(3))}.",
        caption="Share of each label in a cluster; clusters with the largest effect first.",
        name="leaning",
    )


def _curve(outcome: Outcome) -> Lines:
    score = outcome.tables["cluster_starts"]["peco_exact_l2"][0]
    return Lines(
        title="PECO curve",
        data="cluster_curve",
        x=Axis("threshold", "divergence from the whole", "fine"),
        y=Axis("share_above", "clusters above", "percent", domain=(0, 1), ticks=5),
        low="null_low",
        high="null_high",
        reference="null_mean",
        shape="step-after",
        filled=True,
        tooltip={"null_mean": Column("with shuffled labels", "percent")},
        alt="Share of clusters whose label distribution diverges from the whole by more than a threshold, with the "
        "band of shuffled labels.",
        caption=f"Blue: the clustering shown; its score is the area under the curve: {score:z.2f}. "
        "Grey: 95 % of label shuffles.",
        wide=False,
        name="curve",
    )


def _components(frame: pl.DataFrame) -> pl.DataFrame:
    """Return settings with the number of principal components as people read it: 0 keeps all."""
    number = pl.col("components").cast(pl.String)
    return frame.with_columns(
        components=pl.when(pl.col("components") == 0).then(pl.lit("all")).otherwise(number)
    )


def _sweep(sweep: pl.DataFrame) -> HeatMap:
    last = pl.when(pl.col("components") == 0).then(None).otherwise("components")
    cells = _components(sweep.sort("k", last, nulls_last=True, maintain_order=True)).with_columns(
        pl.col("k").cast(pl.String),
        text=pl.Series([f"{excess:z.1f}" for excess in sweep.sort("k", last, nulls_last=True)["excess"]]),
        note=pl.when(pl.col("p_value") > 0.05).then(pl.lit("n.s.")).otherwise(pl.lit("")),
    )
    return HeatMap(
        title="Sensitivity to the settings",
        data=cells,
        x="k",
        y="components",
        value=Axis("excess", kind="decimal"),
        x_title="clusters",
        y_title="principal components",
        text="text",
        note="note",
        framed="headline",
        tooltip={
            "k": Column("requested clusters"),
            "clusters": Column("clusters after merging", "count"),
            "components": Column("components"),
            "starts": Column("k-means starts", "count"),
            "peco_exact_l2": Column("PECO", "decimal"),
            "null_mean": Column("with shuffled labels", "decimal"),
            "excess": Column("excess", "decimal"),
            "p_value": Column("p-value", "probability"),
        },
        alt="Excess of the PECO score over shuffled labels for several numbers of clusters and components.",
        caption=_sweep_caption(sweep),
        wide=False,
        name="sweep",
    )


def _sweep_caption(sweep: pl.DataFrame) -> str:
    """Return what a cell of the heat map is."""
    others, headline = sweep.filter(~pl.col("headline")), sweep.filter("headline")
    text = "Excess over shuffled labels; n.s. = not significant. "
    if others.height:
        text += f"Each cell is the mean over {plural(others['starts'][0], 'start')} of k-means"
    if headline.height:
        text += f"{'; the' if others.height else 'The'} framed cell is the mean over the {headline['starts'][0]} above"
    merged = " The tooltip has the number of clusters after merging small ones."
    return f"{text}.{merged if (sweep['clusters'] < sweep['k']).any() else ''}"


def _transformations(table: pl.DataFrame) -> Bars:
    excesses = table["excess"].to_list()
    texts = [
        f"{row['excess']:z.2f}" + ("" if row["p_value"] <= 0.05 else " (not significant)")
        for row in table.iter_rows(named=True)
    ]
    return Bars(
        title="Effect of text transformations",
        data=table.with_columns(pl.col("transformation").str.replace_all("_", " "), text=pl.Series(texts)),
        y="transformation",
        # Room for the number behind the longest bar.
        x=Axis(
            "excess",
            "excess of PECO over shuffled labels",
            domain=(min(0.0, *excesses), 1.3 * max(0.1, *excesses)),
            ticks=4,
        ),
        text="text",
        tooltip={"p_value": Column("p-value", "probability")},
        alt="Excess of the PECO score for the original texts and after each transformation.",
        caption="The same audit on texts from which a part was removed.",
        wide=False,
        name="transformations",
    )


def confidence_chart(histogram: pl.DataFrame) -> Histogram:
    """Return histograms of training confidence inside and outside biased clusters (PECO, Figure 8)."""
    places = {"in biased clusters": "biased_share", "in other clusters": "other_share"}
    rows = pl.concat(
        histogram.select("low", "high", where=pl.lit(where), share=pl.col(column))
        for where, column in places.items()
    )
    inside, outside = int(histogram["biased"].sum()), int(histogram["other"].sum())
    caption = (
        f"Blue: the {count(inside)} examples in clusters that diverge by more than {BIASED}. Grey: the "
        f"{count(outside)} other examples. Each group sums to 100 %."
        if inside
        else f"No cluster diverges by more than {BIASED}, so all {count(outside)} examples are grey."
    )
    return Histogram(
        title="Confidence in training",
        data=rows,
        low=Axis("low", "confidence in the gold label during training"),
        high="high",
        y=Axis("share", "share of examples", "percent", ticks=4),
        colour="where",
        overlaid=True,
        alt="Histograms of training confidence inside and outside biased clusters.",
        caption=caption,
        wide=False,
        name="confidence",
    )


def _clusters(outcome: Outcome) -> Table:
    nearest = outcome.tables["cluster_examples"].filter(pl.col("kind") == "nearest")
    example = nearest.group_by("cluster").agg(example=pl.col("text").first())
    columns = {
        "words": Column("Words", hint="words that distinguish the cluster from all other texts"),
        "size": Column("Size", "count", "texts in the cluster"),
        "label": Column("Label", "label"),
        "share": Column("Share", "percent", "share of that label in the cluster"),
        **interval_columns("share_", of="the share"),
        "divergence_l2": Column(
            "Divergence", "fine", "sum of squared differences from the label shares of the whole set"
        ),
        "q_value": Column("q", "probability", "p-value adjusted for multiple tests (false discovery rate)"),
        "example": Column("Closest to the centre", brief=False),  # cut short it says nothing
    }
    rows = outcome.tables["clusters"].join(example, on="cluster", how="left", maintain_order="left")
    return Table("All clusters", "clusters", columns, data=rows, most=MOST_ROWS, searchable=True)


def _examples(outcome: Outcome) -> Table:
    """Return examples of the clusters that lean most, nearest and random ones."""
    names = outcome.tables["clusters"].filter("significant").head(MOST_EXAMPLES).select("cluster", "words")
    examples = outcome.tables["cluster_examples"]
    columns = {
        "text": Column("Text"),
        "label": Column("Label", "label"),
        "words": Column("Cluster"),
        "kind": Column("Chosen", hint="closest to the centre of its cluster, or random"),
        "example_id": Column("Example"),
    }
    return Table(
        "Examples from the most predictive clusters",
        "cluster_examples",
        columns,
        data=names.join(examples, on="cluster", how="inner", maintain_order="left_right"),
        total=examples.height,
        searchable=True,
    )


def _settings(outcome: Outcome) -> list[Table]:
    """Return the sweep as a table: what was asked for, what became of it, and the score."""
    if "cluster_sweep" not in outcome.tables:
        return []
    columns = {
        "k": Column("k", "count", "requested clusters"),
        "clusters": Column(
            "Clusters", "count", "after merging small clusters; the smallest number of all starts"
        ),
        "components": Column("Components", hint="principal components kept"),
        "starts": Column("Starts", "count", "k-means starts averaged"),
        "peco_exact_l2": Column("PECO", "decimal"),
        "null_mean": Column("Chance", "decimal", "with shuffled labels"),
        "excess": Column("Excess", "decimal"),
        "p_value": Column("p", "probability"),
    }
    return [
        Table("Other settings", "cluster_sweep", columns, data=_components(outcome.tables["cluster_sweep"]))
    ]

"""Where in meaning space the label leaks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl

from cuecard.audits.cluster_confidence import BIASED
from cuecard.audits.cluster_findings import disagreement, giant_cluster
from cuecard.card.card import Card, Section
from cuecard.report import numbers
from cuecard.report.view import SECTION_VIEWS, ChartView, Column, KeyFigure, SectionView, TableView

MOST_BARS = 14
MOST_ROWS = 100
_EMBEDDINGS = {"tfidf": "the words they share (TF-IDF)", "minilm": "MiniLM sentence vectors"}
_TEXTS = {"pair": "hypotheses", "choice": "choices", "preference": "answers", "text": "texts"}


@SECTION_VIEWS.register("clusters")
def clusters(card: Card, section: Section) -> SectionView:
    """Return the score beside what chance gives, the map, the curve and the clusters to search."""
    summary = section.summary
    return SectionView(
        lead=[_made(card, summary), _verdict(card, summary)],
        figures=[
            KeyFigure(
                "PECO",
                numbers.decimal(summary["peco_exact_l2"]),
                f"{summary['null_mean']:.2f} by chance",
            ),
            KeyFigure(
                "excess over chance",
                numbers.decimal(summary["excess"]),
                f"95 % interval {summary['excess_low']:.2f} to {summary['excess_high']:.2f}",
            ),
            KeyFigure("p-value", numbers.probability(summary["p_value"]), "labels shuffled"),
            KeyFigure(
                "leaning clusters", f"{summary['leaning_clusters']} of {summary['k']}", "by 10 points or more"
            ),
            KeyFigure("in leaning clusters", numbers.percent(summary["leaning_share"]), "of the sentences"),
        ],
        charts=_charts(card, section),
        tables=[
            _table(card),
            _examples(card),
            *([_settings(card)] if "cluster_sweep" in section.tables else []),
        ],
        notes=_notes(summary),
    )


def _texts(card: Card, summary: dict[str, Any]) -> str:
    scope = summary["scope"]
    if scope == "hypothesis":
        return _TEXTS[card.dataset.task]
    return "premises" if scope == "premise" else "inputs"


def _made(card: Card, summary: dict[str, Any]) -> str:
    texts = _texts(card, summary)
    by = _EMBEDDINGS.get(summary["embedding"], f"vectors of {summary['embedding']}")
    return (
        f"The {numbers.count(summary['instances'])} {texts} of {summary['split']} were grouped by {by} into "
        f"{summary['k']} clusters without looking at the labels. In a set whose {texts} alone tell nothing, every "
        "cluster has the labels of the whole."
    )


def _verdict(card: Card, summary: dict[str, Any]) -> str:
    chance = f"{summary['null_mean']:.2f} with shuffled labels"
    caveats = disagreement(summary, summary["alpha"]) + giant_cluster(summary, _texts(card, summary))
    if summary["p_value"] > summary["alpha"]:
        return (
            f"That holds here: the PECO score is {summary['peco_exact_l2']:.2f}, against {chance}.{caveats}"
        )
    return (
        f"Here they differ: the PECO score is {summary['peco_exact_l2']:.2f} against {chance}, and "
        f"{numbers.plural(summary['significant_clusters'], 'cluster')} of {summary['k']} "
        f"{'differs' if summary['significant_clusters'] == 1 else 'differ'} from the whole beyond chance.{caveats}"
    )


def _notes(summary: dict[str, Any]) -> list[str]:
    shuffled = (
        "Labels were shuffled within each example, so that one of its choices stays right."
        if summary["null"] == "within-example"
        else "Labels were shuffled over all sentences."
    )
    excesses = summary["excess_by_start"]
    starts = numbers.plural(summary["starts"], "start")
    return [
        f"Number of clusters: {summary['why_k']}. Scores are means over {starts} of k-means, whose excesses go from "
        f"{min(excesses):.2f} to {max(excesses):.2f}; {summary['starts_significant']} of {starts} "
        f"{'is' if summary['starts_significant'] == 1 else 'are'} significant alone. Map, curve and tables show the "
        f"tightest clustering. {shuffled} Each shuffle is scored with every clustering, so the p-value holds for all "
        "of them together.",
        f"The score as the authors' program computes it is {summary['peco_released_l2']:.1f} (L2; 5.0 where no "
        f"cluster leans) and {summary['peco_released_kl']:.1f} (KL divergence).",
    ]


def _charts(card: Card, section: Section) -> list[ChartView]:
    tables, labels = card.tables, card.dataset.labels
    text = _texts(card, section.summary)

    def chart(name: str, *arguments: Any) -> Callable[[], Any]:
        def draw() -> Any:
            from cuecard.report.charts import clusters as charts

            return getattr(charts, name)(tables, *arguments)

        return draw

    shown: list[ChartView] = []
    if "cluster_map" in section.tables:
        size = tables["cluster_map"].height
        total = section.summary["instances"]
        sampled = f" A sample of {numbers.count(size)} of {numbers.count(total)}." if size < total else ""
        shown.append(
            ChartView(
                "Map of meaning",
                chart("cluster_map", labels),
                alt=f"Map of {numbers.count(size)} {text}: those of similar meaning lie together, those of biased "
                "clusters are drawn large. The table of clusters below has the same numbers.",
                caption=f"Each point is one of the {text}; neighbours are alike. Large: in clusters whose labels "
                f"diverge from the whole by more than the threshold, which the slider moves.{sampled} Choose a "
                "label in the legend; drag to move, Ctrl + wheel to zoom, double-click to reset.",
            )
        )
    if tables["clusters"].filter("significant").height:
        words = tables["clusters"].filter("significant")["words"].head(3).to_list()
        shown.append(
            ChartView(
                "Clusters that lean most",
                chart("cluster_bars", labels, MOST_BARS),
                alt="Label shares of the clusters that lean most, named by their words; first come "
                f"{'; '.join(words)}.",
                caption="Share of each label in a cluster; the clusters that move most labels come first.",
            )
        )
    shown.append(
        ChartView(
            "PECO curve",
            chart("curve"),
            alt="Share of clusters whose labels diverge from the whole by more than a threshold, above the band that "
            "shuffled labels give.",
            caption="Blue: the clustering shown, whose score is the area from the least divergence on: "
            f"{tables['cluster_starts']['peco_exact_l2'][0]:.2f}. Grey: 95 % of shuffles of the labels.",
            wide=False,
        )
    )
    if "cluster_sweep" in section.tables and tables["cluster_sweep"].height > 1:
        shown.append(
            ChartView(
                "Does it depend on the settings?",
                chart("sweep"),
                alt="Excess of the PECO score over shuffled labels for several numbers of clusters and components.",
                caption=_sweep_caption(tables["cluster_sweep"]),
                wide=False,
            )
        )
    if "cluster_transformations" in section.tables:
        shown.append(
            ChartView(
                "What the score rests on",
                chart("transformations"),
                alt="Excess of the PECO score for the texts as they are and after each transformation.",
                caption="The same audit on texts from which something was taken away.",
                wide=False,
            )
        )
    if "cluster_confidence" in section.tables:
        shown.append(
            ChartView(
                "Confidence in training",
                chart("confidence"),
                alt="Histograms of training confidence inside and outside biased clusters.",
                caption=_confidence_caption(tables["cluster_confidence"]),
                wide=False,
            )
        )
    return shown


def _confidence_caption(histogram: pl.DataFrame) -> str:
    inside, outside = int(histogram["biased"].sum()), int(histogram["other"].sum())
    if not inside:
        return (
            f"No cluster diverges by more than {BIASED}, so all {numbers.count(outside)} examples are grey."
        )
    return (
        f"Blue: the {numbers.count(inside)} examples of clusters that diverge by more than {BIASED}. Grey: the "
        f"{numbers.count(outside)} others. Each adds up to 100 %."
    )


def _sweep_caption(sweep: pl.DataFrame) -> str:
    others, headline = sweep.filter(~pl.col("headline")), sweep.filter("headline")
    text = "Excess over shuffled labels; n.s. = not significant. "
    if others.height:
        text += f"Each cell is the mean of {numbers.plural(others['starts'][0], 'start')} of k-means"
    if headline.height:
        text += f"{', the' if others.height else 'The'} framed one that of the {headline['starts'][0]} above"
    merged = " A number in brackets says how many clusters were left after small ones were merged."
    return f"{text}.{merged if (sweep['clusters'] < sweep['k']).any() else ''}"


def _settings(card: Card) -> TableView:
    """Return the sweep as a table: what was asked for, what became of it, and the score."""
    columns = {
        "k": Column("k", "count", "clusters asked for"),
        "clusters": Column(
            "Clusters", "count", "left after small ones were merged, in the start with fewest"
        ),
        "components": Column("Components", "text", "principal components kept"),
        "starts": Column("Starts", "count", "k-means starts averaged"),
        "peco_exact_l2": Column("PECO", "decimal"),
        "null_mean": Column("By chance", "decimal", "with shuffled labels"),
        "excess": Column("Excess", "decimal"),
        "p_value": Column("p", "probability"),
    }
    frame = card.tables["cluster_sweep"].with_columns(
        components=pl.when(pl.col("components") == 0)
        .then(pl.lit("all"))
        .otherwise(pl.col("components").cast(pl.String))
    )
    return TableView(
        title="Other settings",
        columns=list(columns.values()),
        rows=frame.select(list(columns)).rows(),
        total=frame.height,
        source="tables/cluster_sweep.parquet",
    )


def _table(card: Card) -> TableView:
    frame = card.tables["clusters"]
    nearest = (
        card.tables["cluster_examples"]
        .filter(pl.col("kind") == "nearest")
        .group_by("cluster")
        .agg(example=pl.col("text").first())
    )
    frame = frame.join(nearest, on="cluster", how="left", maintain_order="left")
    columns = {
        "words": Column("Words", hint="words that set the cluster apart from all other texts"),
        "size": Column("Size", "count", "sentences in the cluster"),
        "label": Column("Leans to", "label"),
        "share": Column("Share", "percent", "share of that label in the cluster"),
        "share_low": Column("from", "percent", "lower end of the 95 % interval of the share", brief=False),
        "share_high": Column("to", "percent", "upper end of the 95 % interval of the share", brief=False),
        "divergence_l2": Column(
            "Divergence", "decimal", "sum of squared differences from the whole set's shares"
        ),
        "q_value": Column("q", "probability", "false discovery rate at which it is significant"),
        "example": Column("Nearest its centre"),
    }
    return TableView(
        title="All clusters",
        columns=list(columns.values()),
        rows=frame.select(list(columns)).head(MOST_ROWS).rows(),
        total=frame.height,
        source="tables/clusters.parquet",
        searchable=True,
    )


def _examples(card: Card) -> TableView:
    """Return examples of the clusters that lean most, nearest and random ones."""
    names = card.tables["clusters"].filter("significant").head(10)
    frame = names.select("cluster", "words").join(
        card.tables["cluster_examples"], on="cluster", how="inner", maintain_order="left_right"
    )
    columns = {
        "text": Column("Text"),
        "label": Column("Label", "label"),
        "words": Column("Cluster"),
        "kind": Column("Chosen", hint="nearest the centre of its cluster, or at random from it"),
        "example_id": Column("Example"),
    }
    return TableView(
        title="Examples of the clusters that lean most",
        columns=list(columns.values()),
        rows=frame.select(list(columns)).rows(),
        total=card.tables["cluster_examples"].height,
        source="tables/cluster_examples.parquet",
        searchable=True,
    )

"""Where in meaning space the label leaks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl

from cuecard import wording
from cuecard.card.card import Card, Section
from cuecard.report.sections.audits.cluster_sentences import (
    cluster_verdict,
    comparisons,
    confidence_caption,
    made,
    notes,
    sweep_caption,
    texts_looked_at,
)
from cuecard.report.view import SECTION_VIEWS, ChartView, Column, KeyFigure, SectionView, TableView, drawn

MOST_BARS = 14
MOST_ROWS = 100


@SECTION_VIEWS.register("clusters")
def clusters(card: Card, section: Section) -> SectionView:
    """Return the score beside what chance gives, the map, the curve and the clusters to search."""
    summary = section.summary
    return SectionView(
        lead=[made(card, summary), cluster_verdict(card, summary), *comparisons(card, section)],
        figures=[
            KeyFigure(
                "PECO",
                wording.decimal(summary["peco_exact_l2"]),
                f"chance {summary['null_mean']:z.2f}",
            ),
            KeyFigure(
                "above chance",
                wording.decimal(summary["excess"]),
                f"95 % CI {summary['excess_low']:z.2f} to {summary['excess_high']:z.2f}",
            ),
            *_information(summary),
            KeyFigure("p-value", wording.probability(summary["p_value"]), "permutation test"),
            KeyFigure(
                "predictive clusters",
                f"{summary['leaning_clusters']} of {summary['k']}",
                "label share 10 points or more above chance",
            ),
            KeyFigure(
                "in predictive clusters", wording.percent(summary["leaning_share"]), "of the sentences"
            ),
        ],
        charts=_charts(card, section),
        tables=[
            _table(card),
            _examples(card),
            *([_settings(card)] if "cluster_sweep" in section.tables else []),
        ],
        notes=notes(summary),
    )


def _information(summary: dict[str, Any]) -> list[KeyFigure]:
    if "information" not in summary:
        return []
    ends = f"95 % CI {summary['information_low']:z.3f} to {summary['information_high']:z.3f}"
    return [KeyFigure("label information", f"{summary['information']:z.3f} bits", ends)]


def _charts(card: Card, section: Section) -> list[ChartView]:
    tables, labels = card.tables, card.dataset.labels
    text = texts_looked_at(card, section.summary)

    def chart(name: str, *arguments: Any) -> Callable[[], Any]:
        module = "audits.cluster_map" if name == "cluster_map" else "audits.clusters"
        return drawn(module, name, tables, *arguments)

    shown: list[ChartView] = []
    if "cluster_map" in section.tables:
        size = tables["cluster_map"].height
        total = section.summary["instances"]
        sampled = f" A sample of {wording.count(size)} of {wording.count(total)}." if size < total else ""
        shown.append(
            ChartView(
                "Map of meaning",
                chart("cluster_map", labels),
                alt=f"Map of {wording.count(size)} {text}: similar texts are close together; texts in biased "
                "clusters are drawn large. The table of clusters below has the same numbers.",
                caption=f"Each point is one of the {text}; similar texts are close together. Large points: clusters "
                "whose label distribution diverges from the whole by more than the threshold (use the slider)."
                f"{sampled} Choose a label in the legend; drag to move, Ctrl + wheel to zoom, double-click to reset.",
                name="map",
            )
        )
    if tables["clusters"].filter("significant").height:
        words = tables["clusters"].filter("significant")["words"].head(3).to_list()
        shown.append(
            ChartView(
                "Clusters that predict a label",
                chart("cluster_bars", labels, MOST_BARS),
                alt="Label shares of the most predictive clusters, named by their words; the first are "
                f"{'; '.join(words)}.",
                caption="Share of each label in a cluster; clusters with the largest effect first.",
                name="leaning",
            )
        )
    shown.append(
        ChartView(
            "PECO curve",
            chart("curve"),
            alt="Share of clusters whose label distribution diverges from the whole by more than a threshold, with the "
            "band of shuffled labels.",
            caption="Blue: the clustering shown; its score is the area under the curve: "
            f"{tables['cluster_starts']['peco_exact_l2'][0]:z.2f}. Grey: 95 % of label shuffles.",
            wide=False,
            name="curve",
        )
    )
    if "cluster_sweep" in section.tables and tables["cluster_sweep"].height > 1:
        shown.append(
            ChartView(
                "Sensitivity to the settings",
                chart("sweep"),
                alt="Excess of the PECO score over shuffled labels for several numbers of clusters and components.",
                caption=sweep_caption(tables["cluster_sweep"]),
                wide=False,
                name="sweep",
            )
        )
    if "cluster_transformations" in section.tables:
        shown.append(
            ChartView(
                "Effect of text transformations",
                chart("transformations"),
                alt="Excess of the PECO score for the original texts and after each transformation.",
                caption="The same audit on texts from which a part was removed.",
                wide=False,
                name="transformations",
            )
        )
    if "cluster_confidence" in section.tables:
        shown.append(
            ChartView(
                "Confidence in training",
                chart("confidence"),
                alt="Histograms of training confidence inside and outside biased clusters.",
                caption=confidence_caption(tables["cluster_confidence"]),
                wide=False,
                name="confidence",
            )
        )
    return shown


def _settings(card: Card) -> TableView:
    """Return the sweep as a table: what was asked for, what became of it, and the score."""
    columns = {
        "k": Column("k", "count", "requested clusters"),
        "clusters": Column(
            "Clusters", "count", "after merging small clusters; the smallest number of all starts"
        ),
        "components": Column("Components", "text", "principal components kept"),
        "starts": Column("Starts", "count", "k-means starts averaged"),
        "peco_exact_l2": Column("PECO", "decimal"),
        "null_mean": Column("Chance", "decimal", "with shuffled labels"),
        "excess": Column("Excess", "decimal"),
        "p_value": Column("p", "probability"),
    }
    frame = card.tables["cluster_sweep"].with_columns(
        components=pl.when(pl.col("components") == 0)
        .then(pl.lit("all"))
        .otherwise(pl.col("components").cast(pl.String))
    )
    return TableView.of("Other settings", "cluster_sweep", frame, columns)


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
        "words": Column("Words", hint="words that distinguish the cluster from all other texts"),
        "size": Column("Size", "count", "texts in the cluster"),
        "label": Column("Label", "label"),
        "share": Column("Share", "percent", "share of that label in the cluster"),
        "share_low": Column("CI low", "percent", "lower end of the 95 % CI of the share", brief=False),
        "share_high": Column("CI high", "percent", "upper end of the 95 % CI of the share", brief=False),
        "divergence_l2": Column(
            "Divergence", "fine", "sum of squared differences from the label shares of the whole set"
        ),
        "q_value": Column("q", "probability", "p-value adjusted for multiple tests (false discovery rate)"),
        "example": Column("Closest to the centre", brief=False),  # cut short it says nothing
    }
    return TableView.of("All clusters", "clusters", frame, columns, most=MOST_ROWS, searchable=True)


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
        "kind": Column("Chosen", hint="closest to the centre of its cluster, or random"),
        "example_id": Column("Example"),
    }
    return TableView.of(
        "Examples from the most predictive clusters",
        "cluster_examples",
        frame,
        columns,
        total=card.tables["cluster_examples"].height,
        searchable=True,
    )

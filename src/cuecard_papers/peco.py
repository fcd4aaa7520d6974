"""Clusters that somebody else made: their scores in the terminal, their map on a page (PECO, Figure 1)."""

from __future__ import annotations

from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cuecard import wording
from cuecard.audits.clusters.external_clusters import ExternalClusters
from cuecard.audits.clusters.view import HOW_TO_READ
from cuecard.errors import InputError
from cuecard.report.charts.cluster_map import draw_point_map
from cuecard.report.html.chart_page import check_chart_path, write_chart
from cuecard.view import PointMap
from cuecard.wording import display_text

#: Clusters that are printed.
SHOWN = 10
_SCORES = {"exact": "exact", "released": "as released"}
_DIVERGENCES = {"l2": "L2", "l2_mean": "L2 / labels", "kl": "KL"}


def render_given_clusters(result: ExternalClusters, console: Console) -> None:
    """Print every score beside what shuffled labels give, and the clusters that lean most."""
    scores = _table("PECO", "Score", "Chance", "Excess", "95 % CI", "p")
    for row in result.scores.iter_rows(named=True):
        scores.add_row(
            f"{_DIVERGENCES[row['divergence']]}, {_SCORES[row['mode']]}",
            f"{row['score']:z.3f}",
            f"{row['null_mean']:z.3f}",
            f"{row['excess']:z.3f}",
            f"{row['low']:z.2f} to {row['high']:z.2f}",
            wording.probability(row["p_value"]),
        )
    console.print(scores)
    console.print(
        Text(
            "exact: 100 × the area under the curve of the share of clusters above a divergence; as released: like the "
            "authors' released code, 5.0 if no cluster is biased; L2 / labels: equation 11 as printed. Chance: "
            "with shuffled labels.",
            style="dim",
        )
    )
    leaning = _table("Cluster", "Size", "Label", "Share", "Divergence", "q")
    for row in result.clusters.head(SHOWN).iter_rows(named=True):
        leaning.add_row(
            display_text(
                row["name"] if row["words"] == row["name"] else f"{row['name']}: {row['words']}", 60
            ),
            wording.count(row["size"]),
            display_text(row["label"], 30),
            wording.percent(row["share"]),
            f"{row['divergence_l2']:z.3f}",
            wording.probability(row["q_value"]),
        )
    console.print(leaning)
    hidden = result.clusters.height > SHOWN
    differing = int(result.clusters["significant"].sum())
    console.print(
        Text(
            (f"{SHOWN} of {result.clusters.height} clusters, largest effect first. " if hidden else "")
            + f"{differing:,} of {wording.plural(result.clusters.height, 'cluster')} "
            f"{'differs' if differing == 1 else 'differ'} significantly from the whole set."
        )
    )


def write_cluster_map(result: ExternalClusters, path: str | Path, *, title: str = "") -> Path:
    """Write the map as a page with its slider, or as .png or .svg, and return its path."""
    path = check_chart_path(path)
    if result.map is None:
        raise InputError("The clusters have no coordinates for a map; add the columns x and y.")
    score = result.scores.row(0, named=True)
    score_text = f"PECO {score['score']:z.2f}, {score['null_mean']:z.2f} with shuffled labels"
    heading = {"text": display_text(title, 80) or score_text, "subtitle": score_text if title else ""}
    return write_chart(
        draw_point_map(point_map(result, title)).properties(width=900, height=640, title=heading),
        path,
        title=display_text(title, 80) or "Map",
        note=HOW_TO_READ,
    )


def point_map(result: ExternalClusters, title: str) -> PointMap:
    """Return the map of clusters that have coordinates."""
    tables = result.tables
    return PointMap(
        title=title,
        data=tables["cluster_map"],
        clusters=tables["clusters"],
        colours=result.labels,
        alt=HOW_TO_READ,
    )


def _table(*headings: str) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="dim")
    for i, heading in enumerate(headings):
        table.add_column(heading, justify="left" if i == 0 or heading == "Label" else "right")
    return table

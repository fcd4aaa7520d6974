"""`cuecard peco`: do clusters that you made lean to a label?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cuecard.cli.options.groups import grouped, option
from cuecard.cli.options.shared import ChartOption, Output, SeedOption, path

EXAMPLES = """
Examples:

`cuecard peco clusters.csv`

`cuecard peco points.csv --columns cluster=clid --labels 0=entailment,1=neutral --chart map.html`
"""
ROLES = ("label", "cluster", "x", "y", "text")


@grouped
def peco(
    output: Output,
    table: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="One row per sentence with label and cluster; x and y for a map; text for words. "
            "Format .csv, .parquet or .jsonl.",
            parser=path,
        ),
    ],
    columns: Annotated[
        str | None, option("--columns", "ROLE=COLUMN,…", f"Columns by role: {', '.join(ROLES)}.")
    ] = None,
    labels: Annotated[
        str | None,
        option("--labels", "VALUE=NAME,…", "Names for label values, such as 0=entailment,1=neutral."),
    ] = None,
    chart: ChartOption = None,
    permutations: Annotated[
        int, option("--permutations", "N", "Number of shuffles of the labels.", min=1)
    ] = 200,
    seed: SeedOption = 0,
) -> None:
    """Score clusters of your own: how far do their labels diverge from those of the whole dataset, beyond chance?"""
    from cuecard.audits.clusters.external_clusters import external_clusters, read_table
    from cuecard.data import parse_labels
    from cuecard.report.html.chart_path import check_chart

    chosen = _roles(columns)
    if chart is not None:
        check_chart(chart, inputs=[table])
    frame = read_table(
        table,
        [chosen.get(role, role) for role in ("label", "cluster")],
        "clusters",
        hint=" Name them with --columns label=COLUMN,cluster=COLUMN.",
    )
    named = frame.select(
        frame[chosen.get(role, role)].alias(role) for role in ROLES if chosen.get(role, role) in frame.columns
    )
    scored = external_clusters(
        named,
        label_names=parse_labels(labels) if labels else None,
        permutations=permutations,
        seed=seed,
    )
    drawn = None
    if chart is not None:
        from cuecard.report.given_clusters import write_cluster_map

        drawn = f"Map: {write_cluster_map(scored, chart, title=table.stem)}"
    if output.json:
        from json import dumps

        shown = {"scores": scored.scores.to_dicts(), "clusters": scored.clusters.to_dicts()}
        typer.echo(dumps(shown, indent=2, ensure_ascii=False))
        if drawn:
            typer.echo(drawn, err=True)
        return
    from rich.console import Console

    from cuecard.report.given_clusters import render_given_clusters

    if output.quiet:
        return
    render_given_clusters(scored, Console())
    if drawn:
        typer.echo(drawn)


def _roles(columns: str | None) -> dict[str, str]:
    """Return the column of every role that the user named."""
    from cuecard.data import parse_columns
    from cuecard.registry import unknown_name

    chosen = parse_columns(columns) if columns else {}
    for role in chosen:
        if role not in ROLES:
            raise unknown_name("role", role, list(ROLES))
    return chosen

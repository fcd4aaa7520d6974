"""`cuecard compare`: what changed between two or more cards."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from cuecard.cli.options.groups import grouped, option
from cuecard.cli.options.shared import ChartOption, Output, path

EXAMPLES = """
Examples:

`cuecard compare out/v1 out/v2`

`cuecard compare out/v1 out/v2 --page changes.html`

`cuecard compare out/v1 out/v2 --fail-on worse`

`cuecard compare out/snli out/anli out/ocnli --chart sets.html`

`cuecard compare out/v1 out/v2 out/v3 --json | jq '.[].cues'`
"""


@grouped
def compare(
    output: Output,
    cards: Annotated[
        list[Path],
        typer.Argument(
            metavar="CARD CARD…",
            help="Folders written by `cuecard audit` or `probe`, oldest first.",
            parser=path,
        ),
    ],
    show: Annotated[int, option("--show", "N", "Rows to show per table.", min=1)] = 15,
    report: Annotated[
        Path | None,
        option("--page", "FILE", "Write the comparison as a page to this file (.html).", parser=path),
    ] = None,
    chart: ChartOption = None,
    all_numbers: Annotated[
        bool, option("--all", "List every number that differs, not one row per baseline, model and measure.")
    ] = False,
    fail_on: Annotated[
        Literal["worse"] | None,
        option("--fail-on", "worse", "Exit code 1 if a measure or a cue got worse beyond noise."),
    ] = None,
) -> None:
    """Compare cards: what changed in the data, the cues, the baselines and the models?"""
    from cuecard.card import compare as compare_cards
    from cuecard.card import load_card, stale_report
    from cuecard.card.files import REPORT_FILE
    from cuecard.errors import UsageError
    from cuecard.report.html.chart_path import check_chart

    reports = [folder / REPORT_FILE for folder in cards]
    if report is not None:
        from cuecard.writing import check_file

        if report.suffix != ".html":
            raise UsageError(f"{report}: the page is written as .html, such as changes.html.")
        if len(cards) < 2:
            raise UsageError("There is nothing to compare: name at least two cards.")
        check_file(report, inputs=reports, option="--page")
    if chart is not None:
        check_chart(chart, inputs=reports)
        if report is not None and chart.resolve() == report.resolve():
            raise UsageError(f"--page and --chart are both {chart}: choose two files.")
    loaded = [load_card(card) for card in cards]
    for folder, one in zip(cards, loaded, strict=True):
        if page := stale_report(folder, one):
            typer.echo(
                f"cuecard: {page} was not written with the card beside it: draw it again with `cuecard report "
                f"{folder}`.",
                err=True,
            )
    alone = chart is not None and len(loaded) == 1  # a chart can show a single card
    comparisons = [] if alone else compare_cards(loaded, [str(card) for card in cards])
    if fail_on is not None and (apart := next((c for c in comparisons if not c.comparable), None)):
        raise UsageError(
            f"{apart.before} and {apart.after} are cards of different tasks, so that neither is worse: name versions "
            "of one dataset, or leave --fail-on out."
        )
    if chart is not None:
        from cuecard.report import write_comparison_charts

        output.say(f"Charts: {write_comparison_charts(loaded, chart)}")
        if alone:
            return
    if report is not None:
        from cuecard.report import write_comparison

        output.say(f"Report: {write_comparison(comparisons, report)}")
    if output.json:
        from json import dumps

        typer.echo(dumps([c.as_dict() for c in comparisons], indent=2, ensure_ascii=False))
    elif not output.quiet:
        from rich.console import Console

        from cuecard.report import render_comparison

        console = Console()
        for comparison in comparisons:
            render_comparison(comparison, console, top=show, every_number=all_numbers)
    if fail_on is not None and any(comparison.worse for comparison in comparisons):
        raise typer.Exit(1)

"""`cuecard compare`: what changed between two or more cards."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cuecard.cli.options import JsonOption

EXAMPLES = """
Examples:

`cuecard compare out/v1 out/v2`

`cuecard compare out/snli out/anli out/ocnli --chart sets.html`

`cuecard compare out/v1 out/v2 out/v3 --json | jq '.[].cues'`
"""


def compare(
    cards: Annotated[
        list[Path],
        typer.Argument(
            metavar="CARD CARD…", help="Folders written by `cuecard audit` or `probe`, oldest first."
        ),
    ],
    top: Annotated[int, typer.Option("--top", min=1, help="Rows to show of each table.")] = 15,
    chart: Annotated[
        Path | None,
        typer.Option(
            "--chart",
            metavar="FILE",
            help="Draw all cards: saturation against bias, correlations, maps; .html, .png or .svg.",
        ),
    ] = None,
    all_numbers: Annotated[
        bool,
        typer.Option("--all", help="Every number that differs, not one per baseline, model and measure."),
    ] = False,
    json: JsonOption = False,
) -> None:
    """Compare cards: what changed in the data, the cues, the baselines and the models?"""
    from cuecard.card import compare as compare_cards
    from cuecard.card import load_card

    loaded = [load_card(card) for card in cards]
    if chart is not None:
        from cuecard.report import write_comparison_charts

        typer.echo(f"Charts: {write_comparison_charts(loaded, chart)}", err=json)
        if len(loaded) < 2:
            return
    comparisons = compare_cards(loaded, [str(card) for card in cards])
    if json:
        from json import dumps

        typer.echo(dumps([c.as_dict() for c in comparisons], indent=2, ensure_ascii=False))
        return
    from rich.console import Console

    from cuecard.report import render_comparison

    console = Console()
    for comparison in comparisons:
        render_comparison(comparison, console, top=top, every_number=all_numbers)

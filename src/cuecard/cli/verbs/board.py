"""`cuecard board`: datasets ranked by what gives their labels away."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cuecard.cli.options.groups import grouped, option
from cuecard.cli.options.shared import Output, path

EXAMPLES = """
Examples:

`cuecard board out/snli out/anli out/copa`

`cuecard board out --page board.html`

`cuecard board out --sort partial_input --page board.md`
"""


@grouped
def board(
    output: Output,
    cards: Annotated[
        list[Path],
        typer.Argument(
            metavar="CARD…|FOLDER", help="Folders written by `cuecard audit` or `probe`, or a folder of them."
        ),
    ],
    sort: Annotated[
        str,
        option(
            "--sort",
            "COLUMN",
            "given_away, partial_input, blind_rule, slice, cues, clusters, pair_graph or model: what to rank by.",
        ),
    ] = "given_away",
    page: Annotated[
        Path | None,
        option("--page", "FILE", "Write the board as a page to this file (.html or .md).", parser=path),
    ] = None,
    badges: Annotated[
        Path | None,
        option("--badges", "DIR", "Write a badge per dataset to this folder, as SVG.", parser=path),
    ] = None,
) -> None:
    """Rank datasets by what gives their labels away, the worst first."""
    from cuecard.card import board as rank
    from cuecard.card import card_folders, load_card
    from cuecard.report.board.page import check_board_path, write_badges, write_board
    from cuecard.writing import check_file, check_folder

    if page is not None:
        check_file(check_board_path(page), inputs=[], option="--page")
    if badges is not None:
        check_folder(badges, ["*.svg"], inputs=[], option="--badges")
    ranked = rank([load_card(folder) for place in cards for folder in card_folders(place)], sort=sort)
    if page is not None:
        output.say(f"Board: {write_board(ranked, page)}")
    if badges is not None:
        output.say(f"Badges: {len(write_badges(ranked, badges))} in {badges}")
    if output.json:
        from json import dumps

        typer.echo(dumps(ranked.as_dict(), indent=2, ensure_ascii=False))
    elif not output.quiet:
        from rich.console import Console

        from cuecard.report import render_board

        render_board(ranked, Console())

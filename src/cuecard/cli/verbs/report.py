"""`cuecard report`: draw the report of a saved card again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cuecard.cli.options.groups import option
from cuecard.cli.options.shared import path

EXAMPLES = """
Examples:

`cuecard report out/snli`

`cuecard report out/snli --out snli.html`
"""


def report(
    card: Annotated[
        Path, typer.Argument(metavar="CARD", help="A folder written by `cuecard audit --out`.", parser=path)
    ],
    out: Annotated[
        Path | None,
        option("--out", "-o", "FILE", "Where to write the report. Default: CARD/report.html.", parser=path),
    ] = None,
    quiet: Annotated[bool, option("--quiet", "-q", "Print nothing but errors.")] = False,
    verbose: Annotated[
        bool, option("--verbose", "-v", "Print the sections of the card with their tables, too.")
    ] = False,
    launch: Annotated[bool, option("--open", "Open the report in the browser.")] = False,
) -> None:
    """Print a saved card and write its HTML report."""
    from cuecard.card import load_card, save_report
    from cuecard.cli.show import print_card, rendered
    from cuecard.writing import check_file, check_folder, write_text

    folder = card if card.is_dir() else card.parent
    if out is not None:
        check_file(out, inputs=[card, *folder.glob("card.json"), *folder.glob("tables/*")])
    loaded = load_card(card)
    if out is None:
        check_folder(folder, ["report.html"], option="path with --out")
    page = rendered(loaded)
    if out is None:
        written = save_report(folder, page)
    else:
        written = out
        write_text(out, page, errors="replace")
    if not quiet:
        print_card(loaded, written, verbose=verbose)
    if launch:
        typer.launch(str(written))

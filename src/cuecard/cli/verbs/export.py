"""`cuecard export`: a card in the words and files of other places."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from cuecard.cli.options.groups import grouped, option
from cuecard.cli.options.shared import path

EXAMPLES = """
Examples:

`cuecard export out/v1 --format hf-card --out README.md`

`cuecard export out/v1 --format croissant --out croissant.json`

`cuecard export out/v1 --format badge --out badge.svg`

`cuecard export out/v1 --format issue --finding partial_input/hypothesis_only`
"""


@grouped
def export(
    card: Annotated[
        Path,
        typer.Argument(
            metavar="CARD", help="A folder written by `cuecard audit`.", show_default=False, parser=path
        ),
    ],
    format: Annotated[
        Literal["croissant", "hf-card", "badge", "issue"],
        option("--format", "NAME", "croissant, hf-card, badge or issue.", default=False),
    ],
    out: Annotated[
        Path | None,
        option(
            "--out",
            "-o",
            "FILE",
            "The file to write. In a Croissant file or README that exists, only the part of the card is replaced.",
            parser=path,
        ),
    ] = None,
    finding: Annotated[
        str | None,
        option("--finding", "ID", "The finding to write as an issue.", default="the most serious one"),
    ] = None,
    url: Annotated[str | None, option("--url", "URL", "Page of the dataset, for Croissant.")] = None,
    license: Annotated[
        str | None, option("--license", "NAME", "Licence of the dataset, for Croissant.")
    ] = None,
) -> None:
    """Export a card: Croissant metadata, a section for a Hugging Face README, a badge, or a finding as an issue."""
    from cuecard.card import load_card
    from cuecard.errors import UsageError
    from cuecard.report import exports
    from cuecard.writing import check_file, write_text

    if finding is not None and format != "issue":
        raise UsageError("--finding only applies to issues: add --format issue, or leave it out.")
    if (url or license) and format != "croissant":
        raise UsageError(
            "--url and --license only apply to Croissant: add --format croissant, or leave them out."
        )
    if out is not None:
        check_file(out, inputs=[card, card / "card.json", *card.glob("tables/*")])
    loaded = load_card(card)
    existing = _existing(out) if out is not None and format in ("croissant", "hf-card") else None
    if format == "croissant":
        text = exports.croissant_json(loaded, existing=existing, url=url, license=license)
    elif format == "hf-card":
        text = exports.hf_card(loaded, existing or "")
    elif format == "badge":
        text = exports.badge_svg(loaded)
    else:
        text = exports.issue_markdown(loaded, finding)
    if out is None:
        typer.echo(text, nl=False)
    else:
        write_text(out, text)
        typer.echo(f"Written: {out}")


def _existing(file: Path) -> str | None:
    """Return what is in the file that a part of is replaced, if there is one."""
    from cuecard.errors import InputError

    try:
        return file.read_text(encoding="utf-8") if file.is_file() else None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file} cannot be read as text ({error}): choose another --out.") from None

"""Verbs that read cards: `cuecard report`, `compare`, `board` and `export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from cuecard.cli.options.shared import (
    ChartOption,
    OpenOption,
    Output,
    QuietOption,
    VerboseOption,
    grouped,
    option,
    path,
)

REPORT_EXAMPLES = """
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
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
    launch: OpenOption = False,
) -> None:
    """Print a saved card and write its HTML report."""
    from cuecard.card import load_card, save_report
    from cuecard.cli.show import print_card
    from cuecard.limits import check_file, check_folder
    from cuecard.report import render_html
    from cuecard.writing import write_text

    folder = card if card.is_dir() else card.parent
    if out is not None:
        check_file(out, inputs=[card, *folder.glob("card.json"), *folder.glob("tables/*")])
    loaded = load_card(card)
    if out is None:
        check_folder(folder, ["report.html"], option="path with --out")
    page = render_html(loaded, folder if out is None else out.parent)
    if out is None:
        written = save_report(folder, page)
    else:
        written = out
        write_text(out, page, errors="replace")
    if not quiet:
        print_card(loaded, written, verbose=verbose)
    if launch:
        typer.launch(str(written))


COMPARE_EXAMPLES = """
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
        bool, option("--all", "Also list every number that differs, and what changed within noise.")
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
    from cuecard.report.html.chart_page import check_chart

    reports = [folder / REPORT_FILE for folder in cards]
    if report is not None:
        from cuecard.limits import check_file

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


BOARD_EXAMPLES = """
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
            "given_away, partial_input, blind_rule, slice, cues, concepts, clusters, pair_graph or model: what to rank "
            "by.",
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
    from cuecard.limits import check_file, check_folder
    from cuecard.report.board import check_board_path, write_badges, write_board

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


EXPORT_EXAMPLES = """
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
    from cuecard.limits import check_file
    from cuecard.report import exports
    from cuecard.writing import write_text

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
    if format == "croissant" and (missing := exports.open_questions(text)):
        lines = "\n".join(f"  {line}" for line in missing)
        typer.echo(
            "An audit cannot know these fields. Ask the authors and fill them in; exporting to the file again "
            f"keeps them:\n{lines}",
            err=True,
        )


def _existing(file: Path) -> str | None:
    """Return what is in the file that a part of is replaced, if there is one."""
    from cuecard.errors import InputError

    try:
        return file.read_text(encoding="utf-8") if file.is_file() else None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file} cannot be read as text ({error}): choose another --out.") from None

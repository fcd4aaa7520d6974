"""`cuecard demo`: see what CueCard does on a set whose cues are known."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cuecard.cli.options import QuietOption, SeedOption

if TYPE_CHECKING:
    from cuecard.card import Card
    from cuecard.data.demo import Demo

EXAMPLES = """
Examples:

`cuecard demo`

`cuecard demo --kind choice --out out/choice`

`cuecard demo --clean` (the same texts with nothing planted: nothing should be found)
"""


def demo(
    kind: Annotated[Literal["nli", "choice"], typer.Option("--kind", help="Which set to generate.")] = "nli",
    clean: Annotated[bool, typer.Option("--clean", help="Plant nothing: the control.")] = False,
    rows: Annotated[int, typer.Option("--rows", min=200, help="How many examples to generate.")] = 6000,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="Where to write everything.")
    ] = Path("cuecard-demo"),
    seed: SeedOption = 0,
    quiet: QuietOption = False,
) -> None:
    """Generate a set with planted cues, audit it and write the report."""
    from cuecard.card import audit
    from cuecard.cli.progress import progress, stage
    from cuecard.cli.show import show_card, write_card
    from cuecard.data.demo import write_demo

    with stage("Generating", silent=quiet):
        generated = _generate(kind, rows, clean=clean, seed=seed)
        written = write_demo(generated, out / "data")
    command = f"cuecard audit {written['train']} --test {written['test']}"
    card = audit(generated.instances, progress=progress(silent=quiet), command=command)
    report = write_card(card, out)
    if not quiet:
        show_card(card, out=None, json=False, quiet=False)
        _compare(generated, card)
        typer.echo(f"\nData:   {out / 'data'}\nAgain:  {command}\nReport: {report}")


def _compare(generated: Demo, card: Card) -> None:
    """Print what was planted beside what the audit says of it."""
    import polars as pl

    from cuecard.wording import percent

    if generated.clean:
        typer.echo(
            "\nNothing was planted: only the relation of the two texts says something about the label."
        )
        return
    table = card["cues"].table
    typer.echo("\nPlanted, and found by the audits:")
    for cue in generated.truth:
        if cue.kind == "pair_graph":
            typer.echo(f"  {cue.sentence}\n    → {_graph_leak(card)}")
            continue
        asked = table.filter((pl.col("family") == cue.family) & (pl.col("label") == cue.label))
        named = asked.filter(pl.col("feature") == cue.feature)
        rows = (named if named.height else asked).filter("significant").head(1).to_dicts()
        found = f"{rows[0]['feature']}, {percent(rows[0]['share'])} {cue.label}" if rows else "–"
        typer.echo(f"  {cue.sentence}\n    → {found}")


def _graph_leak(card: Card) -> str:
    from cuecard.wording import percent

    section = card["pair_graph"]
    if section.status != "done":
        return section.reason
    found = section.summary["accuracy"]
    return f"the pair graph alone predicts {percent(found['leakage'])}, where {percent(found['majority'])} is chance"


def _generate(kind: Literal["nli", "choice"], rows: int, *, clean: bool, seed: int) -> Demo:
    from cuecard.data.demo import CHOICE_CUES, NLI_CUES, demo_choice, demo_nli

    if kind == "nli":
        return demo_nli(rows, seed=seed, cues=None if clean else NLI_CUES)
    return demo_choice(rows, seed=seed, cues=None if clean else CHOICE_CUES)

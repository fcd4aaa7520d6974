"""Audit six generated datasets and write what the terminal shows into docs/gallery.md."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

import cuecard as cc
from cuecard.data.demo import CHOICE_CUES, NLI_CUES, demo_battles, demo_choice, demo_nli
from cuecard.report.terminal.card import render_brief

PAGE = Path(__file__).parents[1] / "docs" / "gallery.md"
HEAD = f"""# Gallery

The cards of six generated datasets, as `cuecard audit` prints them: what was planted is known, so you can see what a
finding looks like, and what a card without a leak says. [The board](board.md) has real datasets, as numbers without
their texts.

Made with CueCard {cc.__version__} and the extra english, by `python scripts/make_gallery.py`.
"""
WIDTH = 100


def pairs() -> cc.Instances:
    """Pairs with five planted cues."""
    return demo_nli(4_000, seed=1, cues=NLI_CUES).instances


def clean_pairs() -> cc.Instances:
    """The same texts with nothing planted."""
    return demo_nli(4_000, seed=1, cues=None).instances


def questions() -> cc.Instances:
    """Questions with four choices and six planted cues."""
    return demo_choice(2_000, seed=1, cues=CHOICE_CUES).instances


def one_place() -> cc.Instances:
    """Questions whose right choice stands more often at one place, and nothing else."""
    position = [cue for cue in CHOICE_CUES if cue.kind == "position"]
    return demo_choice(1_000, seed=1, cues=position).instances


def texts() -> cc.Instances:
    """The hypotheses of the pairs as single texts with a label."""
    table = pairs().table
    return cc.load({"text": table["hypothesis"].to_list(), "label": table["label"].cast(str).to_list()})


def preferences() -> cc.Instances:
    """Pairs of responses of which people prefer the longer one."""
    return cc.load(demo_battles(800, length=1.2, seed=1))


SETS: dict[str, Callable[[], cc.Instances]] = {
    "Pairs with planted cues": pairs,
    "Pairs without any": clean_pairs,
    "Questions with planted cues": questions,
    "Questions with a favourite place": one_place,
    "Single texts": texts,
    "Preferences": preferences,
}


def shown(make: Callable[[], cc.Instances]) -> str:
    """Return what the terminal shows of a dataset's card."""
    printed = io.StringIO()
    render_brief(cc.audit(make()), Console(file=printed, width=WIDTH, color_system=None))
    return "\n".join(line.rstrip() for line in printed.getvalue().strip("\n").splitlines())


def main() -> None:
    """Write the page."""
    parts = [HEAD]
    for title, make in SETS.items():
        parts.append(f"\n## {title}\n\n{make.__doc__}\n\n```text\n{shown(make)}\n```\n")
    PAGE.write_text("".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()

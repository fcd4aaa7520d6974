"""The table that `make fuzz` prints, in the form in which docs/robustness.md shows it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Kind(NamedTuple):
    """What the cases of a kind are, and how many crashed when they were first tried."""

    title: str
    before: str = "not counted"


_LOGS = "79 of 465 (five kinds)"
KINDS = {
    "arrow": Kind("Arrow files with flipped bits", "132 of 400"),
    "parquet": Kind("Parquet files with flipped bits", "3 of 200"),
    "text": Kind("text files cut, flipped, with pieces of others"),
    "values": Kind("rows with fields replaced", "29"),
    "documents": Kind("JSON of any shape"),
    "inspect": Kind("Inspect logs", _LOGS),
    "harness": Kind("lm-evaluation-harness logs", _LOGS),
    "predictions": Kind("predictions", _LOGS),
    "card": Kind("cards", _LOGS),
    "template": Kind("prompt templates", _LOGS),
    "policy": Kind("policies", "2 of 350"),
    "ratchet": Kind("ratchets", "30 of 150"),
    "worksheet": Kind("worksheets", "2 of 150"),
    "to_fill": Kind("READMEs and Croissant files to fill", "5 of 150"),
    "weights": Kind("rows with weights"),
    "judge": Kind("verdicts of judges", "11 of 150"),
    "commands": Kind("odd command lines, all verbs and options"),
    "valid": Kind("valid command lines, all verbs and options"),
    "full": Kind("verbs that write, on a disk that fills up", "1 left an empty folder"),
    "killed": Kind("verbs that write, killed at a step on disk", "16 of 37"),
    "interrupted": Kind("verbs that write, interrupted at a step on disk", "4 of 4 left a staged file"),
    "served": Kind("the app, killed while it writes", "2 of 10 lost a card that was being deleted"),
}
HEAD = "| kind | cases | how they ended | crashes before | crashes now |\n|---|---|---|---|---|"


def row(kind: str, ends: Mapping[str, int]) -> str:
    """Return the line of a kind; `ends` counts how its cases ended, those that went wrong as "crashes"."""
    counts = ", ".join(f"{n:,} {end}" for end, n in sorted(ends.items()) if n and end != "crashes")
    title, before = KINDS[kind]
    return f"| {title} | {sum(ends.values()):,} | {counts} | {before} | {ends.get('crashes', 0):,} |"

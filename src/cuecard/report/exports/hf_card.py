"""A section for the README of a dataset on the Hugging Face Hub and a block of its YAML, which replace themselves."""

from __future__ import annotations

import json
import re

from cuecard.card.card import Card, shortcuts
from cuecard.errors import InputError
from cuecard.report.exports.statements import caveats
from cuecard.report.markdown import dataset_card_markdown

_SECTION = ("<!-- cuecard:start -->", "<!-- cuecard:end -->")
_YAML = ("# cuecard:start", "# cuecard:end")
_FRONT = re.compile(r"\A---[ \t]*\r?\n(.*?)^---[ \t]*\r?$\n?", re.DOTALL | re.MULTILINE)
#: Number of shortcuts in the YAML.
SHORTCUTS = 5


def hf_card(card: Card, existing: str = "") -> str:
    """Return the README with the section and the YAML block of the card; what others wrote in it stays."""
    front = _FRONT.match(existing)
    yaml, body = (front[1], existing[front.end() :]) if front else ("", existing)
    yaml = _replaced(yaml, _YAML, _yaml(card))
    section = f"{dataset_card_markdown(card).rstrip()}\n\n{caveats(card)}\n"
    return f"---\n{yaml}---\n{_replaced(body, _SECTION, section)}"


def _replaced(text: str, marks: tuple[str, str], content: str) -> str:
    """Return a text in which what is between the marks is the content; at its end where the marks are not there."""
    start, end = marks
    block = f"{start}\n{content}{end}\n"
    lines = re.findall(rf"^({re.escape(start)}|{re.escape(end)})[ \t]*$", text, re.MULTILINE)
    if lines == [start, end]:
        there = rf"^{re.escape(start)}[ \t]*\n.*?^{re.escape(end)}[ \t]*$\n?"
        return re.sub(there, lambda _: block, text, count=1, flags=re.DOTALL | re.MULTILINE)
    if lines:
        raise InputError(
            f"The README needs one line {start} and after it one line {end}, or none of them; it has "
            f"{lines.count(start)} and {lines.count(end)}: add the missing mark, or delete the other one."
        )
    gap = "" if not text else "\n" if text.endswith("\n\n") else "\n\n" if not text.endswith("\n") else "\n"
    return text + ("" if start.startswith("#") else gap) + block


def _yaml(card: Card) -> str:
    """Return the block of YAML: numbers that programs read; every scalar is written as JSON, which YAML can read."""
    tally = {level: sum(f.severity == level for f in card.findings) for level in ("high", "medium", "low")}
    lines = ["cuecard:", f"  fingerprint: {json.dumps(card.dataset.fingerprint)}", "  findings:"]
    lines += [f"    {level}: {n}" for level, n in tally.items()]
    strongest = shortcuts(card)[:SHORTCUTS]
    lines.append("  shortcuts:" if strongest else "  shortcuts: []")
    for measure in strongest:
        lines.append(f"    - measure: {json.dumps(measure.name)}")
        for name in ("value", "low", "high", "chance"):
            number = getattr(measure, name)
            lines.append(f"      {name}: {'null' if number is None else round(number, 4)}")
    return "\n".join(lines) + "\n"

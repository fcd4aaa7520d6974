"""A check in the terminal: the verdict first, then what fails, what is undecided and what passes."""

from __future__ import annotations

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from cuecard.card.judging import Check, Ruling
from cuecard.report.checks.sentences import headline, sentence, severity
from cuecard.stats.limits.limits import Verdict
from cuecard.wording import display_text

_TONES: dict[Verdict, tuple[str, str]] = {
    "fail": ("bold red", "✗"),
    "undecided": ("yellow", "?"),
    "pass": ("green", "✓"),
}
FINDINGS_SHOWN = 10


def render_check(check: Check, console: Console) -> None:
    """Print a check."""
    console.print(Text(headline(check), style=f"bold {_TONES[check.verdict][0]}"))
    for verdict in _TONES:
        for ruling in check.of_verdict(verdict):
            _ruling(ruling, check, console)
    for note in check.notes:
        console.print(Text(display_text(note, 1000), style="dim"))


def _ruling(ruling: Ruling, check: Check, console: Console) -> None:
    tone, sign = _TONES[ruling.verdict]
    name = Text.assemble(
        (f"{sign} {ruling.verdict}{severity(ruling)}  ", tone),
        (display_text(ruling.measure.name, 120), "bold"),
        (f"  line {ruling.rule.line}" if ruling.rule.line else "", "dim"),
    )
    console.print(name)
    console.print(Padding(Text(sentence(ruling)), (0, 0, 0, 2)))
    if ruling.verdict == "pass":
        return
    titles = {finding.id: finding.title for finding in check.card.findings}
    for finding in ruling.findings[:FINDINGS_SHOWN]:
        line = f"{display_text(finding, 80)}: {display_text(titles.get(finding, ''), 120)}"
        console.print(Padding(Text(line, style="dim"), (0, 0, 0, 4)))
    if len(ruling.findings) > FINDINGS_SHOWN:
        more = len(ruling.findings) - FINDINGS_SHOWN
        console.print(
            Padding(Text(f"… and {more:,} more (--format json lists all)", style="dim"), (0, 0, 0, 4))
        )

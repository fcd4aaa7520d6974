"""What changed between two cards, in the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from rich.console import Console
from rich.text import Text

from cuecard import wording
from cuecard.analysis import Unit
from cuecard.card.changes import CueChange
from cuecard.card.diff import Change, Comparison
from cuecard.features.cue_names import spoken_cue
from cuecard.report.terminal.card import headed
from cuecard.wording import display_text

#: Sign and colour of what became of a cue that did not move beyond noise.
_KINDS: dict[str, tuple[str, str]] = {
    "new": ("+", "red"),
    "gone": ("−", "green"),
    "turned": ("↻", "yellow"),
}

#: Sign and colour of what moved beyond noise.
_SIGNS = {"worse": ("▲", "red"), "better": ("▼", "green")}


def render_comparison(
    comparison: Comparison, console: Console, *, top: int = 15, every_number: bool = False
) -> None:
    """Print what changed, the most telling first; at most `top` rows per table.

    Of the numbers, the measures; with `every_number` all that differ, as they are on the cards.
    """
    console.print()
    console.print(Text(verdict_of(comparison), style=f"bold {_tone(comparison)}".strip()))
    title = f"{display_text(comparison.before, 60)} → {display_text(comparison.after, 60)}"
    console.print(Text(title, style="bold"))
    for note in comparison.notes:
        console.print(Text(note, style="dim"))
    _moved_measures(comparison, console, top)
    _moved_cues(comparison, console, top)
    if comparison.unchanged:
        console.print("The data and the results are the same.")
        return
    console.print("The data is the same." if comparison.same_data else "The data differs.")
    _changes("Data", comparison.data, console, top)
    _changes("Analyses and options", merged_settings(comparison.sections), console, top)
    _cues_within_noise(comparison, console, top)
    if every_number:
        _changes("Numbers", comparison.numbers, console, len(comparison.numbers))
    else:
        _changes("Measures", comparison.measures, console, top)
        rest = len(comparison.numbers) - len(comparison.measures)
        if rest > 0:
            console.print(Text(f"{rest:,} more numbers differ (--all shows them)", style="dim"))
    for sign, style, titles in (
        ("+", "red", comparison.findings_new),
        ("−", "green", comparison.findings_gone),
    ):
        for title in titles[:top]:
            console.print(Text.assemble((f"{sign} ", style), display_text(title, 200)))


def verdict_of(comparison: Comparison) -> str:
    """Return the verdict of a comparison: what got worse or better beyond noise."""
    if comparison.unchanged:
        return "Unchanged."
    if not comparison.comparable:
        return "Not judged: the tasks differ."
    parts = []
    for direction in ("worse", "better"):
        measures = sum(move.direction == direction for move in comparison.moved)
        cues = sum(cue.direction == direction for cue in comparison.cues_moved)
        counted = [wording.plural(measures, "measure")] if measures else []
        counted += [wording.plural(cues, "cue")] if cues else []
        if counted:
            parts.append(f"{' and '.join(counted)} got {direction}")
    if not parts:
        return "No measure or cue moved beyond noise."
    return f"{'Worse' if comparison.worse else 'Better'}: {'; '.join(parts)} beyond noise."


def _tone(comparison: Comparison) -> str:
    return "red" if comparison.worse else "green" if comparison.better else ""


def _moved_measures(comparison: Comparison, console: Console, top: int) -> None:
    """Print the measures that moved beyond noise, each with the interval of its change."""
    for move in comparison.moved[:top]:
        unit: Unit = "points" if move.after.unit in ("share", "points") else move.after.unit
        low, high = (
            wording.in_unit(end, unit).replace("-", "−") for end in (move.change.low, move.change.high)
        )
        interval = f", 95 % CI {low} to {high}" if move.change.low < move.change.high else ""
        paired = f", {wording.count(move.change.shared)} shared examples" if move.change.shared else ""
        sign, style = _SIGNS[move.direction]
        console.print(
            Text.assemble(
                (f"{sign} {move.direction}  ", style),
                (display_text(move.after.label or move.after.name, 80), "bold"),
                f" {wording.in_unit(move.before.value, move.after.unit)} → "
                f"{wording.in_unit(move.after.value, move.after.unit)} (change "
                f"{wording.in_unit(move.change.difference, unit).replace('-', '−')}{interval}{paired})",
            )
        )


def _moved_cues(comparison: Comparison, console: Console, top: int) -> None:
    """Print the cues that moved beyond noise."""
    for cue in comparison.cues_moved[:top]:
        sign, style = _SIGNS[cue.direction]
        console.print(_line(cue, f"{sign} {cue.direction}  ", style, cue.label))
    if len(comparison.cues_moved) > top:
        more = len(comparison.cues_moved) - top
        console.print(Text(f"… and {more:,} more cues (--json shows all)", style="dim"))


def _chances(moved: CueChange) -> str:
    """Return the chance levels where they differ: a share can stay while chance moves, as under weights."""
    before, after = (wording.percent(chance) for chance in (moved.chance_before, moved.chance_after))
    return "" if before == after else f" (chance {before} → {after})"


def merged_settings(changes: Sequence[Change]) -> list[Change]:
    """Return the changes of options, one that is the same in several sections once."""
    sections: dict[str, list[Change]] = {}
    for change in changes:
        sections.setdefault(repr((change.what, change.before, change.after)), []).append(change)
    return [
        replace(same[0], section=", ".join(change.section for change in same)) if len(same) > 1 else same[0]
        for same in sections.values()
    ]


def _changes(title: str, changes: Sequence[Change], console: Console, top: int) -> None:
    if not changes:
        return
    table = headed("", "Before", "After", "Change", title=title, title_justify="left")
    for change in changes[:top]:
        moved = change_text(change)
        plain = change.section == "dataset" or title == "Measures"
        name = change.what if plain else f"{change.section}: {change.what}"
        table.add_row(
            Text(display_text(name, 80)),
            value_text(change.before, change.unit),
            value_text(change.after, change.unit),
            moved,
        )
    console.print(table)
    if len(changes) > top:
        console.print(Text(f"… and {len(changes) - top:,} more (--json shows all)", style="dim"))


def _cues_within_noise(comparison: Comparison, console: Console, top: int) -> None:
    """Print the cues that are significant on one card only, or for another label, though none moved beyond noise."""
    cues = [cue for cue in comparison.cues if cue.direction == "within noise"]
    if not cues:
        return
    tally = Counter(cue.kind for cue in cues)
    counted = ", ".join(f"{tally[kind]:,} {kind}" for kind in tally)
    console.print(Text(f"Changes of the list of cues within noise: {counted}"))
    for cue in cues[:top]:
        sign, style = _KINDS[cue.kind]
        label = f"{cue.label_before} → {cue.label_after}" if cue.kind == "turned" else cue.label
        console.print(_line(cue, f"  {sign} ", style, label))


def _line(cue: CueChange, start: str, style: str, label: str) -> Text:
    shares = f"{wording.percent(cue.share_before)} → {wording.percent(cue.share_after)}{_chances(cue)}"
    name = display_text(spoken_cue(cue.family, cue.feature), 60)
    return Text.assemble((start, style), (name, "bold"), f" {display_text(label, 60)} {shares}")


def change_text(change: Change) -> str:
    """Return after minus before, of shares in points; nothing for p-values, whose difference says nothing."""
    difference = change.difference
    if difference is None or change.unit == "p":
        return ""
    if change.unit in ("share", "points"):
        return wording.points(difference)
    return (("+" if difference > 0 else "") + wording.number(difference)).replace("-", "−")


def value_text(value: object, unit: Unit | None) -> str:
    """Return a value of a comparison as it is shown."""
    if value is None:
        return wording.MISSING
    if unit is not None and wording.is_number(value):
        return wording.in_unit(value, unit).replace("-", "−")
    if wording.is_number(value):
        return wording.number(value).replace("-", "−")
    if isinstance(value, (list, tuple)):
        return display_text(", ".join(map(str, value)) or "none", 60)
    return display_text(value, 60)

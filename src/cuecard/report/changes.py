"""What changed between two cards, in the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from rich.console import Console
from rich.text import Text

from cuecard import wording
from cuecard.analysis import Unit
from cuecard.card.changes import CueChange, Movement
from cuecard.card.diff import Change, Comparison
from cuecard.features.family import spoken_cue
from cuecard.report.terminal.card import headed
from cuecard.wording import display_text

#: Sign and colour of what became of a cue that did not move beyond noise.
_KINDS: dict[str, tuple[str, str]] = {
    "new": ("+", "red"),
    "gone": ("−", "green"),
    "turned": ("↻", "yellow"),
}

#: Sign and colour of what moved beyond noise.
_SIGNS = {"worse": ("▲", "red"), "better": ("▼", "green"), "higher": ("↑", "cyan"), "lower": ("↓", "cyan")}


def render_comparison(
    comparison: Comparison, console: Console, *, top: int = 15, every_number: bool = False
) -> None:
    """Print what moved beyond noise, what got worse first; at most `top` rows per table.

    With `every_number` also all numbers that differ, and the changes of the lists of cues and findings within noise.
    """
    console.print()
    console.print(Text(verdict_of(comparison), style=f"bold {_tone(comparison)}".strip()))
    title = f"{display_text(comparison.before, 60)} → {display_text(comparison.after, 60)}"
    console.print(Text(title, style="bold"))
    for note in comparison.notes:
        console.print(Text(note, style="dim"))
    _moved_measures(comparison.moved[:top], console)
    _moved_cues(comparison, console, top)
    if comparison.unchanged:
        console.print("The data and the results are the same.")
        return
    console.print("The data is the same." if comparison.same_data else "The data differs.")
    _moved_measures(comparison.shifted[:top], console)
    _changes("Data", comparison.data, console, top)
    _changes("Analyses and options", merged_settings(comparison.sections), console, top)
    if every_number:
        _cues_within_noise(comparison, console, top)
        _changes("Numbers", comparison.numbers, console, len(comparison.numbers))
        _changed_findings(comparison, console, top)
        return
    if comparison.same_data:  # every difference is one of the settings or the models, and exact
        _changes("Measures", visible(comparison.measures), console, top)
    if said := not_moved(comparison):
        console.print(Text(f"{said} (--all lists them)", style="dim"))


def not_moved(comparison: Comparison) -> str:
    """Return in a sentence what differs and did not move beyond noise."""
    measures = sum(
        move.direction == "within noise" and bool(move.change.difference) for move in comparison.judged
    )
    cues = len(comparison.cues) - len(comparison.cues_moved)
    findings = len(comparison.findings_new) + len(comparison.findings_gone)
    counted = ((measures, "measure"), (cues, "cue"), (findings, "finding"))
    said = [wording.plural(n, what) for n, what in counted if n]
    return f"Within noise or not judged: {wording.listed(said)}" if said else ""


def visible(changes: Sequence[Change]) -> list[Change]:
    """Return the changes that can be seen in the numbers as they are shown: from 0 % to 0 % is none."""
    return [c for c in changes if value_text(c.before, c.unit) != value_text(c.after, c.unit)]


def _changed_findings(comparison: Comparison, console: Console, top: int) -> None:
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


def _moved_measures(moves: Sequence[Movement], console: Console) -> None:
    """Print measures that moved beyond noise, each with the interval of its change."""
    for move in moves:
        paired = f", {wording.count(move.change.shared)} shared examples" if move.change.shared else ""
        sign, style = _SIGNS[move.direction]
        console.print(
            Text.assemble(
                (f"{sign} {move.direction}  ", style),
                (display_text(move.after.label or move.after.name, 80), "bold"),
                f" {value_text(move.before.value, move.before.unit)} → "
                f"{value_text(move.after.value, move.after.unit)} ({_interval(move)}{paired})",
            )
        )


def _interval(move: Movement) -> str:
    unit = change_unit(move)
    said = f"change {value_text(move.change.difference, unit)}"
    if move.change.low < move.change.high:
        said += f", 95 % CI {value_text(move.change.low, unit)} to {value_text(move.change.high, unit)}"
    return said


def change_unit(move: Movement) -> Unit:
    """Return the unit of the change of a measure: of a share, points."""
    return "points" if move.after.unit in ("share", "points") else move.after.unit


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


def _change_from_chance(cue: CueChange) -> str:
    """Return by how much further the share of a cue is from chance, with its interval, if it can be said."""
    if cue.change is None or cue.direction == "within noise":
        return ""
    ends = wording.ends(cue.low, cue.high, wording.points)
    return f", from chance {wording.points(cue.change)} (95 % CI {ends})"


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
    for cue in [cue for cue in cues if _differs(cue)][:top]:
        sign, style = _KINDS[cue.kind]
        label = f"{cue.label_before} → {cue.label_after}" if cue.kind == "turned" else cue.label
        console.print(_line(cue, f"  {sign} ", style, label))


def _differs(cue: CueChange) -> bool:
    """Return whether the shares of a cue differ as they are shown."""
    return wording.percent(cue.share_before) != wording.percent(cue.share_after)


def _line(cue: CueChange, start: str, style: str, label: str) -> Text:
    before, after = (
        "too rare to test" if share is None else wording.percent(share)
        for share in (cue.share_before, cue.share_after)
    )
    shares = f"{before} → {after}{_chances(cue)}{_change_from_chance(cue)}"
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

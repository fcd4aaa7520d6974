"""Cards compared: what changed in the data, the cues, the baselines and the models between versions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TypeGuard

from cuecard.analysis import Finding, Unit
from cuecard.card.card import Card
from cuecard.card.changes import CueChange, Movement, cue_changes, judged_measures, shifted_measures
from cuecard.errors import UsageError

#: Numbers that differ by less are the same.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Change:
    """One thing that differs: its section, what it is called, and both values.

    Of a measure, `what` is its label, `measure` its name and `unit` its unit.
    """

    section: str
    what: str
    before: object
    after: object
    unit: Unit | None = None
    measure: str = ""

    @property
    def difference(self) -> float | None:
        """After minus before, where both are finite numbers."""
        if _is_finite(self.before) and _is_finite(self.after):
            return float(self.after) - float(self.before)
        return None


@dataclass(frozen=True)
class Comparison:
    """What changed from one card to the next."""

    before: str
    after: str
    same_data: bool
    data: tuple[Change, ...] = ()
    sections: tuple[Change, ...] = ()
    measures: tuple[Change, ...] = ()
    """The measures of the sections that are on both cards."""
    numbers: tuple[Change, ...] = ()
    """Every number of every section."""
    cues: tuple[CueChange, ...] = ()
    """The cues that are new, gone or turned, and those that became stronger or weaker beyond noise."""
    findings_gone: tuple[str, ...] = ()
    findings_new: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())
    comparable: bool = True
    """Whether the tasks are the same; otherwise nothing is judged."""
    judged: tuple[Movement, ...] = ()
    """The change of every measure that can get better or worse, with its interval."""
    shifted: tuple[Movement, ...] = ()
    """The measures without a worse direction that moved beyond noise."""

    @property
    def moved(self) -> tuple[Movement, ...]:
        """The measures that moved beyond noise."""
        return tuple(one for one in self.judged if one.direction != "within noise")

    @property
    def cues_moved(self) -> tuple[CueChange, ...]:
        """The cues that moved beyond noise, those that got worse first."""
        moved = (one for one in self.cues if one.direction != "within noise")
        return tuple(sorted(moved, key=lambda one: one.direction != "worse"))

    @property
    def worse(self) -> bool:
        """Whether a measure or a cue got worse beyond noise."""
        return "worse" in self._directions

    @property
    def better(self) -> bool:
        """Whether a measure or a cue got better beyond noise."""
        return "better" in self._directions

    @property
    def _directions(self) -> set[str]:
        return {one.direction for one in self.moved} | {one.direction for one in self.cues_moved}

    @property
    def unchanged(self) -> bool:
        """Whether the two cards say the same."""
        parts = (self.data, self.sections, self.numbers, self.cues, self.findings_gone, self.findings_new)
        return self.same_data and not any(parts)

    def as_dict(self) -> dict[str, object]:
        """Return the comparison as JSON can hold it."""
        plain = asdict(self) | {"unchanged": self.unchanged, "worse": self.worse, "better": self.better}
        plain["moved"] = [asdict(one) for one in self.moved]
        plain["cues_moved"] = [asdict(one) for one in self.cues_moved]
        for part in ("data", "sections", "measures", "numbers"):
            plain[part] = [asdict(c) | {"difference": c.difference} for c in getattr(self, part)]
        return plain


def compare(cards: Sequence[Card], names: Sequence[str] | None = None) -> list[Comparison]:
    """Return what changed from each card to the next one.

    Args:
        cards: at least two cards, oldest first.
        names: what to call them; the datasets' names by default.
    """
    if len(cards) < 2:
        raise UsageError("There is nothing to compare: name at least two cards.")
    called = list(names) if names is not None else [card.dataset.name for card in cards]
    return [_pair(cards[i], cards[i + 1], called[i], called[i + 1]) for i in range(len(cards) - 1)]


def _pair(before: Card, after: Card, name_before: str, name_after: str) -> Comparison:
    old, new = ({_identity(finding) for finding in card.findings} for card in (before, after))
    comparable = before.dataset.task == after.dataset.task
    return Comparison(
        before=name_before,
        after=name_after,
        same_data=before.dataset.fingerprint == after.dataset.fingerprint,
        data=tuple(_data(before, after)),
        sections=tuple(_sections(before, after)),
        measures=tuple(_measures(before, after)),
        numbers=tuple(_numbers(before, after)),
        cues=tuple(cue_changes(before, after)) if comparable else (),
        findings_gone=tuple(f.title for f in before.findings if _identity(f) not in new),
        findings_new=tuple(f.title for f in after.findings if _identity(f) not in old),
        notes=tuple(_notes(before, after)),
        comparable=comparable,
        judged=tuple(judged_measures(before, after)) if comparable else (),
        shifted=tuple(shifted_measures(before, after)) if comparable else (),
    )


def _data(before: Card, after: Card) -> list[Change]:
    changes = []
    for name in ("name", "task", "labels"):
        old, new = getattr(before.dataset, name), getattr(after.dataset, name)
        if old != new:
            changes.append(Change("dataset", name, old, new))
    for split in dict.fromkeys([*before.dataset.splits, *after.dataset.splits]):
        old_split, new_split = before.dataset.splits.get(split), after.dataset.splits.get(split)
        pairs = {
            "examples": (
                old_split.examples if old_split else None,
                new_split.examples if new_split else None,
            )
        }
        labels = {**(old_split.labels if old_split else {}), **(new_split.labels if new_split else {})}
        for label in labels:
            pairs[f"label {label}"] = (
                old_split.labels.get(label) if old_split else None,
                new_split.labels.get(label) if new_split else None,
            )
        changes += [Change("dataset", f"{split} {what}", a, b) for what, (a, b) in pairs.items() if a != b]
    return changes


def _sections(before: Card, after: Card) -> list[Change]:
    changes = []
    for name in dict.fromkeys([*before.sections, *after.sections]):
        old, new = before.sections.get(name), after.sections.get(name)
        if (old.status if old else None) != (new.status if new else None):
            changes.append(Change(name, "status", old.status if old else None, new.status if new else None))
        if old is None or new is None:
            continue
        for option in dict.fromkeys([*old.parameters, *new.parameters]):
            a, b = old.parameters.get(option), new.parameters.get(option)
            if a != b:
                changes.append(Change(name, f"option {option}", a, b))
    return changes


def _measures(before: Card, after: Card) -> list[Change]:
    """Return the measures that both cards have and that differ, or that one of them lacks in a section of both."""
    old, new = ({m.name: m for m in card.all_measures()} for card in (before, after))
    changes = []
    for name in dict.fromkeys([*old, *new]):
        measure = new.get(name) or old[name]
        a, b = (part[name].value if name in part else None for part in (old, new))
        both = measure.section in before.sections and measure.section in after.sections
        if both and not _same(a, b):
            changes.append(Change(measure.section, measure.label or name, a, b, measure.unit, name))
    return changes


def _identity(finding: Finding) -> str:
    return finding.id or finding.title


def _numbers(before: Card, after: Card) -> list[Change]:
    """Return the numbers of summaries that differ: baselines, weaknesses, p-values and all others."""
    changes = []
    for name in before.sections:
        if name not in after.sections:
            continue
        old = dict(_leaves(before.sections[name].summary))
        new = dict(_leaves(after.sections[name].summary))
        for what in dict.fromkeys([*old, *new]):
            a, b = old.get(what), new.get(what)
            if not _same(a, b):
                changes.append(Change(name, what, a, b))
    return changes


def _leaves(value: object, path: str = "") -> list[tuple[str, object]]:
    """Return the numbers and texts of a summary with their paths; entries of lists go by their names."""
    if isinstance(value, Mapping):
        return [
            leaf
            for key, part in value.items()
            for leaf in _leaves(part, f"{path}.{key}" if path else str(key))
        ]
    if isinstance(value, list) and value and all(isinstance(part, Mapping) for part in value):
        return [
            leaf
            for name, part in zip(_entry_names(value), value, strict=True)
            for leaf in _leaves(part, f"{path}[{name}]")
        ]
    return [(path, value)]


def _entry_names(entries: Sequence[Mapping[str, object]]) -> list[str]:
    """Return the texts of every entry as its name, with its place where others have the same name or it has none."""
    names = [
        ", ".join(part for key, part in entry.items() if isinstance(part, str) and key != "p")
        for entry in entries
    ]
    times = Counter(names)
    return [
        name if name and times[name] == 1 else f"{name}, {i}" if name else str(i)
        for i, name in enumerate(names)
    ]


def _same(before: object, after: object) -> bool:
    """Return whether two values say the same: numbers up to rounding, and what is not a number only as itself."""
    if isinstance(before, (list, tuple)) and isinstance(after, (list, tuple)):
        return len(before) == len(after) and all(map(_same, before, after))
    if _is_finite(before) and _is_finite(after):
        return bool(abs(float(after) - float(before)) <= ROUNDING * max(1.0, abs(float(before))))
    if _is_number(before) and _is_number(after) and math.isnan(before):
        return math.isnan(after)
    return bool(before == after)


def _notes(before: Card, after: Card) -> list[str]:
    notes = []
    old, new = before.provenance.versions.get("cuecard"), after.provenance.versions.get("cuecard")
    if old != new:
        notes.append(f"The cards were written by CueCard {old} and {new}.")
    if before.dataset.task != after.dataset.task:
        notes.append("The tasks differ, so most numbers cannot be compared.")
    return notes


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_finite(value: object) -> TypeGuard[float]:
    return _is_number(value) and math.isfinite(value)

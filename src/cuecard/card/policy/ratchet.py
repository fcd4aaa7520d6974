"""A ratchet: the violations that were there when it was written, a list that only gets shorter."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from cuecard.analysis import Measure
from cuecard.card.changes import measured_change
from cuecard.card.policy.finding_counts import ALL_SECTIONS
from cuecard.card.policy.judging import Check
from cuecard.card.policy.references import Reference, finding_measure
from cuecard.documents import checked, parse_json
from cuecard.errors import InputError
from cuecard.writing import write_json

VERSION = 1
_PARTS = ("measures", "findings")
_REMEDY = "name another --ratchet, or delete it"


@dataclass(frozen=True)
class _File:
    """What a ratchet file holds."""

    cuecard_ratchet: Literal[1]
    measures: list[Measure]
    findings: list[Measure]


def read_ratchet(path: Path) -> Reference | None:
    """Return the accepted violations of a file, or None where there is no file yet."""
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"{path}: the ratchet file cannot be read ({error.strerror}): {_REMEDY}.") from None
    document = parse_json(raw, f"{path}: this is not a ratchet file; it", _REMEDY)
    ratchet: _File = checked(_File, document, f"{path}: this is not a ratchet file", _REMEDY)
    return Reference(
        {measure.name: measure for measure in ratchet.measures},
        {measure.name: measure for measure in ratchet.findings},
        name=str(path),
    )


def shrunk(check: Check, before: Reference | None) -> Reference:
    """Return the violations of a check that may stay accepted: all at first, later only those accepted before.

    A value is replaced when it got significantly better, so that it cannot get worse again. What is undecided today, or
    was not measured, is not mended and stays.
    """
    violated = [ruling for ruling in check.rulings if ruling.violated]
    measures = [r.measure for r in violated if not _is_count(r.measure) and r.measure.value is not None]
    counted = {r.measure.name for r in violated if _is_count(r.measure)}
    findings = [
        finding_measure(finding)
        for finding in check.card.findings
        if any(_is_about(name, finding.section, finding.severity) for name in counted)
    ]
    if before is None:
        return Reference({m.name: m for m in measures}, {m.name: m for m in findings})
    now, present = {m.name: m for m in measures}, {m.name: m for m in findings}
    mended = {r.measure.name for r in check.rulings if r.verdict == "pass"} - now.keys()
    done = {name for name, section in check.card.sections.items() if section.status == "done"}
    return Reference(
        {
            name: _better(old, now[name]) if name in now else old
            for name, old in before.measures.items()
            if name not in mended
        },
        {
            name: _better(old, present[name]) if name in present else old
            for name, old in before.findings.items()
            if name in present or name.partition("/")[0] not in done
        },
    )


def write_ratchet(path: Path, reference: Reference) -> None:
    """Write the accepted violations."""
    parts: dict[str, Any] = {
        part: [asdict(m) for m in sorted(getattr(reference, part).values(), key=lambda m: m.name)]
        for part in _PARTS
    }
    write_json(path, {"cuecard_ratchet": VERSION, **parts})


def _better(before: Measure, after: Measure) -> Measure:
    change = measured_change(before, after)
    opposite = "lower" if before.worse == "higher" else "higher"
    return after if change is not None and change.worsened(opposite) else before


def _is_count(measure: Measure) -> bool:
    return measure.name.rpartition(".")[2] in ("high", "medium", "low") and measure.unit == "count"


def _is_about(count: str, section: str, severity: str) -> bool:
    counted, _, least = count.rpartition(".")
    order = ("high", "medium", "low", "info")
    return counted in (ALL_SECTIONS, section) and order.index(severity) <= order.index(least)

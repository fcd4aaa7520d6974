"""Files of a policy: the TOML file that is read, a first one for a dataset, and the ratchet of accepted violations."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any, Literal, cast

from cuecard.analysis import Measure
from cuecard.card.card import Card
from cuecard.card.changes import as_sampled, measured_change
from cuecard.card.judging import Check
from cuecard.card.policy import (
    ALL_SECTIONS,
    COUNTED,
    RULE_SEVERITIES,
    Allowance,
    Limit,
    Policy,
    Reference,
    Rule,
    finding_counts,
    finding_measure,
)
from cuecard.data import TASKS, Task
from cuecard.data.reading.formats import check_regular
from cuecard.documents import checked, parse_json
from cuecard.errors import InputError
from cuecard.wording import listed, percent, points
from cuecard.writing import write_json

_KEYS = ("task", "extras", "rules", "allow")
_RULE_KEYS = ("limit", "severity", "reason")
_ALLOW_KEYS = ("finding", "reason", "expires")


def read_policy(path: str | Path) -> Policy:
    """Return the policy in a file, or raise with the line of what is wrong."""
    try:
        check_regular(Path(path), rows=False)
        text = Path(path).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputError(
            f"{path}: there is no policy; write one with `cuecard check CARD --init --policy {path}`."
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: the policy cannot be read ({error}).") from None
    return parse_policy(text, str(path))


def parse_policy(text: str, source: str = "policy") -> Policy:
    """Return the policy that a TOML text says.

    >>> parse_policy('[rules]\\n"cues.high" = "== 0"').rules[0].limits[0].bound
    0.0
    """
    reader = _Reader(text, source)
    try:
        document = tomllib.loads(text)
        named = _flat(document.get("rules"))
    except tomllib.TOMLDecodeError as error:
        raise reader.not_toml(str(error)) from None
    except ValueError:
        raise reader.error(1, "a number of the policy has more than 4,300 digits") from None
    except RecursionError:
        raise reader.error(1, "the policy is nested too deeply") from None
    if unknown := [key for key in document if key not in _KEYS]:
        raise reader.error(
            reader.line_of(unknown[0]),
            f"{unknown[0]!r} is not part of a policy: write {listed(list(_KEYS), 'or')}"
            " (rules are below a line [rules])",
        )
    if not named:
        raise reader.error(1, 'there are no rules: below a line [rules] write "MEASURE" = "<= 0.05"')
    task = document.get("task")
    if task is not None and task not in TASKS:
        raise reader.error(reader.line_of("task"), f"task = {task!r}: write {listed(list(TASKS), 'or')}")
    extras = document.get("extras")
    if extras is not None and not (
        isinstance(extras, list) and all(isinstance(name, str) for name in extras)
    ):
        raise reader.error(reader.line_of("extras"), 'extras is a list of names: write extras = ["english"]')
    parsed = tuple(reader.rule(name, value) for name, value in named)
    allow = document.get("allow", [])
    if not isinstance(allow, list) or not all(isinstance(entry, dict) for entry in allow):
        raise reader.error(
            reader.line_of("allow"), "allowances are written below lines [[allow]], two brackets each"
        )
    lines = reader.lines_of_entries("allow")
    allowances = tuple(
        reader.allowance(entry, lines[i] if i < len(lines) else 1) for i, entry in enumerate(allow)
    )
    places = reader.line_of("task"), reader.line_of("extras")
    return Policy(parsed, allowances, cast(Task | None, task), source, *places, extras)


def _flat(rules: object, before: str = "") -> list[tuple[str, object]]:
    """Return the rules by their whole names: a name without quotes is a table in a table for TOML."""
    pairs: list[tuple[str, object]] = []
    for key, value in rules.items() if isinstance(rules, dict) else ():
        name = f"{before}.{key}" if before else key
        is_rule = not isinstance(value, dict) or "limit" in value
        pairs += [(name, value)] if is_rule else _flat(value, name)
    return pairs


class _Reader:
    """Parts of one policy, with errors that name its file and line."""

    def __init__(self, text: str, source: str) -> None:
        self.lines = text.splitlines()
        self.source = source

    def error(self, line: int, sentence: str) -> InputError:
        return InputError(f"{self.source}, line {line}: {sentence}.")

    def not_toml(self, message: str) -> InputError:
        """Return the error of the TOML reader with its line in front, and plain words for a rule written twice."""
        place = re.search(r" \(at line (\d+), column \d+\)", message)
        line = int(place[1]) if place else len(self.lines)
        if "Cannot overwrite" in message or "Cannot declare" in message:
            key = self.lines[line - 1].partition("=")[0].strip()
            return self.error(
                line,
                f'{key} is written twice: keep one; a rule can have several limits, such as [">= 0.20", "<= 0.30"]',
            )
        return self.error(line, f"this is not TOML ({message.partition(' (at ')[0]})")

    def line_of(self, key: str) -> int:
        """Return the line on which a key stands."""
        quoted = re.escape(key)
        key_line = re.compile(rf"^\s*(\[+\s*)?([\"']?){quoted}\2\s*(=|\]|\.)")
        return next((i for i, line in enumerate(self.lines, 1) if key_line.match(line)), 1)

    def lines_of_entries(self, name: str) -> list[int]:
        entry = re.compile(rf"^\s*\[\[\s*{name}\s*\]\]")
        return [i for i, line in enumerate(self.lines, 1) if entry.match(line)]

    def rule(self, name: str, value: object) -> Rule:
        line = self.line_of(name)
        parts = value if isinstance(value, dict) else {"limit": value}
        if unknown := [key for key in parts if key not in _RULE_KEYS]:
            raise self.error(
                line, f"{unknown[0]!r} is not part of a rule: write {listed(list(_RULE_KEYS), 'or')}"
            )
        written = parts["limit"] if isinstance(parts["limit"], list) else [parts["limit"]]
        limits = tuple(limit for text in written if (limit := Limit.parsed(text)) is not None)
        if len(limits) < len(written) or not limits:
            raise self.error(line, f'{name!r} has the limit {parts["limit"]!r}: write such as "<= 0.05"')
        severity = parts.get("severity", "error")
        if severity not in RULE_SEVERITIES:
            raise self.error(
                line, f"severity = {severity!r}: write {listed(list(map(repr, RULE_SEVERITIES)), 'or')}"
            )
        if not isinstance(reason := parts.get("reason", ""), str):
            raise self.error(line, f"reason = {reason!r}: write a text in quotes")
        return Rule(name, limits, severity, reason, line)

    def allowance(self, entry: Mapping[str, Any], line: int) -> Allowance:
        if unknown := [key for key in entry if key not in _ALLOW_KEYS]:
            raise self.error(
                line, f"{unknown[0]!r} is not part of an allowance: write {listed(list(_ALLOW_KEYS), 'and')}"
            )
        for key in ("finding", "reason"):
            if not isinstance(entry.get(key), str) or not entry[key].strip():
                raise self.error(line, f'the allowance has no {key}: add {key} = "…"')
        expires = entry.get("expires")
        if isinstance(expires, datetime) or not isinstance(expires, date):
            raise self.error(line, "the allowance has no day on which it ends: add expires = 2027-01-31")
        return Allowance(entry["finding"], entry["reason"], expires, line)


OPENING = """# The policy of {name}. `cuecard check DATA` fails if the whole 95 % confidence interval of a measure
# violates its rule. The limits are what the data satisfies today; those of numbers that vary from sample to sample,
# such as the number of cues, are the upper ends of their intervals.
# Shares and points are fractions: 0.05 is 5 % or 5 points. Wildcards work: "partial_input.*.excess" = "<= 0.10".
# A rule can be {{ limit = "<= 0.05", severity = "warning", reason = "why" }}.
# Every finding has an id (`cuecard audit DATA --json`); to accept one until a day:
#   [[allow]]
#   finding = "cues/sleeping/contradiction"
#   reason = "a description of the picture"
#   expires = 2027-01-31

task = "{task}"
# Optional parts of CueCard that had a part in today's numbers: the check needs the same ones.
extras = [{extras}]

[rules]
"""


def starter_policy(card: Card) -> str:
    """Return a commented policy that the card satisfies."""
    lines = [
        OPENING.format(
            name=card.dataset.name.replace("\n", " "),
            task=card.dataset.task,
            extras=", ".join(f'"{name}"' for name in card.extras),
        )
    ]
    lines.append("# Findings of all sections, at least so severe.")
    counts = finding_counts(card, Policy(()), ())
    for severity in COUNTED[:2]:
        count = counts[f"{ALL_SECTIONS}.{severity}"]
        maybe = f", possibly {count.possibly}" if count.possibly > count.surely else ""
        lines.append(f'"{count.measure.name}" = "<= {count.possibly}"  # today {count.surely}{maybe}')
    for section in card.sections.values():
        if section.status == "done" and (rules := [_rule(m) for m in section.measures if _is_gated(m)]):
            lines += ["", f"# {section.title}", *rules]
        elif section.status != "done":
            lines += ["", f"# {section.title}: {section.status} ({' '.join(section.reason.split())})"]
    return "\n".join(lines) + "\n"


def _is_gated(measure: Measure) -> bool:
    """Return whether a first policy has a rule for a measure: one number per shortcut, and what is counted once."""
    if measure.worse != "higher" or measure.value is None:
        return False
    if measure.unit == "points":
        return measure.high is not None
    whole = measure.name.count(".") == 1
    return whole and measure.unit in ("count", "share") and measure.chance is None


def _upper_end(measure: Measure) -> float:
    """Return what the measure may be in another sample; a property of the data is what it is, and 0 stays 0."""
    assert measure.value is not None
    if measure.high is None and (measure.section == "overview" or not measure.value):
        return measure.value
    end = as_sampled(measure).high
    return measure.value if end is None else end


def _rule(measure: Measure) -> str:
    assert measure.value is not None
    high = _upper_end(measure)
    if measure.unit == "count":
        return f'"{measure.name}" = "<= {math.ceil(high)}"  # today {measure.value:g}'
    limit = max(0.0, math.ceil(round(100 * high, 6)) / 100)
    write = points if measure.unit == "points" else percent
    interval = ""
    if measure.low is not None and measure.high is not None:
        interval = f", 95 % CI {write(measure.low)} to {write(measure.high)}"
    today = f"{write(measure.value)}{' points' if measure.unit == 'points' else ''}{interval}"
    return f'"{measure.name}" = "<= {limit:g}"  # today {today}'.replace("\N{NO-BREAK SPACE}", " ")


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
    parts: dict[str, object] = {
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

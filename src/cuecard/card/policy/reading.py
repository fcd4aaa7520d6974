"""A policy from a TOML file; what is wrong with one is said with its line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any, cast

from cuecard.card.policy.rules import RULE_SEVERITIES, Allowance, Limit, Policy, Rule
from cuecard.data import TASKS, Task
from cuecard.data.files.paths import check_regular
from cuecard.errors import InputError
from cuecard.wording import listed

_KEYS = ("task", "rules", "allow")
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
    return Policy(parsed, allowances, cast(Task | None, task), source, reader.line_of("task"))


def _flat(rules: Any, before: str = "") -> list[tuple[str, Any]]:
    """Return the rules by their whole names: a name without quotes is a table in a table for TOML."""
    pairs: list[tuple[str, Any]] = []
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

    def rule(self, name: str, value: Any) -> Rule:
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

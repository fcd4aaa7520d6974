"""A check as people and other tools read it: terminal, Markdown, JSON, JUnit, SARIF and GitHub."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from cuecard import wording
from cuecard._version import __version__
from cuecard.analysis import Unit
from cuecard.card.judging import Check, Ruling
from cuecard.card.policy import Limit
from cuecard.errors import InputError
from cuecard.report.markdown import code, escape, markdown_table
from cuecard.stats.limits import Verdict
from cuecard.wording import display_text, listed
from cuecard.writing import write_text

__all__ = [
    "WRITERS",
    "check_json",
    "check_markdown",
    "github_annotations",
    "junit_xml",
    "sarif_log",
    "show_check",
]

JsonObject = dict[str, Any]


_OPERATORS = {"<=": "at most", "<": "below", ">=": "at least", ">": "above", "==": "exactly"}


def headline(check: Check) -> str:
    """Return the verdict in one sentence."""
    name, policy = display_text(check.card.dataset.name, 80), display_text(check.policy.source, 120)
    failing = [ruling for ruling in check.rulings if ruling.fails and ruling.verdict == "fail"]
    undecided = check.of_verdict("undecided")
    total = wording.plural(len(check.rulings), "measure")
    accepted = sum(ruling.violated and ruling.verdict == "pass" for ruling in check.rulings)
    if failing:
        verb = "fails" if len(failing) == 1 else "fail"
        more = f", {len(undecided)} undecided" if undecided else ""
        return f"FAIL: {name} violates {policy}: {len(failing)} of {total} {verb}{more}."
    if check.verdict != "pass":
        words = "is" if len(undecided) == 1 else "are"
        met = "is not significantly worse" if accepted else f"violates no limit of {policy}"
        said = "FAIL (strict)" if check.verdict == "fail" else "UNDECIDED"
        return f"{said}: {name} {met}, but {len(undecided)} of {total} {words} undecided."
    warned = len(check.of_verdict("fail"))
    more = f" ({wording.plural(warned, 'warning')})" if warned else ""
    if accepted:
        was = "was" if accepted == 1 else "were"
        return f"PASS: {name} is not significantly worse; {accepted} of {total} {was} violated before{more}."
    return f"PASS: {name} satisfies {policy}, {total}{more}."


def measured(ruling: Ruling) -> str:
    """Return the value of a rule's measure with its interval: “+21.5 points (95 % CI +17.1 to +25.9)”."""
    measure = ruling.measure
    if measure.value is None:
        return wording.MISSING
    value = _in_unit(measure.value, measure.unit)
    if measure.low is None or measure.high is None or measure.low == measure.high:
        return value
    if ruling.findings or measure.unit == "count":
        return f"{value}, possibly {wording.count(measure.high)}"
    return f"{value} (95 % CI {wording.interval_in_unit(measure.low, measure.high, measure.unit)})"


def limits(ruling: Ruling) -> str:
    """Return the limits of a rule in the unit of its measure: “at most +5.0 points”."""
    return listed([_limit(limit, ruling.measure.unit) for limit in ruling.rule.limits])


def sentence(ruling: Ruling) -> str:
    """Return what a rule says of its measure, with its reason and what would settle it."""
    measure = ruling.measure
    parts = [settling(ruling), _sentence(ruling.note)]
    if measure.value is not None:
        label = display_text(measure.label or measure.name, 100)
        parts.insert(0, f"{_capital(label)}: {measured(ruling)}, limit {limits(ruling)}.")
    if ruling.verdict != "pass":
        parts.append(_sentence(ruling.rule.reason))
    return " ".join(part for part in parts if part)


def severity(ruling: Ruling) -> str:
    """Return the severity of a rule that is not met, in brackets, unless it is an error."""
    plain = ruling.verdict == "pass" or ruling.rule.severity == "error"
    return "" if plain else f" ({ruling.rule.severity})"


def settling(ruling: Ruling) -> str:
    """Return how many examples would settle an undecided rule, or nothing."""
    if ruling.verdict != "undecided" or ruling.measure.value is None:
        return ""
    if ruling.needed is None:
        return "The value is at the limit: more examples may not settle it."
    now = f" ({wording.count(ruling.measure.n)} now)" if ruling.measure.n else ""
    return f"About {wording.count(_rounded(ruling.needed))} examples{now} would settle it."


def _sentence(text: str) -> str:
    shown = display_text(text, 500).strip()
    return f"{_capital(shown).removesuffix('.')}." if shown else ""


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _rounded(number: int) -> int:
    """Return an estimated number with two digits that count: 26,416 is 26,000."""
    return round(number, 2 - len(str(number)))


def _limit(limit: Limit, unit: Unit) -> str:
    return f"{_OPERATORS[limit.operator]} {_in_unit(limit.bound, unit)}"


def _in_unit(value: float, unit: Unit) -> str:
    written = wording.in_unit(value, unit)
    return f"{written} points" if unit == "points" else written


_MARKS = {"fail": "❌ fail", "undecided": "❔ undecided", "pass": "✅ pass"}


def check_markdown(check: Check) -> str:
    """Return a check as a heading, the verdict and a table of rules."""
    rows = [
        (
            _MARKS[ruling.verdict] + severity(ruling),
            code(ruling.measure.name),
            measured(ruling),
            limits(ruling),
            escape(
                " ".join(
                    part
                    for part in (
                        settling(ruling),
                        ruling.note,
                        ruling.rule.reason if ruling.verdict != "pass" else "",
                    )
                    if part
                )
            ),
        )
        for verdict in _MARKS
        for ruling in check.rulings
        if ruling.verdict == verdict
    ]
    parts = [
        "## CueCard check",
        escape(headline(check)),
        markdown_table(("Verdict", "Measure", "Value", "Limit", "Note"), rows),
        *(escape(note, limit=1000) for note in check.notes),
        f"Data fingerprint {code(check.card.dataset.fingerprint)}.",
    ]
    return "\n\n".join(parts) + "\n"


_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}


def github_annotations(check: Check) -> str:
    """Return the lines that GitHub shows as annotations: what fails; what is undecided and accepted is a notice."""
    annotations = [_annotation(check, ruling) for ruling in check.rulings if ruling.verdict != "pass"]
    return "\n".join([headline(check), *annotations]) + "\n"


def _annotation(check: Check, ruling: Ruling) -> str:
    command = _COMMANDS[ruling.rule.severity] if ruling.counts_as_failed else "notice"
    title = f"CueCard {ruling.verdict}: {ruling.measure.name}"
    properties = {
        "file": check.policy.source,
        "line": str(max(ruling.rule.line, 1)),
        "title": title,
    }
    said = "\n".join([sentence(ruling), *ruling.findings])
    written = ",".join(f"{name}={_escaped(value, ':,')}" for name, value in properties.items())
    return f"::{command} {written}::{_escaped(said)}"


def _escaped(text: str, more: str = "") -> str:
    """Return a text in which nothing ends the line, the message or a property."""
    for character in "%\r\n" + more:
        text = text.replace(character, f"%{ord(character):02X}")
    return text


#: Characters that XML 1.0 cannot hold, not even escaped.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_KINDS = {"fail": "violated", "undecided": "undecided"}


def junit_xml(check: Check) -> str:
    """Return a check as a JUnit document."""
    failing = [ruling for ruling in check.rulings if ruling.fails]
    counts = {
        "tests": str(len(check.rulings)),
        "failures": str(len(failing)),
        "errors": "0",
        "skipped": str(sum(ruling.verdict == "undecided" and not ruling.fails for ruling in check.rulings)),
        "time": "0",
    }
    root = ElementTree.Element("testsuites", {"name": "cuecard"} | counts)
    suite = ElementTree.SubElement(root, "testsuite", {"name": _text(check.card.dataset.name)} | counts)
    for ruling in check.rulings:
        _case(suite, check, ruling)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _case(suite: ElementTree.Element, check: Check, ruling: Ruling) -> None:
    limits = " and ".join(map(str, ruling.rule.limits))
    case = ElementTree.SubElement(
        suite,
        "testcase",
        {
            "classname": _text(check.policy.source),
            "name": _text(f"{ruling.measure.name} {limits}"),
            "time": "0",
        },
    )
    words = _text(sentence(ruling))
    if ruling.fails:
        lines = "\n".join([words, *map(_text, ruling.findings)])
        failure = ElementTree.SubElement(case, "failure", {"message": words, "type": _KINDS[ruling.verdict]})
        failure.text = lines
    elif ruling.verdict == "undecided":
        ElementTree.SubElement(case, "skipped", {"message": words})
    else:
        ElementTree.SubElement(case, "system-out").text = words


def _text(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)


SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
#: Name and version of our fingerprint; a new way to make it gets a new version.
FINGERPRINT = "cuecard/v1"


def sarif_log(check: Check) -> str:
    """Return a check as a SARIF log: rules that fail or are undecided, and every finding behind them."""
    patterns = list(dict.fromkeys(ruling.rule.pattern for ruling in check.rulings))
    log = {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "CueCard",
                        "semanticVersion": __version__,
                        "rules": [_rule(pattern, check) for pattern in patterns],
                    }
                },
                "results": [
                    result
                    for ruling in check.rulings
                    if ruling.verdict != "pass"
                    for result in _results(ruling, check, patterns.index(ruling.rule.pattern))
                ],
                "columnKind": "unicodeCodePoints",
                "properties": {
                    "verdict": check.verdict,
                    "dataset": check.card.dataset.name,
                    "fingerprint": check.card.dataset.fingerprint,
                },
            }
        ],
    }
    return json.dumps(log, indent=2, ensure_ascii=False) + "\n"


def _rule(pattern: str, check: Check) -> JsonObject:
    rule = next(ruling.rule for ruling in check.rulings if ruling.rule.pattern == pattern)
    limit = f"{rule.pattern} must be {' and '.join(map(str, rule.limits))}."
    return {
        "id": pattern,
        "shortDescription": {"text": limit},
        "fullDescription": {"text": f"{limit} {rule.reason}".strip()},
        "defaultConfiguration": {"level": rule.severity},
    }


def _results(ruling: Ruling, check: Check, index: int) -> list[JsonObject]:
    """Return one result for a measure, or one for every finding that a number of findings counts."""
    titles = {finding.id: f"{finding.title}. {finding.text}" for finding in check.card.findings}
    said = [(finding, titles[finding]) for finding in ruling.findings] or [(ruling.measure.name, "")]
    return [
        {
            "ruleId": ruling.rule.pattern,
            "ruleIndex": index,
            # Only a failure has a level other than none.
            **(
                {"kind": "fail", "level": ruling.rule.severity}
                if ruling.counts_as_failed
                else {"kind": "open", "level": "none"}
            ),
            "message": {"text": text or sentence(ruling)},
            "locations": [_location(check.policy.source, ruling.rule.line)],
            "partialFingerprints": {FINGERPRINT: _fingerprint(ruling.rule.pattern, subject)},
        }
        for subject, text in said
    ]


def _location(source: str, line: int) -> JsonObject:
    path = Path(source)
    uri = path.as_uri() if path.is_absolute() else quote(path.as_posix())
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": max(line, 1)}}}


def _fingerprint(rule: str, subject: str) -> str:
    """Return what stays the same while the rule and what it is about do, whatever the numbers and the line."""
    return hashlib.blake2b(f"{rule}\0{subject}".encode(), digest_size=16).hexdigest()


def check_json(check: Check) -> str:
    """Return a check as JSON."""
    return json.dumps(check.as_dict(), indent=2, ensure_ascii=False) + "\n"


#: What writes a check in each format that other tools read.
WRITERS: dict[str, Callable[[Check], str]] = {
    "json": check_json,
    "junit": junit_xml,
    "sarif": sarif_log,
    "github": github_annotations,
    "markdown": check_markdown,
}


def show_check(check: Check, format: str = "text", *, out: Path | None = None, quiet: bool = False) -> None:
    """Print a check in a format, or write it to a file; for GitHub also write the summary of the step."""
    if format == "text":
        from rich.console import Console

        if out is not None:
            page = StringIO()
            render_check(check, Console(file=page, width=100, no_color=True))
            write_text(out, page.getvalue())
        elif not quiet:
            render_check(check, Console())
        return
    text = WRITERS[format](check)
    if out is not None:
        write_text(out, text)
    elif not quiet:
        print(text, end="")
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if format == "github" and summary:
        _append(Path(summary), check_markdown(check))


def _append(file: Path, text: str) -> None:
    try:
        with file.open("a", encoding="utf-8") as summary:
            summary.write(text)
    except OSError as error:
        raise InputError(f"{file}, the summary of the step, cannot be written ({error.strerror}).") from None


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

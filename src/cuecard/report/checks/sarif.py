"""A check as a SARIF 2.1.0 log: what code-scanning pages show, with fingerprints that stay between runs."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

from cuecard._version import __version__
from cuecard.card.judging import Check, Ruling
from cuecard.report.checks.sentences import sentence

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


def _rule(pattern: str, check: Check) -> dict[str, Any]:
    rule = next(ruling.rule for ruling in check.rulings if ruling.rule.pattern == pattern)
    limit = f"{rule.pattern} must be {' and '.join(map(str, rule.limits))}."
    return {
        "id": pattern,
        "shortDescription": {"text": limit},
        "fullDescription": {"text": f"{limit} {rule.reason}".strip()},
        "defaultConfiguration": {"level": rule.severity},
    }


def _results(ruling: Ruling, check: Check, index: int) -> list[dict[str, Any]]:
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


def _location(source: str, line: int) -> dict[str, Any]:
    path = Path(source)
    uri = path.as_uri() if path.is_absolute() else quote(path.as_posix())
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": max(line, 1)}}}


def _fingerprint(rule: str, subject: str) -> str:
    """Return what stays the same while the rule and what it is about do, whatever the numbers and the line."""
    return hashlib.blake2b(f"{rule}\0{subject}".encode(), digest_size=16).hexdigest()

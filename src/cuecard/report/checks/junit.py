"""A check as JUnit XML: a rule is a test case, an undecided one is skipped unless the check is strict."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from cuecard.card.judging import Check, Ruling
from cuecard.report.checks.sentences import sentence

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

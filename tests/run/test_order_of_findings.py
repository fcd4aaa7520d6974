"""What a benchmark builder would want to read first stands first."""

from __future__ import annotations

import pytest
from order_cases import CASES, Case

import cuecard as cc


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_the_largest_leak_leads_and_what_is_no_leak_is_not_graded(case: Case) -> None:
    card = cc.audit(case.build(), skip=["clusters"])
    failed = [name for name, section in card.sections.items() if section.status == "failed"]
    assert not failed, [card[name].reason for name in failed]
    graded = [finding for finding in card.findings if finding.severity in ("high", "medium")]
    ids = [finding.id for finding in graded]
    if case.quiet:
        assert ids == []
    for beginning, identifier in zip(case.first, ids + [""] * len(case.first), strict=False):
        assert identifier.startswith(beginning), ids
    for beginning in case.absent:
        assert not [identifier for identifier in ids if identifier.startswith(beginning)]
    if case.graded:
        assert graded[0].severity == case.graded

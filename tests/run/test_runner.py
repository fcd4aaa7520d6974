from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pytest

from cuecard.analysis import Result, Skip
from cuecard.audits import AUDITS
from cuecard.data import TASKS
from cuecard.errors import InputError, UsageError
from cuecard.run import audit
from cuecard.run.running import run_section
from small_sets import pair_instances

DATA = pair_instances([("train", f"p{i}", f"h{i % 3}", "yes" if i % 2 else "no") for i in range(40)])


@dataclass(frozen=True)
class Broken:
    name: ClassVar[str] = "broken"
    title: ClassVar[str] = "Broken"
    tasks: ClassVar[frozenset[str]] = frozenset(TASKS)

    def run(self, data):
        raise ZeroDivisionError("no")


@dataclass(frozen=True)
class Unwilling(Broken):
    def run(self, data):
        raise Skip("there is nothing to see")


@dataclass(frozen=True)
class ForChoices(Broken):
    tasks: ClassVar[frozenset[str]] = frozenset({"choice"})

    def run(self, data):
        return Result({})


def test_a_bug_in_one_audit_is_written_on_its_section():
    broken = run_section(Broken(), DATA)
    assert broken.result is None
    assert broken.section.status == "failed"
    assert "ZeroDivisionError: no" in broken.section.reason


def test_an_audit_that_cannot_answer_is_skipped_with_its_reason():
    section = run_section(Unwilling(), DATA).section
    assert (section.status, section.reason) == ("skipped", "there is nothing to see")


def test_an_audit_for_another_task_is_skipped_with_a_reason():
    section = run_section(ForChoices(), DATA).section
    assert section.status == "skipped"
    assert section.reason == "only applies to multiple choice; this dataset holds pairs"


def test_only_and_skip_choose_audits_and_unknown_names_are_answered_with_near_ones():
    assert list(audit(DATA, only=["overview"]).sections) == ["overview"]
    assert "overview" not in audit(DATA, skip=["overview"]).sections
    with pytest.raises(UsageError, match="Did you mean 'cues'"):
        audit(DATA, only=["cue"])
    with pytest.raises(UsageError, match="leaves no audit to run"):
        audit(DATA, only=["cues"], skip=["cues"])


def test_an_option_nobody_has_is_an_error_that_names_near_ones():
    with pytest.raises(UsageError, match="Did you mean 'min_count'"):
        audit(DATA, min_cout=3)


def test_one_label_is_refused_with_the_option_to_type():
    data = pair_instances([("train", "p", "h", "yes")] * 5)
    with pytest.raises(InputError, match=r"only the label 'yes'.*--columns label=NAME"):
        audit(data)


def test_every_registered_audit_reports_a_status_on_every_card():
    card = audit(DATA)
    assert list(card.sections) == AUDITS.names()
    assert {section.status for section in card.sections.values()} <= {"done", "skipped"}


def test_findings_come_worst_first():
    order = ["high", "medium", "low", "info"]
    severities = [order.index(finding.severity) for finding in audit(DATA).findings]
    assert severities == sorted(severities)

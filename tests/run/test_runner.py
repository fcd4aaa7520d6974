from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import ClassVar

import pytest

from cuecard.analysis import Result, Skip
from cuecard.audits import AUDITS
from cuecard.data import LABELLED_TASKS, TASKS
from cuecard.errors import InputError, MissingExtraError, UsageError
from cuecard.report.terminal.card import what_was_read
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
    kinds = {name: AUDITS.get(name) for name in AUDITS.names()}
    usual = [
        name
        for name, kind in kinds.items()
        if not getattr(kind, "on_request", False) and kind.tasks & {*LABELLED_TASKS}
    ]
    assert list(card.sections) == usual
    assert {*kinds} - {*usual} == {"concepts", "open_answers", "answer_place"}
    assert {section.status for section in card.sections.values()} <= {"done", "skipped"}


def test_findings_come_worst_first():
    order = ["high", "medium", "low", "info"]
    severities = [order.index(finding.severity) for finding in audit(DATA).findings]
    assert severities == sorted(severities)


def test_a_named_section_that_lacks_a_package_is_an_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "nltk.tokenize", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'cuecard\[nltk\]'"):
        audit(DATA, only=["overview", "cues"], tokens="treebank")
    card = audit(DATA, skip=["pair_graph", "partial_input", "slices", "clusters"], tokens="treebank")
    assert (card["cues"].status, card["overview"].status) == ("skipped", "done")


def test_named_sections_none_of_which_applies_are_an_error_with_the_reasons():
    few = pair_instances([("train", f"p{i}", "h", "yes" if i % 2 else "no") for i in range(4)])
    with pytest.raises(UsageError, match=r"Clusters of meaning cannot run here: needs "):
        audit(few, only=["clusters"])
    assert audit(few, only=["overview", "clusters"])["clusters"].status == "skipped"


def test_the_card_names_the_tokeniser_first_and_the_package_that_reads_words(monkeypatch):
    monkeypatch.setattr("cuecard.text.tokenisers.has_segmenter", lambda language: False)
    chinese = pair_instances(
        [
            ("train", f"一个男人在公园里{i}", f"他在{'' if i % 2 else '不'}睡觉{i}", "yes" if i % 2 else "no")
            for i in range(40)
        ]
    )
    card = audit(chinese, only=["partial_input"])
    assert card.tokenisers == {"chars": "zh"}
    first, advice = what_was_read(card)[:2]
    assert first.startswith("Task: pair. Tokens: chars.")
    assert "pip install 'cuecard[zh]'" in advice

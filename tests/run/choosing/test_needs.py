from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import polars as pl
import pytest

import cuecard as cc
from cuecard.analysis import Result
from cuecard.audits import AUDITS
from cuecard.data import TASKS
from cuecard.errors import MissingExtraError, UsageError
from cuecard.probes import PROBES
from cuecard.remedies import REMEDIES
from cuecard.run.choosing import missing_package, needs_of
from cuecard.run.running import run_analyses
from small_sets import pair_instances

ROWS = [("train", f"p{i}", f"h{i % 3}", "yes" if i % 2 else "no") for i in range(40)]
DATA = pair_instances(ROWS)
WITH_TEST = pair_instances([*ROWS, *(("test", *row[1:]) for row in ROWS[:10])])


@dataclass(frozen=True)
class Wanting:
    name: ClassVar[str] = "wanting"
    title: ClassVar[str] = "Wanting"
    tasks: ClassVar[frozenset[str]] = frozenset(TASKS)
    needs: ClassVar[frozenset[str]] = frozenset()
    extras: ClassVar[frozenset[str]] = frozenset()

    def run(self, data, **inputs):
        return Result({"inputs": sorted(inputs)})


@dataclass(frozen=True)
class WantsTest(Wanting):
    needs: ClassVar[frozenset[str]] = frozenset({"test"})


@dataclass(frozen=True)
class WantsCues(Wanting):
    needs: ClassVar[frozenset[str]] = frozenset({"cues"})


@dataclass(frozen=True)
class WantsPackage(Wanting):
    extras: ClassVar[frozenset[str]] = frozenset({"no-such-package"})


@dataclass(frozen=True)
class WantsNonsense(Wanting):
    needs: ClassVar[frozenset[str]] = frozenset({"predictons"})


def test_every_analysis_declares_needs_that_exist():
    for kind in (*AUDITS, *REMEDIES):
        assert not needs_of(kind)
    for kind in PROBES:
        assert needs_of(kind)
    with pytest.raises(UsageError, match="Did you mean 'predictions'"):
        needs_of(WantsNonsense)


def test_an_analysis_gets_the_inputs_it_declares_and_no_others():
    inputs = {"cues": "some cues", "predictions": "some predictions"}
    cards = [run_analyses(DATA, [kind()], inputs=inputs) for kind in (Wanting, WantsCues)]
    assert [card["wanting"].summary["inputs"] for card in cards] == [[], ["cues"]]


def test_what_needs_a_test_split_is_skipped_without_one():
    section = run_analyses(DATA, [WantsTest()])["wanting"]
    assert (section.status, section.reason) == (
        "skipped",
        "needs a test split: --test TEST, or --holdout 0.2 to draw one",
    )
    assert run_analyses(WITH_TEST, [WantsTest()])["wanting"].status == "done"


def test_a_missing_package_skips_one_section_and_is_an_error_where_that_was_asked_for():
    section = run_analyses(DATA, [WantsPackage()])["wanting"]
    assert section.status == "skipped"
    assert "'no-such-package', which is not installed" in section.reason
    with pytest.raises(MissingExtraError, match="no-such-package"):
        cc.audit(DATA, audits=[WantsPackage()])


def test_the_packages_of_an_extra_come_from_the_installed_metadata(monkeypatch):
    monkeypatch.setattr(
        "cuecard.run.choosing.requires", lambda _: ["numpy>=2", "not-there-at-all>=1; extra == 'odd'"]
    )
    assert missing_package("odd") == "not-there-at-all"
    assert missing_package("numpy") is None


def test_a_probe_without_its_inputs_is_refused_before_anything_is_read():
    nothing = object()  # no dataset: reading anything of it would be another error
    for only, what in (
        ("reliance", "--predictions FILE or --model NAME"),
        ("identical_pairs", "--identical-pairs FILE"),
        ("prompts", "--predictions FILE"),
    ):
        with pytest.raises(UsageError, match=f"^{only} needs .*{what}"):
            cc.probe(nothing, only=[only])
    with pytest.raises(UsageError, match="nothing to probe"):
        cc.probe(nothing)
    with pytest.raises(UsageError, match="reliance needs the predictions"):
        cc.probe(nothing, identical_pairs=["linear"], only=["reliance"])


def test_probes_that_ask_nothing_about_cues_list_none():
    answers = pl.DataFrame(
        {"example_id": WITH_TEST.test.table["example_id"], "prediction": ["yes", "no"] * 5}
    )
    models = {"one": answers, "two": answers}
    assert list(cc.probe(WITH_TEST, models, only=["agreement"]).sections) == ["agreement"]
    assert list(cc.probe(WITH_TEST, models, only=["accuracy_test"]).sections) == ["accuracy_test", "cues"]


def test_a_prompt_study_that_was_asked_for_says_what_it_lacks():
    answers = pl.DataFrame(
        {"example_id": WITH_TEST.test.table["example_id"], "prediction": ["yes", "no"] * 5}
    )
    assert "prompts" not in cc.probe(WITH_TEST, answers).sections
    with pytest.raises(UsageError, match="at least two prompts"):
        cc.probe(WITH_TEST, answers, only=["prompts"])

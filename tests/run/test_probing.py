from __future__ import annotations

import re

import polars as pl
import pytest

import cuecard as cc
from cuecard.data.demo import demo_choice, demo_nli, demo_predictions
from cuecard.errors import UsageError
from cuecard.features import FAMILIES
from cuecard.probes import PROBES
from cuecard.report.charts.kinds import draw
from cuecard.report.sections import section_view


@pytest.fixture(scope="module")
def demo():
    return demo_nli(9000, seed=1)


@pytest.fixture(scope="module")
def models(demo):
    return {
        "follower": demo_predictions(demo, follow=0.7, seed=1),
        "even": demo_predictions(demo, follow=0.0, seed=2),
    }


@pytest.fixture(scope="module")
def card(demo, models):
    return cc.probe(demo.instances, models, features=("word", "negation"))


def test_every_probe_has_a_section_and_the_cues_come_last(card):
    when_asked = ("prompts", "input_parts", "permutations", "identical_pairs", "judge", "judge_tests", "runs")
    when_asked = (*when_asked, "open_shortcuts")
    assert list(card.sections) == [*(name for name in PROBES.names() if name not in when_asked), "cues"]
    others = [
        section for name, section in card.sections.items() if name not in ("option_order", "net_scores")
    ]
    assert {section.status for section in others} == {"done"}
    assert card["option_order"].reason == "only applies to multiple choice; this dataset holds pairs"


def test_every_probe_keeps_its_promise_over_the_registry(card):
    for name, section in card.sections.items():
        if section.status == "skipped":
            continue
        assert section.tables
        assert all(table in card.tables for table in section.tables)
        view = section_view(card, name)
        assert view.lead
        for chart in view.charts:
            assert draw(chart).to_dict()["data" if "layer" not in draw(chart).to_dict() else "layer"]
        assert view.tables[0].columns
        assert all(len(row) == len(view.tables[0].columns) for row in view.tables[0].rows)


def test_the_follower_is_told_from_the_even_model(card):
    relied = {name: found["relies"] for name, found in card["reliance"].summary["models"].items()}
    assert relied["follower"] >= 1
    assert relied["even"] == 0
    assert any(finding.title.startswith("follower relies on") for finding in card.findings)


def test_the_table_of_examples_has_every_models_answer(card):
    table = card.tables["examples"].filter(pl.col("split") == "test")
    assert table["prediction follower"].null_count() == 0
    summary = card["accuracy_test"].summary["models"]["follower"]
    assert table["right follower"].mean() == pytest.approx(summary["accuracy"])
    assert table["probability follower"].is_between(0, 1).all()


def test_the_same_input_gives_the_same_card(card, demo, models):
    again = cc.probe(demo.instances, models, features=("word", "negation"))
    assert again.model_dump(exclude={"provenance"}) == card.model_dump(exclude={"provenance"})


def test_a_saved_card_comes_back_with_its_tables(card, tmp_path):
    cc.save_card(card, tmp_path)
    loaded = cc.load_card(tmp_path)
    assert loaded["reliance"].table.equals(card["reliance"].table)


def test_multiple_choice_is_probed_too():
    demo = demo_choice(2000, seed=1)
    card = cc.probe(demo.instances, demo_predictions(demo, follow=0.7, seed=1), features=("word", "length"))
    skipped = ("agreement", "paired_comparison", "debiased_evaluation")
    assert {s.status for name, s in card.sections.items() if name not in skipped} == {"done"}
    assert "use your own weights" in card["debiased_evaluation"].reason
    assert card["agreement"].status == "skipped"
    assert card["reliance"].summary["models"]["model"]["relies"] >= 1
    said = {finding.section: f"{finding.title}. {finding.text}" for finding in reversed(card.findings)}
    assert re.search(
        r"that follow the cue \(the right choice (has|does not have) the cue\) and .* that do not",
        said["reliance"],
    )
    assert re.search(
        r"model (picks|passes over) .* of them; an unbiased model would", said["distribution_test"]
    )
    leaning = section_view(card, "distribution_test")
    assert "No cue" not in [column.title for column in leaning.tables[0].columns]
    assert "without the cue" not in " ".join(leaning.lead)
    for name in card.sections:
        for chart in section_view(card, name).charts:
            draw(chart).to_dict()


def test_data_without_cues_says_so_instead_of_failing():
    demo = demo_nli(1500, seed=2, cues=None)
    card = cc.probe(demo.instances, demo_predictions(demo, follow=0.0), features=("negation",))
    assert card["reliance"].status == "skipped"
    assert "needs a significant cue" in card["reliance"].reason
    with pytest.raises(KeyError, match=r"has no table \(skipped: needs a significant cue"):
        _ = card["reliance"].table
    assert card["accuracy_test"].status == "done"
    assert section_view(card, "accuracy_test").lead


def test_cues_and_probes_can_be_named_and_wrong_names_are_told(demo, models):
    card = cc.probe(demo.instances, models, cues=["indeed"], only=["accuracy_test"], features=("word",))
    assert card["accuracy_test"].table["feature"].unique().to_list() == ["indeed"]
    with pytest.raises(UsageError, match="Did you mean 'accuracy_test'"):
        cc.probe(demo.instances, models, only=["accuracy_tst"])
    with pytest.raises(UsageError, match="Unknown option 'stratfy'"):
        cc.probe(demo.instances, models, stratfy="label")
    with pytest.raises(UsageError, match="nothing to probe"):
        cc.probe(demo.instances, [])


def test_probes_without_cues_survive_a_cue_audit_that_failed(monkeypatch):
    def broken(self, *counted):
        raise ZeroDivisionError("no")

    monkeypatch.setattr(cc.Cues, "result", broken)
    small = demo_nli(900, seed=1)
    card = cc.probe(small.instances, {"model": demo_predictions(small, follow=0.5, seed=1)})
    assert card["cues"].status == "failed"
    statuses = {name: section.status for name, section in card.sections.items()}
    assert "done" in statuses.values()
    skipped = [section.reason for section in card.sections.values() if section.status == "skipped"]
    assert "needs the cues of the data, and the section cues did not finish" in skipped


def test_a_family_that_the_user_named_and_that_fails_is_an_error_as_in_an_audit(monkeypatch):
    def broken(self, data):
        raise ZeroDivisionError("no")

    monkeypatch.setattr(FAMILIES.get("length"), "presence", broken)
    small = demo_nli(300, seed=1)
    answers = {"model": demo_predictions(small, follow=0.5, seed=1)}
    for verb in (
        lambda: cc.audit(small.instances, only=["cues"], features="length"),
        lambda: cc.probe(small.instances, answers, features="length"),
    ):
        with pytest.raises(UsageError, match="The feature family 'length' cannot be used"):
            verb()

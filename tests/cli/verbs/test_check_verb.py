"""`cuecard check` as it is typed: exit codes, formats, files."""

from __future__ import annotations

import json
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from cuecard.card import load_card, save_card
from cuecard.data.demo import demo_nli, write_demo


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_demo(demo_nli(2_000, seed=1), tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def card(data, tmp_path_factory):
    import cuecard as cc

    folder = tmp_path_factory.mktemp("card")
    save_card(cc.audit(cc.load(data["train"], test=data["test"]), only=["cues", "partial_input"]), folder)
    return folder


def policy(tmp_path, limit: str):
    file = tmp_path / "cuecard.toml"
    file.write_text(f'[rules]\n"partial_input.hypothesis_only.excess" = "{limit}"\n')
    return file


@pytest.mark.parametrize(("limit", "code"), [("<= 0.9", 0), ("<= 0.01", 1), ("about 3", 2)])
def test_exit_codes(cuecard, card, tmp_path, limit, code):
    ran = cuecard("check", card, "--policy", policy(tmp_path, limit))
    assert ran.code == code
    said = {0: "PASS: ", 1: "FAIL: ", 2: ""}[code]
    assert ran.out.startswith(said)
    assert bool(ran.err) == (code == 2)


def test_undecided_passes_unless_strict(cuecard, card, tmp_path):
    measure = load_card(card).measure("partial_input.hypothesis_only.excess")
    file = policy(tmp_path, f"<= {(measure.value + measure.high) / 2}")
    ran = cuecard("check", card, "--policy", file)
    assert ran.code == 0
    assert "examples" in ran.out
    assert "would settle it" in ran.out
    assert cuecard("check", card, "--policy", file, "--strict").code == 1


def test_two_formats_contradict_each_other(cuecard, card, tmp_path):
    ran = cuecard("check", card, "--policy", policy(tmp_path, "<= 0.9"), "--json", "--format", "sarif")
    assert ran.code == 2
    assert "--json and --format sarif contradict each other" in ran.err


def test_data_is_audited_as_far_as_the_policy_needs(cuecard, data, tmp_path):
    file = policy(tmp_path, "<= 0.9")
    ran = cuecard("check", data["train"], "--test", data["test"], "--policy", file, "--json")
    assert ran.code == 0
    assert json.loads(ran.out)["rules"][0]["measure"]["n"] > 0


def test_init_writes_a_policy_that_passes_and_never_overwrites(cuecard, card, tmp_path):
    file = tmp_path / "new.toml"
    assert cuecard("check", card, "--init", "--policy", file).code == 0
    assert cuecard("check", card, "--policy", file, "--strict").code == 0
    again = cuecard("check", card, "--init", "--policy", file)
    assert again.code == 2
    assert "exists already" in again.err


def test_every_format_can_be_printed_or_written(cuecard, card, tmp_path, monkeypatch):
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    file = policy(tmp_path, "<= 0.01")
    for name, start in (
        ("json", "{"),
        ("junit", "<?xml"),
        ("sarif", "{"),
        ("github", "FAIL"),
        ("markdown", "##"),
    ):
        ran = cuecard("check", card, "--policy", file, "--format", name)
        assert ran.code == 1
        assert ran.out.startswith(start)
        place = tmp_path / f"result.{name}"
        assert cuecard("check", card, "--policy", file, "--format", name, "--out", place).out == ""
        assert place.read_text().startswith(start)
    assert summary.read_text().count("## CueCard check") == 2
    ElementTree.parse(tmp_path / "result.junit")


def test_a_baseline_of_an_older_schema_is_refused(cuecard, card, tmp_path):
    old = tmp_path / "old"
    save_card(load_card(card), old)
    document = json.loads((old / "card.json").read_text()) | {"cuecard": "1"}
    (old / "card.json").write_text(json.dumps(document))
    ran = cuecard("check", card, "--policy", policy(tmp_path, "<= 0.01"), "--baseline", old)
    assert ran.code == 2
    assert "not a card of schema 2 (found '1')" in ran.err


def test_the_baseline_itself_passes_what_the_limit_alone_fails(cuecard, card, tmp_path):
    file = policy(tmp_path, "<= 0.01")
    assert cuecard("check", card, "--policy", file).code == 1
    assert cuecard("check", card, "--policy", file, "--baseline", card).code == 0


def test_a_card_has_its_splits_already(cuecard, card, data):
    assert "leave --test out" in cuecard("check", card, "--test", data["test"]).err


def test_compare_can_fail_on_worse(cuecard, card, tmp_path):
    assert cuecard("compare", card, card, "--fail-on", "worse").code == 0
    worse = load_card(card)
    section = worse["partial_input"]
    section.measures = [
        replace(m, value=m.value + 0.5, low=m.low + 0.5, high=m.high + 0.5)
        if m.name == "partial_input.hypothesis_only.excess"
        else m
        for m in section.measures
    ]
    worse.dataset = worse.dataset.model_copy(update={"fingerprint": "other"})
    save_card(worse, tmp_path / "worse")
    ran = cuecard("compare", card, tmp_path / "worse", "--fail-on", "worse")
    assert ran.code == 1
    assert ran.out.strip().startswith("Worse: 1 measure got worse beyond noise.")
    assert cuecard("compare", card, tmp_path / "worse").code == 0


def test_a_first_ratchet_says_what_it_accepts_and_what_was_violated_before(cuecard, card, tmp_path):
    file, accepted = policy(tmp_path, "<= 0.01"), tmp_path / "accepted.json"
    first = cuecard("check", card, "--policy", file, "--ratchet", accepted)
    assert first.code == 0
    assert "is not significantly worse; 1 of 1 measure was violated before" in first.out
    said = " ".join(first.out.split())
    assert "accepts 1 violation of today. Commit it." in said
    assert "baseline" not in said
    again = cuecard("check", card, "--policy", file, "--ratchet", accepted)
    assert again.code == 0
    assert "Commit it" not in again.out


def test_cards_of_different_tasks_cannot_fail_as_worse(cuecard, card, tmp_path):
    one = load_card(card)
    one.dataset = one.dataset.model_copy(update={"task": "text"})
    save_card(one, tmp_path / "other")
    ran = cuecard("compare", card, tmp_path / "other", "--fail-on", "worse")
    assert ran.code == 2
    assert "different tasks" in ran.err


def test_an_undecided_check_does_not_call_accepted_violations_none(cuecard, card, tmp_path):
    accuracy = load_card(card).measure("partial_input.hypothesis_only.accuracy")
    file = policy(tmp_path, "<= 0.01")
    file.write_text(f'{file.read_text()}"{accuracy.name}" = "<= {accuracy.value}"\n')
    ran = cuecard("check", card, "--policy", file, "--baseline", card)
    assert ran.code == 0
    assert " is not significantly worse, but 1 of 2 measures is undecided." in " ".join(ran.out.split())


def test_a_missing_ratchet_is_not_written_in_ci(cuecard, card, tmp_path, monkeypatch):
    file, accepted = policy(tmp_path, "<= 0.01"), tmp_path / "accepted.json"
    monkeypatch.setenv("CI", "true")
    ran = cuecard("check", card, "--policy", file, "--ratchet", accepted)
    assert ran.code == 2
    assert "does not exist, and CI does not write it" in ran.err
    assert not accepted.exists()
    monkeypatch.setenv("CI", "false")
    ran = cuecard("check", card, "--policy", file, "--ratchet", accepted, "--format", "github")
    assert ran.code == 0
    assert f"cuecard: Written: {accepted} accepts 1 violation" in ran.err
    monkeypatch.setenv("CI", "true")
    assert cuecard("check", card, "--policy", file, "--ratchet", accepted).code == 0


def test_numbers_made_with_other_optional_parts_are_not_compared(cuecard, card, tmp_path):
    pytest.importorskip("vaderSentiment")
    assert load_card(card).extras == ["english"]
    core = load_card(card)
    core["cues"].settled["extras"] = ""
    save_card(core, tmp_path / "core")
    file = policy(tmp_path, "<= 0.9")
    ran = cuecard("check", tmp_path / "core", "--policy", file, "--baseline", card)
    assert ran.code == 2
    assert "was made with the optional part english" in ran.err
    assert "pip install 'cuecard[english]'" in ran.err
    ran = cuecard("check", card, "--policy", file, "--baseline", tmp_path / "core")
    assert ran.code == 2
    assert "without the optional part english, and the card with it" in ran.err
    file.write_text('extras = ["english"]\n' + file.read_text())
    assert cuecard("check", card, "--policy", file).code == 0
    ran = cuecard("check", tmp_path / "core", "--policy", file)
    assert ran.code == 2
    assert "line 1: the policy was written with the optional part english" in ran.err


def test_a_sarif_log_is_written_beside_what_is_printed(cuecard, card, tmp_path):
    ran = cuecard("check", card, "--policy", policy(tmp_path, "<= 0.9"), "--sarif", tmp_path / "log.sarif")
    assert ran.code == 0
    assert ran.out.startswith("PASS: ")
    assert json.loads((tmp_path / "log.sarif").read_text())["version"] == "2.1.0"

"""A ratchet accepts what was there, and never more."""

from __future__ import annotations

import json

import pytest

from cuecard.card.policy_files import parse_policy, read_ratchet
from cuecard.errors import InputError
from cuecard.run import check
from policy_cards import card_with, excess, finding

POLICY = parse_policy('[rules]\n"partial_input.*.excess" = "<= 0.05"\n"cues.high" = "== 0"\n')
HIGH = finding("old", 0.6, 0.65, 0.7, "high")


def names(path) -> list[str]:
    document = json.loads(path.read_text())
    return [entry["name"] for entry in (*document["measures"], *document["findings"])]


def test_the_first_check_writes_what_is_violated_and_passes(tmp_path):
    file = tmp_path / "ratchet.json"
    card = card_with(excess(0.2, 0.02), excess(0.01, 0.01, name="length"), findings=(HIGH,))
    assert check(card, POLICY, ratchet=file).verdict == "pass"
    assert names(file) == ["partial_input.hypothesis_only.excess", "cues/old"]
    assert check(card, POLICY, ratchet=file).verdict == "pass"


def test_what_was_mended_is_taken_off_and_cannot_come_back(tmp_path):
    file = tmp_path / "ratchet.json"
    bad = card_with(excess(0.2, 0.02), findings=(HIGH,))
    check(bad, POLICY, ratchet=file)
    assert check(card_with(excess(0.01, 0.02)), POLICY, ratchet=file).verdict == "pass"
    assert names(file) == []
    assert check(bad, POLICY, ratchet=file).verdict == "fail"
    assert names(file) == []


def test_a_value_that_improved_is_the_new_mark(tmp_path):
    file = tmp_path / "ratchet.json"
    for value, verdict in ((0.3, "pass"), (0.2, "pass"), (0.21, "pass"), (0.3, "fail")):
        assert check(card_with(excess(value, 0.02)), POLICY, ratchet=file).verdict == verdict


def test_another_file_is_no_ratchet(tmp_path):
    file = tmp_path / "ratchet.json"
    file.write_text('{"a": 1}')
    with pytest.raises(InputError, match="not a ratchet file"):
        check(card_with(), POLICY, ratchet=file)
    assert file.read_text() == '{"a": 1}'


def test_what_is_undecided_or_not_measured_stays_accepted(tmp_path):
    file = tmp_path / "ratchet.json"
    bad = card_with(excess(0.2, 0.02), findings=(HIGH,))
    check(bad, POLICY, ratchet=file)
    before = names(file)
    check(card_with(excess(0.06, 0.03), findings=(HIGH,)), POLICY, ratchet=file)
    assert names(file) == before
    assert check(bad, POLICY, ratchet=file).verdict == "pass"
    check(card_with(skipped=("partial_input", "cues")), POLICY, ratchet=file)
    assert names(file) == before


@pytest.mark.parametrize(
    "change",
    [
        {"measures": [{"name": "a", "value": [1]}]},
        {"measures": [{"name": "a", "value": 1, "low": "x"}]},
        {"findings": None},
        {"findings": [3]},
        {"cuecard_ratchet": 2},
    ],
)
def test_a_damaged_ratchet_is_one_sentence(tmp_path, change):
    file = tmp_path / "accepted.json"
    file.write_text(json.dumps({"cuecard_ratchet": 1, "measures": [], "findings": []} | change))
    with pytest.raises(InputError, match=r"not a ratchet file.*name another --ratchet, or delete it"):
        read_ratchet(file)


@pytest.mark.parametrize("text", ["[" * 3000 + "]" * 3000, "9" * 5000, "", '{"a": "\\ud800"}'])
def test_a_ratchet_that_is_no_json_is_one_sentence(tmp_path, text):
    file = tmp_path / "accepted.json"
    file.write_text(text)
    with pytest.raises(InputError, match="not a ratchet file"):
        read_ratchet(file)

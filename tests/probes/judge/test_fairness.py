"""Judges that are asked for scores: planted ones named, fair ones left alone, and the way from requests to a card."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
import pytest
from benchmarks.calibration.judge_scores import PLANTED, named, scores

import cuecard as cc
from cuecard.errors import CueCardError
from cuecard.probes.judge import read_scored
from cuecard.probes.judge.asking import judge_requests
from cuecard.probes.judge.forms import read_batch, read_score
from cuecard.report.sections import section_view
from scripted_server import Script, serving


@pytest.mark.parametrize("planted", PLANTED)
def test_a_planted_judge_is_named_and_a_fair_one_left_alone(planted):
    assert sum(named(planted, 120, seed) == PLANTED[planted] for seed in range(6)) >= 5


def _preferences(n: int = 24) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "prompt": [f"How many apples are in box {i}?" for i in range(n)],
            "chosen": [f"There are {i + 3} apples in box {i}. It is a good box." for i in range(n)],
            "rejected": [f"Hard to say. The box is closed, number {i}." for i in range(n)],
        }
    )


def _score(response: str) -> int:
    """Score as a fair reader who knows the answers."""
    right = re.search(r"There are (\d+) apples in box (\d+)", response)
    if right:
        return 9 if int(right[1]) == int(right[2]) + 3 else 4
    return 2 if "not a good" in response or "There are not" in response else 5


def _fair(prompt: str) -> str:
    if "Response A" in prompt:
        first, second = (_score(prompt.split(f"[Response {name}]")[1].split("[Response")[0]) for name in "AB")
        return "A" if first > second else "B" if second > first else "tie"
    if "[Response 1]" in prompt:
        parts = re.split(r"\[Response \d\]", prompt)[1:]
        return "\n".join(f"{k}: {_score(part)}" for k, part in enumerate(parts, start=1))
    return str(_score(prompt))


def _flattered(prompt: str) -> str:
    lifted = "What a thoughtful" in prompt or "Thank you for such" in prompt
    said = _fair(prompt)
    return str(min(int(said) + 3, 10)) if lifted and said.isdigit() else said


ALL = ["score", "batch", "pairs"]


@pytest.mark.parametrize(("answer", "biased"), [(_fair, set()), (_flattered, {"flattery"})])
def test_a_served_judge_goes_from_requests_to_its_card(answer, biased, tmp_path):
    pytest.importorskip("httpx")
    with serving(Script(answer=answer)) as script:
        table = cc.ask_judge(
            _preferences(), script.url, "judge", forms=ALL, keep_answers=tmp_path / "a.jsonl"
        )
    assert table["score"].null_count() == 0
    card = cc.probe(judge=table)
    rows = card.tables["judge_tests"]
    assert set(rows.filter(result="biased")["test"]) == biased
    fair = rows.filter(result="fair")
    assert {"number", "people"} <= set(fair["test"])
    assert card.sections["judge"].status == "done"  # verdicts about pairs have their section as well
    assert section_view(card, "judge_tests").tables[0].rows
    assert "judge_tests.judge.biased" in set(card.measures["name"])


def test_what_is_asked_shows_the_changed_response_and_every_place():
    data = cc.load(_preferences(8))
    asked = judge_requests(data, ["score", "batch", "pairs"], ("padding", "number"))
    rows = pl.DataFrame([row for one in asked for row in one.rows], infer_schema_length=None)
    assert rows.filter(form="batch")["place"].value_counts()["count"].to_list() == [16] * 4
    number = [one for one in asked if one.rows[0]["perturbation"] == "number"]
    assert all(str(one.rows[0]["text"]) in one.question.prompt for one in number)
    assert {one.rows[0]["response"] for one in number} == {"chosen"}
    padded = [one for one in asked if one.rows[0]["perturbation"] == "padding"]
    assert {one.rows[0]["response"] for one in padded} == {"rejected"}
    pairs = rows.filter(form="pairs", perturbation="")
    assert pairs.group_by("id", "response").len()["len"].to_list() == [2] * 16


def test_batches_hold_responses_to_different_prompts():
    asked = judge_requests(cc.load(_preferences(9)), ["batch"], ())
    assert all(len({row["id"] for row in one.rows}) == 4 for one in asked)


def test_scores_of_your_own_are_read_on_their_scale(tmp_path):
    rng = np.random.default_rng(1)
    human = rng.random(80)
    table = pl.DataFrame(
        {
            "id": [f"i{k}" for k in range(80)],
            "response": ["w " * int(k) for k in rng.integers(5, 90, 80)],
            "score": np.round(100 * np.clip(human + rng.normal(0, 0.1, 80), 0, 1)),
            "human": human,
            "judge": "j",
        }
    )
    table.write_csv(tmp_path / "scores.csv")
    [read] = read_scored(None, tmp_path / "scores.csv")
    assert (read.table["merit"].min(), read.table["merit"].max()) == (0.0, 1.0)
    card = cc.probe(judge=str(tmp_path / "scores.csv"))
    rows = card.tables["judge_tests"].filter(test="people")
    assert rows["result"].to_list() == ["fair"]
    assert rows["effect"][0] == pytest.approx(
        np.corrcoef(pl.Series(human).rank(), read.table["merit"].rank())[0, 1], abs=0.03
    )


def test_scores_from_one_to_ten_keep_their_scale():
    [read] = read_scored("j", pl.DataFrame({"id": ["a", "b"], "score": [4, 7]}))
    assert read.table["merit"].to_list() == pytest.approx([3 / 9, 6 / 9])


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ('{"score": 8}', 8.0),
        ("The score is 6.", 6.0),
        ("I would rate it 7 out of 10.", 7.0),
        ("Rating: 3 and rating: 5", None),
        ("0", None),
        ("", None),
        ("10", 10.0),
    ],
)
def test_only_a_stated_score_is_read(text, score):
    assert read_score(text) == score


def test_scores_of_a_batch_are_read_by_their_number():
    assert read_batch("Response 2: 8\nResponse 1: 3", 2) == [3.0, 8.0]
    assert read_batch("1: 4\n1: 5\n2: 6", 2) == [None, 6.0]
    assert read_batch('{"score_1": 2, "score_2": 12}', 2) == [2.0, None]
    assert read_batch("no idea", 2) == [None, None]


def test_wrong_data_forms_and_files_are_refused():
    with pytest.raises(CueCardError, match="preference"):
        judge_requests(
            cc.load(pl.DataFrame({"text": ["a", "b"] * 20, "label": ["x", "y"] * 20})), ["score"], ()
        )
    with pytest.raises(CueCardError, match="rubric"):
        judge_requests(cc.load(_preferences(4)), ["rubrik"], ())
    with pytest.raises(CueCardError, match="no column 'id'"):
        read_scored("j", pl.DataFrame({"score": [1, 2]}))
    with pytest.raises(CueCardError, match="no score that is a number"):
        read_scored("j", pl.DataFrame({"id": ["a"], "score": ["good"]}))


def test_missing_scores_are_counted():
    judge = scores("fair", 30, np.random.default_rng(1))
    assert judge.missing == 0
    [read] = read_scored("j", pl.DataFrame({"id": ["a", "b", "c"], "score": [4, None, 7]}))
    assert read.missing == 1
    assert "1 of 3 scores" in read.notes[0]

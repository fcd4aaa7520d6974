"""Simulated judges are called what they are, and verdicts are read in every published form."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import cuecard as cc
from cuecard.data.demo import demo_battles, demo_judge
from cuecard.errors import CueCardError
from cuecard.probes import read_verdicts
from cuecard.probes.judge import biases
from cuecard.report.charts.drawing import specification
from cuecard.report.charts.kinds import draw
from cuecard.report.sections import section_view
from cuecard.report.verdict import model_headline, verdict
from cuecard.stats.preferences.win_rates import cohen_kappa, lowess


def judged(character: str, n: int = 250, seed: int = 0):
    return cc.probe(judge={character: demo_judge(n, character, seed=seed)})["judge"]


def test_every_simulated_judge_is_named_for_what_it_is():
    named = {
        c: judged(c, seed=1).summary["judges"][c]["biases"] for c in ("fair", "blind", "length", "position")
    }
    assert named == {"fair": [], "blind": ["chance"], "length": ["length"], "position": ["position"]}


def test_a_card_of_judges_has_findings_measures_and_a_chart():
    card = cc.probe(judge={c: demo_judge(200, c, seed=2) for c in ("fair", "position", "blind")})
    ids = [finding.id for finding in card.findings]
    assert "judge/position/position" in ids
    assert "judge/fair/fair" in ids
    assert card.measure("judge.position.flips_to_first").low > 0.5
    assert card.measure("judge.fair.kappa").low > 0
    assert "position prefers the response shown first" in model_headline(card)
    view = section_view(card, "judge")
    assert view.lead == [
        "fair: no bias found.",
        "position: depends on position.",
        "blind: agrees with people no more than by chance.",
    ]
    assert specification(draw(view.charts[0]))["layer"]
    assert view.tables[0].total == 3


def test_flips_are_counted_by_the_response_shown_first():
    table = pl.DataFrame(
        {
            "item": [str(i) for i in range(30)] * 2,
            "judge": [None] * 60,
            "first": [1.0] * 30 + [0.0] * 30,
            "preferred": [1.0] * 25 + [0.0] * 5 + [0.0] * 12 + [1.0] * 13 + [1.0] * 5,
        }
    )
    order = biases.position(table)
    assert (order["consistency"], order["to_first"], order["to_second"]) == (13 / 30, 12, 5)
    assert order["p_value"] == pytest.approx(0.1434, abs=1e-4)  # exact binomial, 12 of 17


def test_scores_lose_their_smooth_part_by_length():
    rng = np.random.default_rng(0)
    battles = demo_battles(200, seed=0)
    words = [np.log1p(battles[f"response_{s}"].str.count_matches(r"\S+").to_numpy()) for s in "ab"]
    scores = [2 * w + rng.normal(0, 0.1, 200) for w in words]
    frame = battles.select("prompt", "response_a", "response_b").with_columns(
        score_a=pl.Series(scores[0]), score_b=pl.Series(scores[1]), human=pl.Series(["a", "b"] * 100)
    )
    card = cc.probe(judge={"reward": frame})
    rewards = card.tables["judge_rewards"]
    raw = np.corrcoef(rewards["score"], np.log1p(rewards["words"]))[0, 1]
    calibrated = np.corrcoef(rewards["calibrated"], np.log1p(rewards["words"]))[0, 1]
    assert raw > 0.95
    assert abs(calibrated) < 0.05
    assert card["judge"].summary["judges"]["reward"]["biases"][-1] == "length"


def test_the_own_family_is_preferred_beyond_what_people_do():
    rng = np.random.default_rng(0)
    n = 300
    text = [" ".join(f"w{rng.integers(999)}" for _ in range(20)) for _ in range(2 * n)]
    own = rng.random(n) < 0.5
    human = rng.random(n) < 0.5
    verdict = np.where(rng.random(n) < 0.5, own, human)
    frame = pl.DataFrame(
        {
            "prompt": [f"p{i}" for i in range(n)],
            "response_a": text[:n],
            "response_b": text[n:],
            "model_a": np.where(own, "gpt-4o", "claude-3"),
            "model_b": np.where(own, "claude-3", "gpt-4o"),
            "human": np.where(human, "a", "b"),
            "verdict": np.where(verdict, "a", "b"),
        }
    )
    part = cc.probe(judge={"openai/gpt-4": frame})["judge"].summary["judges"]["openai/gpt-4"]
    assert part["biases"] == ["self"]
    assert part["self_preference"]["low"] > 0.1
    other = cc.probe(judge={"mistral-large": frame})["judge"].summary["judges"]["mistral-large"]
    assert other["self_preference"] is None


def test_repeated_verdicts_that_agree_are_counted():
    table = pl.DataFrame(
        {
            "item": [str(i) for i in range(40) for _ in range(3)],
            "judge": ["one"] * 120,
            "first": [1.0] * 120,
            "preferred": [1.0, 1.0, 0.0] * 20 + [0.0] * 60,
        }
    )
    assert biases.stability(table)["value"] == pytest.approx((1 / 3 + 1) / 2)


FORMS = {
    "mt_bench": {
        "question_id": 81, "model_1": "alpaca", "model_2": "vicuna", "g1_winner": "model_2", "g2_winner": "tie",
        "judge": ["gpt-4", "pair-v2"], "turn": 1,
    },
    "alpaca_eval": {
        "instruction": "Say hi", "output_1": "Hi", "generator_1": "text-davinci", "output_2": "Hello you",
        "generator_2": "alpaca", "annotator": "gpt4", "preference": 2.0,
    },
    "arena": {
        "question_id": "q1", "model_a": "x", "model_b": "y", "winner": "model_b", "judge": "arena",
        "conversation_a": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "one"}],
        "conversation_b": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "two"}],
    },
    "reward_bench": {
        "id": 3, "subset": "hep", "prompt": "q", "chosen": "good", "rejected": "bad", "chosen_model": "m1",
        "rejected_model": "m2", "scores_chosen": -1.0, "scores_rejected": 2.5, "results": 0,
    },
    "plain": {"id": "7", "verdict": "B", "first": "a", "response_a": "yes", "response_b": "no"},
    "plain scores": {"id": "7", "score_a": 1, "score_b": 3, "response_a": "yes", "response_b": "no"},
}  # fmt: skip
WINNERS = {
    "mt_bench": "vicuna", "alpaca_eval": "Hello you", "arena": "two", "reward_bench": "bad", "plain": "no",
    "plain scores": "no",
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_verdicts_are_read_in_every_published_form(tmp_path, form):
    path = tmp_path / "verdicts.jsonl"
    path.write_text(json.dumps(FORMS[form]) + "\n")
    row = read_verdicts(None, path).table.row(0, named=True)
    side = "a" if row["preferred"] == 1.0 else "b"
    assert (row[f"text_{side}"] or row[f"model_{side}"]) == WINNERS[form]
    if form == "reward_bench":
        assert row[f"score_{side}"] == 2.5
        assert row["human"] == 1.0 - row["preferred"]
    if form == "mt_bench":
        assert row["judge"] == "gpt-4"
        both = read_verdicts("j", path).table
        assert both["first"].n_unique() == 2
        assert both["preferred"].to_list()[1] == 0.5


def test_verdicts_by_id_take_texts_and_labels_of_the_dataset():
    battles = demo_battles(60, seed=0)
    data = cc.load(battles.with_columns(id=pl.Series([f"e{i}" for i in range(60)])))
    # The dataset calls its responses a and b, so a is its response_a, and people prefer its winner.
    winners = battles["winner"].str.slice(-1)
    verdicts = pl.DataFrame({"id": [f"e{i}" for i in range(60)], "verdict": winners})
    read = read_verdicts("j", verdicts, data)
    assert (read.table["human"] == read.table["preferred"]).all()
    always = read_verdicts("j", verdicts.with_columns(verdict=pl.lit("a")), data).table
    agreeing = (always["human"] == always["preferred"]).to_list()
    assert agreeing == (winners == "a").to_list()
    assert not all(agreeing)
    by_quality = pl.DataFrame({"id": verdicts["id"], "score_chosen": 1.0, "score_rejected": 0.0})
    assert (
        (read_verdicts("j", by_quality, data).table.select(pl.col("human") == pl.col("preferred")))
        .to_series()
        .all()
    )
    with pytest.raises(CueCardError, match="No id of j is an id of"):
        read_verdicts("j", verdicts.with_columns(id=pl.lit("zz")), data)


def test_a_reward_model_that_scores_chosen_responses_higher_is_not_at_chance():
    scores = pl.DataFrame({"id": range(100), "score_chosen": [1.0] * 90 + [-1.0] * 10, "score_rejected": 0.0})
    part = cc.probe(judge={"reward": scores})["judge"].summary["judges"]["reward"]
    assert part["agreement"]["kappa"]["value"] == pytest.approx(
        0.8
    )  # 2 · 0.9 − 1: both ways round, chance is ½
    assert part["biases"] == []


def test_a_score_that_is_nan_prefers_nothing():
    scores = pl.DataFrame(
        {"id": ["1", "2", "3"], "score_a": [float("nan"), 1.0, 2.0], "score_b": [0.0, float("nan"), 1.0]}
    )
    assert read_verdicts("reward", scores).table["item"].to_list() == ["3"]


def test_pairs_that_share_a_question_are_different_comparisons():
    questions, models = range(12), ["m1", "m2", "m3"]
    rows = [
        {"question_id": q, "model_a": a, "model_b": b, "turn": t, "winner": "model_a" if a < b else "model_b"}
        for q in questions
        for t in (1, 2)
        for a in models
        for b in models
        if a != b
    ]
    verdicts = read_verdicts("j", pl.DataFrame(rows))
    assert verdicts.table["item"].n_unique() == 12 * 2 * 3  # questions, turns, pairs in either order
    assert verdicts.table["prompt"].n_unique() == 12
    assert biases.stability(verdicts.table)["value"] == 1.0


def test_verdicts_of_several_judges_are_no_repetitions():
    rows = {"id": list(range(30)) * 2, "verdict": ["a"] * 30 + ["b"] * 30, "judge": ["x"] * 30 + ["y"] * 30}
    assert biases.stability(read_verdicts("both", pl.DataFrame(rows)).table) is None


def test_a_table_without_verdicts_says_what_to_name(tmp_path):
    with pytest.raises(CueCardError, match="neither a verdict nor two scores"):
        read_verdicts("j", pl.DataFrame({"id": [1], "text": ["x"]}))
    with pytest.raises(CueCardError, match="expected a, b or tie"):
        read_verdicts("j", pl.DataFrame({"id": ["1"], "verdict": ["perhaps"]}))


def test_kappa_and_its_interval():
    rng = np.random.default_rng(0)
    assert cohen_kappa([1, 1, 0, 0], [1, 1, 0, 0]).value == 1.0
    covered = 0
    for _ in range(200):
        truth = rng.random(150) < 0.4
        rater = np.where(rng.random(150) < 0.7, truth, rng.random(150) < 0.4)
        kappa = cohen_kappa(truth, rater)
        covered += kappa.low <= 0.7 <= kappa.high
    assert covered / 200 > 0.90
    one = cohen_kappa([1, 1, 0, 0], [1, 0, 0, 0], clusters=[3] * 4)
    assert (one.low, one.high) == (-1.0, 1.0)


def test_lowess_follows_a_curve():
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 6, 600)
    y = np.sin(x) + rng.normal(0, 0.2, 600)
    smooth = lowess(x, y, fraction=0.2)
    assert np.abs(smooth - np.sin(x)).mean() < 0.06


def test_rows_that_swap_the_responses_are_verdicts_in_the_other_order():
    # Always the response shown first: 30 comparisons, each written both ways round.
    once = [
        {"id": i, "response_a": f"yes {i}", "response_b": f"no {i}", "score_a": 2.0, "score_b": 1.0}
        for i in range(30)
    ]
    twice = [row | {"response_a": row["response_b"], "response_b": row["response_a"]} for row in once]
    table = read_verdicts("first", pl.DataFrame(once + twice)).table
    assert table["text_a"].to_list() == [f"no {i}" for i in range(30)] * 2  # in alphabetical order
    assert table["first"].to_list() == table["preferred"].to_list() == [0.0] * 30 + [1.0] * 30
    order = biases.position(table)
    assert (order["consistency"], order["to_first"], order["to_second"]) == (0.0, 30, 0)
    assert read_verdicts("once", pl.DataFrame(once)).table["first"].null_count() == 30


def test_a_judge_with_too_few_verdicts_is_not_called_unbiased():
    rows = pl.DataFrame(
        {"id": range(5), "response_a": list("abcde"), "response_b": list("fghij"), "verdict": ["a"] * 5}
    )
    [finding] = cc.probe(judge={"few": rows}).findings
    assert finding.title == "Biases of few were not tested"
    assert "at least 20 comparisons judged in both orders" in finding.text


def test_the_verdict_about_a_judge_does_not_speak_of_cues_in_the_data():
    rows = [{"id": i, "first": side, "verdict": side} for i in range(30) for side in "ab"]
    biased = verdict(cc.probe(judge={"j": pl.DataFrame(rows)}))
    assert biased.detail == "1 finding: 1 high."
    fair = [{"id": i, "first": side, "verdict": "ab"[i % 2]} for i in range(30) for side in "ab"]
    assert "cue" not in verdict(cc.probe(judge={"j": pl.DataFrame(fair)})).detail


def test_a_reward_with_the_wrong_sign_is_below_chance_and_not_at_it():
    rng = np.random.default_rng(0)
    better = rng.normal(1.0, 1.0, 80)
    frame = pl.DataFrame(
        {"id": range(80), "chosen": "c", "rejected": "r", "score_chosen": -better, "score_rejected": 0.0}
    )
    [finding] = cc.probe(judge={"reward": frame}).findings
    assert finding.title == "reward agrees with people less than by chance"
    assert "below chance" in finding.text


def test_verdicts_of_0_and_1_are_not_guessed_where_no_response_is_the_better_one():
    verdicts = pl.DataFrame({"id": ["1", "2"], "verdict": [0, 1]})
    with pytest.raises(CueCardError, match="unclear which response 0 means: write a, b or tie"):
        read_verdicts("j", verdicts)
    named = verdicts.with_columns(chosen=pl.lit("c"), rejected=pl.lit("r"))
    assert read_verdicts("j", named).table["preferred"].to_list() == [0.0, 1.0]


def test_verdicts_with_lists_and_objects_in_their_fields_are_read_or_refused():
    games = {"question_id": [[1], [2]], "model_1": ["x", "y"], "model_2": ["z", "z"]}
    frame = pl.DataFrame({**games, "g1_winner": ["model_1", "tie"], "judge": [["gpt-4", "pair-v2"]] * 2})
    verdicts = read_verdicts(None, frame)
    assert verdicts.name == "gpt-4"  # as MT-Bench writes it: the judge and its prompt
    assert verdicts.table["preferred"].to_list() == [1.0, 0.5]
    table = pl.DataFrame(
        {
            "id": [1, 2],
            "verdict": ["a", "b"],
            "Verdict": ["x", "y"],
            "response_a": [{"t": 1}] * 2,
            "response_b": ["no"] * 2,
        }
    )
    row = read_verdicts("x", table).table.row(0, named=True)
    assert {row["text_a"], row["text_b"]} == {'{"t": 1}', "no"}
    with pytest.raises(CueCardError, match="neither a verdict nor two scores"):
        read_verdicts("x", frame.drop("question_id"))
    with pytest.raises(CueCardError, match="expected a, b or tie"):
        read_verdicts("x", pl.DataFrame({"id": [1, 2], "verdict": [{"a": 1}] * 2}))

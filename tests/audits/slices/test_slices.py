from __future__ import annotations

from itertools import product

import numpy as np
import polars as pl
import pytest

from cuecard.analysis import Result, Skip
from cuecard.audits import PartialInput, Slices
from cuecard.audits.partial_input.guesses import (
    Guesses,
    guess_labels,
    guess_rows,
    guess_tied_labels,
)
from cuecard.audits.partial_input.slices import response_columns, slice_columns
from cuecard.audits.slices.audit import slice_findings
from cuecard.audits.slices.scoring import slice_test
from cuecard.data import Instances, load
from cuecard.data.demo import demo_battles, demo_choice, demo_nli
from cuecard.data.examples import Examples
from small_sets import choice_instances


def questions(n: int, seed: int, *, planted: str | None) -> Instances:
    """Questions of three genres; in one of them the longest choice is right in 70 %."""
    rng = np.random.default_rng(seed)
    rows, genres = [], []
    for i in range(n):
        genre = ("fiction", "letters", "news")[i % 3]
        lengths = rng.permutation([3, 5, 7, 9])
        longest = int(np.argmax(lengths))
        right = longest if genre == planted and rng.random() < 0.6 else int(rng.integers(0, 4))
        texts = [" ".join(f"w{rng.integers(0, 400)}" for _ in range(k)) for k in lengths]
        rows.append(("train", f"question {i} {rng.integers(0, 10**9)}", texts, right))
        genres += [genre] * 4
    return choice_instances(rows).with_columns(genre=pl.Series(genres))


def row(result: Result, rule: str, value: str) -> dict:
    return result.tables["slices"].filter(rule=rule, value=value).row(0, named=True)


def test_a_shortcut_of_one_genre_is_found_there_and_only_there():
    result = Slices().run(questions(600, 0, planted="letters"))
    inside = row(result, "longest", "letters")
    assert inside["low"] < 0.7 < inside["high"]
    assert inside["chance"] == pytest.approx(0.25)
    assert inside["excess"] > 0.35
    assert inside["q_value"] < 1e-10
    assert row(result, "longest", "news")["q_value"] > 0.05
    assert row(result, "shortest", "letters")["excess"] < 0  # the sign is kept
    finding = result.findings[0]
    assert "genre = letters" in finding.text
    assert finding.severity in ("high", "medium")
    names = {m.name: m for m in result.measures}
    assert names["slices.longest.excess"].value == pytest.approx(inside["excess"])
    assert names["slices.significant"].value == result.summary["significant"] >= 2


def test_slices_of_random_labels_are_quiet():
    alarms = 0
    for seed in range(10):
        result = Slices().run(questions(150, 100 + seed, planted=None))
        alarms += result.summary["significant"] > 0
    assert alarms <= 3  # a false discovery in at most 5 % of the sets: 99.9 % of Binomial(10, 0.05)


def test_the_guesses_of_partial_input_are_read_where_it_ran(monkeypatch):
    data = demo_nli(600, seed=1).instances
    data = data.with_columns(genre=pl.Series(np.where(np.arange(len(data)) % 2, "a", "b")))
    PartialInput(learning_curve=False, cross_fit=False).run(data)
    monkeypatch.setattr(PartialInput, "run", None)  # running it again would fail
    result = Slices().run(data)
    assert {"length", "hypothesis_only", "premise_only", "metadata"} == set(result.summary["rules"])
    assert result.tables["slices"]["n"].max() < data.n_examples


def test_data_without_slices_are_skipped_with_the_reason():
    with pytest.raises(Skip, match="an extra column with 2 to 60 values"):
        Slices().run(demo_choice(100, seed=0).instances)
    data = demo_nli(120, seed=0).instances
    few = data.with_columns(genre=pl.Series([str(i % 40) for i in range(len(data))]))
    with pytest.raises(Skip, match="at least 20 examples"):
        Slices().run(few)


def test_the_p_value_is_that_of_all_answer_keys():
    sizes, margins = np.array([2, 3, 4, 3, 2]), np.array([1.0, 0, 2, 2, 1, 3, 1, 1, 1, 5, 5, 5, 0, 1])
    starts, gold = np.cumsum(sizes) - sizes, np.array([0, 1, 0, 2, 1])
    guesses = guess_rows(margins, gold, sizes)
    named = [margins[s : s + k] == margins[s : s + k].max() for s, k in zip(starts, sizes, strict=True)]
    hits = np.array(
        [sum(n[g] for n, g in zip(named, key, strict=True)) for key in product(*map(range, sizes))]
    )
    seen = sum(n[g] for n, g in zip(named, gold, strict=True))
    test = slice_test(guesses, gold, grouped=True)
    assert np.exp(test.log_p) == pytest.approx(min(1, 2 * min((hits >= seen).mean(), (hits <= seen).mean())))
    assert test.luck == pytest.approx((1 / sizes).mean())


def test_labels_are_expected_as_often_as_the_slice_has_them():
    gold = np.repeat([0, 1, 2], [6, 3, 1])
    always: Guesses = guess_labels(np.tile([1.0, 0, 0], (10, 1)), gold)
    test = slice_test(always, gold, grouped=False)
    assert test.luck == pytest.approx(0.6)
    assert test.excess == pytest.approx(0)
    assert test.log_p == 0
    tied = guess_tied_labels(np.tile([1.0, 1.0, 0.0], (10, 1)), gold)
    assert slice_test(tied, gold, grouped=False).luck == pytest.approx(0.45)
    assert slice_test(tied, gold, grouped=False).accuracy == pytest.approx(0.45)


def test_copies_and_cross_fits_are_worth_fewer_hits():
    rng = np.random.default_rng(0)
    gold = rng.integers(0, 2, 100)
    answer = np.where(rng.random(100) < 0.65, gold, 1 - gold)
    guesses = guess_labels(np.eye(2)[answer], gold)
    plain = slice_test(guesses, gold, grouped=False)
    assert slice_test(guesses, gold, grouped=False, inflation=2.25).log_p > plain.log_p
    often = np.repeat(np.arange(100), 5)
    copied = guesses.take(often)
    blind = slice_test(copied, gold[often], grouped=False)
    aware = slice_test(copied.in_units(often), gold[often], grouped=False)
    assert blind.log_p < 4 * plain.log_p
    assert aware.log_p == pytest.approx(plain.log_p, rel=0.15)


def preferences(n: int, *, subset_of: dict[str, str], seed: int = 0) -> Instances:
    """Preferences of random words; the rule of a subset says which answer wins there."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        subset = list(subset_of)[i % len(subset_of)]
        texts = [
            " ".join(f"w{rng.integers(0, 3000)}" for _ in range(k))
            for k in (rng.integers(4, 9), rng.integers(12, 20))
        ]
        if rng.random() < 0.5:
            texts[0] = f"**{texts[0]}**"
        else:
            texts[1] = f"- {texts[1]}"
        texts = [texts[j] for j in rng.permutation(2)]
        rule = subset_of[subset]
        longest = int(len(texts[1]) > len(texts[0]))
        wins = {
            "longest": longest,
            "shortest": 1 - longest,
            "first": 0,
            "last": 1,
            "luck": int(rng.integers(2)),
        }[rule]
        rows.append(
            {
                "prompt": f"question {i} {rng.integers(10**9)}",
                "response_a": texts[0],
                "response_b": texts[1],
                "model_a": ("alpha", "beta")[wins],
                "model_b": ("beta", "alpha")[wins],
                "winner": "ab"[wins],
                "subset": subset,
            }
        )
    return load(pl.DataFrame(rows))


def test_longest_right_in_all_of_one_subset_and_none_of_another_is_a_high_finding():
    result = Slices().run(preferences(240, subset_of={"maths": "longest", "chat": "shortest"}))
    assert row(result, "longest", "maths")["accuracy"] == 1.0
    assert row(result, "longest", "chat")["accuracy"] == 0.0
    assert row(result, "longest", "chat")["q_value"] < 1e-20
    assert result.findings[0].severity == "high"
    assert abs({m.name: m.value for m in result.measures}["slices.longest.excess"]) == pytest.approx(0.5)


EQUAL_MODELS = {"alpha": 0.0, "beta": 0.0, "gamma": 0.0}


def test_a_planted_bias_towards_a_source_is_recovered_within_its_interval_on_every_slice():
    battles = load(demo_battles(800, source=1.6, strengths=EQUAL_MODELS, seed=4))
    result = Slices().run(battles.with_columns(model=pl.lit("one")))
    # The favoured source takes part in half of the battles and wins them with log odds of 1.6.
    planted = 0.25 + 0.5 / (1 + np.exp(-1.6))
    rows = result.tables["slices"].filter(rule="metadata", column="subset")
    assert rows.height == 2
    assert all(r["low"] < planted < r["high"] for r in rows.iter_rows(named=True))
    assert (rows["q_value"] < 0.05).all()


def test_rules_by_slices_keep_their_level_where_nothing_is_planted():
    clean = [load(demo_battles(150, strengths=EQUAL_MODELS, seed=900 + s)) for s in range(40)]
    false = sum(Slices(learned=False).run(data).summary["significant"] > 0 for data in clean)
    assert false <= 7  # at a level of .05, more are found less than once in 1,000 times


def test_the_place_the_formatting_and_the_model_of_an_answer_are_rules():
    data = preferences(240, subset_of={"a": "first", "b": "last"})
    result = Slices().run(data)
    assert row(result, "first_position", "a")["accuracy"] == 1.0
    assert row(result, "last_position", "b")["accuracy"] == 1.0
    assert row(result, "most_formatted", "a")["q_value"] > 1e-4
    assert row(result, "metadata", "a")["accuracy"] == 1.0  # alpha always wins
    blind = Slices(learned=False).run(data)
    assert {"metadata", "length", "choices_only"}.isdisjoint(blind.summary["rules"])
    assert row(blind, "first_position", "a")["accuracy"] == 1.0


def test_a_rule_that_may_work_for_good_reasons_is_no_finding_where_it_works():
    rng = np.random.default_rng(0)
    rows, genres = [], []
    for i in range(200):
        words = [[f"w{rng.integers(0, 3000)}" for _ in range(8)] for _ in range(2)]
        right = int(rng.integers(0, 2))
        premise = " ".join(words[right]) if i % 2 else f"question {rng.integers(10**9)}"
        rows.append(("train", premise, [" ".join(w) for w in words], right))
        genres += [("none", "quotes")[i % 2]] * 2
    result = Slices(learned=False).run(choice_instances(rows).with_columns(genre=pl.Series(genres)))
    assert row(result, "most_overlap", "quotes")["accuracy"] == 1.0
    assert not any("most words" in finding.title for finding in result.findings)


def test_the_sentence_of_a_slice_says_how_many_of_its_texts_are_distinct() -> None:
    rng = np.random.default_rng(5)
    rows = []
    for i in range(300):
        source = "forum" if i % 2 else "wiki"
        short, long = (" ".join(f"w{word}" for word in rng.integers(0, 900, k)) for k in (6, 12))
        chosen, rejected = (long, short) if source == "forum" else (short, long)
        rows += 2 * [{"prompt": f"p{i}", "chosen": chosen, "rejected": rejected, "source": source}]
    [finding, *_] = Slices().run(load(pl.DataFrame(rows))).findings
    assert "on 300 preferences with 150 distinct sets of responses (95 % CI" in finding.text


def test_a_slice_of_unequal_labels_is_graded_by_its_majority_baseline():
    # 70 % of the labels of the slice are one; predictions in random order hit far less, and that is not what leaks.
    gold = np.array([0] * 700 + [1] * 300)
    guessed = np.where(np.arange(1000) % 10 < 3, 1 - gold, gold)  # accuracy 70 %, no more than the majority
    test = slice_test(guess_labels(np.eye(2)[guessed], gold), gold, grouped=False)
    assert test.majority == pytest.approx(0.7)
    assert test.luck == pytest.approx(0.7 * 0.58 + 0.3 * 0.42)
    strongest = {
        "rule": "hypothesis_only", "column": "genre", "value": "gov", "n": 1000, "texts": 1000, "share": 0.9,
        "accuracy": test.accuracy, "low": test.low, "high": test.high, "chance": test.luck, "majority": test.majority,
        "excess": test.excess, "rest_excess": 0.0, "q_value": 1e-9, "careful": test.low - test.luck,
        "significant": True, "differs": True,
    }  # fmt: skip
    summary = {"strongest": [strongest], "tests": 1, "rules": ["hypothesis_only"], "columns": ["genre"]}
    [finding] = slice_findings(summary, "pair")
    assert finding.severity == "low"
    assert finding.chance == pytest.approx(0.7)
    said = finding.text.replace("\N{NO-BREAK SPACE}", " ")
    assert (
        "the majority baseline there is 70.0 %, and the same predictions in random order have 53.2 %" in said
    )


def test_columns_that_follow_from_the_answer_are_no_slices():
    table = pl.DataFrame(
        {
            "question": [f"question {i}" for i in range(60)],
            "choices": [[f"one {i}", f"two {i}", f"three {i}"] for i in range(60)],
            "answer": [i % 3 for i in range(60)],
            "answer_key": ["ABC"[i % 3] for i in range(60)],
            "source": [f"s{i % 2}" for i in range(60)],
        }
    )
    assert [column.name for column in slice_columns(Examples(load(table)))] == ["source"]
    preferences = pl.DataFrame(
        {
            "prompt": [f"question {i}" for i in range(60)],
            "chosen": [f"one {i}" for i in range(60)],
            "rejected": [f"two {i}" for i in range(60)],
            "chosen_model": ["m1" if i % 5 else "m2" for i in range(60)],
            "rejected_model": ["m2" if i % 4 else "m1" for i in range(60)],
            "source": [f"s{i % 2}" for i in range(60)],
        }
    )
    data = load(preferences)
    assert [column.name for column in slice_columns(Examples(data))] == ["source"]
    assert [column.name for column in response_columns(Examples(data))] == ["model"]

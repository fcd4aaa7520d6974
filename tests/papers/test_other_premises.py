"""What a model answers with other premises is its own bias: dividing by it leaves what the premise adds."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import cuecard as cc
from cuecard.errors import UsageError
from cuecard.stats.correction import without_expert
from cuecard_papers.frontier_schemes import (
    DRAWS,
    FrontierCorrection,
    Scheme,
    drawn_parts,
    own_bias,
    with_other_premises,
)
from small_sets import choice_instances, pair_instances


def pairs(n: int):
    return pair_instances([("test", f"premise {i}", f"hypothesis {i}", "ab"[i % 2]) for i in range(n)])


def test_every_premise_is_used_once_and_nobody_keeps_its_own():
    part = pairs(50)
    drawn = with_other_premises(part, 3)
    before, after = part.table, drawn.table
    assert sorted(after["premise"]) == sorted(before["premise"])
    assert not (after["premise"] == before["premise"]).any()
    assert after.drop("premise").equals(before.drop("premise"))
    assert not with_other_premises(part, 4).table.equals(after)


def test_the_choices_of_a_question_get_one_other_question():
    part = choice_instances([("test", f"question {i}", ["x", "y", "z"][: 2 + i % 2], 0) for i in range(20)])
    drawn = with_other_premises(part, 0)
    premises = drawn.table["premise"].to_numpy()
    assert all(len(set(premises[part.example_codes == i])) == 1 for i in range(20))
    assert not (drawn.table["premise"] == part.table["premise"]).any()


def outputs_of(hypothesis, premise, part):
    """A model whose log-odds are a sum of what the hypothesis and what the premise says."""
    numbers = [
        np.array([int(text.split()[-1]) for text in part.table[name]]) for name in ("hypothesis", "premise")
    ]
    odds = np.exp(hypothesis[numbers[0]] + premise[numbers[1]])
    return odds / odds.sum(axis=1, keepdims=True)


def test_what_the_hypothesis_says_is_divided_out_and_what_the_premise_says_stays():
    rng, part = np.random.default_rng(0), pairs(400)
    hypothesis, premise = rng.normal(0, 1, (2, 400, 2))
    nothing = np.zeros_like(premise)
    parts = drawn_parts([part])
    assert len(parts) == DRAWS

    def corrected(hypothesis, premise):
        plain = outputs_of(hypothesis, premise, part)
        [bias] = own_bias([outputs_of(hypothesis, premise, one) for one in parts], 1)
        assert np.allclose(bias.mean(axis=0), 0)
        return plain, without_expert(plain, bias, 1.0)

    def log_odds(p):
        return np.log(p[:, 0] / p[:, 1])

    # A model of the hypothesis alone: nothing but one constant is left.
    _, left = corrected(hypothesis, nothing)
    assert np.ptp(log_odds(left)) < 1e-9
    # Of both: what is left goes with the premise, hardly with the hypothesis.
    plain, left = corrected(hypothesis, premise)
    by_hypothesis, by_premise = (values[:, 0] - values[:, 1] for values in (hypothesis, premise))
    assert np.corrcoef(log_odds(plain), by_hypothesis)[0, 1] > 0.6
    assert abs(np.corrcoef(log_odds(left), by_hypothesis)[0, 1]) < 0.25
    assert np.corrcoef(log_odds(left), by_premise)[0, 1] > 0.7


def test_it_is_tuned_on_half_of_the_words_and_only_an_expert():
    correction = FrontierCorrection.of("expert-other-premises")
    assert (correction.tuned_on, correction.strength) == ("half", None)
    assert Scheme.of("ensemble+expert-other-premises@0.3+constraint").reads_other_premises
    assert not Scheme.of("expert-hypothesis").reads_other_premises
    with pytest.raises(UsageError):
        Scheme.of("constraint-other-premises")


def test_single_texts_have_no_premise():
    texts = cc.load(pl.DataFrame({"text": ["one", "two"] * 5, "label": ["a", "b"] * 5}))
    with pytest.raises(UsageError, match="only apply to pairs and questions"):
        with_other_premises(texts, 0)

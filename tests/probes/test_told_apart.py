"""Models asked with parts of the input and in several orders: what their card says."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from benchmarks.calibration.asked import MODELS, asked, questions, rightly_named

import cuecard as cc
from cuecard.probes import PartsOfInput, Permutations, Predictions
from cuecard.probes.predictions import as_split
from cuecard.probes.variants import told_apart
from cuecard.report.sections import section_view
from cuecard.stats.models.variants import error_kappa, flips, place_preference, recovered_share


@pytest.mark.parametrize("kind", MODELS)
def test_a_planted_model_is_named_and_a_fair_one_left_alone(kind):
    assert sum(rightly_named(kind, 300, seed) for seed in range(20)) >= 18


def test_the_share_recovered_is_covered_by_its_interval_also_where_examples_share_texts():
    rng = np.random.default_rng(1)

    def answers(n):
        hard = rng.random(n)
        return [(hard < known) | (rng.random(n) < 0.25) for known in (0.25, 0.55)]

    truth = (0.25 * 0.75) / (0.55 * 0.75)
    held = {1: 0, 4: 0}
    for times in held:
        for _ in range(200):
            part, full = (np.repeat(right, times) for right in answers(100))
            units = [np.repeat(np.arange(100), times)] if times > 1 else []
            _, low, high = recovered_share(part, full, 0.25, units)
            held[times] += low <= truth <= high
    assert min(held.values()) >= 182


def test_kappa_of_errors_is_that_of_scikit_learn():
    from sklearn.metrics import cohen_kappa_score

    rng = np.random.default_rng(2)
    a, b = rng.random(80) < 0.6, rng.random(80) < 0.4
    assert error_kappa(a, b)[0] == pytest.approx(cohen_kappa_score(a, b))
    assert np.isnan(error_kappa(np.ones(5), b[:5])[0])


def test_places_that_content_decides_are_not_preferred_more_often_than_the_level():
    rng = np.random.default_rng(3)
    significant = 0
    for _ in range(200):
        shown = np.argsort(rng.random((60, 3, 4)), axis=2)
        picked = np.where(
            rng.random((60, 3)) < 0.5, rng.integers(0, 4, (60, 3)), rng.integers(0, 4, 60)[:, None]
        )
        significant += bool((place_preference(picked, shown).p_value <= 0.05).any())
    assert significant <= 20


def test_the_expected_share_of_a_place_is_that_of_enumeration():
    rng = np.random.default_rng(4)
    shown = np.argsort(rng.random((7, 3, 3)), axis=2)
    picked = rng.integers(0, 3, (7, 3))
    test = place_preference(picked, shown)
    # Every pick met with every order.
    expected = np.mean(
        [[[shown[i, o].tolist().index(picked[i, a]) for o in range(3)] for a in range(3)] for i in range(7)]
        == np.arange(3)[:, None, None, None],
        axis=(1, 2, 3),
    )
    used = [(shown[:, :, k] != shown[:, :1, k]).any() for k in range(3)]
    if all((shown[:, :, k] != shown[:, :1, k]).any(axis=1).all() for k in range(3)):
        assert test.expected == pytest.approx(expected)
    assert all(used)


def test_the_flip_rate_is_the_share_of_pairs_of_orders_that_differ():
    rng = np.random.default_rng(5)
    picked = rng.integers(0, 3, (20, 4))
    pairs = [(a, b) for a in range(4) for b in range(4) if a != b]
    assert flips(picked) == pytest.approx(np.mean([picked[:, a] != picked[:, b] for a, b in pairs], axis=0))


@pytest.fixture(scope="module")
def card():
    variants = asked("recovers from choices", 600, np.random.default_rng(6))
    everything = [
        *variants.orders["recovers from choices"],
        *variants.parts["recovers from choices"].values(),
    ]
    return cc.probe(as_split(questions(600), "train"), everything, only=["input_parts", "permutations"])


def test_the_card_says_what_was_asked_with_the_caution(card):
    parts, moved = section_view(card, "input_parts"), section_view(card, "permutations")
    assert "lead, not a proof" in parts.notes[0]
    finding = next(f for f in card.findings if f.id.endswith("/choices"))
    assert finding.title == "recovers from choices answers above chance with the options alone"
    assert "lead, not a proof" in finding.text
    assert finding.severity in ("low", "medium")
    assert moved.tables[0].rows


def test_a_model_that_follows_swapped_questions_is_told_from_one_that_follows_options():
    data, rng = questions(300), np.random.default_rng(7)
    gold = data.table.filter(pl.col("label") == "right")["position"].to_numpy()
    for keeps in (True, False):
        known = rng.random(300) < 0.4
        wrong = (gold + rng.integers(1, 4, 300)) % 4
        alone = np.where(known, gold, wrong)
        swapped = alone if keeps else rng.integers(0, 4, 300)
        parts = {
            "full": Predictions("m", np.where(rng.random(300) < 0.9, gold, wrong)),
            "choices": Predictions("m", alone),
            "swapped": Predictions("m", swapped),
        }
        result = PartsOfInput().run(data, {"m": parts})
        text = next(f.text for f in result.findings if f.key == "m/choices")
        assert ("speaks for cues" in text) == keeps
        assert ("speaks for inference" in text) != keeps


def test_names_say_which_part_of_the_input_predictions_are_about():
    answers = np.zeros(3, dtype=np.int64)
    models = [Predictions(name, answers) for name in ("gpt", "gpt-choices", "bert", "other-question-only")]
    variants = told_apart(models)
    assert [one.model for one in variants.models] == [one.model for one in models]
    assert {name: list(parts) for name, parts in variants.parts.items()} == {
        "gpt": ["full", "choices"],
        "other": ["question"],
    }
    assert not variants.orders


def test_logs_of_a_model_are_orders_only_if_options_differ():
    answers, shown = np.zeros(3, dtype=np.int64), np.tile([0, 1], (3, 1))
    same = [Predictions("m", answers, shown=shown), Predictions("m", answers, shown=shown)]
    assert len(told_apart(same).models) == 2
    moved = told_apart([same[0], Predictions("m", answers, shown=shown[:, ::-1])])
    assert [one.model for one in moved.models] == ["m"]
    assert len(moved.orders["m"]) == 2


def test_options_that_refer_to_others_are_listed():
    table = pl.DataFrame(
        {
            "question": [f"Which is {i}?" for i in range(12)],
            "choices": [[f"a{i}", f"b{i}", "None of the above"] for i in range(12)],
            "answer": [0, 1] * 6,
        }
    )
    data = as_split(cc.load(table), "test")
    orders = [np.tile(order, (12, 1)) for order in ([0, 1, 2], [1, 0, 2])]
    ways = [Predictions("m", np.zeros(12, dtype=np.int64), shown=shown) for shown in orders]
    result = Permutations().run(data, {"m": ways})
    assert result.tables["options_in_place"]["place"].unique().to_list() == ["C"]
    assert result.tables["places"]["place"].to_list() == ["A", "B"]
    assert result.tables["consistency"]["n"].to_list() == [12, 0]

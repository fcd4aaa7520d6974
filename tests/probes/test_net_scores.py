from __future__ import annotations

import numpy as np
import pytest

import cuecard as cc
from cuecard.data import Instances
from cuecard.probes import NetScores, Predictions
from cuecard.probes.examples import check_test
from cuecard.probes.net_scores import neutral_weights
from cuecard.report.charts.drawing import specification
from cuecard.report.charts.kinds import draw
from cuecard.report.sections import section_view
from cuecard.report.verdict import verdict
from cuecard.stats.preferences.item_response import item_response
from cuecard.wording import percent
from small_sets import choice_instances


def questions(n: int, *, leak: float, seed: int = 0) -> Instances:
    """Questions of four choices; the longest is right more often than by chance by `leak`."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        sizes = rng.permutation([4, 6, 8, 10])
        right = int(sizes.argmax()) if rng.random() < leak else int(rng.integers(4))
        texts = [" ".join(f"w{rng.integers(3000)}" for _ in range(k)) for k in sizes]
        rows.append(("train" if i < n // 2 else "test", f"question {rng.integers(10**9)}", texts, right))
    return choice_instances(rows)


def models(data: Instances, seed: int = 0) -> list[Predictions]:
    """A model that knows seven answers of ten, and one that always says the longest."""
    examples = check_test(data)
    rng = np.random.default_rng(seed)
    lengths = data.test.table["hypothesis"].str.len_chars().to_numpy().reshape(-1, 4)
    knows = np.where(rng.random(len(examples)) < 0.7, examples.gold, rng.integers(0, 4, len(examples)))
    p = np.full((len(examples), 4), 0.1)
    p[np.arange(len(examples)), knows] = 0.7
    return [Predictions("knows", knows, p), Predictions("longest", lengths.argmax(axis=1))]


def test_a_model_that_follows_the_leak_falls_to_chance_and_one_that_knows_stays():
    data = questions(1200, leak=0.5)
    result = NetScores().run(data, models(data))
    rows = {row["model"]: row for row in result.tables["net_scores"].iter_rows(named=True)}
    assert "longest" in result.summary["working"]
    assert rows["longest"]["accuracy"] > 0.5
    assert rows["longest"]["neutral"] == pytest.approx(0.25, abs=0.03)
    assert rows["longest"]["unsolved"] == 0.0
    assert rows["knows"]["neutral_low"] < 0.775 < rows["knows"]["neutral_high"]
    assert result.summary["beyond"]["knows"]["low"] > 0
    measures = {m.name: m for m in result.measures}
    assert measures["net_scores.longest.neutral"].value == rows["longest"]["neutral"]
    assert {f.id for f in result.findings} == {"net_scores/knows", "net_scores/longest"}


def test_the_headline_names_the_best_models_net_of_the_leak():
    data = questions(600, leak=0.5)
    knows, longest = models(data)
    card = cc.probe(data, predictions=[longest, knows], only=["net_scores"])
    net = {m.name: percent(m.value) for m in card["net_scores"].measures}
    headline = verdict(card).headline
    assert headline.index("knows has an accuracy") < headline.index("longest has an accuracy")
    assert f"{net['net_scores.knows.neutral']} net of the leak" in headline


def test_a_leak_that_solves_everything_leaves_no_score_net_of_it():
    data = questions(400, leak=1.0)
    result = NetScores().run(data, models(data))
    assert result.summary["working"]
    assert "neutral" not in result.tables["net_scores"].columns
    assert [(f.id, f.severity) for f in result.findings] == [("net_scores/not_neutral", "high")]
    assert not [m for m in result.measures if m.name.endswith(".neutral")]


def test_without_a_leak_the_scores_stay_as_they_are():
    data = questions(400, leak=0.0, seed=3)
    result = NetScores().run(data, models(data))
    assert result.summary["working"] == []
    assert result.findings[0].id == "net_scores/none"
    assert (result.tables["net_scores"]["neutral"] == result.tables["net_scores"]["accuracy"]).all()


def test_information_beyond_choices_is_taken_from_the_model_itself_where_it_was_asked():
    data = questions(400, leak=0.0)
    knows = models(data)[0]
    n = len(knows.answers)
    alone = Predictions("knows-choices-only", knows.answers, np.full((n, 4), 0.25))
    result = NetScores().run(data, [knows, alone])
    assert result.summary["beyond"]["knows"]["beyond"] == "knows-choices-only"
    expected = np.log2(knows.probabilities[np.arange(n), check_test(data).gold] / 0.25).mean()
    assert result.summary["beyond"]["knows"]["value"] == pytest.approx(expected)
    assert [row["model"] for row in result.summary["models"]] == ["knows"]


def test_neutral_weights_take_a_rule_to_chance():
    rng = np.random.default_rng(0)
    excess = (rng.random(500) < 0.6) - 0.25
    weights = neutral_weights([excess], 500)
    assert weights.mean() == pytest.approx(1.0)
    assert float(weights @ excess) / 500 == pytest.approx(0.0, abs=2e-3)
    assert neutral_weights([], 3).tolist() == [1, 1, 1]


def simulated(models: int, items: int, wrong: int, seed: int):
    rng = np.random.default_rng(seed)
    ability, a, d = rng.standard_normal(models), rng.uniform(0.7, 1.8, items), rng.normal(0.5, 1, items)
    knows = rng.random((models, items)) < 1 / (1 + np.exp(-(ability[:, None] * a + d)))
    truth = rng.integers(0, 4, items)
    key = truth.copy()
    key[:wrong] = (truth[:wrong] + 1) % 4
    other = (truth + rng.integers(1, 4, (models, items))) % 4
    answers = np.where(knows, truth, other)
    return ability, a, d, answers, key


def test_item_response_recovers_abilities_and_examples():
    ability, a, d, answers, key = simulated(60, 400, 0, seed=0)
    fit = item_response(answers == key)
    assert np.corrcoef(fit.ability, ability)[0, 1] > 0.97
    assert np.corrcoef(fit.intercept, d)[0, 1] > 0.9
    assert np.corrcoef(fit.discrimination, a)[0, 1] > 0.4
    assert np.abs(fit.probabilities() - (answers == key)).mean() < 0.4


def test_wrong_keys_are_listed_beside_the_scores():
    _, _, _, answers, key = simulated(20, 300, 15, seed=2)
    rng = np.random.default_rng(0)
    rows = [
        ("test" if i < 300 else "train", f"question {i} {rng.integers(10**9)}",
         [" ".join(f"w{rng.integers(3000)}" for _ in range(5)) for _ in range(4)],
         int(key[i]) if i < 300 else int(rng.integers(4)))
        for i in range(360)
    ]  # fmt: skip
    data = choice_instances(sorted(rows, key=lambda row: row[0], reverse=True))
    order = [int(p.split()[1]) for p in check_test(data).premises]
    everyone = [Predictions(f"m{m}", answers[m][order].astype(np.int64)) for m in range(20)]
    card = cc.probe(data, everyone, only=["net_scores", "runs"])
    listed = card.tables["items_to_check"].filter(why="key may be wrong")
    numbers = {order[check_test(data).ids.to_list().index(i)] for i in listed["item"]}
    hits = len(numbers & set(range(15)))
    assert hits >= 10
    assert hits / len(numbers) > 0.7
    view = section_view(card, "net_scores")
    assert specification(draw(view.charts[0]))["layer"]
    assert [table.title for table in view.tables] == ["Models"]

"""Runs of many models: planted wrong keys, what few models do not say, and the card of a folder of logs."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from benchmarks.calibration.runs import FLIPPED, declined, listed, runs

import cuecard as cc
from cuecard.errors import InputError
from cuecard.probes import BenchmarkRuns, Predictions, check_test
from cuecard.probes.runs import Runs, joined, read_runs, runs_of
from cuecard.report.sections import section_view
from cuecard.testing import assert_policy


def test_flipped_keys_are_listed_and_right_ones_seldom():
    found, right = [], []
    for seed in range(10):
        table, bad = runs(30, np.random.default_rng(seed))
        items = listed(table)
        found.append(np.isin(bad, items).sum())
        right.append(np.isin(items, bad).mean() if len(items) else 1.0)
    assert np.mean(found) >= 0.75 * FLIPPED
    assert np.mean(right) >= 0.88  # 0.9 or more over many runs: the calibration page


def test_nothing_is_listed_where_no_key_is_flipped():
    lists = [listed(runs(30, np.random.default_rng(seed), flipped=0)[0]) for seed in range(5)]
    assert sum(len(items) > 0 for items in lists) == 0


@pytest.mark.parametrize("models", [3, 9])
def test_few_models_say_nothing_about_keys(models):
    assert declined(models, 1)


def _table(runs_: Runs) -> pl.DataFrame:
    names = pl.Series(["A", "B", "C", "D"])
    n, models = runs_.correct.shape
    return pl.DataFrame(
        {
            "item": np.repeat(runs_.items.to_numpy(), models),
            "model": list(runs_.models) * n,
            "answer": names.gather(runs_.answers.ravel()),
            "key": names.gather(np.repeat(runs_.gold, models)),
            "correct": runs_.correct.ravel().astype(int),
        }
    )


@pytest.fixture(scope="module")
def planted():
    return runs(30, np.random.default_rng(1))


def test_a_table_of_runs_gives_the_card_of_the_runs(planted, tmp_path):
    table, bad = planted
    _table(table).write_csv(tmp_path / "runs.csv")
    card = cc.probe(runs=[str(tmp_path / "runs.csv")])
    measures = {row["name"]: row for row in card.measures.iter_rows(named=True)}
    accuracy = table.correct.mean(axis=0)
    assert measures["runs.headroom"]["value"] == pytest.approx(1 - accuracy.max())
    assert measures["runs.headroom"]["low"] < 1 - accuracy.max() < measures["runs.headroom"]["high"]
    assert measures["runs.kr20"]["value"] > 0.9
    items = card.tables["items_to_check"].filter(pl.col("why") == "key may be wrong")
    assert measures["runs.wrong_keys"]["value"] == items.height
    assert set(items["item"]) & {f"q{i}" for i in bad}
    assert next(f for f in card.findings if f.id == "runs/wrong_keys").severity == "low"
    assert section_view(card, "runs").tables[1].rows
    assert {m.rpartition(".")[0] for m in measures} >= {"runs", "runs.model 0"}


def test_a_policy_gates_on_runs_by_their_interval(planted, tmp_path):
    card = cc.probe(runs=planted[0])
    policy = tmp_path / "cuecard.toml"
    policy.write_text('[rules]\n"runs.kr20" = ">= 0.8"\n"runs.smallest_difference" = "<= 0.2"\n')
    assert_policy(card, policy)
    policy.write_text('[rules]\n"runs.smallest_difference" = "<= 0.02"\n')
    with pytest.raises(AssertionError, match="smallest_difference"):
        assert_policy(card, policy)


def test_logs_of_one_passage_are_one_unit():
    rows = [
        {"item": f"{i}", "model": m, "correct": int((i // 5 + k) % 3 > 0), "unit": f"p{i // 5}"}
        for k, m in enumerate(("a", "b"))
        for i in range(60)
    ]
    table = joined(read_runs(None, pl.DataFrame(rows)))
    assert len(table.kinds) == 1
    result = BenchmarkRuns().run(None, table)
    assert result.tables["model_differences"]["design_effect"][0] > 2
    assert result.summary["keys"]["why"] == "needs at least 10 models, found 2"
    assert result.summary["reliability"] is None


def test_a_saturated_benchmark_is_named():
    rng = np.random.default_rng(2)
    right = rng.random((800, 30)) < 0.99
    names = tuple(f"m{k}" for k in range(30))
    table = Runs(names, pl.Series([str(i) for i in range(800)]), right)
    keys = {finding.key for finding in BenchmarkRuns().run(None, table).findings}
    assert "saturated" in keys
    assert "unreliable" in keys


def test_predictions_of_three_models_are_runs(planted):
    table = pl.DataFrame(
        {
            "question": [f"What is thing {i}?" for i in range(40)],
            "choices": [[f"a{i}", f"b{i}", f"c{i}"] for i in range(40)],
            "answer": [0, 1, 2, 1] * 10,
        }
    )
    rng = np.random.default_rng(3)
    models = [Predictions(f"m{k}", rng.integers(0, 3, 40)) for k in range(3)]
    card = cc.probe(table, models, test=table, only=["runs"])
    assert card["runs"].summary["n"] == 40
    data = cc.load(table, test=table)
    made = runs_of(models, check_test(data))
    assert made.options[5] == ("a5", "b5", "c5")
    assert (made.correct[:, 0] == (models[0].answers == made.gold)).all()


def test_runs_that_share_nothing_or_are_of_one_model_are_refused(tmp_path):
    def of(model, items):
        return pl.DataFrame({"item": items, "model": model, "correct": [1] * len(items)})

    with pytest.raises(InputError, match="share no item"):
        joined([*read_runs(None, of("a", ["1"])), *read_runs(None, of("b", ["2"]))])
    with pytest.raises(InputError, match="run of one model"):
        joined(read_runs(None, of("a", ["1"])))
    with pytest.raises(InputError, match=r"name them with --runs NAME=FILE"):
        joined(read_runs(None, of("a", ["1"])) * 2)
    with pytest.raises(InputError, match="has no column 'correct'"):
        read_runs(None, pl.DataFrame({"item": ["1"]}))
    with pytest.raises(InputError, match=r"0\.4"):
        read_runs(None, pl.DataFrame({"item": ["1"], "correct": [0.4]}))
    (tmp_path / "x.json").write_text(json.dumps({"a": 1}))
    with pytest.raises(InputError):
        read_runs(None, tmp_path / "x.json")
    with pytest.raises(InputError, match="does not exist"):
        read_runs(None, tmp_path / "none.json")

"""Every audit under instance weights: whole weights are repeated rows, equal weights are none."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from cuecard.audits import AUDITS
from cuecard.audits.clusters.table import cluster_table
from cuecard.audits.cues.redundancy import redundancy_table
from cuecard.audits.cues.replication import CueRows
from cuecard.audits.overview import Overview
from cuecard.audits.pair_graph.scores import Score, trial
from cuecard.audits.pair_graph.tables import frequency_grid, label_by_frequency, quantile_shares
from cuecard.audits.partial_input.cross_fit import trainer
from cuecard.audits.partial_input.guesses import guess_labels, guess_rows
from cuecard.audits.partial_input.judging import measured
from cuecard.audits.partial_input.rules import conditions, rows_of
from cuecard.data import Examples, Instances, load
from cuecard.data.demo import demo_battles
from cuecard.data.weights import instance_weights, unequal_weights, weights_note
from cuecard.features.pair_graph import LEAKAGE_FEATURES
from small_sets import choice_instances, pair_instances

WORDS = [f"w{i}" for i in range(12)]
#: Tables that are made where all examples count the same.
OF_EQUAL_WEIGHTS = {"carried", "slice_words"}
QUICK = {"clusters": {"map": "none", "sweep": False, "permutations": 20}}


def pairs(n: int = 300, seed: int = 0) -> Instances:
    """Pairs of few sentences, so that some repeat, in which w0 goes with the label no."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        label = str(rng.choice(["no", "yes"]))
        words = rng.choice(WORDS[1:], 3, replace=False).tolist()
        if rng.random() < (0.6 if label == "no" else 0.2):
            words[0] = "w0"
        premise = f"p{rng.integers(0, 40)} q{rng.integers(0, 3)}"
        rows.append(("train" if i % 3 else "test", premise, " ".join(words), label))
    return pair_instances(sorted(rows, key=lambda row: row[0], reverse=True))


def questions(n: int = 200) -> Instances:
    rng = np.random.default_rng(1)
    asked = []
    for i in range(n):
        answer = int(rng.integers(0, 3))
        choices = [" ".join(rng.choice(WORDS, 2)) for _ in range(3)]
        if rng.random() < 0.5:
            choices[answer] += " w0"
        asked.append(("train" if i < 140 else "test", f"q{rng.integers(0, 60)}", choices, answer))
    return choice_instances(asked)


def battles() -> Instances:
    return load(demo_battles(120, length=0.5, seed=0))


#: Every audit with a dataset of every kind that it applies to; preferences for what only applies to them.
#: Open answers take no weights. Concepts need more texts: tests/audits/concepts tests them under weights.
CASES = [
    (name, make)
    for name in AUDITS.names()
    if name != "concepts" and AUDITS.get(name).tasks != {"open"}
    for make in ([battles] if AUDITS.get(name).tasks == {"preference"} else [pairs, questions])
]


def with_weights(data: Instances, weights: list[float] | np.ndarray) -> Instances:
    """The data with a column of weights, one per example."""
    of_rows = np.asarray(weights)[data.example_codes]
    return replace(data, table=data.table.with_columns(weight=pl.Series(of_rows)))


def with_halves(data: Instances) -> Instances:
    """The data with an extra column that makes two slices."""
    return replace(
        data, table=data.table.with_columns(half=pl.Series(data.example_codes % 2).cast(pl.String))
    )


def repeated(data: Instances, times: np.ndarray) -> Instances:
    """Every example as often as `times` says, copies under ids of their own."""
    examples = data.table.with_columns(_times=pl.Series(times[data.example_codes]))
    parts = [
        examples.filter(pl.col("_times") > copy).with_columns(example_id=pl.col("example_id") + f"-{copy}")
        for copy in range(int(times.max()))
    ]
    order = pl.col("split").replace_strict({"train": 0, "dev": 1, "test": 2}, return_dtype=pl.Int8)
    return replace(data, table=pl.concat(parts).sort(order, "example_id", "position").drop("_times"))


def whole_weights(data: Instances, seed: int = 5) -> np.ndarray:
    return np.random.default_rng(seed).integers(1, 4, data.n_examples)


@pytest.mark.parametrize(("name", "make"), CASES)
def test_weights_of_one_leave_every_byte_of_an_audit_as_it_is(name, make):
    data = with_halves(with_weights(make(), np.ones(make().n_examples)))
    kind = AUDITS.get(name)
    plain, weighted = (kind(**QUICK.get(name, {}), weights=column).run(data) for column in (None, "weight"))
    assert json.dumps(plain.summary, default=str) == json.dumps(weighted.summary, default=str)
    assert list(plain.tables) == list(weighted.tables)
    for table in plain.tables:
        assert plain.tables[table].equals(weighted.tables[table]), table
    assert plain.findings == weighted.findings


@pytest.mark.parametrize(("name", "make"), CASES)
def test_every_audit_runs_under_uneven_weights_and_some_number_changes(name, make):
    plain_data = make()
    weights = np.random.default_rng(2).choice([0.0, 0.5, 4.0], plain_data.n_examples)
    data = with_halves(with_weights(plain_data, weights))
    kind = AUDITS.get(name)
    plain, weighted = (kind(**QUICK.get(name, {}), weights=column).run(data) for column in (None, "weight"))
    assert set(plain.summary) == set(weighted.summary)
    assert set(plain.tables) - OF_EQUAL_WEIGHTS == set(weighted.tables) - OF_EQUAL_WEIGHTS
    both = [t for t in plain.tables if t in weighted.tables]
    changed = [t for t in both if not plain.tables[t].equals(weighted.tables[t])]
    assert changed


def test_unequal_weights_are_none_where_nothing_differs_within_a_split():
    data = pairs()
    split = data.table["split"] == "train"
    steps = with_weights(data, np.where(split.to_numpy(), 3.0, 0.5))
    assert unequal_weights(steps, "weight") is None
    assert unequal_weights(steps, None) is None
    uneven = with_weights(data, np.arange(1.0, data.n_examples + 1))
    found = unequal_weights(uneven, "weight")
    assert found is not None
    assert found[split.to_numpy()].mean() == pytest.approx(1)


def test_a_card_says_which_weights_counted_and_which_were_left_unused():
    data = pairs()
    assert weights_note(data, None) is None
    weighted = with_weights(data, np.where(np.arange(data.n_examples) % 2, 3.0, 1.0))
    assert "--weights weight" in str(weights_note(weighted, None))
    assert "'weight'" in str(weights_note(weighted, "weight"))
    assert "80.0 %" in str(weights_note(weighted, "weight"))  # (1+3)² / (2 (1+9))
    assert "all equal" in str(weights_note(with_weights(data, np.ones(data.n_examples)), "weight"))


def test_overview_of_whole_weights_is_that_of_repeated_rows():
    data = pairs()
    times = whole_weights(data)
    weighted = Overview(weights="weight").run(with_weights(data, times.astype(float)))
    rows = Overview().run(repeated(data, times))
    for split in ("train", "test"):
        ours, theirs = (r.summary["splits"][split] for r in (weighted, rows))
        sums = sum(ours["labels"].values()), sum(theirs["labels"].values())
        for label in data.labels:
            assert ours["labels"][label] / sums[0] == pytest.approx(theirs["labels"][label] / sums[1])
        mean = ours["hypothesis_tokens"]["mean"], theirs["hypothesis_tokens"]["mean"]
        assert mean[0] == pytest.approx(mean[1])
    shares = [r.tables["label_balance"].sort("split", "label")["share"].to_list() for r in (weighted, rows)]
    assert shares[0] == pytest.approx(shares[1])
    lengths = [
        r.tables["lengths"].with_columns(pl.col("count") / pl.col("count").sum().over("split", "field"))
        for r in (weighted, rows)
    ]
    assert lengths[0]["count"].to_list() == pytest.approx(lengths[1]["count"].to_list())


@pytest.mark.parametrize("make", [pairs, questions])
def test_a_learner_of_whole_weights_guesses_as_one_of_repeated_rows(make):
    data = make()
    times = whole_weights(data)
    weighted = Examples(data, times.astype(float))
    copies = Examples(repeated(data, times))
    original = copies.ids.str.replace("-.*", "")
    matrix = {c.name: c.matrix for c in conditions(rows_of(data), weighted)}["full"]
    ids = weighted.ids
    place = {name: i for i, name in enumerate(ids.to_list())}
    of_copy = np.array([place[name] for name in original.to_list()])
    found = []
    for examples, features in ((weighted, matrix), (copies, matrix[weighted.rows(of_copy)])):
        learn, guess = (np.flatnonzero(examples.in_split(name)) for name in ("train", "test"))
        with trainer(examples) as fit:
            done = fit.held_out(features, learn, guess)().weighted(examples)
        line = measured("x", "full", done.guesses, examples.gold[guess], grouped=data.grouped)
        found.append((line.accuracy, line.chance, line.luck, done.guesses.mean(done.guesses.probability)))
    assert found[0][:3] == pytest.approx(found[1][:3])
    assert found[0][3] == pytest.approx(found[1][3], abs=2e-3)  # both fits stop at a duality gap


def test_the_forest_of_whole_weights_scores_as_that_of_repeated_rows():
    data = pairs(600)
    times = whole_weights(data)
    features = np.random.default_rng(0).integers(0, 3, (len(data), 3)) + (data.label_codes[:, None] == 0)
    asked = trial(data, forest="fast", folds=5, seed=0, weights=times.astype(float))
    copies = repeated(data, times)
    place = {name: i for i, name in enumerate(data.table["example_id"].to_list())}
    of_copy = [place[name.split("-")[0]] for name in copies.table["example_id"].to_list()]
    many = trial(copies, forest="fast", folds=5, seed=0)
    ours, theirs = asked.score(asked.credits(features)), many.score(many.credits(features[of_copy]))
    assert asked.chance == pytest.approx(many.chance)
    assert ours.accuracy == pytest.approx(theirs.accuracy, abs=1e-12)
    assert ours.high - ours.low > theirs.high - theirs.low  # copies are not new examples


def test_frequency_tables_of_whole_weights_are_those_of_repeated_rows():
    data = pairs()
    times = whole_weights(data)
    features = np.random.default_rng(0).integers(1, 4, (len(data), 3))
    copies = repeated(data, times)
    place = {name: i for i, name in enumerate(data.table["example_id"].to_list())}
    of_copy = [place[name.split("-")[0]] for name in copies.table["example_id"].to_list()]
    weights = times.astype(float)
    for ours, theirs in (
        (frequency_grid(data, features, weights), frequency_grid(copies, features[of_copy])),
        (label_by_frequency(data, features, weights), label_by_frequency(copies, features[of_copy])),
    ):
        assert ours["share"].to_list() == pytest.approx(theirs["share"].to_list())
        assert ours["count"].to_list() == pytest.approx(theirs["count"].to_list())
    leakage = pl.col("feature").is_in(
        list(LEAKAGE_FEATURES)
    )  # the others are drawn from a sample of the rows
    ours = quantile_shares(data, features, embed="tfidf", seed=0, weights=weights).filter(leakage)
    theirs = quantile_shares(copies, features[of_copy], embed="tfidf", seed=0).filter(leakage)
    assert ours["share"].to_list() == pytest.approx(theirs["share"].to_list())


def test_the_table_of_clusters_under_whole_weights_is_that_of_repeated_rows():
    data = pairs()
    times = whole_weights(data)
    clusters = np.random.default_rng(0).integers(0, 6, len(data))
    copies = repeated(data, times)
    place = {name: i for i, name in enumerate(data.table["example_id"].to_list())}
    of_copy = np.array([place[name.split("-")[0]] for name in copies.table["example_id"].to_list()])
    words = [["w"]] * 6
    ours = cluster_table(data, clusters, words, alpha=0.05, weights=times.astype(float)).sort("cluster")
    theirs = cluster_table(copies, clusters[of_copy], words, alpha=0.05).sort("cluster")
    for column in ("share", "prior", "divergence_l2", "count_no", "share_yes"):
        assert ours[column].to_list() == pytest.approx(theirs[column].to_list())
    assert (ours["p_value"] >= theirs["p_value"] - 1e-9).all()  # copies are not new sentences


def test_redundancy_under_whole_weights_is_that_of_repeated_rows():
    rng = np.random.default_rng(3)
    from scipy import sparse

    presence = (rng.random((200, 3)) < 0.4).astype(np.int64)
    presence[:, 1] = presence[:, 0] & (rng.random(200) < 0.9)
    codes, times = rng.integers(0, 2, 200).astype(np.int32), rng.integers(1, 4, 200)
    cues = pl.DataFrame({"family": ["word"] * 3, "feature": ["a", "b", "c"], "label": ["no", "no", "yes"]})
    ours = redundancy_table(
        cues, CueRows.of([sparse.csc_matrix(presence)], 3), ("no", "yes"), codes, times.astype(float)
    )
    copies = np.repeat(np.arange(200), times)
    theirs = redundancy_table(
        cues, CueRows.of([sparse.csc_matrix(presence[copies])], 3), ("no", "yes"), codes[copies]
    )
    assert ours["group"].to_list() == theirs["group"].to_list()
    for column in ("jaccard", "contained", "share_with", "base_with", "share_without", "base_without"):
        assert ours[column].to_list() == pytest.approx(theirs[column].to_list())
    given = ours["z_given"].drop_nulls(), theirs["z_given"].drop_nulls()
    assert (given[0].abs() < given[1].abs() + 0.3).all()


def weighted_guesses(rng: np.random.Generator, n: int, skew: float):
    """Guesses that know nothing of the labels, and weights that depend on label and guess."""
    gold, answer = rng.choice(3, n, p=[0.5, 0.3, 0.2]), rng.choice(3, n)
    weight = rng.lognormal(0, skew, n) * np.array([0.6, 1.0, 2.0])[gold]
    return guess_labels(np.eye(3)[answer], gold).weighted(weight), gold


@pytest.mark.parametrize("skew", [0.3, 1.0])
def test_the_weighted_test_against_chance_keeps_its_level(skew):
    rng = np.random.default_rng(0)
    rejected = 0
    for _ in range(300):
        guesses, gold = weighted_guesses(rng, 400, skew)
        rejected += measured("x", "partial", guesses, gold, grouped=False).p_value <= 0.05
    assert rejected <= 24  # 5 % of 300, and three standard errors


def test_the_weighted_test_of_choices_keeps_its_level_and_has_power():
    rng = np.random.default_rng(1)
    rejected, found = 0, 0
    for _ in range(200):
        sizes = rng.choice([2, 4], 300)
        gold = (rng.random(300) * sizes).astype(np.int64)
        weight = rng.lognormal(0, 0.8, 300)
        margins = rng.random(int(sizes.sum()))
        guesses = guess_rows(margins, gold, sizes).weighted(weight)
        rejected += measured("x", "partial", guesses, gold, grouped=True).p_value <= 0.05
        margins[np.cumsum(sizes) - sizes + gold] += 0.3
        guesses = guess_rows(margins, gold, sizes).weighted(weight)
        found += measured("x", "partial", guesses, gold, grouped=True).p_value <= 0.05
    assert rejected <= 20
    assert found >= 180


def test_the_weighted_interval_covers_the_accuracy_of_the_weighted_population():
    rng = np.random.default_rng(2)
    covered = 0
    for _ in range(400):
        right = rng.random(300) < 0.6
        weight = np.where(right, 0.7, 1.3) * rng.lognormal(0, 0.7, 300)  # hits weigh less
        truth = 0.6 * 0.7 / (0.6 * 0.7 + 0.4 * 1.3)
        guesses = guess_labels(np.eye(2)[right.astype(int)], np.ones(300, np.int64)).weighted(weight)
        line = measured("x", "partial", guesses, np.ones(300, np.int64), grouped=False)
        covered += line.low <= truth <= line.high
    assert 0.92 <= covered / 400 <= 0.985


def test_the_weighted_score_of_a_forest_keeps_its_level():
    data = pairs(400)
    rng = np.random.default_rng(4)
    rejected = 0
    for _ in range(200):
        weights = rng.lognormal(0, 0.8, len(data))
        asked = trial(data, forest="fast", folds=5, seed=0, weights=weights)
        credits = (rng.random(int(asked.scored.sum())) < asked.chance).astype(float)
        found = asked.score(credits)
        assert isinstance(found, Score)
        rejected += found.p_value <= 0.05
    assert rejected <= 20


def test_clusters_of_random_labels_under_weights_are_seldom_significant():
    data = pairs()
    rng = np.random.default_rng(6)
    rejected = tested = 0
    for i in range(60):
        shuffled = replace(data, table=data.table.with_columns(data.table["label"].shuffle(seed=i)))
        clusters = rng.integers(0, 5, len(data))
        weights = rng.lognormal(0, 0.8, len(data))
        table = cluster_table(shuffled, clusters, [["w"]] * 5, alpha=0.05, weights=weights)
        rejected, tested = rejected + int((table["p_value"] <= 0.05).sum()), tested + 5
    assert rejected / tested <= 0.08


@pytest.mark.parametrize("unit", [1e308, 1e-308, 5e-324, 1.0])
def test_weights_of_any_size_are_scaled_to_a_mean_of_one(unit):
    rows = [{"text": f"t{i}", "label": "ab"[i % 2], "w": unit if i % 4 else 0.0} for i in range(40)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        weights = instance_weights(load(rows), "w")
    assert weights.tolist() == pytest.approx([4 / 3 if i % 4 else 0 for i in range(40)])

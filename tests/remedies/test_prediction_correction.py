from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import cuecard as cc
from cuecard.data import Instances
from cuecard.data.demo import demo_choice, demo_predictions, write_demo
from cuecard.errors import InputError, UsageError
from cuecard.probes import read_predictions
from cuecard.remedies.correction import cost_sentence
from cuecard.run.predicting import dev_as_test
from small_sets import pair_instances

LABELS, WORDS = ("contradiction", "entailment", "neutral"), ("nobody", "outdoors", "friend")


@pytest.fixture(scope="module")
def biased():
    """Pairs in which a word goes with a label, and a model that leans to it more than the data does."""
    rng = np.random.default_rng(0)
    n = 1500
    gold = rng.integers(0, 3, n)
    word = np.where(rng.random(n) < 0.6, gold, rng.integers(0, 3, n))
    split = np.where(np.arange(n) < 700, "train", "test")
    rows = [
        (split[i], f"scene {i}", f"{WORDS[word[i]]} {'abc'[i % 3]}{i % 7} is here", LABELS[gold[i]])
        for i in range(n)
    ]
    logits = rng.normal(size=(n, 3)) + 1.5 * np.eye(3)[gold] + 1.5 * np.eye(3)[word]
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    data = pair_instances(rows)
    table = data.table.select("example_id", "split").with_columns(
        pl.Series("prediction", np.array(LABELS)[p.argmax(axis=1)]),
        *(pl.Series(f"p_{label}", p[:, k]) for k, label in enumerate(LABELS)),
    )
    return data, table


PLANTED = {"per_label": 1}


def of_split(predictions: pl.DataFrame, split: str) -> pl.DataFrame:
    return predictions.filter(pl.col("split").cast(pl.String) == split)


def with_dev(data: Instances) -> Instances:
    """Make every second training example one of a dev split."""
    number = pl.int_range(pl.len())
    first = (pl.col("split").cast(pl.String) == "train") & (number % 2 == 0)
    split = pl.when(first).then(pl.lit("dev")).otherwise(pl.col("split").cast(pl.String)).alias("split")
    order = pl.col("split").replace_strict({"train": 0, "dev": 1, "test": 2})
    return replace(data, table=data.table.with_columns(split).sort(order, maintain_order=True))


@pytest.mark.parametrize("options", [{}, {"method": "expert"}, {"method": "expert", "expert": "hypothesis"}])
def test_the_gap_of_a_model_that_follows_cues_shrinks_and_the_cost_is_told(biased, options):
    data, predictions = biased
    done = cc.correct(data, of_split(predictions, "test"), **PLANTED, **options)
    before, after = done.metrics["before"], done.metrics["after"]
    assert before["gap"] > 0.15
    assert after["gap"] < before["gap"] / 2
    right = done.predictions["prediction"] == done.predictions["gold"]
    assert after["accuracy"] == pytest.approx(right.mean())
    answered = of_split(predictions, "test")["prediction"].to_list()
    assert done.metrics["changed_answers"] == (done.predictions["prediction"] != pl.Series(answered)).sum()


def test_words_that_are_not_significant_do_not_dilute_the_gap_that_is_closed(biased):
    """One word per label is biased; the others would put nearly every example into both groups."""
    data, predictions = biased
    rng = np.random.default_rng(3)
    noise = [" ".join(f"noise{k}" for k in rng.integers(0, 60, 4)) for _ in range(len(data))]
    padded = data.with_columns(
        hypothesis=data.table["hypothesis"] + pl.Series([f" {text}" for text in noise])
    )
    done = cc.correct(padded, of_split(predictions, "test"))
    assert done.metrics["cues"] <= 4
    real = cc.correct(padded, of_split(predictions, "test"), cues=WORDS)
    assert done.metrics["after"]["gap"] == pytest.approx(real.metrics["after"]["gap"], abs=0.03)
    assert abs(done.metrics["after"]["gap"]) < 0.05


def test_a_correction_that_goes_too_far_is_significant(biased):
    data, predictions = biased
    mine = of_split(predictions, "test")
    closed, too_far = (cc.correct(data, mine, strength=strength, **PLANTED) for strength in (None, 3.0))
    assert too_far.metrics["after"]["gap"] < -0.1
    assert too_far.metrics["after"]["log10_p"] < -3
    assert too_far.metrics["after"]["log10_p_exact"] > -0.01
    assert closed.metrics["after"]["log10_p"] > np.log10(0.05)


def test_it_is_said_where_no_word_is_significant(biased):
    data, predictions = biased
    rng = np.random.default_rng(2)
    mine = of_split(predictions, "test")
    done = cc.correct(data.relabelled(rng.permutation(data.label_codes)), mine)
    assert not done.metrics["significant"]
    assert "No word is a significant cue" in cost_sentence(done.metrics)
    assert "No word" not in cost_sentence(cc.correct(data, mine).metrics)


def test_no_strength_changes_nothing(biased):
    data, predictions = biased
    mine = of_split(predictions, "test")
    done = cc.correct(data, mine, strength=0.0)
    columns = [f"p_{label}" for label in data.labels]
    assert done.predictions.select(columns).to_numpy() == pytest.approx(mine.select(columns).to_numpy())
    assert done.metrics["before"] == done.metrics["after"]


def test_the_constraint_costs_less_than_the_expert_for_the_same_gap(biased):
    data, predictions = biased
    mine = of_split(predictions, "test")
    constraint, expert = (
        cc.correct(data, mine, method=method, **PLANTED).metrics for method in ("constraint", "expert")
    )
    assert constraint["closed_where_tuned"]
    assert constraint["after"]["accuracy"] > expert["after"]["accuracy"]


def test_strengths_tuned_on_dev_do_not_depend_on_test_labels(biased):
    data, predictions = with_dev(biased[0]), biased[1]
    test_ids = of_split(predictions, "test")
    dev = predictions.join(
        data.table.filter(pl.col("split") == "dev").select("example_id"), on="example_id", how="semi"
    ).with_columns(split=pl.lit("dev"))
    done = cc.correct(data, test_ids, dev_predictions=dev, **PLANTED)
    codes = data.label_codes.copy()
    in_test = (data.table["split"].cast(pl.String) == "test").to_numpy()
    codes[in_test] = (codes[in_test] + 1) % len(data.labels)
    moved = cc.correct(data.relabelled(codes), test_ids, dev_predictions=dev, **PLANTED)
    assert done.metrics["tuned_on"] == "dev"
    assert np.array_equal(done.probabilities, moved.probabilities)
    assert done.metrics["after"]["accuracy"] != moved.metrics["after"]["accuracy"]


def test_without_dev_an_example_is_not_corrected_with_the_help_of_its_own_label(biased):
    class EveryFifth(cc.Correction):
        def _test_folds(self, data, gold):
            return np.arange(len(gold)) % 5

    data, predictions = biased
    [model] = read_predictions(of_split(predictions, "test"), data)
    in_test = (data.table["split"].cast(pl.String) == "test").to_numpy()
    codes = data.label_codes.copy()
    first_fold = np.flatnonzero(in_test)[::5]
    codes[first_fold] = (codes[first_fold] + 1) % len(data.labels)
    correction = EveryFifth(per_label=1)
    done, moved = (correction.run(one, model) for one in (data, data.relabelled(codes)))
    assert done.metrics["tuned_on"] == "test"
    assert len(done.metrics["strengths"]) == 5
    assert np.array_equal(done.probabilities[::5], moved.probabilities[::5])
    assert not np.array_equal(done.probabilities, moved.probabilities)


@pytest.mark.parametrize("options", [{}, {"method": "expert"}])
def test_a_benchmark_of_one_file_is_corrected_for_the_cues_of_other_folds(biased, options):
    data, predictions = biased
    whole = replace(
        data, table=data.test.table.with_columns(split=pl.lit("train").cast(data.table.schema["split"]))
    )
    mine = of_split(predictions, "test").drop("split")
    done = cc.correct(whole, mine, **PLANTED, **options)
    assert done.metrics["tuned_on"] == "file"
    assert done.metrics["before"]["gap"] > 0.15
    assert done.metrics["after"]["gap"] < done.metrics["before"]["gap"] / 2
    assert done.predictions["example_id"].to_list() == mine["example_id"].to_list()
    beside_train = cc.correct(data, of_split(predictions, "test"), **PLANTED, **options)
    assert done.metrics["after"]["accuracy"] == pytest.approx(
        beside_train.metrics["after"]["accuracy"], abs=0.04
    )


def test_too_small_a_file_is_told_to_set_a_strength_and_not_to_give_a_dev_split(biased):
    data, predictions = biased
    few = replace(data, table=data.test.table.head(40))
    [model] = read_predictions(of_split(predictions, "test").head(40), few)
    with pytest.raises(InputError, match="found 40: give a strength with --strength"):
        cc.Correction().run(few, model)


def test_no_label_of_a_fold_enters_its_own_correction_in_one_file(biased):
    class EveryFifth(cc.Correction):
        def _test_folds(self, data, gold):
            return np.arange(len(gold)) % 5

    data, predictions = biased
    whole = replace(data, table=data.test.table)
    [model] = read_predictions(of_split(predictions, "test"), whole)
    codes = whole.label_codes.copy()
    codes[::5] = (codes[::5] + 1) % len(data.labels)
    for method in ("constraint", "expert"):
        correction = EveryFifth(per_label=1, method=method)
        done, moved = (correction.run(one, model) for one in (whole, whole.relabelled(codes)))
        assert np.array_equal(done.probabilities[::5], moved.probabilities[::5])
        assert not np.array_equal(done.probabilities, moved.probabilities)


def test_a_gap_that_is_not_significant_is_called_so():
    before = {"accuracy": 0.8, "gap": 0.01, "gap_high": 0.03, "log10_p": -0.2, "log10_p_within_label": -1.0}
    metrics = {"before": before, "after": before, "changed_answers": 0, "examples": 10}
    assert "not significant" in cost_sentence(metrics)
    assert "not significant" not in cost_sentence(metrics | {"before": before | {"log10_p": -3.0}})
    assert "too far" not in cost_sentence(metrics)
    assert "too far" in cost_sentence(metrics | {"after": before | {"gap": -0.05, "gap_high": -0.01}})


def test_worst_group_accuracy_rises(biased):
    data, predictions = biased
    done = cc.correct(data, of_split(predictions, "test"), aim="worst-group", **PLANTED)
    assert done.metrics["after"]["worst_group_accuracy"] > done.metrics["before"]["worst_group_accuracy"]


def test_words_of_a_second_list_are_corrected_for_with_strengths_of_their_own():
    """Two words per label, one much stronger than the other; one list knows the first, two know both."""
    rng = np.random.default_rng(1)
    n = 3000
    gold = rng.integers(0, 2, n)
    first, second = (np.where(rng.random(n) < share, gold, 1 - gold) for share in (0.8, 0.65))
    # An example has one of both words, so that neither list corrects for the other.
    strong = rng.random(n) < 0.5
    words = (("nobody", "outdoors"), ("sleeps", "friend"))
    rows = [
        (
            "train" if i < 1000 else "test",
            f"scene {i}",
            f"{words[0][first[i]] if strong[i] else words[1][second[i]]} here{i}",
            ("no", "yes")[gold[i]],
        )
        for i in range(n)
    ]
    data = pair_instances(rows)
    cue = np.where(strong, first, second)
    margin = 1.5 * (2 * gold - 1) + 1.5 * (2 * cue - 1) + rng.normal(size=n) * 2
    p = 1 / (1 + np.exp(-margin[1000:]))
    table = data.test.table.select("example_id").with_columns(p_no=1 - p, p_yes=p)
    one, two = (cc.correct(data, table, per_label=1, bands=bands) for bands in (1, 2))
    assert {len(s) for s in two.metrics["strengths"]} == {4}

    def gap(done, members):
        right = (done.predictions["prediction"] == done.predictions["gold"]).to_numpy()
        usual = (cue == gold)[1000:]
        return right[members & usual].mean() - right[members & ~usual].mean()

    weak = ~strong[1000:]
    assert gap(one, weak) > 0.3
    assert gap(two, weak) < 0.1
    assert gap(two, ~weak) < 0.15


def test_named_cues_are_corrected_for(biased):
    data, predictions = biased
    done = cc.correct(data, of_split(predictions, "test"), cues=("nobody",))
    assert done.metrics["cues"] == 1
    assert done.metrics["after"]["gap"] < done.metrics["before"]["gap"] / 2


def test_multiple_choice_is_corrected_and_probe_reads_the_result(tmp_path):
    demo = demo_choice(600, seed=0)
    files = write_demo(demo, tmp_path)
    data = cc.load(files["train"], test=files["test"])
    predictions = of_split(demo_predictions(demo, follow=0.8, accuracy=0.6, seed=0), "test")
    done = cc.correct(data, predictions, per_label=2, margin=0.0)
    assert done.metrics["after"]["gap"] < done.metrics["before"]["gap"]
    [again] = read_predictions(done.predictions, data)
    assert again.probabilities == pytest.approx(done.probabilities)
    assert (
        cc.correct(data, predictions, method="expert", expert="length").metrics["examples"]
        == data.test.n_examples
    )


def test_the_dev_split_takes_the_place_of_test(biased):
    data = with_dev(biased[0])
    as_test = dev_as_test(data)
    assert as_test.splits == ("train", "test")
    assert as_test.test.table["example_id"].to_list() == data.split("dev").table["example_id"].to_list()
    with pytest.raises(UsageError, match="no dev split: give it with --dev"):
        dev_as_test(biased[0])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"method": "x"}, "Unknown method 'x': choose one of constraint, expert"),
        ({"aim": "x"}, "Unknown aim 'x': choose one of gap, worst-group"),
        ({"expert": "length"}, "--expert only applies to --method expert"),
        ({"method": "expert", "expert": "lenght"}, "length"),
        ({"strength": -1.0}, "strength must be a number of at least 0"),
        ({"folds": 1}, "folds at least 2"),
        ({"bands": 0}, "bands must be at least 1"),
        ({"bands": 2, "method": "expert"}, "--bands only applies to words by z"),
        ({"margin": float("nan")}, "margin must be a number"),
        ({"margin": -1.0}, "margin must be a number of at least 0"),
    ],
)
def test_options_that_mean_nothing_are_refused(biased, options, sentence):
    with pytest.raises(UsageError, match=sentence):
        cc.correct(biased[0], of_split(biased[1], "test"), **options)


def test_predictions_without_probabilities_cannot_be_corrected(biased):
    data, predictions = biased
    with pytest.raises(InputError, match="without probabilities: give columns p_<answer>"):
        cc.correct(data, of_split(predictions, "test").select("example_id", "prediction"))


def test_a_strength_that_is_set_needs_no_examples_to_tune_on(biased):
    data, predictions = biased
    few = replace(data, table=data.table.head(730))
    table = of_split(predictions, "test").head(30)
    assert cc.correct(few, table, strength=1.0, method="expert", **PLANTED).metrics["tuned_on"] == "given"
    with pytest.raises(InputError, match="at least 50 examples, found 30"):
        cc.correct(few, table, **PLANTED)

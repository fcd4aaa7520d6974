"""Leakage-neutral weights: Theorem 1 by simulation, the prior by bisection, bad input."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from cuecard.data import Instances, Task
from cuecard.errors import UsageError
from cuecard.remedies import REMEDIES, NeutralWeights
from cuecard.run.debiasing import debias
from cuecard.stats.neutral_weights import leakage_neutral_weights, weights_from_probabilities
from cuecard_papers.selection import select, theorem_by_simulation


def selected(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Draws of a neutral world that the intention rule keeps."""
    drawn = select(n, np.random.default_rng(seed))
    return drawn.label, drawn.leak, drawn.right, drawn.intention


def test_weighted_accuracy_covers_the_neutral_one_and_unweighted_accuracy_does_not() -> None:
    """Theorem 1 with known P(S | l): the 95 % interval covers the truth in about 95 % of repetitions."""
    check = theorem_by_simulation()
    assert 0.925 < check.weighted_coverage < 0.975
    assert check.unweighted_coverage < 0.05
    assert check.weighted == pytest.approx(check.truth, abs=0.005)
    assert check.unweighted > check.truth + 0.03


def test_estimated_weights_recover_the_neutral_accuracy() -> None:
    label, leak, right, intention = selected(40_000, 3)
    found = leakage_neutral_weights(label, leak, folds=5, trees=30)
    assert right.mean() > 0.80
    assert np.average(right, weights=found.weights) == pytest.approx(0.75, abs=0.015)
    known = 1 / np.where(label == 1, intention, 1 - intention)
    np.testing.assert_allclose(found.weights, known / known.mean(), rtol=0.15)
    assert found.prior == pytest.approx([0.5, 0.5], abs=0.02)


def test_the_released_forest_is_deeper_larger_and_cuts_by_entropy(monkeypatch) -> None:
    asked = {}
    monkeypatch.setattr(
        "cuecard.remedies.neutral_weights.leakage_neutral_weights",
        lambda labels, features, **options: (
            asked.update(options) or leakage_neutral_weights(labels, features, folds=2, trees=5)
        ),
    )
    debias(planted(300), NeutralWeights(forest="released", trees=7))
    assert (asked["trees"], asked["depth"], asked["criterion"]) == (10_000, 9, "entropy")
    with pytest.raises(UsageError, match="Unknown forest 'authors'"):
        NeutralWeights(forest="authors")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="criterion is gini or entropy"):
        leakage_neutral_weights([0, 1] * 9, list(range(18)), folds=2, criterion="log")  # type: ignore[arg-type]


def test_the_prior_is_the_one_that_bisection_of_equation_1_finds() -> None:
    rng = np.random.default_rng(0)
    p = rng.uniform(0.05, 0.95, 500)
    codes = (rng.random(500) < p**2).astype(int)

    def weights_at(prior: float) -> np.ndarray:
        intention = (1 - prior) * p / ((1 - prior) * p + prior * (1 - p))
        return 1 / np.where(codes == 1, intention, 1 - intention)

    low, high = 0.0001, 0.9999
    for _ in range(60):
        middle = (low + high) / 2
        w = weights_at(middle)
        low, high = (middle, high) if w[codes == 1].sum() / w.sum() < codes.mean() else (low, middle)
    weights, prior = weights_from_probabilities(codes, np.column_stack([1 - p, p]))
    assert prior[1] == pytest.approx(middle, abs=1e-9)
    np.testing.assert_allclose(weights, weights_at(middle) / weights_at(middle).mean(), rtol=1e-8)


def test_three_labels_keep_their_share_of_weight_and_become_independent_of_the_leak() -> None:
    rng = np.random.default_rng(5)
    labels = rng.choice(["a", "b", "c"], 20_000, p=[0.5, 0.3, 0.2])
    # Bounded, so that every label occurs at every value: beyond common support nothing can be balanced.
    leak = np.minimum(rng.poisson(1 + 2 * (labels == "c") + (labels == "b")), 4)
    found = leakage_neutral_weights(labels, leak, folds=5, trees=30, depth=6)
    assert found.labels == ("a", "b", "c")
    assert found.weights.mean() == pytest.approx(1)
    for label in "abc":
        mine = labels == label
        assert found.weights[mine].sum() / found.weights.sum() == pytest.approx(mine.mean())
        before = leak[mine].mean() - leak.mean()
        after = np.average(leak[mine], weights=found.weights[mine]) - np.average(leak, weights=found.weights)
        assert abs(after) < 0.05 * abs(before)


def test_an_impossible_label_is_counted_and_gets_a_finite_weight() -> None:
    labels = np.array([0] * 300 + [1] * 300 + [1])
    leak = np.array([1] * 300 + [9] * 300 + [1])
    with pytest.warns(UserWarning, match=r"1 of 601 weights would be infinite"):
        found = leakage_neutral_weights(labels, leak, folds=601, trees=20)
    assert found.infinite == 1
    assert np.isfinite(found.weights).all()
    assert found.weights.argmax() == 600


def test_a_limit_on_weights_keeps_the_classes_shares() -> None:
    label, leak, _, _ = selected(8000, 1)
    free = leakage_neutral_weights(label, leak, folds=4, trees=20)
    limited = leakage_neutral_weights(label, leak, folds=4, trees=20, max_weight=2.0)
    assert free.weights.max() > 2
    assert limited.weights.max() <= 2.0 + 1e-9
    assert limited.clipped == (free.weights > 2).sum()
    assert limited.effective_sample_size > free.effective_sample_size
    for y in (0, 1):
        assert limited.weights[label == y].sum() == pytest.approx((label == y).sum(), rel=1e-6)


def test_labels_that_nothing_gives_away_get_nearly_equal_weights() -> None:
    rng = np.random.default_rng(2)
    found = leakage_neutral_weights(rng.integers(0, 2, 20_000), rng.integers(1, 4, 20_000), folds=5, trees=20)
    assert found.effective_sample_size > 0.998 * 20_000


def test_bad_input_is_named() -> None:
    with pytest.raises(ValueError, match="same one"):
        leakage_neutral_weights([1, 1, 1], [1, 2, 3], folds=2)
    with pytest.raises(ValueError, match="one row per label"):
        leakage_neutral_weights([0, 1, 1], [1, 2], folds=2)
    with pytest.raises(ValueError, match="missing or infinite"):
        leakage_neutral_weights([0, 1, 1], [1, 2, np.nan], folds=2)
    with pytest.raises(ValueError, match="folds"):
        leakage_neutral_weights([0, 1, 1], [1, 2, 3], folds=4)
    with pytest.raises(ValueError, match="max_weight"):
        leakage_neutral_weights([0, 1, 1], [1, 2, 3], folds=2, max_weight=0.5)


def planted(n: int = 3000) -> Instances:
    """Return pairs, two thirds of them train, whose second sentence is repeated if the label is "yes"."""
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, n)
    popular = rng.integers(0, 40, n)
    second = np.where(rng.random(n) < np.where(label == 1, 0.6, 0.2), popular, 1000 + np.arange(n))
    table = pl.DataFrame(
        {
            "example_id": [str(i) for i in range(n)], "position": 0,
            "split": ["train"] * (2 * n // 3) + ["test"] * (n - 2 * n // 3),
            "premise": [f"p{i}" for i in range(n)], "hypothesis": [f"h{i}" for i in second],
            "label": pl.Series(np.where(label == 1, "yes", "no")).cast(pl.Enum(["yes", "no"])),
        }
    )  # fmt: skip
    return Instances(table, "pair", ("yes", "no"))


def test_the_remedy_takes_the_leak_out_of_a_planted_dataset() -> None:
    result = NeutralWeights(folds=10, trees=40, max_weight=50).run(planted())
    accuracy = result.summary["leakage_accuracy"]
    assert accuracy["unweighted"]["accuracy"] > 0.65
    assert accuracy["weighted"]["accuracy"] < 0.57
    assert result.examples is not None
    for split in ("train", "test"):
        assert result.examples.filter(split=split)["weight"].mean() == pytest.approx(1)
    finding = result.findings[0]
    assert "instead of" in finding.text
    assert (finding.severity, finding.title) == ("info", "Weights that balance the pair graph")


def test_pooled_weights_have_mean_1_over_all_splits_and_know_them_as_one() -> None:
    data = planted(900)
    pooled = NeutralWeights(folds=10, trees=20, pool=True).run(data)
    assert pooled.examples is not None
    weight = pooled.examples["weight"]
    assert weight.mean() == pytest.approx(1)
    assert pooled.summary["splits"].keys() == {"all"}
    assert pooled.summary["unweighted_splits"] == []
    one_split = data.with_columns(split=pl.lit("train"))
    alone = NeutralWeights(folds=10, trees=20).run(one_split)
    assert alone.examples is not None
    assert weight.to_list() == alone.examples["weight"].to_list()


def told_by_frequency() -> Instances:
    """Return pairs whose label frequency gives away, except in two."""
    yes = [("hub", f"leaf {i}") for i in range(200)]
    no = [(f"p{i}", f"q{i}") for i in range(200)]
    label = ["yes"] * 199 + ["no"] * 200 + ["yes"]
    table = pl.DataFrame(
        {
            "example_id": [str(i) for i in range(400)], "position": 0, "split": "train",
            "premise": [p for p, _ in yes + no], "hypothesis": [h for _, h in yes + no],
            "label": pl.Series(label).cast(pl.Enum(["yes", "no"])),
        }
    )  # fmt: skip
    return Instances(table, "pair", ("yes", "no"))


@pytest.mark.parametrize(
    ("max_weight", "title", "advice"),
    [
        (2.0, "Weights that balance the pair graph only in part", "a higher --max-weight removes more"),
        (
            None,
            "Weights that balance the pair graph, with a small effective sample size",
            "--max-weight 20 increases",
        ),
    ],
)
def test_weights_that_leave_the_leak_or_rest_on_few_examples_are_no_mere_information(
    max_weight: float | None, title: str, advice: str
) -> None:
    (finding,) = NeutralWeights(folds=10, trees=400, max_weight=max_weight).run(told_by_frequency()).findings
    assert (finding.severity, finding.title) == ("medium", title)
    assert advice in finding.text


def test_train_weights_do_not_depend_on_the_labels_of_test() -> None:
    data = planted(900)
    flipped = data.with_columns(
        label=pl.when(pl.col("split") == "test")
        .then(pl.col("label").cast(pl.String).replace({"yes": "no", "no": "yes"}))
        .otherwise(pl.col("label").cast(pl.String))
        .cast(pl.Enum(["yes", "no"]))
    )
    remedy = NeutralWeights(folds=5, trees=20)
    first, second = (remedy.run(each).examples for each in (data, flipped))
    assert first is not None
    assert second is not None
    assert first.filter(split="train").equals(second.filter(split="train"))
    assert not first.filter(split="test").equals(second.filter(split="test"))


def test_a_test_split_with_one_label_is_left_unweighted() -> None:
    data = planted(900)
    kept = data.table.filter((pl.col("split") == "train") | (pl.col("label") == "yes"))
    result = NeutralWeights(folds=5, trees=20).run(Instances(kept, "pair", data.labels))
    assert result.summary["unweighted_splits"] == ["test"]
    assert result.examples is not None
    assert set(result.examples.filter(split="test")["weight"]) == {1.0}


def test_no_written_weight_exceeds_the_limit() -> None:
    found = debias(planted(900), "neutral", folds=5, trees=20, max_weight=1.2)
    assert found.weights.max() <= 1.2
    assert found.weights.mean() == pytest.approx(1)
    assert len(found.weights) == 600


@pytest.mark.parametrize(
    ("task", "reason"),
    [("choice", "a question with all its answers"), ("text", "no pairs to build a graph from")],
)
def test_data_without_pairs_is_told_why_it_has_no_such_weights(task: Task, reason: str) -> None:
    table = planted(20).table.with_columns(example_id=pl.Series(np.repeat(np.arange(10), 2)).cast(pl.String))
    with pytest.raises(UsageError, match=reason):
        debias(Instances(table, task, ("yes", "no")), "neutral")


def test_the_earlier_name_of_the_method_still_works() -> None:
    assert REMEDIES.get("leakage") is REMEDIES.get("neutral") is NeutralWeights
    assert "leakage" not in REMEDIES.names()

"""PECO against the authors' clusters, brute force, and its own null distribution."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.integrate import trapezoid
from scipy.stats import entropy, kstest

from cuecard.stats.clusters.peco import (
    SampleDesign,
    _shuffled_tables,
    cluster_divergence,
    peco,
    peco_curve,
    peco_interval,
    peco_null,
    shuffled_divergences,
)


@pytest.fixture(scope="module")
def snli(oracle: Callable[[str], Path]) -> tuple[Any, Any, pl.DataFrame]:
    points = pl.read_csv(oracle("peco/tsne_50_l2.csv"))
    return (
        points["label"].to_numpy(),
        points["clid"].to_numpy(),
        pl.read_csv(oracle("peco/cluster_50_l2.csv")),
    )


def test_every_published_cluster_divergence_is_reproduced(snli: Any) -> None:
    labels, clusters, published = snli
    ours = cluster_divergence(labels, clusters)
    np.testing.assert_array_equal(ours.clusters, published["clid"].to_numpy())
    np.testing.assert_allclose(ours.divergence, published["peco_l2"].to_numpy(), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("divergence", "mode", "printed", "digits"),
    [
        ("l2", "released", 13.7, 1e-9),
        ("kl", "released", 9.8, 1e-9),
        ("l2", "exact", 10.675, 5e-4),
        ("l2_mean", "exact", 3.558, 5e-4),
    ],
)
def test_published_scores_are_reproduced(
    snli: Any, divergence: Any, mode: Any, printed: float, digits: float
) -> None:
    assert peco(snli[0], snli[1], divergence=divergence, mode=mode) == pytest.approx(printed, abs=digits)


def test_divergences_equal_scipy_where_every_label_occurs() -> None:
    rng = np.random.default_rng(0)
    labels, clusters = rng.integers(0, 3, 3000), rng.integers(0, 7, 3000)
    table = np.stack([np.bincount(labels[clusters == c], minlength=3) for c in range(7)])
    ours = cluster_divergence(labels, clusters, "kl")
    expected = [entropy(table.sum(0), row, base=2) for row in table]
    np.testing.assert_allclose(ours.divergence, expected, atol=1e-6)
    np.testing.assert_array_equal(ours.counts, table)


def test_a_cluster_without_a_label_has_a_finite_divergence() -> None:
    assert np.all(np.isfinite(cluster_divergence([0, 0, 1, 1], [0, 0, 1, 1], "kl").divergence))


def test_exact_score_is_the_area_under_the_curve() -> None:
    rng = np.random.default_rng(1)
    labels, clusters = rng.integers(0, 3, 500), rng.integers(0, 11, 500)
    curve = peco_curve(labels, clusters)
    assert curve.score == pytest.approx(peco(labels, clusters))
    grid = np.linspace(curve.thresholds[0], curve.thresholds[-1], 200_001)
    values = cluster_divergence(labels, clusters).divergence
    counted = np.array([(values > t).mean() for t in grid[::100]])
    assert 100 * trapezoid(counted, grid[::100]) == pytest.approx(curve.score, rel=5e-3)


def test_released_floor_is_five() -> None:
    labels = np.tile([0, 1, 2], 200)
    clusters = np.repeat(np.arange(20), 30)
    assert peco(labels, clusters, mode="exact") == pytest.approx(0.0, abs=1e-12)
    clusters[0] = 1
    assert peco(labels, clusters, mode="released") <= 5.0


def test_names_of_labels_and_clusters_do_not_matter() -> None:
    rng = np.random.default_rng(2)
    labels, clusters = rng.integers(0, 3, 300), rng.integers(0, 5, 300)
    renamed = np.array(["no", "maybe", "yes"])[labels]
    assert peco(renamed, 100 - 7 * clusters) == pytest.approx(peco(labels, clusters))


def test_shuffled_tables_are_distributed_like_real_shuffles() -> None:
    rng = np.random.default_rng(3)
    labels, clusters = np.repeat([0, 1, 2], [50, 30, 20]), np.repeat([0, 1, 2, 3], [10, 20, 30, 40])
    counts = np.zeros((4, 3), dtype=np.int64)
    np.add.at(counts, (clusters, labels), 1)
    drawn = _shuffled_tables(counts, 20_000, rng)
    np.testing.assert_array_equal(drawn.sum(axis=2), np.tile(counts.sum(1), (20_000, 1)))
    np.testing.assert_array_equal(drawn.sum(axis=1), np.tile(counts.sum(0), (20_000, 1)))
    real = np.zeros_like(drawn[:5000])
    for table in real:
        np.add.at(table, (clusters, rng.permutation(labels)), 1)
    np.testing.assert_allclose(drawn.mean(0), real.mean(0), atol=0.15)
    np.testing.assert_allclose(
        np.cov(drawn.reshape(20_000, -1).T), np.cov(real.reshape(5000, -1).T), atol=0.45
    )


@pytest.mark.parametrize(("rows", "k"), [(200, 5), (1000, 20), (2000, 40)])
@pytest.mark.parametrize(("divergence", "mode"), [("l2", "exact"), ("kl", "exact"), ("l2", "released")])
def test_p_values_are_uniform_on_shuffled_labels(rows: int, k: int, divergence: Any, mode: Any) -> None:
    rng = np.random.default_rng(4)
    labels, clusters = rng.choice(3, rows, p=[0.5, 0.3, 0.2]), rng.integers(0, k, rows)
    p_values = [
        peco_null(
            rng.permutation(labels), clusters, divergence=divergence, mode=mode, permutations=99, seed=i
        ).p_value
        for i in range(100)
    ]
    share = np.mean(np.array(p_values) <= 0.1)
    assert share <= 0.1 + 3 * np.sqrt(0.09 / 100)
    if mode == "exact":
        assert kstest(p_values, "uniform").pvalue > 1e-3


def test_planted_leaning_clusters_are_detected_and_excess_is_comparable_between_k() -> None:
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 3, 6000)
    fine = np.where(
        rng.random(6000) < 0.15, labels * 10 + rng.integers(0, 10, 6000), rng.integers(0, 30, 6000)
    )
    coarse = fine // 10
    found, found_coarse = peco_null(labels, fine), peco_null(labels, coarse)
    assert found.p_value == found_coarse.p_value == 1 / 201
    # The raw score grows with the number of clusters by noise alone; the null mean takes that part off.
    assert found.null_mean > 3 * found_coarse.null_mean
    noise = peco_null(rng.permutation(labels), fine)
    assert abs(noise.excess) < 4 * noise.null.std()


def test_interval_covers_the_population_score() -> None:
    rng = np.random.default_rng(6)
    shares = rng.dirichlet([4, 4, 4], size=8)
    sizes = np.full(8, 150)
    truth = ((shares.mean(0) - shares) ** 2).sum(1)
    truth_score = 100 * (truth.mean() - truth.min())
    clusters = np.repeat(np.arange(8), sizes)
    covered = 0
    for i in range(150):
        labels = np.concatenate([rng.choice(3, n, p=p) for n, p in zip(sizes, shares, strict=True)])
        low, high = peco_interval(labels, clusters, draws=300, seed=i)
        covered += low <= truth_score <= high
    assert covered / 150 >= 0.88


def test_same_seed_same_null() -> None:
    rng = np.random.default_rng(7)
    labels, clusters = rng.integers(0, 3, 200), rng.integers(0, 5, 200)
    np.testing.assert_array_equal(
        peco_null(labels, clusters, seed=3).null, peco_null(labels, clusters, seed=3).null
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: peco([0, 1], [0]), "one length"),
        (lambda: peco([], []), "one length"),
        (lambda: peco([0, 1], [0, 1], divergence="l1"), "'l2_mean' or 'kl'"),  # type: ignore[arg-type]
        (lambda: peco([0, 1], [0, 1], mode="auto"), "'exact' or 'released'"),  # type: ignore[arg-type]
        (lambda: peco_null([0, 1], [0, 1], permutations=0), "at least 1"),
        (lambda: peco_interval([0, 1], [0, 1], confidence=2), "between 0 and 1"),
    ],
)
def test_bad_input_is_one_clear_sentence(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_shuffles_within_groups_keep_one_right_choice_each() -> None:
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(300), 4)
    right = (np.arange(1200) % 4 == rng.integers(0, 4, 300).repeat(4)).astype(int)
    clusters = np.arange(1200) % 4
    null = peco_null(right, clusters, design=SampleDesign(groups=groups), permutations=100)
    # Every cluster holds one choice of each question, so its share of right ones spreads as a multinomial.
    drawn = rng.multinomial(300, [0.25] * 4, 4000) / 300
    divergence = 2 * (drawn - 0.25) ** 2
    expected = 100 * (divergence.mean(axis=1) - divergence.min(axis=1)).mean()
    assert null.null_mean == pytest.approx(expected, rel=0.15)


def test_within_groups_nothing_can_change_if_a_group_lies_in_one_cluster() -> None:
    groups = np.repeat(np.arange(40), 2)
    labels, clusters = np.tile([0, 1], 40), groups % 4
    null = peco_null(labels, clusters, design=SampleDesign(groups=groups), permutations=20)
    assert null.null.max() == pytest.approx(null.score)
    assert null.p_value == 1.0


def test_groups_of_another_length_are_refused() -> None:
    with pytest.raises(ValueError, match="as long as labels"):
        peco_null([0, 1, 0], [0, 0, 1], design=SampleDesign(groups=[0, 1]))


def test_whole_weights_give_the_score_of_repeated_sentences():
    rng = np.random.default_rng(0)
    labels, clusters, times = rng.integers(0, 3, 200), rng.integers(0, 5, 200), rng.integers(1, 4, 200)
    copies = np.repeat(np.arange(200), times)
    for divergence in ("l2", "kl"):
        for mode in ("exact", "released"):
            options = {"divergence": divergence, "mode": mode}
            ours = peco(labels, clusters, weights=times, **options)
            assert ours == pytest.approx(peco(labels[copies], clusters[copies], **options), rel=1e-4)


def test_shuffled_weights_give_the_divergence_that_sampling_of_uneven_weights_gives():
    rng = np.random.default_rng(1)
    labels, clusters = rng.integers(0, 2, 400), rng.integers(0, 4, 400)
    weights = np.where(labels == 0, 0.2, 1.8) * rng.lognormal(0, 0.5, 400)
    by_weights = shuffled_divergences(
        labels, clusters, design=SampleDesign(weights=np.ones(400)), permutations=400, seed=3
    )
    plain = shuffled_divergences(labels, clusters, permutations=400, seed=3)
    assert by_weights.mean() == pytest.approx(plain.mean(), rel=0.1)
    uneven = shuffled_divergences(
        labels, clusters, design=SampleDesign(weights=weights), permutations=400, seed=3
    )
    share = weights[labels == 0].sum() / weights.sum()
    of_all = (weights**2 * ((labels == 0) - share) ** 2).sum() / weights.sum() ** 2
    # A quarter of the sentences, drawn without replacement; both labels are off by the same.
    assert uneven.mean() == pytest.approx(2 * 4 * of_all * 0.75, rel=0.15)


def test_the_weighted_null_keeps_its_level():
    rng = np.random.default_rng(2)
    small = 0
    for i in range(200):
        labels, clusters = rng.choice(3, 240, p=[0.5, 0.3, 0.2]), rng.integers(0, 6, 240)
        weights = np.array([0.5, 1.0, 2.0])[labels] * rng.lognormal(0, 0.7, 240)
        small += (
            peco_null(labels, clusters, design=SampleDesign(weights=weights), permutations=39, seed=i).p_value
            <= 0.05
        )
    assert small <= 20


def test_choices_are_shuffled_within_questions_under_weights_too():
    rng = np.random.default_rng(3)
    groups = np.repeat(np.arange(150), 4)
    right = np.tile([1, 0, 0, 0], 150)
    weights = np.repeat(rng.lognormal(0, 0.7, 150), 4)
    small = 0
    for i in range(100):
        clusters = rng.integers(0, 5, 600)
        found = peco_null(
            right, clusters, design=SampleDesign(groups=groups, weights=weights), permutations=39, seed=i
        )
        small += found.p_value <= 0.05
    assert small <= 12

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import binom

from cuecard.stats.units import PairShuffleTest, pair_shuffle_test


def test_of_equal_weights_is_nearly_the_binomial_test() -> None:
    labels = np.repeat([0, 1, 2], [500, 300, 200])
    k = np.arange(0, 41)
    sums = np.column_stack([k, 40 - k, 0 * k]).astype(float)
    found = pair_shuffle_test(sums, labels, np.ones(1000), np.full((41, 1), 40), np.full((41, 1), 40.0))
    upper = binom.logsf(k - 1, 40, 0.5)
    above = k > 20
    assert np.allclose(found.log_p_greater[above, 0], upper[above], rtol=0.02)
    assert (found.log_p_greater[above, 0] >= upper[above] - 1e-9).all()


def _test(
    rng: np.random.Generator,
    labels: npt.NDArray[np.int64],
    weights: npt.NDArray[np.float64],
    n: int,
    many: int,
) -> PairShuffleTest:
    chosen = np.stack([rng.choice(len(labels), n, replace=False) for _ in range(many)])
    sums = np.stack(
        [(weights[chosen] * (labels[chosen] == label)).sum(axis=1) for label in range(labels.max() + 1)],
        axis=1,
    )
    return pair_shuffle_test(sums, labels, weights, np.full((many, 1), n), np.full((many, 1), float(n)))


@pytest.mark.parametrize("n", [5, 12, 60])
@pytest.mark.parametrize("kind", ["inverse class frequency", "pareto"])
def test_level_holds_where_weights_reveal_labels_and_where_they_are_heavy_tailed(kind: str, n: int) -> None:
    rng = np.random.default_rng(3)
    log_p = []
    for _ in range(10):
        labels = rng.choice(3, 600, p=[0.7, 0.2, 0.1])
        share = np.bincount(labels) / len(labels)
        weights = 1 / share[labels] if kind != "pareto" else rng.pareto(1.5, len(labels)) + 1
        log_p.append(_test(rng, labels, weights, n, 100).log_p())
    p = np.exp(np.concatenate(log_p))
    assert (p <= 0.05).mean() <= 0.065
    assert (p <= 0.001).mean() <= 0.003


def test_a_cue_under_weights_that_reveal_labels_is_seen() -> None:
    labels = np.repeat([0, 1], [900, 100])
    weights = np.where(labels == 0, 1 / 0.9, 1 / 0.1)
    sums = np.array([[20 / 0.9, 20 / 0.1]])  # half of forty instances are of the rare label
    found = pair_shuffle_test(sums, labels, weights, [[40]], [[40.0]])
    assert found.z[0, 1] > 5
    assert found.log_p()[0, 1] < np.log(1e-6)


def test_copies_of_one_text_are_one_draw() -> None:
    labels, weights = np.repeat([0, 1], 500), np.ones(1000)
    once = pair_shuffle_test([[8.0, 0.0]], labels, weights, [[8, 0]], [[8.0, 0.0]]).log_p()[0, 0]
    thrice = pair_shuffle_test([[24.0, 0.0]], labels, weights, [[0, 8]], [[0.0, 72.0]]).log_p()[0, 0]
    assert thrice == pytest.approx(once)
    assert once == pytest.approx(np.log(2 * 0.5**8))

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import mutual_info_score

from cuecard.stats.clusters.divergence import cluster_information
from cuecard.stats.clusters.peco import SampleDesign
from cuecard.stats.clusters.peco_starts import peco_starts

#: Bits that a region holds in which a label of two has 70 or 30 %.
TRUE = 1 + 0.7 * np.log2(0.7) + 0.3 * np.log2(0.3)


def regions(n: int, k: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Texts on a line of ten regions that lean to either label by turns, cut into k clusters of equal width."""
    rng = np.random.default_rng([seed, n, k])
    place = rng.random(n)
    share = np.where((place * 10).astype(int) % 2, 0.7, 0.3)
    return rng.random(n) < share, (place * k).astype(int)


def test_the_plug_in_estimate_is_sklearns():
    labels, clusters = regions(400, 20, 0)
    found = cluster_information(labels, [clusters], permutations=2, draws=2)
    assert found.raw * np.log(2) == pytest.approx(mutual_info_score(labels, clusters))
    assert found.bits == pytest.approx(found.raw - found.null_mean)


def test_the_size_depends_on_neither_k_nor_n_where_the_excess_does():
    bits, excess = {}, {}
    for n in (500, 10_000):
        for k in (10, 50, 100):
            runs = [
                cluster_information(*((d := regions(n, k, seed))[0], [d[1]]), permutations=20, draws=2).bits
                for seed in range(8)
            ]
            bits[n, k] = float(np.mean(runs))
            labels, clusters = regions(n, k, 0)
            excess[n, k] = peco_starts(labels, [clusters], permutations=20, draws=2)[0].excess
    assert all(abs(value - TRUE) < 0.03 for value in bits.values())  # 3 standard errors of the smallest sets
    assert max(excess.values()) > 3 * min(excess.values())


def test_intervals_cover_and_shuffled_labels_hold_no_bits():
    covered, above, sizes = 0, 0, []
    for seed in range(30):
        labels, clusters = regions(600, 20, seed)
        found = cluster_information(labels, [clusters], permutations=30, draws=40, seed=seed)
        covered += found.low <= TRUE <= found.high
        shuffled = np.random.default_rng(seed).permutation(labels)
        nothing = cluster_information(shuffled, [clusters], permutations=30, draws=40, seed=seed)
        sizes.append(nothing.bits)
        above += nothing.low > 0
    assert covered >= 26
    assert above <= 4
    assert abs(np.mean(sizes)) < 0.006


def test_copies_hold_no_bits_of_their_own():
    rng = np.random.default_rng(0)
    rows, units = [], []
    for seed in range(20):
        clusters, labels = rng.integers(0, 10, 80), rng.integers(0, 2, 80)
        times = rng.integers(1, 12, 80)
        copied = [np.repeat(part, times) for part in (labels, clusters, np.arange(80))]
        rows.append(cluster_information(copied[0], [copied[1]], permutations=40, draws=2, seed=seed).bits)
        units.append(
            cluster_information(
                copied[0],
                [copied[1]],
                design=SampleDesign(units=copied[2]),
                permutations=40,
                draws=2,
                seed=seed,
            ).bits
        )
    assert np.mean(rows) > 0.05
    assert abs(np.mean(units)) < 0.03

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom
from threadpoolctl import threadpool_limits

from cuecard.stats import wilson
from cuecard.stats.cues.replication import _GRID, _IMAGINED, _ROUNDS, shrunk_shares


def features(
    seed: int, *, strong: int = 300, total: int = 5_000
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return true shares, instances and hits of features most of which say little."""
    rng = np.random.default_rng(seed)
    share = np.clip(rng.normal(1 / 3, 0.03, total), 0.01, 0.99)
    share[:strong] = rng.uniform(0.5, 0.95, strong)
    n = rng.integers(5, 60, total)
    return share, n, rng.binomial(n, share)


def test_selected_features_report_what_fresh_data_show() -> None:
    raw, shrunk, fresh = [], [], []
    for seed in range(20):
        truth, n, k = features(seed)
        found = shrunk_shares(k, n)
        chosen = (n < 20) & (binom.sf(k - 1, n, 1 / 3) < 1e-3)
        raw.append((k / n)[chosen].mean())
        shrunk.append(found.share[chosen].mean())
        fresh.append(truth[chosen].mean())
    assert np.mean(raw) - np.mean(fresh) > 0.05  # the bias that is to be removed
    assert abs(np.mean(shrunk) - np.mean(fresh)) < 0.03


def test_intervals_of_selected_features_cover() -> None:
    covered = []
    for seed in range(20):
        truth, n, k = features(seed)
        found = shrunk_shares(k, n)
        chosen = binom.sf(k - 1, n, 1 / 3) < 1e-3
        covered.append(((found.low <= truth) & (truth <= found.high))[chosen].mean())
    assert np.mean(covered) >= 0.90


def test_many_instances_are_left_as_they_are() -> None:
    _, n, k = features(1)
    found = shrunk_shares(np.append(k, 9_000), np.append(n, 10_000))
    assert found.share[-1] == pytest.approx(0.9, abs=0.01)


def test_agrees_with_a_plain_loop_over_features_and_shares() -> None:
    counts = [(3, 10), (9, 10), (9, 10), (1, 9), (5, 11), (12, 15)]
    prior = dict.fromkeys(_GRID, 1 / len(_GRID))
    posteriors: list[dict[float, float]] = []
    for _ in range(_ROUNDS + 1):
        posteriors = []
        for k, n in counts:
            joint = {p: prior[p] * binom.pmf(k, n, p) for p in _GRID}
            posteriors.append({p: mass / sum(joint.values()) for p, mass in joint.items()})
        mass = {p: sum(post[p] for post in posteriors) + _IMAGINED / len(_GRID) for p in _GRID}
        prior = {p: share / sum(mass.values()) for p, share in mass.items()}
    expected = [sum(p * mass for p, mass in post.items()) for post in posteriors]
    k, n = np.array(counts).T
    assert shrunk_shares(k, n).share == pytest.approx(expected, rel=1e-9)


def test_nothing_but_chance_is_shrunk_to_chance() -> None:
    rng = np.random.default_rng(3)
    n = rng.integers(5, 40, 3_000)
    found = shrunk_shares(rng.binomial(n, 0.5), n)
    assert np.quantile(np.abs(found.share - 0.5), 0.99) < 0.1


def test_a_few_features_keep_an_interval_as_wide_as_their_counts_allow() -> None:
    found = shrunk_shares([133, 40, 10], [255, 200, 150])
    low, high = wilson(133, 255)
    assert found.high[0] - found.low[0] > 0.7 * (high - low)


def test_bad_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="no more hits"):
        shrunk_shares([3], [2])


def test_the_number_of_threads_changes_no_digit() -> None:
    rng = np.random.default_rng(0)
    n = rng.integers(128, 512, 12_000)
    k = rng.binomial(n, rng.uniform(0.1, 0.9, len(n)))
    results = []
    for threads in (1, 2):
        with threadpool_limits(limits=threads):
            results.append(shrunk_shares(k, n))
    for name in ("share", "low", "high"):
        assert np.array_equal(*(getattr(one, name) for one in results))

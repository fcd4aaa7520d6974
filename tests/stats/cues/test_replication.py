from __future__ import annotations

import numpy as np
import pytest

from cuecard.stats.cues.replication import replication
from cuecard.stats.cues.shrinkage import shrunk_shares


def test_a_true_share_rarely_vanishes_and_a_lucky_one_rarely_holds() -> None:
    rng = np.random.default_rng(0)
    k = rng.binomial(200, 0.8, 4_000)
    kept = replication(0.8, 200, k, 200, 0.5)
    assert np.mean(kept.outcome == 0) > 0.99
    lucky = replication(0.8, 200, rng.binomial(200, 0.5, 4_000), 200, 0.5)
    assert np.mean(lucky.outcome == 0) < 0.03  # two-sided 95 % interval: 2.5 % lie above chance
    assert np.mean(lucky.outcome == 1) > 0.9


def test_a_share_below_chance_is_judged_on_its_own_side() -> None:
    found = replication([0.1, 0.1, 0.1], 100, [8, 45, 95], 100, 0.5)
    assert found.named() == ["holds", "vanishes", "reverses"]


def test_no_second_sample_leaves_it_open() -> None:
    found = replication(0.9, 30, 0, 0, 0.5)
    assert found.outcome.item() == 3
    assert found.share.item() == pytest.approx(0.9)


def test_selected_cues_keep_their_corrected_share_in_fresh_data() -> None:
    rng = np.random.default_rng(4)
    truth = np.where(rng.random(8_000) < 0.05, rng.uniform(0.6, 0.95, 8_000), 0.5)
    n = rng.integers(8, 40, 8_000)
    k = rng.binomial(n, truth)
    corrected = shrunk_shares(k, n)
    chosen = (k / n > 0.85) & (corrected.low > 0.5)
    again = rng.binomial(300, truth)
    outcomes = replication(corrected.share, n, again, 300, 0.5).outcome[chosen]
    assert chosen.sum() > 50
    assert np.mean(outcomes == 0) > 0.9


def test_both_samples_together_are_one_proportion() -> None:
    found = replication(0.6, 50, 40, 50, 0.5)
    assert found.share.item() == pytest.approx(0.7)
    assert found.low.item() < 0.7 < found.high.item()


def test_impossible_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="more instances"):
        replication(0.6, 50, 60, 50, 0.5)

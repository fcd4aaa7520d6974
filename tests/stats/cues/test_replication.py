from __future__ import annotations

import numpy as np
import pytest

from cuecard.stats.cues.replication import at_chance, held_interval, replication, shrunk_shares


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


def test_a_pooled_share_lies_between_its_parts_and_in_its_interval() -> None:
    rng = np.random.default_rng(5)
    size = 20_000
    first, chance, there = rng.uniform(0, 1, size), *rng.uniform(0.05, 0.95, (2, size))
    n, m = rng.integers(1, 300, (2, size))
    k = rng.binomial(m, rng.choice([0.0, 0.3, 0.9, 1.0], size))
    found = replication(
        first, n, k, m, chance, chance_again=there, effective_again=m * rng.uniform(0.1, 1, size)
    )
    assert np.all(found.share >= np.minimum(first, found.again) - 1e-12)
    assert np.all(found.share <= np.maximum(first, found.again) + 1e-12)
    assert np.all((found.low <= found.share) & (found.share <= found.high))
    np.testing.assert_array_equal(found.again[k == m], 1.0)


def test_shares_of_always_one_label_stay_whole_where_labels_have_other_shares() -> None:
    found = replication([0.991], 400, 60, 60, 0.33, chance_again=0.39)
    assert 0.991 < found.share.item() < 1.0
    assert found.named() == ["holds"]


def test_shares_at_another_chance_level_are_those_of_the_changed_prior() -> None:
    """Against counting: labels are drawn again with other shares, the feature depends on the label alone."""
    rng = np.random.default_rng(6)
    having = np.array([0.6, 0.1])
    shares = []
    for prior in (0.5, 0.2):
        label = (rng.random(400_000) >= prior).astype(int)
        feature = rng.random(400_000) < having[label]
        shares.append(float(np.mean(label[feature] == 0)))
    assert at_chance(shares[0], 0.5, 0.2) == pytest.approx(shares[1], abs=0.01)


def test_copies_of_one_text_confirm_nothing() -> None:
    many, one = (replication([0.9], 200, 40, 40, 0.5, effective_again=worth) for worth in (40, 1))
    assert many.named() == ["holds"]
    assert one.named() == ["open"]
    assert one.again.item() == 1.0


@pytest.mark.parametrize(("spread", "strong"), [(0.1, 0.3), (0.2, 0.1), (0.3, 0.05)])
def test_intervals_over_both_samples_cover_the_shares_of_cues_that_were_picked_at_even_labels(spread, strong):
    rng = np.random.default_rng(0)
    held, plain, picked = 0, 0, 0
    for _ in range(12):
        true = np.clip(0.5 + spread * rng.standard_normal(600) * (rng.random(600) < strong), 0.03, 0.97)
        n = rng.poisson(rng.exponential(40, 600)) + 5
        m, k = rng.poisson(n / 3), rng.binomial(n, true)
        again, turned = rng.binomial(m, true), k / n < 0.5
        true, k = np.where(turned, 1 - true, true), np.where(turned, n - k, k)
        again = np.where(turned, m - again, again)
        cues = (k / n - 0.5) / np.sqrt(0.25 / n) > 3
        corrected = shrunk_shares(k, n)
        low, high = held_interval(corrected, k / n, n, again / np.maximum(m, 1), m)
        held += ((low <= true) & (true <= high))[cues].sum()
        both = replication(corrected.share, n, again, m, 0.5)
        plain += ((both.low <= true) & (true <= both.high))[cues].sum()
        picked += cues.sum()
    assert picked > 100
    assert held >= 0.93 * picked
    assert plain < held

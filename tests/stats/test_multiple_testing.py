import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import false_discovery_control

from cuecard.stats import binomial_log_p, log_q_values, q_values
from cuecard.stats.multiple_testing import can_be_significant, q_values_of_selected

METHODS = ("bh", "by")


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(1e-300, 1.0), min_size=1, max_size=60), st.sampled_from(METHODS))
def test_agrees_with_scipy(p: list[float], method: str) -> None:
    assert q_values(np.log(p), method) == pytest.approx(false_discovery_control(p, method=method), rel=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_keeps_order_apart_where_p_values_underflow(method: str) -> None:
    log_p = -np.array([5000.0, 2000.0, 9000.0, 1.0])
    log_q = log_q_values(log_p, method)
    assert (np.argsort(log_q) == np.argsort(log_p)).all()
    assert (log_q >= log_p).all()
    assert q_values(log_p, method)[0] == 0


def test_what_was_not_tested_is_not_counted() -> None:
    log_p = np.log([[0.01, np.nan], [0.02, 0.5]])
    q = q_values(log_p)
    assert np.isnan(q[0, 1])
    assert q[~np.isnan(q)] == pytest.approx(false_discovery_control([0.01, 0.02, 0.5]))


def test_nothing_tested_gives_nothing() -> None:
    assert q_values(np.empty(0)).shape == (0,)
    assert np.isnan(q_values([np.nan, np.nan])).all()


def test_ties_share_a_q_value() -> None:
    assert len(set(q_values(np.log([0.03, 0.03, 0.03])).tolist())) == 1


def test_refuses_p_values_that_are_not_logs() -> None:
    with pytest.raises(ValueError, match="natural logs"):
        q_values([0.3])
    with pytest.raises(ValueError, match='"bh" or "by"'):
        q_values([-1.0], "bonferroni")  # type: ignore[arg-type]


def shuffled_label_counts(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Presence of 300 correlated words in 1,200 instances, and a one-hot label that knows nothing of them."""
    topic = rng.random((1200, 1))
    presence = rng.random((1200, 300)) < rng.uniform(0.02, 0.3, 300) * 2 * topic
    labels = np.eye(3)[rng.integers(3, size=1200)]
    return presence.astype(float), labels, labels.mean(axis=0)


@pytest.mark.parametrize("method", METHODS)
def test_false_discoveries_over_label_shuffles_stay_below_the_nominal_rate(method: str) -> None:
    rng = np.random.default_rng(5)
    presence, labels, prior = shuffled_label_counts(rng)
    n = presence.sum(axis=0)[:, None]
    shuffles, alarms = 300, 0
    for _ in range(shuffles):
        k = presence.T @ rng.permutation(labels)
        alarms += bool((q_values(binomial_log_p(k, n, prior), method) <= 0.05).any())
    assert alarms / shuffles <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / shuffles)


def test_false_discovery_rate_holds_and_power_is_there_when_a_tenth_is_real() -> None:
    rng = np.random.default_rng(6)
    n, planted = rng.integers(50, 500, size=(300, 400)), np.arange(400) < 40
    k = rng.binomial(n, np.where(planted, 0.75, 0.5))
    false_share, found = [], []
    for row_k, row_n in zip(k, n, strict=True):
        significant = q_values(binomial_log_p(row_k, row_n, 0.5)) <= 0.05
        false_share.append((significant & ~planted).sum() / max(significant.sum(), 1))
        found.append((significant & planted).sum() / 40)
    assert np.mean(false_share) <= 0.05
    assert np.mean(false_share) > 0.02
    assert np.mean(found) > 0.95


def test_hopeless_tests_do_not_count_against_the_others() -> None:
    least = np.log([1e-9] * 10 + [0.2] * 990)
    log_p = np.log([1e-4] * 10 + [0.9] * 990)
    alone = q_values(log_p[:10])
    assert q_values(log_p, least_log_p=least).tolist() == [*alone.tolist(), *[1.0] * 990]
    assert q_values(log_p)[0] > alone[0]


def test_testable_is_tarones_smallest_number_by_brute_force() -> None:
    rng = np.random.default_rng(4)
    for _ in range(50):
        least = 10 ** -rng.uniform(0, 4, rng.integers(1, 40))
        k = next(k for k in range(1, len(least) + 1) if (least <= 0.05 / k).sum() <= k)
        assert can_be_significant(np.log(least)).tolist() == (least <= 0.05 / k).tolist()


def test_false_discovery_rate_holds_with_hopeless_tests_left_out() -> None:
    rng = np.random.default_rng(6)
    n = rng.integers(3, 40, size=(400, 300))
    k = rng.binomial(n, 0.5)
    log_p = binomial_log_p(k, n, 0.5)
    least = np.minimum(np.log(2) + n * np.log(0.5), 0)
    rejected = [(q_values(p, least_log_p=m) <= 0.05).any() for p, m in zip(log_p, least, strict=True)]
    assert np.mean(rejected) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 400)


def test_over_selected_families_few_claims_of_a_card_are_false() -> None:
    """Independent check by simulation: the false discovery rate, averaged over the selected families, is held.

    A family of 200 words that say nothing must not take a baseline's discovery away, and families of noise must not
    slip through beside one that is full of discoveries.
    """
    rng = np.random.default_rng(0)
    false: dict[str, list[float]] = {"over the card": [], "within families": []}
    kept, runs = 0, 1_500
    for _ in range(runs):
        p = [rng.random(200), np.append(rng.random(4), rng.random() * 1e-4), rng.random(1), rng.random(30)]
        own = {str(i): q_values(np.log(values)) for i, values in enumerate(p)}
        judged = q_values_of_selected(own, {name: float(values.min()) for name, values in own.items()})
        kept += judged["1"][-1] <= 0.05
        for what, q in (("over the card", judged), ("within families", own)):
            claimed = {name: values <= 0.05 for name, values in q.items() if (values <= 0.05).any()}
            wrong = [1.0 if name != "1" else few[:-1].sum() / few.sum() for name, few in claimed.items()]
            false[what].append(float(np.mean(wrong)) if wrong else 0.0)
    assert np.mean(false["over the card"]) <= 0.062  # 3 standard errors above 5 %
    assert np.mean(false["within families"]) > 0.07
    assert kept >= 0.95 * runs


def test_one_family_keeps_its_own_q_values() -> None:
    assert q_values_of_selected({"cues": [0.01, 0.2]}, {"cues": 0.01})["cues"].tolist() == pytest.approx(
        [0.01, 0.2]
    )
    assert q_values_of_selected({}, {}) == {}

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import mutual_info_score

from cuecard.stats import artifact_z, binomial_log_p, lift, lmi, mutual_information, pmi, share

ALTERNATIVES = ("greater", "less", "two-sided")


def log_upper_tail(k: int, n: int, p: float) -> float:
    """log P(X ≥ k) with 40 digits, by the plain definition's terms."""
    with mpmath.workdps(40):
        chance = mpmath.mpf(p)
        log_first = (
            mpmath.log(mpmath.binomial(n, k)) + k * mpmath.log(chance) + (n - k) * mpmath.log(1 - chance)
        )
        total = term = mpmath.mpf(1)
        for j in range(k, n):
            term *= mpmath.mpf(n - j) / (j + 1) * chance / (1 - chance)
            total += term
            if term < total * mpmath.mpf(10) ** -35:
                break
        return float(log_first + mpmath.log(total))


@pytest.mark.parametrize(
    ("k", "n", "p"),
    [
        (60, 100, 0.5),
        (1000, 1000, 1 / 3),
        (999, 1000, 1 / 3),
        (350_000, 1_000_000, 1 / 3),
        (600_000, 1_000_000, 0.5),
        (5_001_000, 10_000_000, 0.5),
        (9_000_000, 10_000_000, 0.5),
        (9_999_999, 10_000_000, 1e-9),
        (3, 10_000_000, 1e-9),
        (9_999_990, 10_000_000, 0.99999),
    ],
)
def test_log_p_is_exact_far_below_the_smallest_float(k: int, n: int, p: float) -> None:
    expected = log_upper_tail(k, n, p)
    assert float(binomial_log_p(k, n, p, "greater")) == pytest.approx(expected, rel=1e-12)


def test_log_p_of_the_lower_tail_is_the_mirrored_upper_tail() -> None:
    k, n = np.array([3, 100, 400_000]), np.array([50, 1000, 1_000_000])
    np.testing.assert_array_equal(binomial_log_p(k, n, 0.5, "less"), binomial_log_p(n - k, n, 0.5, "greater"))
    assert binomial_log_p(k, n, 0.25, "less") == pytest.approx(
        binomial_log_p(n - k, n, 0.75, "greater"), rel=1e-13
    )


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 400), st.floats(0.001, 0.999), st.data())
def test_log_p_agrees_with_scipy(n: int, p: float, data: st.DataObject) -> None:
    k = data.draw(st.integers(0, n))
    tails = (stats.binom.sf(k - 1, n, p), stats.binom.cdf(k, n, p))
    expected = (tails[0], tails[1], min(1.0, 2 * min(tails)))
    for alternative, tail in zip(ALTERNATIVES, expected, strict=True):
        if tail > 1e-290:
            assert np.exp(binomial_log_p(k, n, p, alternative)) == pytest.approx(tail, rel=1e-9)


@pytest.mark.parametrize("alternative", ["greater", "less"])
def test_one_sided_p_agrees_with_binomtest(alternative: str) -> None:
    for k in range(31):
        expected = stats.binomtest(k, 30, 0.3, alternative=alternative).pvalue
        assert np.exp(binomial_log_p(k, 30, 0.3, alternative)) == pytest.approx(expected, rel=1e-11)


def test_two_sided_p_equals_binomtest_where_the_null_is_symmetric() -> None:
    for k in range(41):
        expected = stats.binomtest(k, 40, 0.5).pvalue
        assert np.exp(binomial_log_p(k, 40, 0.5)) == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("prior", [0.05, 1 / 3, 0.5, 0.9])
@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("alpha", [0.001, 0.05, 0.2])
def test_level_is_at_most_nominal_for_every_n(prior: float, alternative: str, alpha: float) -> None:
    for n in range(1, 80):
        outcomes = np.arange(n + 1)
        rejected = np.exp(binomial_log_p(outcomes, n, prior, alternative)) <= alpha
        assert stats.binom.pmf(outcomes[rejected], n, prior).sum() <= alpha * (1 + 1e-9)


def test_level_of_the_exact_test_by_simulation() -> None:
    n = 5000
    k = np.random.default_rng(1).binomial(n, 1 / 3, size=40_000)
    rate = np.mean(np.exp(binomial_log_p(k, n, 1 / 3)) <= 0.05)
    assert 0.044 < rate < 0.0535


def test_log_p_at_the_edges() -> None:
    assert binomial_log_p(0, 0, 0.5) == 0
    assert binomial_log_p(0, 5, 0.0) == 0
    assert binomial_log_p(1, 5, 0.0) == -np.inf
    assert binomial_log_p(5, 5, 1.0) == 0
    assert binomial_log_p(4, 5, 1.0, "less") == -np.inf
    assert np.isnan(binomial_log_p(4, 5, np.nan))


def test_log_p_broadcasts_and_takes_read_only_arrays() -> None:
    k = np.array([[1, 2, 3], [4, 5, 6]])
    k.flags.writeable = False
    result = binomial_log_p(k, 10, [0.2, 0.3, 0.5])
    assert result.shape == (2, 3)
    assert result[1, 2] == binomial_log_p(6, 10, 0.5)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((5, 4, 0.5), "k must not be larger than n"),
        ((-1, 4, 0.5), "k must be whole"),
        ((1, np.nan, 0.5), "n must be whole"),
        ((1, 4, 1.5), "prior must lie between 0 and 1"),
        ((1, 4, 0.5, "both"), "alternative must be"),
    ],
)
def test_log_p_refuses_impossible_counts(arguments: tuple[object, ...], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        binomial_log_p(*arguments)  # type: ignore[arg-type]


def test_z_is_the_standardised_count() -> None:
    k, n = np.array([70, 10, 0]), np.array([100, 40, 0])
    z = artifact_z(k, n, 1 / 3)
    assert z[:2] == pytest.approx((k[:2] / n[:2] - 1 / 3) / np.sqrt((1 / 3) * (2 / 3) / n[:2]))
    assert np.isnan(z[2])


def test_share_and_lift() -> None:
    assert share(3, 4) == 0.75
    assert lift([3, 1], 4, [0.5, 0.25]) == pytest.approx([1.5, 1.0])


def test_pmi_and_lmi_in_bits_by_hand() -> None:
    # 8 of 10 with the feature have the label, 40 of 100 have the label: 0.8 / 0.4 is one bit.
    assert pmi(8, 10, 40, 100) == pytest.approx(1.0)
    assert lmi(8, 10, 40, 100) == pytest.approx(0.08)
    assert pmi(0, 10, 40, 100) == -np.inf
    assert lmi(0, 10, 40, 100) == 0


def test_lmi_over_both_presences_and_all_labels_adds_up_to_mutual_information() -> None:
    having, totals = np.array([30, 5, 10]), np.array([60, 50, 40])
    total = totals.sum()
    parts = sum(lmi(part, part.sum(), totals, total).sum() for part in (having, totals - having))
    assert mutual_information(having[None], totals)[0] == pytest.approx(parts, rel=1e-12)


def test_mutual_information_agrees_with_scikit_learn() -> None:
    rng = np.random.default_rng(3)
    labels = rng.integers(3, size=500)
    presence = rng.random((500, 20)) < rng.random(20) * (1 + labels[:, None]) / 3
    one_hot = np.eye(3)[labels]
    ours = mutual_information(presence.T @ one_hot, one_hot.sum(axis=0))
    theirs = [mutual_info_score(labels, column) / np.log(2) for column in presence.T]
    assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-14)


def test_mutual_information_refuses_more_occurrences_than_instances() -> None:
    with pytest.raises(ValueError, match="must not exceed totals"):
        mutual_information([[5, 0]], [4, 4])
    with pytest.raises(ValueError, match="one entry per label"):
        mutual_information([[5, 0]], [4, 4, 4])

import mpmath
import numpy as np
import pytest
from scipy import stats

from cuecard.stats import _native, accuracy_log_p, binomial_log_p, goodness_of_fit, mixed_chance_log_p


def test_accuracy_agrees_with_binomtest_on_either_side_of_chance() -> None:
    for correct in (150, 200, 244, 250, 280, 350):
        expected = stats.binomtest(correct, 1000, 0.25, alternative="greater").pvalue
        assert np.exp(accuracy_log_p(correct, 1000, 0.25, "greater")) == pytest.approx(expected, rel=1e-10)
    assert np.exp(accuracy_log_p(161, 1221, 0.2)) < 1e-8  # below chance counts as well


def test_one_chance_for_all_is_the_binomial() -> None:
    assert mixed_chance_log_p(70, [60, 40], [0.5, 0.5]) == pytest.approx(float(binomial_log_p(70, 100, 0.5)))
    assert mixed_chance_log_p(70, 100, 0.5, "less") == pytest.approx(
        float(binomial_log_p(70, 100, 0.5, "less"))
    )


def test_mixed_chances_agree_with_enumeration() -> None:
    pmf = np.convolve(stats.binom.pmf(np.arange(11), 10, 0.2), stats.binom.pmf(np.arange(9), 8, 0.5))
    for correct in range(19):
        greater = mixed_chance_log_p(correct, [10, 8], [0.2, 0.5], "greater")
        assert np.exp(greater) == pytest.approx(pmf[correct:].sum(), rel=1e-11)


def test_examples_that_cannot_fail_or_succeed_are_set_apart() -> None:
    with_certain = mixed_chance_log_p(15, [10, 5, 3], [0.5, 1.0, 0.0], "greater")
    assert with_certain == pytest.approx(10 * np.log(0.5))
    assert mixed_chance_log_p(4, [10, 5], [0.5, 1.0], "less") == -np.inf
    assert mixed_chance_log_p(4, [10, 5], [0.5, 1.0], "greater") == 0
    assert mixed_chance_log_p(11, [10, 5], [0.5, 0.0]) == -np.inf


def test_mixed_chance_refuses_more_right_answers_than_examples() -> None:
    with pytest.raises(ValueError, match="between 0 and 18"):
        mixed_chance_log_p(19, [10, 8], [0.2, 0.5])


def test_goodness_of_fit_agrees_with_scipy_row_by_row() -> None:
    rng = np.random.default_rng(0)
    key = np.array([120, 130, 110, 140])
    answers = rng.multinomial(500, key / 500, size=30)
    test = goodness_of_fit(answers, key)
    expected = stats.chisquare(answers, key[None], axis=1)
    assert test.statistic == pytest.approx(expected.statistic)
    assert np.exp(test.log_p) == pytest.approx(expected.pvalue, rel=1e-11)
    assert (test.degrees == 3).all()


@pytest.mark.parametrize("degrees", [1, 2, 3, 7, 40])
@pytest.mark.parametrize("statistic", [0.01, 1, 10, 45, 1000, 1e5])
def test_chi_square_tail_in_log_space_agrees_with_many_digits(degrees: int, statistic: float) -> None:
    with mpmath.workdps(30):
        expected = mpmath.log(mpmath.gammainc(degrees / 2, statistic / 2, regularized=True))
    log_p = np.empty(1)
    _native.log_gamma_tails(np.array([degrees / 2]), np.array([statistic / 2]), log_p)
    assert log_p[0] == pytest.approx(float(expected), rel=1e-11)


def test_positions_outside_the_key_are_impossible_and_unused_ones_do_not_count() -> None:
    impossible = goodness_of_fit([10, 10, 1], [1, 1, 0])
    assert impossible.statistic == np.inf
    assert impossible.log_p == -np.inf
    unused = goodness_of_fit([10, 14, 0], [1, 1, 0])
    assert unused.degrees == 1
    assert np.exp(unused.log_p) == pytest.approx(stats.chisquare([10, 14]).pvalue)


def test_an_always_first_model_is_seen_at_any_size() -> None:
    test = goodness_of_fit([100_000, 0, 0, 0], [1, 1, 1, 1])
    assert test.log_p < -100_000


def test_level_against_the_key_is_nominal() -> None:
    rng = np.random.default_rng(1)
    answers = rng.multinomial(800, [0.2, 0.3, 0.25, 0.25], size=20_000)
    rate = np.mean(np.exp(goodness_of_fit(answers, [0.2, 0.3, 0.25, 0.25]).log_p) <= 0.05)
    assert rate == pytest.approx(0.05, abs=0.005)


def test_goodness_of_fit_refuses_other_positions() -> None:
    with pytest.raises(ValueError, match="same positions"):
        goodness_of_fit([1, 2, 3], [1, 1])

"""Log-space tails against scipy, exact integer arithmetic, and brute-force convolution."""

from __future__ import annotations

from fractions import Fraction
from math import comb, log

import numpy as np
import pytest
from scipy.stats import fisher_exact, hypergeom

from cuecard.stats.hypergeometric import hypergeometric_log_tail, hypergeometric_two_sided_log_p


def _exact_pmf(size: int, correct: int, drawn: int) -> dict[int, Fraction]:
    whole = comb(size, drawn)
    return {
        x: Fraction(comb(correct, x) * comb(size - correct, drawn - x), whole)
        for x in range(max(0, drawn + correct - size), min(drawn, correct) + 1)
    }


def _exact_log_tail(count: int, strata: list[tuple[int, int, int]]) -> float:
    total: dict[int, Fraction] = {0: Fraction(1)}
    for stratum in strata:
        merged: dict[int, Fraction] = {}
        for a, p in total.items():
            for b, q in _exact_pmf(*stratum).items():
                merged[a + b] = merged.get(a + b, Fraction(0)) + p * q
        total = merged
    tail = sum((p for x, p in total.items() if x >= count), Fraction(0))
    return log(tail.numerator) - log(tail.denominator) if tail else -np.inf


def test_one_stratum_equals_exact_arithmetic_everywhere() -> None:
    for size, correct, drawn in [(10, 4, 5), (30, 15, 7), (25, 3, 20), (12, 12, 4), (9, 0, 3)]:
        for count in range(drawn + 2):
            ours = hypergeometric_log_tail(count, [size], [correct], [drawn])
            expected = _exact_log_tail(count, [(size, correct, drawn)])
            assert ours == pytest.approx(expected, rel=1e-11, abs=1e-13)


def test_strata_equal_exact_convolution() -> None:
    strata = [(20, 8, 11), (15, 12, 4), (30, 5, 9), (7, 7, 3)]
    for count in range(26):
        ours = hypergeometric_log_tail(count, *zip(*strata, strict=True))
        assert ours == pytest.approx(_exact_log_tail(count, strata), rel=1e-11, abs=1e-13)


def test_moderate_tails_equal_scipy() -> None:
    for count in (4000, 4150, 4300, 4500):
        ours = hypergeometric_log_tail(count, [9000], [7000], [5300])
        assert ours == pytest.approx(hypergeom.logsf(count - 1, 9000, 7000, 5300), rel=1e-8, abs=1e-12)


def test_far_tail_below_the_smallest_float_equals_exact_integers() -> None:
    size, correct, drawn, count = 6000, 3000, 3000, 2900
    ways = sum(comb(correct, x) * comb(size - correct, drawn - x) for x in range(count, drawn + 1))
    expected = log(ways) - log(comb(size, drawn))
    assert expected / log(10) < -1400
    assert hypergeometric_log_tail(count, [size], [correct], [drawn]) == pytest.approx(expected, rel=1e-10)


def test_far_stratified_tail_equals_exact_integers() -> None:
    strata = [(400, 200, 200), (300, 150, 120)]
    ours = hypergeometric_log_tail(300, *zip(*strata, strict=True))
    assert ours == pytest.approx(_exact_log_tail(300, strata), rel=1e-10)
    assert ours < -200


def test_impossible_and_certain_counts() -> None:
    assert hypergeometric_log_tail(0, [10], [5], [5]) == 0.0
    assert hypergeometric_log_tail(6, [10], [5], [5]) == -np.inf
    assert hypergeometric_log_tail(3, [5], [5], [3]) == 0.0


def test_two_sided_is_twice_the_smaller_tail_and_agrees_with_fisher_when_symmetric() -> None:
    table = np.array([[9, 1], [4, 6]])
    ours = np.exp(hypergeometric_two_sided_log_p(9, 20, 13, 10))
    assert ours == pytest.approx(fisher_exact(table)[1], rel=1e-9)
    assert hypergeometric_two_sided_log_p(5, 20, 10, 10) == 0.0


def test_bad_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="between zero and the size"):
        hypergeometric_log_tail(1, [5], [6], [2])
    with pytest.raises(ValueError, match="one entry per stratum"):
        hypergeometric_log_tail(1, [5, 5], [3], [2])

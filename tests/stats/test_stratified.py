import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from cuecard.stats import stratified_hypergeometric_log_p

Stratum = tuple[int, int, int]  # drawn, marked, size
STRATUM = st.integers(1, 60).flatmap(
    lambda size: st.tuples(st.integers(0, size), st.integers(0, size), st.just(size))
)


def outcomes(strata: list[Stratum]) -> dict[int, int]:
    """Number of drawings (whole numbers, so exact) that give each total count."""
    ways = {0: 1}
    for drawn, marked, size in strata:
        here = {
            j: math.comb(marked, j) * math.comb(size - marked, drawn - j)
            for j in range(max(0, drawn + marked - size), min(drawn, marked) + 1)
        }
        total: dict[int, int] = {}
        for seen, count in ways.items():
            for j, more in here.items():
                total[seen + j] = total.get(seen + j, 0) + count * more
        ways = total
    return ways


@settings(max_examples=150, deadline=None)
@given(st.lists(STRATUM, min_size=1, max_size=3), st.data())
def test_equals_the_enumeration_of_all_drawings(strata: list[Stratum], data: st.DataObject) -> None:
    ways = outcomes(strata)
    k = data.draw(st.sampled_from(sorted(ways)))
    n, marked, size = np.array(strata).T[:, None, :]
    everything = sum(ways.values())
    with mpmath.workdps(50):
        greater = float(mpmath.log(mpmath.mpf(sum(w for x, w in ways.items() if x >= k)) / everything))
        less = float(mpmath.log(mpmath.mpf(sum(w for x, w in ways.items() if x <= k)) / everything))
    ours = [stratified_hypergeometric_log_p([k], n, marked, size, side)[0] for side in ("greater", "less")]
    assert ours == pytest.approx([greater, less], rel=1e-10, abs=1e-14)


def test_one_stratum_is_the_hypergeometric_tail() -> None:
    k = np.arange(5, 31)
    margins = [np.full((len(k), 1), value) for value in (30, 45, 100)]
    ours = stratified_hypergeometric_log_p(k, *margins, alternative="greater")
    assert np.exp(ours) == pytest.approx(stats.hypergeom.sf(k - 1, 100, 45, 30), rel=1e-10)


def test_is_exact_where_p_values_underflow() -> None:
    strata = [(600, 550, 1200), (300, 400, 900)]
    ways = outcomes(strata)
    with mpmath.workdps(50):
        expected = float(
            mpmath.log(mpmath.mpf(sum(w for x, w in ways.items() if x >= 840)) / sum(ways.values()))
        )
    assert expected < -750
    n, marked, size = np.array(strata).T[:, None, :]
    ours = stratified_hypergeometric_log_p([840], n, marked, size, "greater")[0]
    assert ours == pytest.approx(expected, rel=1e-12)


def test_millions_of_instances_are_handled() -> None:
    n, marked, size = np.array([[[200_000, 100_000]], [[1_500_000, 900_000]], [[3_000_000, 2_000_000]]])
    strata = stats.hypergeom(size, marked, n)
    k = [int(strata.mean().sum() + 3 * np.sqrt(strata.var().sum()))]
    p = np.exp(stratified_hypergeometric_log_p(k, n, marked, size, "greater")[0])
    assert p == pytest.approx(stats.norm.sf(3), rel=0.02)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (([3], [[2]], [[2]], [[4]]), "margins"),
        (([0], [[3]], [[3]], [[4]]), "margins"),
        (([1], [[5]], [[2]], [[4]]), "must not exceed size"),
        (([1], [2], [2], [4]), "same shape"),
        (([1, 1], [[2]], [[2]], [[4]]), "a row for each k"),
    ],
)
def test_refuses_impossible_margins(arguments: tuple[object, ...], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        stratified_hypergeometric_log_p(*arguments)  # type: ignore[arg-type]


def test_two_sided_agrees_with_fishers_test_where_that_is_symmetric() -> None:
    p = np.exp(stratified_hypergeometric_log_p([9, 5], [[10], [10]], [[13], [10]], [[20], [20]]))
    assert p[0] == pytest.approx(stats.fisher_exact([[9, 1], [4, 6]])[1], rel=1e-9)
    assert p[1] == 1.0

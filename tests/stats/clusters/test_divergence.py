import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon
from scipy.stats import entropy

from cuecard.stats import jensen_shannon, kl_divergence, total_variation

P, Q = np.random.default_rng(0).dirichlet(np.ones(4), (2, 50))


@pytest.mark.parametrize("base", [2, np.e, 10])
def test_agree_with_scipy_in_every_base(base: float) -> None:
    assert jensen_shannon(P, Q, base=base) == pytest.approx(jensenshannon(P, Q, base=base, axis=1) ** 2)
    assert kl_divergence(P, Q, base=base) == pytest.approx(entropy(P, Q, base=base, axis=1))


def test_counts_and_proportions_give_the_same() -> None:
    assert jensen_shannon([30, 10], [5, 5]) == pytest.approx(jensen_shannon([0.75, 0.25], [0.5, 0.5]))


def test_one_row_is_compared_with_many() -> None:
    assert total_variation(P, P[0]).shape == (50,)
    assert total_variation(P, P[0])[0] == 0


def test_kl_is_infinite_where_the_reference_misses_a_label_and_jsd_is_not() -> None:
    assert kl_divergence([0.5, 0.5], [1, 0]) == np.inf
    assert jensen_shannon([0.5, 0.5], [1, 0], base=2) < 1
    assert jensen_shannon([0, 1], [1, 0], base=2) == pytest.approx(1)


def test_equal_rows_are_at_distance_zero_and_never_below() -> None:
    assert (jensen_shannon(P, P) == 0).all()
    assert (kl_divergence(P, P) == 0).all()


def test_an_empty_row_has_no_distance() -> None:
    assert np.isnan(jensen_shannon([[0, 0]], [[1, 1]])[0])


@pytest.mark.parametrize(
    ("p", "q", "base", "sentence"),
    [
        ([1, -1], [1, 1], 2, "p must hold finite"),
        ([1, 1], [1, np.nan], 2, "q must hold finite"),
        ([1, 1], [1, 1, 1], 2, "same labels"),
        ([1, 1], [1, 1], 1, "base must be greater than 1"),
    ],
)
def test_refuse_what_is_no_distribution(p: object, q: object, base: float, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        jensen_shannon(p, q, base=base)  # type: ignore[arg-type]

import numpy as np
import pytest
from scipy import stats

from cuecard.stats import (
    artifact_z,
    binomial_log_p,
    clopper_pearson,
    newcombe_difference,
    overlapping_difference,
    percentile_bootstrap,
    wilson,
)
from cuecard.stats.intervals import combined_shares, poisson_interval


@pytest.mark.parametrize(("ours", "name"), [(wilson, "wilson"), (clopper_pearson, "exact")])
@pytest.mark.parametrize("level", [0.8, 0.95, 0.999])
def test_intervals_of_a_share_agree_with_scipy(ours: object, name: str, level: float) -> None:
    for n in (1, 7, 40):
        for k in range(n + 1):
            low, high = ours(k, n, level)  # type: ignore[operator]
            theirs = stats.binomtest(k, n).proportion_ci(level, method=name)
            assert (float(low), float(high)) == pytest.approx(tuple(theirs), abs=1e-9)


def test_wilson_holds_the_priors_that_z_does_not_reject() -> None:
    low, high = wilson(17, 40)
    z = stats.norm.ppf(0.975)
    assert artifact_z(17, 40, low) == pytest.approx(z)
    assert artifact_z(17, 40, high) == pytest.approx(-z)


@pytest.mark.parametrize("count", [0, 1, 7, 300])
def test_the_interval_of_a_count_holds_the_means_whose_tails_are_not_rejected(count: int) -> None:
    low, high = poisson_interval(count)
    assert stats.poisson.cdf(count, high) == pytest.approx(0.025)
    assert low == 0 if count == 0 else stats.poisson.sf(count - 1, low) == pytest.approx(0.025)


def test_clopper_pearson_holds_the_priors_that_the_exact_test_does_not_reject() -> None:
    low, high = clopper_pearson(17, 40)
    assert np.exp(binomial_log_p(17, 40, [low, high])) == pytest.approx([0.05, 0.05])


def coverage(ends: tuple[np.ndarray, np.ndarray], n: int, p: np.ndarray) -> np.ndarray:
    """Exact coverage at each true share p, by enumerating all outcomes."""
    inside = (ends[0][:, None] <= p) & (p <= ends[1][:, None])
    return (inside * stats.binom.pmf(np.arange(n + 1)[:, None], n, p)).sum(axis=0)


@pytest.mark.parametrize("n", [10, 50, 300])
def test_coverage_of_a_share_is_nominal(n: int) -> None:
    p = np.linspace(0.01, 0.99, 491)
    outcomes = np.arange(n + 1)
    assert coverage(clopper_pearson(outcomes, n), n, p).min() >= 0.95
    assert coverage(wilson(outcomes, n), n, p).mean() == pytest.approx(0.95, abs=0.006)


def test_no_data_means_anything_is_possible() -> None:
    assert tuple(map(float, wilson(0, 0))) == (0, 1)
    assert tuple(map(float, clopper_pearson(0, 0))) == (0, 1)
    assert np.isnan(newcombe_difference(0, 0, 3, 4)).all()


# Newcombe (1998), table II, method 10, which is the one implemented here.
@pytest.mark.parametrize(
    ("counts", "printed"),
    [
        ((56, 70, 48, 80), (0.0524, 0.3339)),
        ((9, 10, 3, 10), (0.1705, 0.8090)),
        ((5, 56, 0, 29), (-0.0381, 0.1926)),
        ((0, 10, 0, 20), (-0.1611, 0.2775)),
        ((10, 10, 0, 10), (0.6075, 1.0)),
    ],
)
def test_newcombe_reproduces_the_published_intervals(
    counts: tuple[int, ...], printed: tuple[float, float]
) -> None:
    low, high = newcombe_difference(*counts)
    assert (float(low), float(high)) == pytest.approx(printed, abs=5e-5)


@pytest.mark.parametrize(("p1", "p2"), [(0.5, 0.5), (0.9, 0.8), (0.97, 0.6), (0.34, 0.33)])
def test_newcombe_covers_the_true_difference(p1: float, p2: float) -> None:
    rng = np.random.default_rng(2)
    low, high = newcombe_difference(rng.binomial(60, p1, 20_000), 60, rng.binomial(900, p2, 20_000), 900)
    assert 0.94 < np.mean((low <= p1 - p2) & (p1 - p2 <= high)) < 0.97


def test_newcombe_turns_round_with_its_arguments() -> None:
    low, high = newcombe_difference(8, 10, 3, 20)
    back = newcombe_difference(3, 20, 8, 10)
    assert (-float(high), -float(low)) == pytest.approx(tuple(map(float, back)))


def test_bootstrap_covers_a_mean() -> None:
    rng = np.random.default_rng(4)
    hits = 0
    for seed in range(300):
        low, high = percentile_bootstrap(
            rng.normal(3, 2, 80), lambda drawn: drawn.mean(axis=1), draws=400, seed=seed
        )
        hits += bool(low <= 3 <= high)
    assert 0.90 < hits / 300 < 0.985


def test_bootstrap_is_seeded_and_does_not_depend_on_memory_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(0).random((50, 2))

    def difference(drawn: np.ndarray) -> np.ndarray:
        return drawn[..., 0].mean(axis=1) - drawn[..., 1].mean(axis=1)

    whole = percentile_bootstrap(values, difference, seed=7)
    monkeypatch.setattr("cuecard.stats.intervals.DRAWN_AT_ONCE", 3_000)
    assert percentile_bootstrap(values, difference, seed=7) == whole
    assert percentile_bootstrap(values, difference, seed=8) != whole


def test_bootstrap_of_a_vector_statistic_gives_vectors() -> None:
    low, high = percentile_bootstrap(
        np.random.default_rng(0).random((40, 3)), lambda drawn: drawn.mean(axis=1)
    )
    assert low.shape == high.shape == (3,)
    assert (low < high).all()


def test_bad_levels_and_empty_samples_are_refused() -> None:
    with pytest.raises(ValueError, match="level must be between 0 and 1"):
        wilson(1, 2, 95)
    with pytest.raises(ValueError, match="at least one row"):
        percentile_bootstrap([], np.mean)
    with pytest.raises(ValueError, match="draws must be at least 1"):
        percentile_bootstrap([1.0], np.mean, draws=0)


@pytest.mark.parametrize("members", [0.4, 0.8])
@pytest.mark.parametrize("rate", [0.5, 0.8, 0.97])
def test_interval_of_overlapping_sets_covers_the_difference_and_is_narrower_than_of_separate_ones(
    members: float, rate: float
) -> None:
    rng = np.random.default_rng(11)
    covered, widths, separate = 0, [], []
    for _ in range(600):
        first, second = rng.random((2, 200)) < members
        chance = np.clip(rate + 0.12 * (first & ~second) - 0.12 * (second & ~first), 0, 1)
        right = rng.random(200) < chance
        low, high = overlapping_difference(right, first, second)
        covered += low <= chance[first].mean() - chance[second].mean() <= high
        widths.append(high - low)
        ends = newcombe_difference((right & first).sum(), first.sum(), (right & second).sum(), second.sum())
        separate.append(ends[1] - ends[0])
    assert covered / 600 >= 0.95 - 3 * np.sqrt(0.05 * 0.95 / 600)
    assert np.mean(widths) < 0.95 * np.mean(separate)


def test_two_equal_sets_do_not_differ_at_all() -> None:
    right, members = np.arange(40) % 3 > 0, np.arange(40) % 2 > 0
    low, high = overlapping_difference(right, members, members)
    assert low == pytest.approx(0, abs=0.1)
    assert high == pytest.approx(0, abs=0.1)


def test_combined_shares_are_newcombes_difference_where_there_are_two() -> None:
    for k1, n1, k2, n2 in ((56, 70, 48, 80), (0, 10, 7, 9), (10, 10, 0, 20)):
        shares = [((k + 1) / (n + 2), n) for k, n in ((k1, n1), (k2, n2))]
        terms = [(p * (1 - p) / n, n - 1) for p, n in shares]
        freedom = sum(v for v, _ in terms) ** 2 / sum(v**2 / f for v, f in terms)
        level = 2 * stats.norm.cdf(stats.t.ppf(0.975, freedom)) - 1
        expected = newcombe_difference(k1, n1, k2, n2, level)
        found = combined_shares([1.0, -1.0], [k1, k2], [n1, n2])
        np.testing.assert_allclose(found, expected)
    low, high = combined_shares([1.0], [3], [12])
    np.testing.assert_allclose((low, high), wilson(3, 12, 2 * stats.norm.cdf(stats.t.ppf(0.975, 11)) - 1))


def test_combined_shares_cover_three_sets_of_five() -> None:
    sizes, rates = [5, 5, 5], np.array([0.45, 0.275, 0.275])
    held = 0.0
    for counts in np.ndindex(6, 6, 6):
        low, high = combined_shares([1 / 3] * 3, counts, sizes)
        inside = low <= rates.mean() <= high
        held += float(np.prod(stats.binom.pmf(counts, sizes, rates)) * inside)
    assert held >= 0.93  # exact; 89.8 % with the normal quantile

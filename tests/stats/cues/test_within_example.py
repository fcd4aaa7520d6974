import math
from collections.abc import Iterable
from functools import cache
from itertools import product

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuecard.stats import WithinExampleTest, binomial_log_p, within_example_test

Group = tuple[int, int, int]  # examples, m rows with the feature, k rows


def one_feature(groups: Iterable[Group], observed: int) -> WithinExampleTest:
    """The test of a single feature, the observed count dealt out to its groups in order."""
    rows = []
    for examples, m, k in groups:
        right = min(observed, examples)
        observed -= right
        rows.append((0, k, m, examples, right))
    return within_example_test(*np.array(rows).T)


@cache
def outcomes(groups: tuple[Group, ...]) -> list[int]:
    """Number of answer keys (whole numbers, so exact) that give each count."""
    keys = [1]
    for examples, m, k in groups:
        part = [math.comb(examples, j) * m**j * (k - m) ** (examples - j) for j in range(examples + 1)]
        total = [0] * (len(keys) + examples)
        for i, a in enumerate(keys):
            for j, b in enumerate(part):
                total[i + j] += a * b
        keys = total
    return keys


def log_tails(groups: Iterable[Group], observed: int) -> tuple[float, float]:
    """log P(X ≤ observed), log P(X ≥ observed) by counting answer keys."""
    keys = outcomes(tuple(groups))
    with mpmath.workdps(60):
        everything = mpmath.mpf(sum(keys))
        return (
            float(mpmath.log(sum(keys[: observed + 1]) / everything)),
            float(mpmath.log(sum(keys[observed:]) / everything)),
        )


def test_equals_the_enumeration_of_every_possible_answer_key() -> None:
    # One row of 4, 2 of 4, 2 of 3 and 3 of 5 have the feature; the right row may be any.
    sizes = [(1, 4), (2, 4), (2, 3), (3, 5)]
    counts = [
        sum(row < m for row, (m, _) in zip(key, sizes, strict=True))
        for key in product(*(range(k) for _, k in sizes))
    ]
    for observed in range(5):
        test = one_feature([(1, m, k) for m, k in sizes], observed)
        assert np.exp(test.log_p("greater")[0]) == pytest.approx(
            np.mean(np.array(counts) >= observed), rel=1e-13
        )
        assert np.exp(test.log_p("less")[0]) == pytest.approx(
            np.mean(np.array(counts) <= observed), rel=1e-13
        )


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 40), st.integers(1, 4), st.integers(5, 7)), min_size=1, max_size=5),
    st.data(),
)
def test_tails_agree_with_many_digits(groups: list[Group], data: st.DataObject) -> None:
    observed = data.draw(st.integers(0, sum(examples for examples, _, _ in groups)))
    less, greater = log_tails(groups, observed)
    test = one_feature(groups, observed)
    assert test.log_p_less[0] == pytest.approx(less, rel=1e-10, abs=1e-14)
    assert test.log_p_greater[0] == pytest.approx(greater, rel=1e-10, abs=1e-14)


@pytest.mark.parametrize("observed", [0, 3, 50, 1000, 1150, 1199, 1200])
def test_is_exact_where_p_values_underflow(observed: int) -> None:
    groups = [(500, 1, 4), (400, 2, 4), (200, 3, 4), (100, 1, 5)]
    less, greater = log_tails(groups, observed)
    test = one_feature(groups, observed)
    smaller, expected = (test.log_p_less, less) if observed < 500 else (test.log_p_greater, greater)
    assert expected < -150
    assert smaller[0] == pytest.approx(expected, rel=1e-12)


def test_with_two_rows_it_is_the_sign_test() -> None:
    rng = np.random.default_rng(0)
    n = rng.integers(1, 5000, 300)
    right = rng.integers(0, n + 1)
    test = within_example_test(np.arange(300), np.full(300, 2), np.ones(300, int), n, right)
    for alternative in ("greater", "less", "two-sided"):
        expected = binomial_log_p(right, n, 0.5, alternative)
        assert test.log_p(alternative) == pytest.approx(expected, rel=1e-13, abs=1e-300)


def test_two_of_four_is_the_same_as_one_of_two() -> None:
    split, merged = one_feature([(30, 2, 4), (20, 1, 2)], 40), one_feature([(50, 1, 2)], 40)
    assert split.log_p() == merged.log_p() == binomial_log_p(40, 50, 0.5)


def test_moments_z_and_log_odds() -> None:
    test = one_feature([(100, 1, 4), (50, 2, 4)], 80)
    assert test.expected[0] == 50
    assert test.variance[0] == pytest.approx(100 * 3 / 16 + 50 / 4)
    assert test.z[0] == pytest.approx(30 / np.sqrt(31.25))
    odds = np.exp(test.log_odds[0])
    # At the maximum likelihood odds the expected count is the observed one.
    assert 100 * odds / (odds + 3) + 50 * odds / (odds + 1) == pytest.approx(80, rel=1e-12)
    assert one_feature([(100, 1, 4), (50, 2, 4)], 0).log_odds[0] == -np.inf


def test_rows_with_the_feature_everywhere_or_nowhere_say_nothing() -> None:
    plain = within_example_test([0], [4], [1], [30], [14])
    padded = within_example_test([0, 0, 0], [4, 4, 4], [1, 4, 0], [30, 500, 700], [14, 500, 0])
    assert plain.log_p() == padded.log_p()
    assert padded.informative[0] == 30


def test_order_of_the_rows_and_absent_features_do_not_matter() -> None:
    feature, k, m = np.array([2, 0, 2, 0]), np.array([4, 4, 3, 3]), np.array([1, 2, 1, 2])
    examples, right = np.array([10, 20, 30, 40]), np.array([9, 10, 11, 12])
    order = [3, 1, 0, 2]
    one = within_example_test(feature, k, m, examples, right, n_features=4)
    two = within_example_test(*(part[order] for part in (feature, k, m, examples, right)), n_features=4)
    np.testing.assert_array_equal(one.log_p(), two.log_p())
    assert one.informative.tolist() == [60, 0, 40, 0]
    assert one.log_p()[[1, 3]].tolist() == [0, 0]
    assert np.isnan(one.z[1])


def test_wrong_is_the_mirror_of_right() -> None:
    right = one_feature([(100, 1, 4), (50, 3, 4)], 90)
    # Read row by row: the right row lacks the feature in k − m of k.
    mirrored = one_feature([(100, 3, 4), (50, 1, 4)], 60)
    assert mirrored.log_p("less") == pytest.approx(right.log_p("greater"), rel=1e-13)
    assert mirrored.log_p() == pytest.approx(right.log_p(), rel=1e-13)
    assert mirrored.z == pytest.approx(-right.z)
    assert mirrored.log_odds == pytest.approx(-right.log_odds, rel=1e-12)


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        (([0], [4], [5], [1], [0]), "m must lie between 0 and k"),
        (([0], [4], [1], [1], [2]), "n_right must lie between"),
        (([0], [4], [4], [3], [2]), "n_right must be 0 where m is 0"),
        (([0], [4], [0], [3], [2]), "n_right must be 0 where m is 0"),
        (([-1], [4], [1], [3], [2]), "not negative"),
        (([0.5], [4], [1], [3], [2]), "must hold integers"),
        (([0, 1], [4], [1], [3], [2]), "same length"),
    ],
)
def test_refuses_impossible_tables(columns: tuple[list[float], ...], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        within_example_test(*columns)


def test_an_empty_table_has_no_features() -> None:
    assert within_example_test([], [], [], [], []).log_p().shape == (0,)
    assert within_example_test([], [], [], [], [], n_features=3).log_p().tolist() == [0, 0, 0]


def simulated(
    rng: np.random.Generator, presence: np.ndarray, options: np.ndarray, repeats: int
) -> tuple[np.ndarray, np.ndarray]:
    """p-values of the within-example and of the naive test over random answer keys that know nothing.

    `presence[e, c]` says whether choice c of example e has the feature; example e has `options[e]` choices.
    """
    m = presence.sum(axis=1)
    keys = rng.integers(0, options, size=(repeats, len(options)))
    right = presence[np.arange(len(options)), keys]
    cells = sorted(set(zip(options.tolist(), m.tolist(), strict=True)))
    rows = []
    for k, count in cells:
        here = (options == k) & (m == count)
        rows.append(
            np.column_stack(
                [
                    np.arange(repeats),
                    *np.full((3, repeats), [[k], [count], [here.sum()]]),
                    right[:, here].sum(axis=1),
                ]
            )
        )
    exact = within_example_test(*np.concatenate(rows).T)
    naive = binomial_log_p(right.sum(axis=1), m.sum(), len(options) / options.sum())
    return np.exp(exact.log_p()), np.exp(naive)


def rejections(p: np.ndarray, alpha: float = 0.05) -> float:
    return float(np.mean(p <= alpha))


def test_level_is_right_where_choices_share_words_and_the_naive_test_is_far_too_timid() -> None:
    # A topical word: if one choice of a question has it, most others have it too.
    rng = np.random.default_rng(11)
    topical = rng.random((600, 1)) < 0.5
    presence = (rng.random((600, 4)) < np.where(topical, 0.8, 0.02)).astype(int)
    exact, naive = simulated(rng, presence, np.full(600, 4), 4000)
    assert 0.035 < rejections(exact) < 0.056
    assert rejections(naive) < 0.005


def test_level_is_right_where_option_counts_differ_and_the_naive_test_cries_wolf() -> None:
    # "true" occurs only in two-option questions, where a choice is right half of the time, not a third.
    rng = np.random.default_rng(12)
    options = np.repeat([2, 4], 300)
    presence = np.zeros((600, 4), dtype=int)
    presence[np.arange(300), rng.integers(0, 2, 300)] = 1
    exact, naive = simulated(rng, presence, options, 4000)
    assert 0.035 < rejections(exact) < 0.056
    assert rejections(naive) > 0.9


def test_a_planted_cue_is_found_with_its_odds() -> None:
    rng = np.random.default_rng(13)
    weight, m = 3.0, rng.integers(1, 4, size=4000)
    right = rng.random(4000) < m * weight / (m * weight + 4 - m)
    test = within_example_test(
        np.zeros(4000, int), np.full(4000, 4), m, np.ones(4000, int), right.astype(int)
    )
    assert test.log_odds[0] == pytest.approx(np.log(weight), abs=0.1)
    assert test.log_p()[0] < -200


@pytest.mark.parametrize("ks", [[2], [4], [2, 3, 4, 5]])
def test_twenty_thousand_features_keep_their_level(ks: list[int]) -> None:
    rng = np.random.default_rng(14)
    cells = [(k, m) for k in ks for m in range(1, k)]
    size = 20_000
    counts = (50_000 / np.arange(1, size + 1) ** 0.8 / len(cells) + 1).astype(int)
    feature, n = np.repeat(np.arange(size), len(cells)), np.repeat(counts, len(cells))
    k, m = (np.tile(part, size) for part in np.array(cells).T)
    right = rng.binomial(n, m / k)
    test = within_example_test(feature, k, m, n, right)
    assert rejections(np.exp(test.log_p())) < 0.05


def test_a_million_informative_examples_with_many_chances_have_a_p_value() -> None:
    cells = [(k, m) for k in (3, 4, 5) for m in range(1, k)]
    k, m = np.array(cells).T
    n = np.full(len(cells), 1_000_000 // len(cells))
    right = (n * (0.9 * m / k + 0.09)).astype(int)
    test = within_example_test(np.zeros(len(cells), int), k, m, n, right)
    assert np.isfinite(test.log_p()).all()

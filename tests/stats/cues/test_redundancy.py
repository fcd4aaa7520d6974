import numpy as np
import pytest
from scipy import sparse, stats

from cuecard.stats import conditional_strength, group_redundant


def columns(*sets: set[int], size: int = 40) -> sparse.csc_matrix:
    dense = np.zeros((size, len(sets)), dtype=int)
    for column, members in enumerate(sets):
        dense[list(members), column] = 1
    return sparse.csc_matrix(dense)


def test_two_names_for_the_same_instances_are_one_group_led_by_the_stronger() -> None:
    groups = group_redundant(columns(set(range(20)), {30, 31}, set(range(19)), {30, 31}))
    assert groups.leader.tolist() == [0, 1, 0, 1]
    assert groups.jaccard == pytest.approx([1, 1, 0.95, 1])


def test_a_part_of_a_cue_is_not_the_same_cue() -> None:
    assert group_redundant(columns(set(range(20)), set(range(10)))).leader.tolist() == [0, 1]


def test_likeness_does_not_travel_along_a_chain() -> None:
    chain = columns(set(range(10)), set(range(2, 12)), set(range(4, 14)))
    assert group_redundant(chain, threshold=0.6).leader.tolist() == [0, 0, 2]


def test_groups_agree_with_a_plain_loop() -> None:
    rng = np.random.default_rng(0)
    dense = rng.random((60, 40)) < 0.5
    dense[:, 20:] = dense[:, :20] ^ (rng.random((60, 20)) < rng.uniform(0, 0.3, 20))
    expected: list[int] = []
    for cue in range(40):
        for leader in sorted(set(expected)):
            both, either = dense[:, cue] & dense[:, leader], dense[:, cue] | dense[:, leader]
            if both.sum() >= 0.7 * either.sum():
                expected.append(leader)
                break
        else:
            expected.append(cue)
    assert group_redundant(sparse.csc_matrix(dense.astype(int)), 0.7).leader.tolist() == expected
    assert len(set(expected)) < 40


def test_a_cue_in_no_instance_leads_itself() -> None:
    assert group_redundant(columns(set(), {1}, set())).leader.tolist() == [0, 1, 2]


def test_counts_per_stratum_are_those_of_a_plain_loop() -> None:
    rng = np.random.default_rng(1)
    dense, labels = rng.random((200, 5)) < 0.4, rng.integers(3, size=200)
    asked = [(0, 1, 2), (3, 2, 0), (4, 0, 1)]
    result = conditional_strength(sparse.csc_matrix(dense.astype(int)), labels, *np.array(asked).T)
    for i, (cue, given, label) in enumerate(asked):
        for stratum, n, k, base in (
            (~dense[:, given], result.n_without, result.k_without, result.base_without),
            (dense[:, given], result.n_with, result.k_with, result.base_with),
        ):
            assert n[i] == (stratum & dense[:, cue]).sum()
            assert k[i] == (stratum & dense[:, cue] & (labels == label)).sum()
            assert base[i] == pytest.approx((labels[stratum] == label).mean())


def test_z_and_odds_ratio_agree_with_the_textbook_formula_and_scipy() -> None:
    rng = np.random.default_rng(0)  # of its own, so that tests may run in any order
    dense, labels = rng.random((300, 2)) < 0.4, rng.integers(2, size=300)
    result = conditional_strength(sparse.csc_matrix(dense.astype(int)), labels, [0], [1], [1])
    gap, variance, above, below = 0.0, 0.0, 0.0, 0.0
    for stratum in (~dense[:, 1], dense[:, 1]):
        f, y = dense[stratum, 0], labels[stratum] == 1
        a, b, c, d = (f & y).sum(), (f & ~y).sum(), (~f & y).sum(), (~f & ~y).sum()
        hypergeometric = stats.hypergeom(len(f), y.sum(), f.sum())
        gap, variance = gap + a - hypergeometric.mean(), variance + hypergeometric.var()
        above, below = above + a * d / len(f), below + b * c / len(f)
    assert result.z[0] == pytest.approx(gap / np.sqrt(variance))
    assert result.odds_ratio[0] == pytest.approx(above / below)
    assert np.exp(result.log_p[0]) == pytest.approx(2 * stats.norm.sf(abs(result.z[0])), rel=0.3)


def test_p_is_fishers_where_the_stronger_cue_is_in_every_instance() -> None:
    rng = np.random.default_rng(2)
    cue, labels = rng.random(80) < 0.3, rng.integers(2, size=80)
    presence = sparse.csc_matrix(np.column_stack([np.ones(80), cue]).astype(int))
    result = conditional_strength(presence, labels, [1], [0], [1])
    table = [[(cue & (labels == y)).sum(), (~cue & (labels == y)).sum()] for y in (1, 0)]
    smaller = min(stats.fisher_exact(table, side).pvalue for side in ("greater", "less"))
    assert np.exp(result.log_p[0]) == pytest.approx(min(1, 2 * smaller), rel=1e-10)


def test_a_shadow_of_a_stronger_cue_adds_nothing_and_a_real_one_does() -> None:
    rng = np.random.default_rng(3)
    size = 20_000
    strong = rng.random(size) < 0.3
    shadow = strong & (rng.random(size) < 0.5)
    real = rng.random(size) < 0.3
    labels = (rng.random(size) < 0.3 + 0.3 * strong + 0.1 * real).astype(int)
    presence = sparse.csc_matrix(np.column_stack([strong, shadow, real]).astype(int))
    result = conditional_strength(presence, labels, [1, 2], [0, 0], [1, 1])
    assert abs(result.z[0]) < 3
    assert result.odds_ratio[0] == pytest.approx(1, abs=0.15)
    assert result.z[1] > 10
    assert result.log_p[1] < -50


def test_the_same_instances_leave_nothing_to_tell() -> None:
    result = conditional_strength(columns({1, 2, 3}, {1, 2, 3}), [0, 1] * 20, [1], [0], [1])
    assert np.isnan(result.z[0])
    assert result.log_p[0] == 0


def test_level_of_the_conditional_test_under_a_strong_confounder() -> None:
    rng = np.random.default_rng(4)
    strong = rng.random(1500) < 0.4
    others = rng.random((1500, 2000)) < np.where(strong, 0.6, 0.1)[:, None]
    labels = (rng.random(1500) < np.where(strong, 0.8, 0.3)).astype(int)
    presence = sparse.csc_matrix(np.column_stack([strong, others]).astype(int))
    asked = np.arange(1, 2001)
    result = conditional_strength(presence, labels, asked, np.zeros(2000, int), np.ones(2000, int))
    assert 0.03 < np.mean(np.exp(result.log_p) <= 0.05) < 0.06


def test_thousands_of_cues_are_grouped_and_tested() -> None:
    rng = np.random.default_rng(3)
    cells = np.unique(rng.integers(50_000 * 2_000, size=500_000))
    presence = sparse.csc_matrix(
        (np.ones(len(cells)), (cells // 2_000, cells % 2_000)), shape=(50_000, 2_000)
    )
    labels, asked = rng.integers(3, size=50_000), np.arange(1, 2_000)
    leaders = group_redundant(presence).leader
    assert (leaders <= np.arange(2_000)).all()
    strength = conditional_strength(presence, labels, asked, asked - 1, asked % 3)
    assert np.mean(np.exp(strength.log_p) <= 0.05) < 0.06


def test_refuses_counts_and_wrong_lengths() -> None:
    with pytest.raises(ValueError, match="only 0 and 1"):
        group_redundant(sparse.csc_matrix([[2.0]]))
    with pytest.raises(ValueError, match="threshold"):
        group_redundant(columns({1}), threshold=0)
    with pytest.raises(ValueError, match="each of the 40 instances"):
        conditional_strength(columns({1}), [0, 1], [0], [0], [0])
    with pytest.raises(ValueError, match="same length"):
        conditional_strength(columns({1}), [0] * 40, [0, 0], [0], [0])
    with pytest.raises(ValueError, match="columns of presence, which has 1"):
        conditional_strength(columns({1}), [0] * 40, [1], [0], [0])
    with pytest.raises(ValueError, match="not negative"):
        conditional_strength(columns({1}), [0] * 40, [0], [0], [-1])

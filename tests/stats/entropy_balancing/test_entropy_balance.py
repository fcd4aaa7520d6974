"""Entropy balancing against an independent convex solver, its own certificates, and planted conflicts."""

from __future__ import annotations

import string
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

from cuecard.stats.entropy_balancing import entropy_balance, err
from cuecard.stats.weighted import effective_sample_share

# The independent solver is asked for more digits than it can promise.
pytestmark = pytest.mark.filterwarnings("ignore:Solution may be inaccurate:UserWarning")
UNIFORM3 = np.full(3, 1 / 3)


def _random_problem(seed: int, rows: int = 240, columns: int = 8, classes: int = 3) -> tuple[Any, Any]:
    """Features whose label shares really lean: each feature prefers one class."""
    rng = np.random.default_rng(seed)
    labels = np.concatenate([np.arange(classes), rng.integers(0, classes, rows - classes)])
    lean = rng.uniform(0.15, 0.5, size=(columns, classes))
    dense = rng.random((rows, columns)) < lean[:, labels].T
    return sparse.csr_matrix(dense.astype(float)), labels


def _by_cvxpy(
    features: Any, labels: Any, target: Any, *, ridge: float = 0.0, cap: float | None = None, base: Any = None
) -> Any:
    cp = pytest.importorskip("cvxpy")
    dense = features.toarray()
    n, classes = len(labels), len(target)
    base = np.full(n, 1 / n) if base is None else base / base.sum()
    indicator = np.eye(classes)[labels] - target
    scale = 1 / np.sqrt((dense**2 * base[:, None]).sum(0))
    constraints = np.stack(
        [dense[:, j] * scale[j] * indicator[:, c] for j in range(dense.shape[1]) for c in range(classes)]
    )
    q = cp.Variable(n, nonneg=True)
    objective = cp.sum(cp.rel_entr(q, base))
    rules = [cp.sum(q) == 1]
    if ridge > 0:
        objective = objective + cp.sum_squares(constraints @ q) / (2 * ridge)
    else:
        rules.append(constraints @ q == 0)
    if cap is not None:
        rules.append(q <= cap / n)
    cp.Problem(cp.Minimize(objective), rules).solve(
        solver=cp.CLARABEL, tol_gap_abs=1e-13, tol_gap_rel=1e-13, tol_feas=1e-12
    )
    return np.asarray(q.value) * n


@pytest.mark.parametrize("target", ["uniform", "overall", np.array([0.5, 0.3, 0.2])])
def test_hard_constraints_match_an_independent_convex_solver(target: Any) -> None:
    features, labels = _random_problem(0)
    result = entropy_balance(features, labels, target=target, tolerance=1e-9)
    assert result.converged
    expected = _by_cvxpy(features, labels, result.target)
    np.testing.assert_allclose(result.weights, expected, atol=1e-6)


def test_ridge_matches_an_independent_convex_solver() -> None:
    features, labels = _random_problem(1)
    result = entropy_balance(features, labels, ridge=0.05, tolerance=1e-8)
    assert result.converged
    assert result.largest_residual > 1e-3
    np.testing.assert_allclose(result.weights, _by_cvxpy(features, labels, UNIFORM3, ridge=0.05), atol=1e-6)


def test_maximum_weight_matches_an_independent_convex_solver_and_is_respected() -> None:
    features, labels = _random_problem(2)
    free = entropy_balance(features, labels, tolerance=1e-9)
    cap = 0.7 * free.max_weight
    result = entropy_balance(features, labels, max_weight=cap, tolerance=1e-7)
    assert result.converged
    assert result.max_weight <= cap + 1e-12
    np.testing.assert_allclose(result.weights, _by_cvxpy(features, labels, UNIFORM3, cap=cap), atol=1e-6)


def test_base_weights_match_an_independent_convex_solver() -> None:
    features, labels = _random_problem(3)
    base = np.random.default_rng(3).uniform(0.5, 2.0, len(labels))
    result = entropy_balance(features, labels, base_weights=base, tolerance=1e-9)
    np.testing.assert_allclose(result.weights, _by_cvxpy(features, labels, UNIFORM3, base=base), atol=1e-6)


def test_reported_numbers_describe_the_weights() -> None:
    features, labels = _random_problem(4)
    result = entropy_balance(features, labels, tolerance=1e-8)
    assert result.weights.mean() == pytest.approx(1.0)
    assert result.err_before == pytest.approx(err(np.ones(len(labels)), features, labels))
    assert result.err_after == pytest.approx(err(result.weights, features, labels), abs=1e-12)
    assert result.err_before > 0.02 > 1e-7 > result.err_after
    assert result.ess == pytest.approx(effective_sample_share(result.weights))
    assert result.max_weight == result.quantiles[1.0] == result.weights.max()
    assert result.unbalanced == ()
    assert result.duality_gap < 1e-7
    by_hand = [
        result.weights[(labels == c) & (features[:, [j]].toarray()[:, 0] > 0)].sum()
        / result.weights[features[:, [j]].toarray()[:, 0] > 0].sum()
        for j in range(features.shape[1])
        for c in range(3)
    ]
    np.testing.assert_allclose(result.residuals.ravel(), np.array(by_hand) - 1 / 3, atol=1e-12)


def test_column_scale_does_not_matter() -> None:
    features, labels = _random_problem(5)
    scaled = features @ sparse.diags(np.geomspace(0.01, 100, features.shape[1]))
    for options in ({}, {"ridge": 0.02}):
        plain = entropy_balance(features, labels, tolerance=1e-9, **options)
        again = entropy_balance(scaled, labels, tolerance=1e-9, **options)
        np.testing.assert_allclose(again.weights, plain.weights, atol=1e-6)


def test_row_and_column_order_do_not_matter() -> None:
    features, labels = _random_problem(6)
    rng = np.random.default_rng(6)
    rows, columns = rng.permutation(len(labels)), rng.permutation(features.shape[1])
    plain = entropy_balance(features, labels, tolerance=1e-9)
    shuffled = entropy_balance(features[rows][:, columns], labels[rows], tolerance=1e-9)
    np.testing.assert_allclose(shuffled.weights, plain.weights[rows], atol=1e-7)


def test_csc_duplicates_and_stored_zeros_are_the_same_matrix() -> None:
    features, labels = _random_problem(7)
    messy = sparse.csc_matrix(features)
    messy.data[:3] = 0.0
    clean = sparse.csr_matrix(messy.toarray())
    np.testing.assert_array_equal(
        entropy_balance(messy, labels).weights, entropy_balance(clean, labels).weights
    )


def test_feature_never_seen_with_a_label_is_left_out_with_a_valid_proof() -> None:
    features, labels = _random_problem(8)
    lonely = sparse.csr_matrix(((labels == 1) & (np.arange(len(labels)) % 3 == 0)).astype(float)[:, None])
    joined = sparse.hstack([features, lonely], format="csr")
    result = entropy_balance(joined, labels, tolerance=1e-8)
    assert result.converged
    (entry,) = result.unbalanced
    assert (entry.feature, entry.reason) == (8, "absent label")
    assert entry.certificate is not None
    assert entry.certificate.holds(joined, labels, UNIFORM3)
    np.testing.assert_allclose(result.weights, entropy_balance(features, labels, tolerance=1e-8).weights)


def _with_conflict(seed: int) -> tuple[Any, Any]:
    """Balanced background plus three features on six rows that contradict each other (see the test)."""
    features, labels = _random_problem(seed, classes=2, columns=5)
    extra = np.zeros((6, 3))
    extra[[0, 1], 0] = 1
    extra[[0, 1, 2], 1] = 1
    extra[[0, 2], 2] = 1
    extra[3:] = extra[:3]
    block = sparse.block_diag([features, extra], format="csr")
    return block, np.concatenate([labels, [0, 1, 1, 0, 1, 1]])


def test_conflicting_features_are_found_with_a_valid_proof_and_the_others_stay_balanced() -> None:
    # a = b, a = b + c and a = c have no positive solution, though each feature alone can be balanced.
    features, labels = _with_conflict(9)
    result = entropy_balance(features, labels, tolerance=1e-6)
    assert result.converged
    assert {entry.feature for entry in result.unbalanced} == {5, 6, 7}
    for entry in result.unbalanced:
        assert entry.reason == "conflict"
        assert entry.certificate is not None
        assert set(entry.certificate.features) <= {5, 6, 7}
        scores = entry.certificate.scores(features, labels, [0.5, 0.5])
        assert scores.min() >= -1e-9
        assert scores[-6:].min() > 0
        assert entry.certificate.holds(features, labels, [0.5, 0.5])
    assert np.abs(result.residuals[:5]).max() <= 1e-6


def test_a_proof_does_not_hold_for_data_that_can_be_balanced() -> None:
    features, labels = _with_conflict(9)
    proof = entropy_balance(features, labels).unbalanced[0].certificate
    assert proof is not None
    assert not proof.holds(features, 1 - labels, [0.5, 0.5])
    rescued = labels.copy()
    rescued[-1] = 0
    assert not proof.holds(features, rescued, [0.5, 0.5])


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_more_features_than_instances_can_carry_is_proven_and_brought_as_near_as_possible() -> None:
    features, labels = _random_problem(15, rows=90, columns=80)
    result = entropy_balance(features, labels)
    assert result.converged
    assert result.err_after < result.err_before
    off = np.abs(result.residuals).max(axis=1) > 1e-4
    assert {entry.feature for entry in result.unbalanced} == set(np.flatnonzero(off))
    assert {entry.reason for entry in result.unbalanced} == {"conflict"}
    proofs = {id(entry.certificate): entry.certificate for entry in result.unbalanced}
    assert all(proof is not None and proof.holds(features, labels, UNIFORM3) for proof in proofs.values())


@pytest.mark.parametrize("min_ess", [None, 0.7])
def test_features_that_contradict_each_other_everywhere_leave_a_usable_sample(min_ess: float | None) -> None:
    # Balanced as far as possible one by one, these would put nearly all weight on two or three of the rows.
    rng = np.random.default_rng(0)
    features = sparse.csr_matrix((rng.random((600, 700)) < 0.012).astype(float))
    labels = rng.integers(0, 3, 600)
    result = entropy_balance(features, labels, min_ess=min_ess)
    assert result.converged
    assert result.ess >= (min_ess or 0.5)
    assert result.ridge > 0
    assert result.err_after < 0.9 * result.err_before
    reasons = {entry.reason for entry in result.unbalanced}
    assert {"absent label", "conflict"} <= reasons
    assert reasons - {"absent label", "conflict"} <= {"softened" if min_ess is None else "ridge"}


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_weight_limit_that_makes_balance_impossible_is_proven() -> None:
    labels = np.array([0] * 90 + [1] * 10)
    features = sparse.csr_matrix(np.ones((100, 1)))
    assert entropy_balance(features, labels, max_weight=5.2, tolerance=1e-8).unbalanced == ()
    result = entropy_balance(features, labels, max_weight=3.0, tolerance=1e-8)
    (entry,) = result.unbalanced
    assert entry.reason == "max_weight"
    assert entry.certificate is not None
    assert entry.certificate.holds(features, labels, [0.5, 0.5])
    assert result.max_weight <= 3.0 + 1e-12
    # With ten rows at the limit the rare class can hold 30 % and no more.
    assert result.residuals[0, 1] == pytest.approx(0.3 - 0.5, abs=0.02)


def test_effective_sample_size_floor_is_respected_and_no_softer_than_needed() -> None:
    features, labels = _random_problem(10)
    hard = entropy_balance(features, labels)
    floor = (1 + hard.ess) / 2
    result = entropy_balance(features, labels, min_ess=floor)
    assert floor <= result.ess < floor + 0.01
    assert result.ridge > 0
    assert hard.err_after < result.err_after < hard.err_before
    assert all(entry.reason == "ridge" for entry in result.unbalanced)
    assert entropy_balance(features, labels, min_ess=hard.ess - 0.01).ridge == 0.0


def test_groups_share_one_weight_and_still_balance() -> None:
    rng = np.random.default_rng(11)
    groups = np.repeat(np.arange(150), 2)
    labels = np.tile([0, 1], 150)
    lean = np.array([[0.3, 0.5], [0.5, 0.3], [0.4, 0.4]])
    features = sparse.csr_matrix((rng.random((300, 3)) < lean[:, labels].T).astype(float))
    result = entropy_balance(features, labels, groups=groups, tolerance=1e-9)
    assert result.converged
    np.testing.assert_allclose(result.weights[::2], result.weights[1::2])
    assert result.largest_residual <= 1e-9
    # The independent solver sees one variable per group and the groups' summed constraints.
    cp = pytest.importorskip("cvxpy")
    a = (features.toarray() * np.where(labels == 0, 1.0, -1.0)[:, None]).reshape(150, 2, 3).sum(1)
    q = cp.Variable(150, nonneg=True)
    uniform = np.full(150, 1 / 150)
    problem = cp.Problem(cp.Minimize(cp.sum(cp.rel_entr(q, uniform))), [cp.sum(q) == 1, a.T @ q == 0])
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-13, tol_gap_rel=1e-13, tol_feas=1e-12)
    np.testing.assert_allclose(result.weights[::2], q.value * 150, atol=1e-5)


def test_label_shares_are_held_to_the_target_on_request() -> None:
    features, labels = _random_problem(12, columns=2)
    labels[features.getnnz(axis=1) == 0] = 0
    free = entropy_balance(features, labels, tolerance=1e-8)
    held = entropy_balance(features, labels, balance_labels=True, tolerance=1e-8)
    assert np.abs(free.label_shares - 1 / 3).max() > 0.05
    np.testing.assert_allclose(held.label_shares, UNIFORM3, atol=1e-8)
    assert held.residuals.shape == free.residuals.shape == (2, 3)


def test_missing_class_is_named() -> None:
    features, labels = _random_problem(13)
    with pytest.raises(ValueError, match="class 1 has no instance"):
        entropy_balance(features, np.where(labels == 1, 2, labels))
    with pytest.raises(ValueError, match="class 'neutral' has no instance"):
        entropy_balance(features, labels, label_names=["yes", "no", "maybe", "neutral"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"features": np.ones((240, 8))}, "sparse matrix"),
        ({"features": -sparse.identity(240)}, "not negative"),
        ({"labels": np.zeros(5, dtype=int)}, "one code per row"),
        ({"labels": np.zeros(240)}, "integer codes"),
        ({"labels": np.zeros(240, dtype=int)}, "at least two classes"),
        ({"target": "equal"}, "'uniform', 'overall'"),
        ({"target": [0.5, 0.5]}, "one share per class"),
        ({"target": [0.5, 0.4, 0.3]}, "sum to one"),
        ({"ridge": -1.0}, "ridge"),
        ({"ridge": float("nan")}, "ridge"),
        ({"max_weight": 0.5}, "max_weight"),
        ({"min_ess": 1.5}, "min_ess"),
        ({"groups": [1, 2]}, "groups"),
        ({"base_weights": np.zeros(240)}, "base_weights"),
        ({"tolerance": 0.0}, "tolerance"),
    ],
)
def test_bad_input_is_one_clear_sentence(change: dict[str, Any], message: str) -> None:
    features, labels = _random_problem(14)
    arguments: dict[str, Any] = {"features": features, "labels": labels} | change
    with pytest.raises(ValueError, match=message):
        entropy_balance(arguments.pop("features"), arguments.pop("labels"), **arguments)


def test_nothing_to_balance_is_an_error() -> None:
    with pytest.raises(ValueError, match="no feature occurs with every label"):
        entropy_balance(sparse.csr_matrix(np.array([[1.0], [0.0]])), np.array([0, 1]))


def test_snli_words_are_balanced_with_the_documented_sample_size(real_data: Callable[[str], Path]) -> None:
    frame = pl.read_parquet(real_data("snli/train_partial.parquet"))
    delete = str.maketrans("", "", string.punctuation)
    words = CountVectorizer(
        analyzer=lambda text: text.lower().translate(delete).split(), binary=True, min_df=100
    )
    both = frame["premise"] + " " + frame["hypothesis"]
    features, labels = words.fit_transform(both), np.unique(frame["label"].to_numpy(), return_inverse=True)[1]
    result = entropy_balance(features, labels)
    assert result.constrained.sum() == 1219
    assert result.err_before == pytest.approx(0.0643, abs=5e-5)
    assert result.err_after < 1e-5
    assert result.ess >= 0.71
    assert result.converged
    assert result.iterations < 60

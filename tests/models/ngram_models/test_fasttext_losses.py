"""One step of the compiled loops against numerical gradients of the losses, written out by their papers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import log_softmax

from cuecard.models.ngram_models.descent import Loops
from cuecard.models.text_model import Objective
from cuecard.stats import _native

WIDTH, FEATURES, RATE = 3, 4, 1e-3


def softplus(x):
    return np.log1p(np.exp(-abs(x))) + max(x, 0)


def entropy(log_p):
    return -(np.exp(log_p) * log_p).sum()


@pytest.fixture
def start():
    """Return features of the rows (two choices, or one row), and vectors, output, bias and mixing weights."""
    rng = np.random.default_rng(0)
    values = rng.uniform(0.5, 1, (2, FEATURES)).astype(np.float32)
    shapes = (FEATURES, WIDTH), (3, WIDTH), (3,), (WIDTH + 1,)
    return values, [rng.normal(size=shape).astype(np.float32) for shape in shapes]


def rows_of(values):
    indptr = np.arange(0, values.size + 1, values.shape[1])
    return indptr, np.tile(np.arange(FEATURES, dtype=np.int32), len(values)), values.ravel()


def stepped(loop, before, gold, objective, *, choices=False):
    """Return by how much one step moves every array, as a gradient."""
    values, (vectors, output, bias, mixing) = before
    loops = Loops.of(objective, 3)
    vectors, output, bias = vectors.copy(), output.copy(), bias.copy()
    aside = [mixing.copy()] if loops.mixes else [share.copy() for share in loops.first_aside(WIDTH)]
    one = np.zeros(1, np.int64)
    common = (np.array([gold]), np.ones(1, np.float32), one, RATE, 0.0, vectors, output)
    more = (np.array([0, 2]), *common) if choices else (*common, bias)
    loss = loop(*rows_of(values), *more, *loops.arguments(aside))
    after = (vectors, output, bias, *(aside if loops.mixes else ()))
    return loss, [(b - a) / RATE for b, a in zip(before[1], after, strict=False)], aside


def assert_is_gradient(loss, arrays, moves):
    """Compare moves with the numerical gradient of `loss(arrays)`."""
    flat = np.concatenate([a.ravel() for a in arrays]).astype(np.float64)
    ends = np.cumsum([a.size for a in arrays])[:-1]

    def of_flat(x):
        return loss([part.reshape(a.shape) for part, a in zip(np.split(x, ends), arrays, strict=True)])

    gradient = approx_fprime(flat, of_flat, 1e-6)
    moved = np.concatenate([m.ravel() for m in moves])
    assert moved == pytest.approx(gradient, abs=2e-3)


EXPERT = np.log(np.array([[0.7, 0.2, 0.1]]))


@pytest.mark.parametrize("penalty", [0.0, 0.4])
def test_labels_move_against_the_gradient_of_a_learned_mixin(start, penalty):
    values, arrays = start[0][:1], start[1]

    def loss(parts):
        vectors, output, bias, mixing = parts
        hidden = values[0] @ vectors
        mixed = softplus(mixing[:-1] @ hidden + mixing[-1]) * EXPERT[0]
        return -log_softmax(output @ hidden + bias + mixed)[1] + penalty * entropy(log_softmax(mixed))

    objective = Objective("learned-mixin", penalty, expert=EXPERT)
    value, moves, _ = stepped(_native.learn_labels, (values, arrays), 1, objective)
    assert value == pytest.approx(loss(arrays), abs=1e-5)
    assert_is_gradient(loss, arrays, moves)


@pytest.mark.parametrize("kind", ["product-of-experts", "learned-mixin", "confidence"])
def test_choices_move_against_the_gradient_over_their_own_rows(start, kind):
    """A question of two choices among questions of three: the absent one has −∞ or 0."""
    values, (vectors, output, bias, mixing) = start
    expert = np.array([[np.log(0.8), np.log(0.2), -np.inf]])
    targets = np.array([[0.3, 0.7, 0.0]])
    arrays = [vectors, output[:1], bias, mixing]

    def loss(parts):
        vectors, output, _, mixing = parts
        hidden = values @ vectors
        z = hidden @ output[0]
        if kind == "confidence":
            return -(targets[0, :2] * log_softmax(z)).sum()
        amount = 0.5 if kind == "product-of-experts" else 0.0
        if kind == "learned-mixin":
            amount = np.mean([softplus(mixing[:-1] @ h + mixing[-1]) for h in hidden])
        mixed = amount * expert[0, :2]
        penalty = 0.3 * entropy(log_softmax(mixed)) if kind == "learned-mixin" else 0.0
        return -log_softmax(z + mixed)[1] + penalty

    strength = {"product-of-experts": 0.5, "learned-mixin": 0.3, "confidence": 1.0}[kind]
    data = {"targets": targets} if kind == "confidence" else {"expert": expert}
    value, moves, _ = stepped(
        _native.learn_choices, (values, arrays), 1, Objective(kind, strength, **data), choices=True
    )
    assert value == pytest.approx(loss(arrays), abs=1e-5)
    used = len(moves)
    assert_is_gradient(lambda parts: loss([*parts, *arrays[used:]]), arrays[:used], moves)


def test_a_group_gains_weight_by_its_loss_and_steps_count_by_it(start):
    values, arrays = start[0][:1], start[1]
    plain, moves, _ = stepped(_native.learn_labels, (values, arrays), 1, None)
    objective = Objective("group-robust", 0.5, groups=np.array([2]))
    loss, more, [shares] = stepped(_native.learn_labels, (values, arrays), 1, objective)
    assert loss == pytest.approx(plain)
    raised = np.array([1.0, 1.0, np.exp(0.5 * plain)])
    assert shares == pytest.approx(raised / raised.sum(), rel=1e-5)
    for one, other in zip(moves[:3], more[:3], strict=True):
        assert other == pytest.approx(3 * float(shares[2]) * one, abs=2e-3)

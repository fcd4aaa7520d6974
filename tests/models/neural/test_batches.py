"""Batches: every example once or by its weight, whole, of about one length, and the same for one seed."""

from __future__ import annotations

import numpy as np
import pytest

from cuecard.models.learner import held_out_examples
from cuecard.models.neural.batches import epoch_batches


def lengths(n: int = 5000) -> np.ndarray:
    return np.random.default_rng(0).poisson((14, 8), size=(n, 2)) + 1


def test_every_example_comes_once_and_little_is_padding() -> None:
    sizes = lengths()
    batches = epoch_batches(sizes, 32, seed=0, epoch=0)
    assert sorted(np.concatenate(batches)) == list(range(5000))
    assert {len(batch) for batch in batches} == {32, 8}
    padded = sum((sizes[batch].max(axis=0) * len(batch)).sum() for batch in batches)
    random = sum((sizes[i : i + 32].max(axis=0) * 32).sum() for i in range(0, 5000 - 8, 32))
    assert padded < 1.15 * sizes.sum()
    assert random > 1.5 * sizes.sum()


def test_batches_are_a_function_of_seed_and_epoch() -> None:
    first, again, later, other = (
        np.concatenate(epoch_batches(lengths(), 32, seed=seed, epoch=epoch))
        for seed, epoch in ((0, 0), (0, 0), (0, 1), (1, 0))
    )
    assert (first == again).all()
    assert (first != later).any()
    assert (first != other).any()


def test_a_sampler_draws_in_proportion_to_the_weights() -> None:
    weights = np.tile([0.0, 1.0, 3.0, 4.0], 1250)
    drawn = np.concatenate(epoch_batches(lengths(), 64, seed=0, epoch=0, chances=weights))
    assert len(drawn) == 5000
    shares = np.bincount(drawn % 4, minlength=4) / 5000
    np.testing.assert_allclose(shares, [0, 0.125, 0.375, 0.5], atol=0.03)


def test_batches_do_not_come_in_order_of_length() -> None:
    means = [lengths()[batch, 0].mean() for batch in epoch_batches(lengths(), 32, seed=0, epoch=0)]
    assert abs(np.corrcoef(np.arange(len(means)), means)[0, 1]) < 0.3


@pytest.mark.parametrize(("n", "share", "expected"), [(100, 0.1, 10), (4, 0.1, 0), (2, 0.9, 0), (5, 0.9, 3)])
def test_a_held_out_part_leaves_something_to_learn_from(n: int, share: float, expected: int) -> None:
    assert held_out_examples(n, share, seed=0).sum() == expected

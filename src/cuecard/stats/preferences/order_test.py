"""Was a benchmark seen in its published order? Its log-probability against shuffled orders (Oren et al. 2023)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["OrderTest", "order_test"]


@dataclass(frozen=True)
class OrderTest:
    """How the published order ranks among shuffled ones, over all shards, with its exact p-value."""

    p_value: float
    shards: int
    shuffles: int
    rank_share: float
    """Mean share of the shuffles that are less likely than the published order; 0.5 where order means nothing."""


def order_test(published: npt.ArrayLike, shuffled: npt.ArrayLike) -> OrderTest:
    """Return the exact one-sided test that the published order is likelier than random ones.

    Args:
        published: the log-probability of the published order of every shard.
        shuffled: shards × shuffles, those of random orders of the same shard.

    If the order means nothing, the published one is as likely as any other to have any rank. The number of shuffles
    below it is then uniform on 0 … m within a shard, and its sum over shards has a known distribution. Ties count
    against the published order.

    >>> test = order_test([-10.0], [[-12.0, -11.0, -13.0, -12.5]])
    >>> test.p_value, test.rank_share
    (0.2, 1.0)
    """
    first = np.atleast_1d(np.asarray(published, np.float64))
    others = np.atleast_2d(np.asarray(shuffled, np.float64))
    if others.shape[0] != len(first) or others.shape[1] < 1:
        raise ValueError("shuffled must have a row for every shard and at least one shuffle")
    below = (others < first[:, None]).sum(axis=1)
    m = others.shape[1]
    ways = np.ones(1)
    for _ in range(len(first)):
        ways = np.convolve(ways, np.full(m + 1, 1 / (m + 1)))
    p = max(float(ways[int(below.sum()) :].sum()), np.finfo(np.float64).tiny)
    return OrderTest(min(p, 1.0), len(first), m, float(below.mean() / m))

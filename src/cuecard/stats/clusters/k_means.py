"""One start of k-means: k-means++ centres, then Lloyd's steps, as scikit-learn does them but without its import."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

from cuecard.stats.arrays import Ints, Singles

#: Steps end when the centres move by less than this share of the points' variance, or after this number.
TOLERANCE = 1e-4
MOST_STEPS = 300
#: Points whose nearest centres are searched at a time.
BLOCK = 65_536


def k_means_centres(points: Singles, weights: Singles, k: int, *, seed: int) -> Singles:
    """Return the k centres of one start of weighted k-means.

    The draws are those of scikit-learn's `KMeans(n_init=1, random_state=seed)`, so that both end at the same centres up
    to rounding.
    """
    middle = points.mean(axis=0)
    around = points - middle  # small numbers keep their digits in the products below
    tolerance = TOLERANCE * float(around.var(axis=0).mean())
    centres = _seeded(around, weights, k, np.random.RandomState(seed))
    assigned: Ints | None = None
    for _ in range(MOST_STEPS):
        before, assigned = assigned, _nearest(around, centres)
        moved = _means(around, weights, assigned, centres)
        shift = float(((moved - centres) ** 2).sum())
        centres = moved
        if (before is not None and np.array_equal(before, assigned)) or shift <= tolerance:
            break
    return np.asarray(centres + middle, dtype=np.float32)


def nearest_centres(points: Singles, centres: Singles) -> tuple[Ints, Singles]:
    """Return the nearest centre of every point, and how far it is."""
    middle = points.mean(axis=0)
    assigned = np.empty(len(points), dtype=np.int64)
    distances = np.empty(len(points), dtype=points.dtype)
    for first in range(0, len(points), BLOCK):
        some = slice(first, first + BLOCK)
        assigned[some] = _nearest(points[some] - middle, centres - middle)
        apart = points[some] - centres[assigned[some]]
        distances[some] = np.sqrt(np.einsum("ij,ij->i", apart, apart))
    return assigned, distances


def _nearest(points: Singles, centres: Singles) -> Ints:
    # |p − c|² is least where |c|² − 2 p·c is: what is the same for all centres is left out.
    scores = points @ (-2 * centres.T)
    scores += np.einsum("ij,ij->i", centres, centres)
    return np.asarray(scores.argmin(axis=1), dtype=np.int64)


def _seeded(points: Singles, weights: Singles, k: int, rng: np.random.RandomState) -> Singles:
    """Return centres by greedy k-means++: of a few candidates far from all centres, the one that helps most."""
    exact = points.astype(np.float64)  # a rounded distance may draw another candidate
    squares = np.einsum("ij,ij->i", exact, exact)
    trials = 2 + int(np.log(k))
    column = weights[:, None]

    def squared_distances(to: Ints) -> Singles:
        distances = (-2 * exact[to]) @ exact.T
        distances += squares[to][:, None]
        distances += squares
        return np.maximum(distances, 0).astype(np.float32)

    chosen = [int(rng.choice(len(points), p=weights / weights.sum()))]
    closest = squared_distances(np.array(chosen))
    left = float((closest @ column)[0, 0])
    for _ in range(1, k):
        reached = np.cumsum(weights * closest[0])
        candidates = np.searchsorted(reached, rng.uniform(size=trials) * left).clip(max=len(points) - 1)
        distances = np.minimum(squared_distances(candidates), closest)
        sums = (distances @ column)[:, 0]
        best = int(sums.argmin())
        left, closest = float(sums[best]), distances[best : best + 1]
        chosen.append(int(candidates[best]))
    return points[chosen]


def _means(points: Singles, weights: Singles, assigned: Ints, centres: Singles) -> Singles:
    """Return the weighted mean of every centre's points; a centre without any goes to the point farthest off."""
    n, k = len(points), len(centres)
    columns = csr_matrix((weights, assigned, np.arange(n + 1)), shape=(n, k))
    sums = columns.T @ points
    masses = np.bincount(assigned, weights=weights, minlength=k).astype(np.float32)
    empty = np.flatnonzero(masses == 0)
    if len(empty):
        apart = points - centres[assigned]
        farthest = np.argsort(np.einsum("ij,ij->i", apart, apart))[::-1][: len(empty)]
        for centre, point in zip(empty, farthest, strict=True):
            mass, home = weights[point], assigned[point]
            sums[home] -= points[point] * mass
            masses[home] -= mass
            sums[centre], masses[centre] = points[point] * mass, mass
    return np.asarray(sums / np.where(masses > 0, masses, 1)[:, None], dtype=np.float32)

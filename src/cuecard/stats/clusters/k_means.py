"""K-means of weighted points: seeded starts, centres, and the nearest centre of every point."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csc_array

from cuecard.stats.arrays import Ints, Singles, chunks

__all__ = ["k_means_centres", "nearest_centres"]

#: As scikit-learn's `KMeans` has them: when the centres move less than this part of the variance, they are found.
TOLERANCE, MAXIMUM_ITERATIONS = 1e-4, 300
#: Points whose distances to all centres are in memory at a time.
AT_A_TIME = 20_000


def k_means_centres(points: Singles, weights: Ints, k: int, *, seed: int) -> Singles:
    """Return the centres of Lloyd's algorithm from one start by greedy k-means++ (Arthur & Vassilvitskii 2007).

    Draws and steps are those of ``KMeans(k, n_init=1, random_state=seed)``; distances are in single precision.
    """
    mean = points.mean(axis=0)
    centred = points - mean
    mass = weights.astype(np.float32)
    centres = _seeded(centred, mass, k, np.random.RandomState(seed))
    tolerance = TOLERANCE * float(np.var(centred, axis=0).mean())
    ahead, before = _with_ones(centred), np.full(len(centred), -1)
    first_entries = np.arange(len(centred) + 1)
    for _ in range(MAXIMUM_ITERATIONS):
        nearest = (ahead @ _factors(centres)).argmin(axis=1)
        sums = csc_array((mass, nearest, first_entries), shape=(k, len(centred))) @ centred
        held = np.bincount(nearest, weights=mass, minlength=k).astype(np.float32)[:, None]
        # A centre without points stays where it is.
        moved = np.divide(sums, held, out=centres.copy(), where=held > 0)
        shift = float(((moved - centres) ** 2).sum())
        centres = moved
        if shift <= tolerance or np.array_equal(nearest, before):
            break
        before = nearest
    return np.asarray(centres + mean)


def nearest_centres(points: Singles, centres: Singles) -> tuple[Ints, Singles]:
    """Return the number of every point's nearest centre, and how far it is."""
    nearest, distances = np.empty(len(points), dtype=np.int64), np.empty(len(points), dtype=np.float32)
    factors = _factors(centres)
    for chunk in chunks(len(points), AT_A_TIME):
        nearest[chunk] = (_with_ones(points[chunk]) @ factors).argmin(axis=1)
        distances[chunk] = np.sqrt(_squares(points[chunk] - centres[nearest[chunk]]))
    return nearest, distances


def _with_ones(points: Singles) -> Singles:
    return np.column_stack([points, np.ones(len(points), dtype=np.float32)])


def _factors(centres: Singles) -> Singles:
    """Return what points with a one are multiplied by: their squared distances, less their squared lengths."""
    return np.column_stack([-2 * centres, _squares(centres)]).T


def _squares(rows: Singles) -> Singles:
    return np.asarray(np.einsum("ij,ij->i", rows, rows))


def _seeded(points: Singles, mass: Singles, k: int, generator: np.random.RandomState) -> Singles:
    """Return k points far from each other: of some drawn by their distance, each time the best."""
    norms = _squares(points)

    def distances_to(some: Ints) -> Singles:
        squared = points[some] @ points.T
        squared *= -2
        squared += norms
        squared += norms[some][:, None]
        squared[np.arange(len(some)), some] = 0
        return np.asarray(np.maximum(squared, 0, out=squared))

    trials = 2 + int(np.log(k))
    chosen = [int(generator.choice(len(points), p=mass / mass.sum()))]
    closest = distances_to(np.array(chosen))[0]
    potential = closest @ mass
    for _ in range(k - 1):
        drawn = np.searchsorted(np.cumsum(mass * closest), generator.uniform(size=trials) * potential)
        candidates = np.minimum(drawn, len(points) - 1)
        distances = np.minimum(closest, distances_to(candidates))
        potentials = distances @ mass
        best = int(potentials.argmin())
        chosen.append(int(candidates[best]))
        closest, potential = distances[best], potentials[best]
    return points[chosen]

"""t-SNE of a few thousand points (van der Maaten and Hinton 2008): all pairs push, neighbours pull."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

from cuecard.stats import _native
from cuecard.stats.arrays import Singles

STEPS = 500
#: Steps in which neighbours pull this many times as strongly, so that groups find together.
EARLY_STEPS = 250
EXAGGERATION = 12.0
#: Neighbours that pull a point, for each unit of perplexity; those beyond hardly do.
NEIGHBOURS = 3
#: The map begins this wide.
BEGINNING = 1e-4
#: An axis along which a map is thinner than this share of the other one was lost.
LOST = 1e-3


def tsne(points: Singles, *, perplexity: float = 30.0) -> Singles:
    """Return two coordinates per point, by which neighbours stay neighbours; nothing is drawn at random.

    `points` are principal components, the largest first: the map begins with the first two of them. Steps, rate and
    momentum are scikit-learn's; pairs push each other one by one, which for 1,000 points is four times quicker than its
    tree of cells and grows with the square of their number.
    """
    n = len(points)
    joint = joint_shares(points, perplexity)
    start = points[:, :2] if points.shape[1] > 1 else np.column_stack([points[:, 0], np.zeros(n)])
    rate = max(n / EXAGGERATION / 4, 50.0)
    widths = start.std(axis=0)
    # Single precision can lose an axis while neighbours pull strongly: then the map begins again, as wide as high.
    for width in (widths[0] or 1, np.where(widths > 0, widths, 1)):
        places = np.ascontiguousarray(start / width * BEGINNING, dtype=np.float32)
        _native.descend(
            places,
            joint.indptr.astype(np.int64),
            joint.indices.astype(np.int64),
            joint.data.astype(np.float32),
            STEPS,
            EARLY_STEPS,
            EXAGGERATION,
            rate,
        )
        least, most = sorted(places.std(axis=0))
        if least > LOST * most:
            break
    return places


def joint_shares(points: Singles, perplexity: float) -> csr_matrix:
    """Return the similarity of neighbours in space, the same in both directions; all sum to one."""
    n = len(points)
    exact = points.astype(np.float64)
    squares = np.einsum("ij,ij->i", exact, exact)
    distances = np.maximum(squares[:, None] + squares - 2 * exact @ exact.T, 0)
    np.fill_diagonal(distances, np.inf)
    k = min(n - 1, int(NEIGHBOURS * perplexity + 1))
    columns = np.argsort(distances, axis=1, kind="stable")[:, :k]
    shares = _native.neighbour_shares(np.take_along_axis(distances, columns, axis=1), perplexity)
    own = csr_matrix((shares.ravel(), columns.ravel(), np.arange(n + 1) * k), shape=(n, n))
    both = (own + own.T).tocsr()
    both.data /= both.data.sum()
    return both

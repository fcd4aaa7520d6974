"""Directions of vectors found without labels: a top-k sparse autoencoder, and those along which few lie far out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from cuecard.stats.arrays import Floats, Singles

#: Vectors that one step of the gradient is taken of, and how large the steps are.
BATCH, STEP = 128, 2e-3
#: Adam's memories of gradients and of their squares.
_MEMORY, _MEMORY_OF_SQUARES = 0.9, 0.999


#: Principal components in which skewed directions are looked for, starts of the search and its steps.
COMPONENTS, STARTS, SEARCH_STEPS = 32, 200, 40
#: Two directions are one if their cosine is at least this.
ALIKE = 0.9


@dataclass(frozen=True, eq=False)
class SparseDictionary:
    """Directions in a space of vectors, and how often each is among the few that make up a vector.

    `encoder` has a row per direction: the activation of a vector x is max(0, encoder · (x − centre) + bias).
    """

    encoder: Singles
    bias: Singles
    centre: Singles
    usage: Floats

    def activations(self, vectors: Singles) -> Singles:
        """Return how far each vector points in each direction, before the largest are chosen."""
        return np.asarray((vectors - self.centre) @ self.encoder.T + self.bias, dtype=np.float32)


def sparse_dictionary(
    vectors: Singles, size: int, active: int, *, epochs: int = 40, seed: int = 0
) -> SparseDictionary:
    """Return directions such that each vector is nearly a sum of the `active` ones it points to most.

    A top-k sparse autoencoder (Makhzani & Frey 2014; Gao et al. 2024): the squared error of the sum is made small by
    stochastic gradients from a seeded start at vectors themselves. A direction that no vector uses any more starts
    again at the vector that is explained worst.
    """
    rng = np.random.default_rng(seed)
    n = len(vectors)
    centre = vectors.mean(axis=0)
    centred = vectors - centre
    starts = rng.choice(n, size, replace=n < size)
    decoder = _unit(centred[starts] + 1e-3 * rng.normal(size=(size, vectors.shape[1])).astype(np.float32))
    encoder, bias = decoder.copy(), np.zeros(size, dtype=np.float32)
    trained = [encoder, decoder, bias]
    first = [np.zeros_like(one) for one in trained]
    second = [np.zeros_like(one) for one in trained]
    usage, step = np.zeros(size), 0
    with threadpool_limits(limits=1):  # the number of threads must not change the last digit
        for _ in range(epochs):
            used, worst = np.zeros(size), (0.0, 0)
            order = rng.permutation(n)
            for start in range(0, n, BATCH):
                rows = order[start : start + BATCH]
                batch = centred[rows]
                codes, chosen = _codes(batch, encoder, bias, active)
                error = codes @ decoder - batch
                used += (codes > 0).sum(axis=0)
                missed = (error**2).sum(axis=1)
                worst = max(worst, (float(missed.max()), int(rows[missed.argmax()])))
                back = (error @ decoder.T) * chosen / len(rows)
                gradients = [back.T @ batch, codes.T @ error / len(rows), back.sum(axis=0)]
                step += 1
                for one, slope, m, v in zip(trained, gradients, first, second, strict=True):
                    m += (1 - _MEMORY) * (slope - m)
                    v += (1 - _MEMORY_OF_SQUARES) * (slope**2 - v)
                    scale = STEP * np.sqrt(1 - _MEMORY_OF_SQUARES**step) / (1 - _MEMORY**step)
                    one -= (scale * m / (np.sqrt(v) + 1e-8)).astype(np.float32)
                decoder /= np.maximum(np.linalg.norm(decoder, axis=1, keepdims=True), 1e-8)
            usage = used / n
            unused = np.flatnonzero(used == 0)[:1]
            for direction in unused:
                decoder[direction] = encoder[direction] = _unit(centred[worst[1]][None])[0]
                bias[direction] = 0
        codes, _ = _codes(centred, encoder, bias, active)
        usage = (codes > 0).mean(axis=0)
    return SparseDictionary(encoder, bias, centre, usage)


def _unit(rows: Singles) -> Singles:
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-8), dtype=np.float32)


def _codes(batch: Singles, encoder: Singles, bias: Singles, active: int) -> tuple[Singles, Singles]:
    """Return the largest activations of every row, others as zero, and which ones are not zero."""
    raw = batch @ encoder.T + bias
    least = np.partition(raw, -active, axis=1)[:, -active][:, None]
    chosen = ((raw >= least) & (raw > 0)).astype(np.float32)
    return raw * chosen, chosen


def skewed_directions(vectors: Singles, most: int, *, seed: int = 0) -> Singles:
    """Return directions as columns along which few vectors lie far out, the most skewed first.

    Where a small share of the vectors differ from all others by one direction, the third moment along it is large. Its
    local maxima are found by fixed-point steps in the leading principal components, from seeded starts at vectors
    themselves, as in independent component analysis (Hyvärinen 1999).
    """
    rng = np.random.default_rng(seed)
    centred = (vectors - vectors.mean(axis=0)).astype(np.float64)
    with threadpool_limits(limits=1):
        values, axes = np.linalg.eigh(centred.T @ centred / len(centred))
        n_components = min(COMPONENTS, max(len(centred) // 20, 1), int((values > 1e-9 * values[-1]).sum()))
        basis = axes[:, ::-1][:, :n_components] / np.sqrt(values[::-1][:n_components])
        white = centred @ basis
        found = _unit_rows(white[rng.permutation(len(white))[:STARTS]])
        for _ in range(SEARCH_STEPS):
            found = _unit_rows((white @ found.T).T ** 2 @ white)
        skewness = ((white @ found.T) ** 3).mean(axis=0)
    kept: list[int] = []
    for i in np.argsort(-skewness, kind="stable").tolist():
        if len(kept) < most and not (found[kept] @ found[i] >= ALIKE).any():
            kept.append(i)
    directions = (basis @ found[kept].T).astype(np.float32)
    return np.asarray(directions / np.maximum(np.linalg.norm(directions, axis=0), 1e-12), dtype=np.float32)


def _unit_rows(rows: Floats) -> Floats:
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12))

"""Compiled passes over the pairs of a graph, a part of them at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cuecard._compiled import njit

Array = npt.NDArray[Any]


@njit(cache=True, nogil=True)
def count(nodes: Array, times: Array) -> None:
    """Count how often every node occurs; added to `times`."""
    for i in range(len(nodes)):
        times[nodes[i]] += 1


@njit(cache=True, nogil=True)
def prune(first: Array, second: Array, looped: Array, degree: Array, kept: Array) -> int:
    """Leave out pairs that no walk of two steps joins, with what that takes from degrees; return how many.

    Two different sentences are joined by a third, so each has another pair, or one of them by itself.
    """
    left_out = 0
    for i in range(len(first)):
        a, b = first[i], second[i]
        if not kept[i] or looped[a] or looped[b] or (degree[a] > 1 and degree[b] > 1):
            continue
        kept[i] = False
        degree[a] -= 1
        degree[b] -= 1
        left_out += 1
    return left_out


@njit(cache=True, nogil=True)
def orient(first: Array, second: Array, degree: Array) -> tuple[Array, Array]:
    """Return the node of more pairs and the other one of every pair, equal ones by number."""
    more, fewer = np.empty_like(first), np.empty_like(first)
    for i in range(len(first)):
        a, b = first[i], second[i]
        swapped = degree[a] < degree[b] or (degree[a] == degree[b] and a < b)
        more[i], fewer[i] = (b, a) if swapped else (a, b)
    return more, fewer


@njit(cache=True, nogil=True)
def sparse_rows(rows: Array, columns: Array, entries: Array, n: int) -> tuple[Array, Array, Array]:
    """Return the entries of a sparse matrix of n rows by row: where each begins, columns and entries."""
    begins = np.zeros(n + 1, dtype=rows.dtype)
    for i in range(len(rows)):
        begins[rows[i] + 1] += 1
    for row in range(n):
        begins[row + 1] += begins[row]
    place = begins[:-1].copy()
    of_rows, values = np.empty_like(columns), np.empty_like(entries)
    for i in range(len(rows)):
        of_rows[place[rows[i]]] = columns[i]
        values[place[rows[i]]] = entries[i]
        place[rows[i]] += 1
    return begins, of_rows, values


@njit(cache=True, nogil=True)
def add_walks(
    more: Array,
    fewer: Array,
    begins: Array,
    columns: Array,
    entries: Array,
    other_begins: Array,
    other_columns: Array,
    other_entries: Array,
    mark: Array,
    walks: Array,
) -> None:
    """Add Σ_c A[a, c] A[c, b] at every edge (a, b), over the nodes c of one colour.

    `begins`, `columns` and `entries` are the rows of A of the nodes `more` at these c, the others of the nodes `fewer`;
    edges are by rising `more`. Its row is spread out in `mark`, which is all 0, and the shorter row looks itself up:
    Σ over edges of the smaller degree, at most O(edges^1.5), also for a clique.
    """
    i = 0
    while i < len(more):
        a = more[i]
        for p in range(begins[a], begins[a + 1]):
            mark[columns[p]] = entries[p]
        while i < len(more) and more[i] == a:
            total = np.int64(0)
            for p in range(other_begins[fewer[i]], other_begins[fewer[i] + 1]):
                total += np.int64(other_entries[p]) * mark[other_columns[p]]
            walks[i] += total
            i += 1
        for p in range(begins[a], begins[a + 1]):
            mark[columns[p]] = 0

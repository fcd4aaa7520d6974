"""New places for the right answers of multiple choice, so that no position predicts the answer."""

from __future__ import annotations

import numpy as np
import polars as pl

from cuecard.data.examples import Examples, Ints


def balanced_positions(examples: Examples, *, seed: int = 0) -> dict[int, int]:
    """Return the fewest examples to permute and the new place of their right answer, counted from 0.

    Places are balanced among the questions of a split with the same number of choices: what is above an equal share in
    one place moves to the places below it.
    """
    rng = np.random.default_rng(seed)
    moves: dict[int, int] = {}
    splits = examples.splits.to_numpy()
    for split in np.unique(splits):
        for size in np.unique(examples.sizes[splits == split]):
            here = np.flatnonzero((splits == split) & (examples.sizes == size))
            moves |= _moves(here, examples.gold[here], int(size), rng)
    return moves


def evenly_over(splits: pl.Series, examples: list[int]) -> Ints:
    """Return examples in an order whose beginnings hold the same share of every split, as far as possible."""
    chosen = pl.DataFrame(
        {"example": examples, "split": splits.gather(examples)}, schema_overrides={"example": pl.Int64}
    )
    share = (pl.int_range(pl.len()) + 0.5) / pl.len()
    ordered = chosen.with_columns(share.over("split").alias("share")).sort("share", maintain_order=True)
    return ordered["example"].to_numpy()


def _moves(here: Ints, places: Ints, size: int, rng: np.random.Generator) -> dict[int, int]:
    counts = np.bincount(places, minlength=size)
    # The places that already have most keep the remainder: that moves the fewest.
    wanted = np.full(size, len(here) // size)
    wanted[np.argsort(-counts, kind="stable")[: len(here) % size]] += 1
    surplus = [
        rng.permutation(here[places == place])[: max(0, counts[place] - wanted[place])]
        for place in range(size)
    ]
    moving = np.concatenate(surplus)
    free = np.repeat(np.arange(size), np.maximum(wanted - counts, 0))
    return {
        int(example): int(place)
        for example, place in zip(rng.permutation(moving), rng.permutation(free), strict=True)
    }

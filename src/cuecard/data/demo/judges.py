"""Simulated judges of known character: fair, blind, one that loves length, one that loves a position."""

from __future__ import annotations

from typing import Literal

import numpy as np
import polars as pl

from cuecard.data.demo.preferences import demo_battles

Character = Literal["fair", "blind", "length", "position"]


def demo_judge(n: int, character: Character, *, strength: float = 1.5, seed: int = 0) -> pl.DataFrame:
    """Return verdicts about n comparisons in both orders, beside what people prefer (`human`).

    People prefer by quality alone. A fair judge sees that quality with some noise; a blind one draws by lot; the others
    see it, too, and add `strength` log odds per standard deviation of the difference in log words, or for the response
    shown first.
    """
    rng = np.random.default_rng(seed)
    battles = demo_battles(n, seed=seed + 1)
    quality = rng.normal(0, 1.5, n)
    human = rng.random(n) < 1 / (1 + np.exp(-2 * quality))
    words = [battles[f"response_{side}"].str.count_matches(r"\S+").to_numpy() for side in "ab"]
    longer = np.log1p(words[0]) - np.log1p(words[1])
    longer = longer / longer.std()
    parts = []
    for first in (1.0, -1.0):
        odds = np.zeros(n) if character == "blind" else 2 * quality
        if character == "length":
            odds = odds + strength * longer
        if character == "position":
            odds = odds + strength * first
        won = rng.random(n) < 1 / (1 + np.exp(-odds))
        parts.append(
            battles.select("prompt", "response_a", "response_b", "model_a", "model_b").with_columns(
                id=pl.Series([f"c{i}" for i in range(n)]),
                verdict=pl.Series(np.where(won, "a", "b")),
                first=pl.lit("a" if first > 0 else "b"),
                human=pl.Series(np.where(human, "a", "b")),
            )
        )
    return pl.concat(parts)

"""Battles between models with planted effects of length, position and source on who wins."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

#: Models and their strength: log odds against the first.
STRENGTHS: Mapping[str, float] = {"alpha": 0.0, "beta": 0.5, "gamma": 1.0}
_SYLLABLES = ("ba", "ke", "di", "lo", "mu", "ra", "se", "ti", "vo", "nu")


def demo_battles(
    n: int,
    *,
    length: float = 0.0,
    position: float = 0.0,
    source: float = 0.0,
    strengths: Mapping[str, float] | None = None,
    wordy: str | None = None,
    seed: int = 0,
) -> pl.DataFrame:
    """Return n battles (`prompt`, `response_a`, `response_b`, `model_a`, `model_b`, `winner`, `subset`).

    The log odds that the first response wins are the sum of the planted effects.

    Args:
        n: number of battles.
        length: log odds per difference of the logarithm of the number of words.
        position: log odds of being shown first.
        source: log odds of an answer from the web against one from a book (`source_a`, `source_b`).
        strengths: log odds of every model; `STRENGTHS` by default.
        wordy: a model that writes twice as many words as the others.
        seed: of all random numbers.
    """
    rng = np.random.default_rng(seed)
    models = dict(STRENGTHS if strengths is None else strengths)
    words = np.array(["".join(rng.choice(_SYLLABLES, 3)) + str(i) for i in range(3_000)])
    names = np.array(list(models))
    pairs = np.stack([rng.permutation(len(names))[:2] for _ in range(n)])
    sizes = rng.integers(10, 40, (n, 2)) * np.where(names[pairs] == wordy, 2, 1)
    sources = rng.integers(0, 2, (n, 2))
    strength = np.array(list(models.values()))[pairs]
    logs = np.log1p(sizes)
    odds = strength[:, 0] - strength[:, 1] + length * (logs[:, 0] - logs[:, 1])
    odds += position + source * (sources[:, 0] - sources[:, 1])
    first_won = rng.random(n) < 1 / (1 + np.exp(-odds))

    def text(size: int) -> str:
        return " ".join(words[rng.integers(0, len(words), size)])

    return pl.DataFrame(
        {
            "prompt": [f"{text(6)}?" for _ in range(n)],
            "response_a": [text(k) for k in sizes[:, 0]],
            "response_b": [text(k) for k in sizes[:, 1]],
            "model_a": names[pairs[:, 0]],
            "model_b": names[pairs[:, 1]],
            "source_a": np.where(sources[:, 0], "web", "book"),
            "source_b": np.where(sources[:, 1], "web", "book"),
            "winner": np.where(first_won, "model_a", "model_b"),
            "subset": np.where(np.arange(n) % 2, "hard", "easy"),
        }
    )

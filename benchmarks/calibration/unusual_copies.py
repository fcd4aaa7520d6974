"""Cues where copies differ from the other texts, one answer is in every pair, or templates are hardly alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import polars as pl

from benchmarks.calibration import units
from benchmarks.calibration.rows import Row
from benchmarks.demo_shapes import with_weights
from cuecard.data import Instances, load


def _sentences(rng: np.random.Generator, n: int, words: int) -> list[str]:
    frequency = 1 / np.arange(3, 303)
    drawn = rng.choice(300, (n, words), p=frequency / frequency.sum())
    return [" ".join(f"w{word}" for word in row) for row in drawn]


def other_shares(seed: int, *, single: int = 400, copied: int = 20, times: int = 30) -> Instances:
    """Return texts of which some occur often, with labels of their own: 30 % or 70 % of a label, the others 10 %."""
    rng = np.random.default_rng([seed, 41])
    often = np.arange(single + copied) >= single
    share = np.where(often, np.where(rng.random(len(often)) < 0.5, 0.3, 0.7), 0.1)
    texts = _sentences(rng, len(often), 8)
    rows = np.repeat(np.arange(len(often)), np.where(often, times, 1))
    labels = np.where(rng.random(len(rows)) < share[rows], "yes", "no")
    return load(pl.DataFrame({"text": [texts[row] for row in rows], "label": labels}))


def one_answer(seed: int, *, n: int = 300, wins: float = 0.7) -> Instances:
    """Return preferences in which one answer is compared with all others, and preferred in a share of them."""
    rng = np.random.default_rng([seed, 42])
    [same, *others] = _sentences(rng, n + 1, 10)
    won = rng.random(n) < wins
    pairs = [(same, other) if first else (other, same) for first, other in zip(won, others, strict=True)]
    chosen, rejected = (list(side) for side in zip(*pairs, strict=True))
    return load(pl.DataFrame({"prompt": _sentences(rng, n, 10), "chosen": chosen, "rejected": rejected}))


def loose_templates(seed: int, *, n: int = 400, many: int = 8) -> Instances:
    """Return sentences of templates with one label each, which share 60 % of their words; inverse class frequencies."""
    rng = np.random.default_rng([seed, 43])
    fixed = [[f"t{word}" for word in rng.choice(60, 9, replace=False)] for _ in range(many)]
    rare, which = rng.permutation(many) < many // 3, rng.integers(0, many, n)
    slots = rng.integers(0, 100, (n, 3))
    texts = [
        " ".join([*fixed[k], *(f"s{word}" for word in row)]) for k, row in zip(which, slots, strict=True)
    ]
    table = pl.DataFrame({"text": texts, "label": np.where(rare[which], "yes", "no")})
    return with_weights(load(table), "inverse_frequency")


def unusual_copies(scale: float, seed: int) -> Iterator[Row]:
    """Level of cues in these shapes."""
    runs = max(2, round(40 * scale))
    cases: tuple[tuple[str, str, Callable[[int], Instances], str | None, str], ...] = (
        ("text, 20 texts 30 times, with other shares of labels", "420 distinct", other_shares, None, "50 % of 20"),
        ("preference, one answer wins 70 % of the pairs", "300", one_answer, None, "100 % of 20"),
        ("text, 8 templates of one label each, 60 % alike, inverse class frequencies as weights", "400",
         partial(loose_templates, many=8), "weight", "45 % of 20"),
    )  # fmt: skip
    for data, n, draw, weights, before in cases:
        share = units.null_cues(draw, runs, weights=weights, seed=seed).significant
        yield Row("level", "any significant cue", data, n, runs, share, before)

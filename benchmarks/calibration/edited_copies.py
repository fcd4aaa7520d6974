"""Whole cards of datasets whose texts are edits of few sources, with a label drawn once for every source."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import polars as pl

import cuecard as cc
from benchmarks.calibration.clean_sets import FREQUENCY, WORDS, CleanSet, Rng, claims, text
from benchmarks.calibration.rows import Row, how_often

COMMON_BEGINNINGS = "growing prefixes, common beginnings"
#: How the texts of a source differ, and how many there are of each source.
SHAPES = {
    **{f"{share} % of the words replaced": 3 for share in (10, 20, 30, 40)},
    "30 % of the words replaced by a synonym": 3,
    "growing prefixes": 6,
    COMMON_BEGINNINGS: 6,
    "a third of the words of a template replaced": 10,
}
#: The share of sets with a high or medium finding where only texts that share 70 % of their words were kept together.
BEFORE = {"pair": "100 % of 21", "choice": "81 % of 21", "preference": "86 % of 21"}


def versions(source: str, shape: str, times: int, rng: Rng) -> list[str]:
    """Return texts of one source."""
    words = source.split()
    if shape == COMMON_BEGINNINGS:  # as sentences of people begin
        words = [
            str(rng.choice(("a man", "two women", "a dog"))),
            str(rng.choice(("in", "with", "is"))),
            *words,
        ]
    if shape.startswith("growing prefixes"):
        return [" ".join(words[:end]) for end in np.linspace(3, len(words), times).astype(int)]
    slots = rng.permutation(len(words)) < max(1, len(words) // 3)
    share = 1.0 if shape.startswith("a third") else float(shape.split(" %")[0]) / 100
    result = []
    for _ in range(times):
        changed = (rng.random(len(words)) < share) & (slots if share == 1.0 else True)
        new = rng.choice(WORDS, len(words), p=FREQUENCY)
        if "synonym" in shape:
            new = np.array([f"{word}{rng.integers(3)}" for word in words])
        result.append(" ".join(np.where(changed, new, words)))
    return result


def edited_set(task: str, shape: str, sources: int, seed: int) -> CleanSet:
    """Return a dataset in which a coin decided the label of every source."""
    rng = np.random.default_rng([seed, sources, 77])
    times, long = SHAPES[shape], shape.startswith("growing prefixes")
    rows: list[dict[str, object]] = []
    for _ in range(sources):
        n = {"choice": 4, "preference": 2}.get(task, 1)
        low, high = (12, 25) if long else (7, 15)
        texts = [versions(text(rng, low, high), shape, times, rng) for _ in range(n)]
        drawn = int(rng.integers(max(n, 2)))
        for version in zip(*texts, strict=True):
            if task == "pair":
                rows.append({"premise": text(rng), "hypothesis": version[0], "label": "ab"[drawn]})
            elif task == "choice":
                order = rng.permutation(n)
                choices = [version[place] for place in order]
                rows.append(
                    {
                        "question": text(rng),
                        "choices": choices,
                        "answer": int(np.flatnonzero(order == drawn)[0]),
                    }
                )
            else:
                rows.append({"prompt": text(rng), "chosen": version[drawn], "rejected": version[1 - drawn]})
    order = rng.permutation(len(rows))
    data = cc.load(pl.DataFrame([rows[place] for place in order]))
    return CleanSet(task, shape, len(rows), data)


def alarms(task: str, shape: str, sources: int, seed: int) -> bool:
    """Return whether a whole card of such a dataset has a high or medium finding."""
    return bool(claims(edited_set(task, shape, sources, seed), skip=("clusters",)))


def edited_copies(scale: float, seed: int) -> Iterator[Row]:
    """How often a whole card has a high or medium finding."""
    runs = max(2, round(40 * scale))
    for task, n in (("pair", 900), ("choice", 480), ("preference", 480)):
        for shape, times in SHAPES.items():
            share = how_often(partial(alarms, task, shape, n // times), runs, seed=seed)
            size = f"{n // times} sources, {times} times"
            before = BEFORE[task]
            yield Row("level", "any high or medium finding", f"{task}, {shape}", size, runs, share, before)

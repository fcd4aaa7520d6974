"""Planted models asked with parts of the input and in every order: is each named, and a fair one left alone?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

import numpy as np
import polars as pl

from benchmarks.calibration.rows import Row
from cuecard.data import Instances, load
from cuecard.probes import PartsOfInput, Permutations, Predictions
from cuecard.probes.predictions import as_split
from cuecard.probes.variants import Variants, told_apart
from cuecard.stats.arrays import Bools, Ints

OPTIONS = 4
#: Share of the questions that every model can answer in full.
KNOWN = 0.6
#: The share of answers that follow the second place; that are known from the options alone; and that are lost without
#: the context.
FOLLOWS, FROM_CHOICES, NEEDS_CONTEXT = 0.3, 0.25, 0.4
LEVEL = 0.01
MODELS = ("fair", "follows B", "recovers from choices", "needs the context")


@cache
def questions(n: int) -> Instances:
    """Return questions of distinct words with evenly spread keys."""
    rng = np.random.default_rng(n)
    words = rng.permutation(9 * n * (OPTIONS + 1)).reshape(n, OPTIONS + 1, 9)
    texts = [[" ".join(f"w{word:06d}" for word in text) for text in example] for example in words.tolist()]
    table = pl.DataFrame(
        {
            "question": [example[0] for example in texts],
            "choices": [example[1:] for example in texts],
            "answer": rng.permutation(np.arange(n) % OPTIONS),
        }
    )
    return as_split(load(table), "test")


def asked(kind: str, n: int, rng: np.random.Generator) -> Variants:
    """Return the answers of a planted model, with parts of the input and in cyclic orders."""
    gold = questions(n).table.filter(pl.col("label") == "right")["position"].to_numpy()
    shown = (np.arange(OPTIONS)[None, :] + np.arange(OPTIONS)[:, None]) % OPTIONS
    known = rng.random(n) < KNOWN
    context = known & (rng.random(n) >= (NEEDS_CONTEXT if kind == "needs the context" else 0.0))
    choices = known & (rng.random(n) < (FROM_CHOICES if kind == "recovers from choices" else 0.0))
    predictions = []
    for part, right in (("", known), ("no-context", context), ("choices", choices)):
        guesses = rng.integers(0, OPTIONS, n)
        for order in range(OPTIONS):
            picked = np.where(right, gold, _guess(guesses, rng))
            if kind == "follows B":
                picked = np.where(rng.random(n) < FOLLOWS, shown[order, 1], picked)
            places = np.broadcast_to(shown[order], (n, OPTIONS)).astype(np.int64)
            predictions.append(
                Predictions(kind, picked, prompt="short", partial_input=part, order=order, shown=places)
            )
    return told_apart(predictions)


def _guess(guesses: Ints, rng: np.random.Generator) -> Ints:
    """Return guesses of which half are made again in every order."""
    again: Bools = rng.random(len(guesses)) < 0.5
    return np.where(again, rng.integers(0, OPTIONS, len(guesses)), guesses)


def named(kind: str, n: int, seed: int) -> Mapping[str, bool]:
    """Return what is said of a planted model in one run."""
    variants = asked(kind, n, np.random.default_rng([seed, MODELS.index(kind)]))
    data = questions(n)
    parts = PartsOfInput().run(data, variants.parts).summary["rows"]
    places = Permutations().run(data, {kind: variants.orders[kind]}).summary["places"]
    by_input = {row["input"]: row for row in parts}
    return {
        "follows B": any(
            row["place"] == "B" and row["p_value"] <= LEVEL and row["excess"] > 0 for row in places
        ),
        "follows another place": any(
            row["place"] != "B" and row["p_value"] <= LEVEL and row["excess"] > 0 for row in places
        ),
        "recovers from choices": by_input["choices"]["above_chance"],
        "needs the context": by_input["no-context"]["needs_rest"],
    }


def rightly_named(kind: str, n: int, seed: int) -> bool:
    """Return whether exactly what is planted is said of a model."""
    said = {name for name, is_said in named(kind, n, seed).items() if is_said}
    return said == ({kind} if kind != "fair" else set())


def asked_models(scale: float, seed: int) -> Iterator[Row]:
    """Yield how often each planted model is named rightly, and the fair one left alone."""
    runs = max(10, round(400 * scale))
    for n in (150, 300):
        for kind in MODELS:
            share = sum(rightly_named(kind, n, seed + run) for run in range(runs)) / runs
            what = "named rightly, nothing else" if kind != "fair" else "left alone"
            yield Row("power", what, f"asked model: {kind}", f"{n}", runs, share)


ASKED_SECTIONS = {"asked models": asked_models}

"""Level of partial-input baselines under weights made from the same rows: simulations to import, or to run.

python -m benchmarks.calibration.weights [SETS]
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from benchmarks.calibration.units import random_words
from cuecard.data import Instances, Task, load
from cuecard.remedies import LexicalWeights
from cuecard.remedies.reaudits import ALPHA, audits_before_and_after

MEASURE = {
    "pair": "partial_input.hypothesis_only.accuracy",
    "text": "partial_input.length.accuracy",
    "choice": "partial_input.choices_only.accuracy",
    "preference": "partial_input.choices_only.accuracy",
}


@dataclass(frozen=True)
class Level:
    """How often a shortcut that is not there is reported under the weights, over the simulated sets."""

    what: str
    sets: int
    against_chance: float
    """Share of sets in which the interval excludes chance: what was reported before."""
    against_shuffled: float
    """Share of sets with p ≤ 5 % against weights made from shuffled labels."""


def planted_word(data: Instances, strength: float, *, seed: int = 0) -> Instances:
    """Return pairs or texts with a word that goes with the first label; balancing words takes the leak out."""
    rng = np.random.default_rng([seed, 1])  # not the numbers that labels were drawn by
    first = data.label_codes == 0
    has = rng.random(len(data)) < np.where(first, strength, (1 - strength) / 2)
    text = data.table["hypothesis"] + pl.Series(np.where(has, " planted", ""))
    return replace(data, table=data.table.with_columns(hypothesis=text))


def level(
    task: Task,
    sets: int,
    *,
    n: int = 300,
    min_count: int = 30,
    ridge: float = 0.0,
    planted: float = 0.0,
    seed: int = 0,
) -> Level:
    """Return how often guesses from partial input are called off chance under balancing weights of the same rows.

    Labels are random; with `planted` one word leaks, which the weights balance.
    """
    before = after = 0
    remedy = LexicalWeights(
        min_count=min_count,
        ridge=ridge,
        reaudit=(),
        scope="hypothesis",
    )
    for number in range(seed, seed + sets):
        data = random_words(task, n, seed=number)
        if planted:
            data = planted_word(data, planted, seed=number)
        row = _partial_input(data, remedy, number).row(
            by_predicate=pl.col("measure") == MEASURE[task], named=True
        )
        before += not row["low_after"] <= row["chance_after"] <= row["high_after"]
        after += row["p_after"] <= ALPHA
    what = f"{task}, n = {n}, words ≥ {min_count}, ridge {ridge:g}" + (
        f", planted {planted:g}" if planted else ""
    )
    return Level(what, sets, before / sets, after / sets)


def _partial_input(data: Instances, remedy: LexicalWeights, seed: int) -> pl.DataFrame:
    return audits_before_and_after(
        data,
        remedy.balance(data).weights,
        ["partial_input"],
        remake=lambda shuffled: remedy.balance(shuffled).weights,
        seed=seed,
    ).table


def main() -> None:
    """Print the table."""
    sets = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    print("weights | sets | interval excludes chance | p ≤ .05 against shuffled labels")
    tasks: tuple[Task, ...] = ("pair", "choice")
    found = [level(task, sets) for task in tasks]
    found += [level("pair", sets, ridge=0.1), level("pair", sets, n=1_000, min_count=100)]
    found += [level("pair", sets, planted=0.4), level("pair", sets, n=1_000, min_count=100, planted=0.6)]
    for one in found:
        print(f"{one.what} | {one.sets} | {one.against_chance:.0%} | {one.against_shuffled:.0%}", flush=True)


def cues_removed(
    sets: int, *, min_count: int | None = None, n: int = 600, cues: int = 10, seed: int = 0
) -> tuple[float, float]:
    """Return the share of rare cues that lexical weights remove from pairs, and the share of the sample that is left.

    Each cue is in about 40 pairs, 85 % of them with one of two labels.
    """
    before, after, sizes = 0, 0, []
    for number in range(seed, seed + sets):
        summary = LexicalWeights(min_count=min_count, held_out=False).run(rare_cues(n, cues, number)).summary
        before += summary["cues"]["before"]["significant"]
        after += summary["cues"]["after"]["significant"]
        sizes.append(summary["ess"])
    return 1 - after / before, float(np.mean(sizes))


def rare_cues(n: int, cues: int, seed: int) -> Instances:
    """Return pairs of random words with cues in about 40 instances each."""
    rng = np.random.default_rng(seed)
    labels, which = rng.integers(0, 2, n), rng.integers(0, cues, n)
    has = rng.random(n) < 80 * cues / n * np.where(which % 2 == labels, 0.85, 0.15)
    words = np.array([f"w{i}" for i in range(12)])
    texts = [
        " ".join([*rng.choice(words, 4), *([f"cue{c}"] if h else [])])
        for c, h in zip(which, has, strict=True)
    ]
    rows = {
        "premise": [" ".join(rng.choice(words, 3)) for _ in range(n)],
        "hypothesis": texts,
        "label": np.where(labels == 0, "no", "yes"),
    }
    return load(pl.DataFrame(rows)).train


if __name__ == "__main__":
    main()

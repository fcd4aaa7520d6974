"""Simulated figures of preferences: coverage and level of the model of style, and planted effects recovered.

`python -m benchmarks.calibration.preferences [--runs N]` prints every figure that docs/preferences.md quotes.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import polars as pl

from cuecard.audits import Slices, Style
from cuecard.data import load
from cuecard.data.demo import demo_battles, demo_judge
from cuecard.data.demo.predictions import Character
from cuecard.probes import JudgeTest, read_verdicts
from cuecard.stats import clopper_pearson
from cuecard.stats.arrays import Ints
from cuecard.stats.many_models import listed_within, wrong_keys
from cuecard.stats.preferences.conditional_logit import conditional_logit
from cuecard.stats.preferences.item_response import item_response

#: Seeds that no constant was tuned on.
SEED = 40_000
EQUAL = {"alpha": 0.0, "beta": 0.0, "gamma": 0.0}


def share(name: str, hits: int, runs: int) -> str:
    """Return one line: what was counted, how often, and its exact interval."""
    low, high = clopper_pearson(hits, runs, 0.95)
    return f"{name}: {hits} of {runs} = {hits / runs:.1%} [{float(low):.0%}, {float(high):.0%}]"


def clustered(groups: int, size: int, seed: int) -> tuple[Ints, np.ndarray, np.ndarray]:
    """Return prompts whose answers share a style and a taste, so that rows of a prompt depend on each other."""
    rng = np.random.default_rng(seed)
    cluster = np.repeat(np.arange(groups), size)
    difference = np.repeat(rng.standard_normal(groups), size) + 0.5 * rng.standard_normal(groups * size)
    taste = np.repeat(2 * rng.standard_normal(groups), size)
    won = rng.random(groups * size) < 1 / (1 + np.exp(-taste))
    return cluster, difference, won


def coverage_over_prompts(runs: int) -> Iterator[str]:
    """Yield how often 95 % intervals hold the true coefficient 0, by both kinds of errors."""
    for groups, size in ((200, 1), (100, 5), (50, 10)):
        robust = naive = 0
        for run in range(runs):
            cluster, difference, won = clustered(groups, size, SEED + run)
            x = np.zeros((2 * len(won), 1))
            x[::2, 0] = difference
            starts = 2 * np.arange(len(won))
            fit = conditional_logit(x, starts, starts + ~won, clusters=cluster)
            low, high = fit.interval()
            robust += int(low[0] <= 0 <= high[0])
            naive += int(abs(fit.coefficients[0]) <= 1.96 * np.sqrt(fit.naive[0, 0]))
        name = f"{groups} prompts × {size} preferences"
        yield share(f"coverage, cluster-robust, {name}", robust, runs)
        yield share(f"coverage, naive, {name}", naive, runs)


def planted(runs: int) -> Iterator[str]:
    """Yield how often planted effects of length, position and source lie in their intervals, and the level."""
    counts = dict.fromkeys(("length", "first_position", "source", "level of style", "level of slices"), 0)
    accuracy = 0.25 + 0.5 / (1 + np.exp(-0.8)) + 0.0
    for run in range(runs):
        data = load(demo_battles(600, length=0.8, position=0.4, strengths=EQUAL, seed=SEED + run))
        table = Style(seed=run).run(data).tables["style_coefficients"]
        for feature, effect in (("length", 0.8), ("first_position", 0.4)):
            row = table.row(by_predicate=pl.col("feature") == feature, named=True)
            counts[feature] += int(row["low"] <= effect * row["unit"] <= row["high"])
        sourced = load(demo_battles(600, source=0.8, strengths=EQUAL, seed=SEED + 10_000 + run))
        slices = Slices(seed=run).run(sourced.with_columns(model=pl.lit("one"))).tables["slices"]
        rows = slices.filter(rule="metadata", column="subset")
        counts["source"] += int(all(r["low"] <= accuracy <= r["high"] for r in rows.iter_rows(named=True)))
        clean = load(demo_battles(300, strengths=EQUAL, seed=SEED + 20_000 + run))
        counts["level of style"] += int(Style(seed=run).run(clean).summary["p_value"] <= 0.05)
        counts["level of slices"] += int(
            Slices(seed=run, learned=False).run(clean).summary["significant"] > 0
        )
    for name, hits in counts.items():
        yield share(name if name.startswith("level") else f"planted {name} within its interval", hits, runs)


def judges(runs: int) -> Iterator[str]:
    """Yield how often a judge of known character is named for what it is, and for nothing else."""
    expected: dict[Character, list[str]] = {
        "fair": [],
        "blind": ["chance"],
        "length": ["length"],
        "position": ["position"],
    }
    for character, names in expected.items():
        right = exact = 0
        for run in range(runs):
            verdicts = read_verdicts(character, demo_judge(200, character, seed=SEED + run))
            part = JudgeTest().run(verdicts.instances(), [verdicts]).summary["judges"][character]
            right += int(set(names) <= set(part["biases"]))
            exact += int(part["biases"] == names)
        yield share(f"judge {character}: named", right, runs)
        yield share(f"judge {character}: named, and nothing else", exact, runs)


def items(runs: int) -> Iterator[str]:
    """Yield how well abilities are recovered, and how many wrong keys and right ones are listed."""
    for models, n in ((10, 300), (30, 300)):
        correlations, recalled, wrong, called = [], 0, 0, 0
        for run in range(runs):
            rng = np.random.default_rng(SEED + run)
            ability, a, d = rng.standard_normal(models), rng.uniform(0.7, 1.8, n), rng.normal(0.5, 1, n)
            knows = rng.random((models, n)) < 1 / (1 + np.exp(-(ability[:, None] * a + d)))
            truth = rng.integers(0, 4, n)
            key = np.where(np.arange(n) < n // 20, (truth + 1) % 4, truth)
            answers = np.where(knows, truth, (truth + rng.integers(1, 4, (models, n))) % 4)
            correct = (answers == key).astype(np.float64)
            correlations.append(float(np.corrcoef(item_response(correct).ability, ability)[0, 1]))
            listed = listed_within(wrong_keys(answers.T, key, np.full(n, 4)).probability, 0.1)
            recalled += int((listed < n // 20).sum())
            wrong, called = wrong + n // 20, called + len(listed)
        name = f"{models} models, {n} questions, 5 % wrong keys"
        yield f"{name}: correlation with planted abilities {np.mean(correlations):.3f}"
        yield share(f"{name}: wrong keys listed", recalled, wrong)
        yield share(f"{name}: listed that are wrong keys", recalled, called)


PARTS = {"coverage": coverage_over_prompts, "planted": planted, "judges": judges, "items": items}


def print_parts(
    parts: Mapping[str, Callable[[int], Iterator[str]]],
    runs: int,
    description: str | None,
    arguments: Sequence[str] | None = None,
) -> None:
    """Print all figures, or those of the parts that the command line names."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("parts", nargs="*", choices=[*parts, []], default=[])
    parser.add_argument("--runs", type=int, default=runs)
    options = parser.parse_args(arguments)
    for name in options.parts or parts:
        for line in parts[name](options.runs):
            print(line, flush=True)


if __name__ == "__main__":
    print_parts(PARTS, 200, __doc__)

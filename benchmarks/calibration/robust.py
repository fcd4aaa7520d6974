"""Bias and coverage of debiased evaluation, and false signs of use by a model that is better at one label."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import polars as pl

from cuecard.audits import Cues
from cuecard.data.demo import demo_nli
from cuecard.probes import Predictions, Reliance, choose_cues
from cuecard.stats.arrays import Floats, Ints
from cuecard.stats.counted_forest import Forest
from cuecard.stats.neutral_weights import leakage_neutral_weights
from cuecard.stats.scores.doubly_robust import accuracy_without_leak, steady_depth
from cuecard.stats.weighted import weighted_share

Model: TypeAlias = Callable[[Floats, Ints, np.random.Generator], Ints]


@dataclass(frozen=True)
class Coverage:
    """Of repeated estimates: how far off on average, how often the interval holds the truth, how wide it is."""

    bias: float
    coverage: float
    width: float


def selected_pairs(n: int, share: float, rng: np.random.Generator) -> tuple[Floats, Ints, Floats]:
    """Leakage features, labels and P(label | leak) of pairs drawn without a leak and selected by an intention.

    A pair is kept if its label is the intended one; the intention follows the leak.
    """
    size = 8 * n
    leak = np.column_stack([rng.poisson(3, size), rng.geometric(0.4, size), rng.poisson(1, size)]).astype(
        float
    )
    label = (rng.random(size) < share).astype(np.int64)
    intended = 1 / (1 + np.exp(-(-1.2 + 0.6 * leak[:, 1] - 0.3 * leak[:, 0])))
    kept = np.flatnonzero((rng.random(size) < intended) == label)[:n]
    yes = share * intended[kept] / (share * intended[kept] + (1 - share) * (1 - intended[kept]))
    return leak[kept], label[kept], np.column_stack([1 - yes, yes])


def true_accuracy(model: Model, share: float, rng: np.random.Generator) -> float:
    """The accuracy of a model where labels keep their shares and do not depend on the leak, from many pairs."""
    leak, label, probabilities = selected_pairs(200_000, share, rng)
    prior = np.bincount(label) / len(label)
    tilt = probabilities @ (1 / prior)
    each = [model(leak, np.full(len(leak), y), rng) == y for y in range(2)]
    return float(np.average(np.column_stack(each) @ prior, weights=tilt))


def follower(leak: Floats, label: Ints, rng: np.random.Generator) -> Ints:
    """Answers of a model that follows the leak."""
    return np.asarray((0.6 * leak[:, 1] - 0.3 * leak[:, 0] > 0.4).astype(np.int64))


def reader(leak: Floats, label: Ints, rng: np.random.Generator) -> Ints:
    """Answers of a model that reads: correct on 75 %, whatever the leak."""
    return np.where(rng.random(len(label)) < 0.75, label, 1 - label)


def half_follower(leak: Floats, label: Ints, rng: np.random.Generator) -> Ints:
    """Answers of a model that reads six times in ten and follows the leak otherwise."""
    return np.where(rng.random(len(label)) < 0.6, label, follower(leak, label, rng))


def averse(leak: Floats, label: Ints, rng: np.random.Generator) -> Ints:
    """Answers of a model that does the opposite of what the leak suggests."""
    return 1 - follower(leak, label, rng)


def half_averse(leak: Floats, label: Ints, rng: np.random.Generator) -> Ints:
    """Answers of a model that reads six times in ten and does the opposite of the leak otherwise."""
    return np.where(rng.random(len(label)) < 0.6, label, averse(leak, label, rng))


MODELS: dict[str, Model] = {
    "follower": follower,
    "half_follower": half_follower,
    "reader": reader,
    "half_averse": half_averse,
    "averse": averse,
}


def debiased_coverage(
    models: Mapping[str, Model],
    *,
    n: int = 3000,
    share: float = 0.5,
    runs: int = 40,
    trees: int = 100,
    seed: int = 0,
) -> dict[str, dict[str, Coverage]]:
    """Bias, coverage and width of the weighted and of the doubly robust accuracy of models, on the same pairs."""
    rng = np.random.default_rng(seed)
    truths = {name: true_accuracy(model, share, rng) for name, model in models.items()}
    methods = ("weighted", "doubly_robust")
    ends: dict[str, dict[str, list[tuple[float, float, float]]]] = {
        name: {method: [] for method in methods} for name in models
    }
    for run in range(runs):
        leak, label, _ = selected_pairs(n, share, rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # some weights are limited, as in the probe
            deep, steady = (
                leakage_neutral_weights(
                    label, leak, folds=20, trees=trees, depth=depth, max_weight=20.0, seed=run
                ).weights
                for depth in (8, steady_depth(n))
            )
        for name, model in models.items():
            right = model(leak, label, rng) == label
            plain = weighted_share(right, deep)
            ends[name]["weighted"].append((plain.share, plain.low, plain.high))
            robust = accuracy_without_leak(
                right,
                label,
                leak,
                steady,
                rougher_weights=deep,
                forest=Forest(trees, depth=8, seed=run),
            )
            ends[name]["doubly_robust"].append((robust.accuracy, robust.low, robust.high))
    return {
        name: {method: _coverage(np.array(rows), truths[name]) for method, rows in each.items()}
        for name, each in ends.items()
    }


def _coverage(rows: Floats, truth: float) -> Coverage:
    value, low, high = rows.T
    return Coverage(
        float(value.mean() - truth),
        float(((low <= truth) & (truth <= high)).mean()),
        float((high - low).mean()),
    )


def better_at_one_label(gold: Ints, labels: int, rng: np.random.Generator) -> Ints:
    """Answers of a model that is correct on 95 % of one label and on 60 % of the others, whatever the words."""
    wrong = (gold + rng.integers(1, labels, len(gold))) % labels
    return np.where(rng.random(len(gold)) < np.where(gold == 0, 0.95, 0.6), gold, wrong)


def false_signs(*, examples: int = 3000, runs: int = 30, seed: int = 0) -> dict[str, float]:
    """Share of runs in which a model that is merely better at one label shows signs of using some cue.

    `unadjusted` counts what was a sign before: more often correct with the usual label, or leaning to it, where too few
    examples could be compared with examples without the cue.
    """
    data = demo_nli(examples, seed=seed).instances
    audit = Cues(features=("word", "bigram", "length"))
    cues = choose_cues(data, audit, audit.run(data).tables["cues"], top=20)
    rng = np.random.default_rng(seed)
    counted = {"unadjusted": 0, "within gold label and length": 0}
    for _ in range(runs):
        answers = better_at_one_label(cues.examples.gold, len(data.labels), rng)
        table = Reliance().run(data, [Predictions("model", answers)], cues).tables["reliance"]
        unclear = pl.col("contrast_q").is_null()
        better = (pl.col("breaks_q") <= 0.05) & (pl.col("difference") > 0)
        counted["unadjusted"] += table.filter(unclear & better).height > 0
        counted["within gold label and length"] += (
            table.filter(pl.col("verdict").is_in(["relies", "signs"])).height > 0
        )
    return {name: count / runs for name, count in counted.items()}

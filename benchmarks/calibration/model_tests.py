"""Coverage and level of tests of a model's predictions: distribution, permutation, and cues held against length."""

from __future__ import annotations

from typing import Any

import numpy as np

from cuecard.audits import Cues
from cuecard.data.demo import demo_nli, demo_predictions
from cuecard.probes import PermutationTest, Predictions, choose_cues, read_predictions
from cuecard.stats.arrays import Floats
from cuecard.stats.given_properties import choices_given
from cuecard.stats.models.weakness import flattened_distribution

ALPHA = 0.05


def evenly(accuracy: float) -> Floats:
    """Return shares of predictions by gold label of a model that errs evenly between three labels."""
    return np.full((3, 3), (1 - accuracy) / 2) + np.eye(3) * (accuracy - (1 - accuracy) / 2)


#: A model that leans to the first label.
LEANING = np.array([[0.8, 0.15, 0.05], [0.3, 0.6, 0.1], [0.25, 0.15, 0.6]])


def distribution_test(
    rows: Floats, sizes: tuple[int, int, int], runs: int, *, seed: int = 0
) -> dict[str, float]:
    """Return how often the test rejects, and how often intervals hold a label's share: Wilson's ends and a bootstrap's.

    Coverage is that of the label with the lowest.
    """
    rng = np.random.default_rng(seed)
    truth, gold = rows.mean(axis=0), np.repeat([0, 1, 2], sizes)
    rejected, held, resampled = 0, np.zeros(3), np.zeros(3)
    for run in range(runs):
        table = rng.multinomial(sizes, rows)
        predicted = np.concatenate([np.repeat([0, 1, 2], row) for row in table])
        found = flattened_distribution(predicted, gold, draws=1, seed=run)
        rejected += found.p_value <= ALPHA
        held += (found.low <= truth) & (truth <= found.high)
        shares = table / np.array(sizes)[:, None]
        again = (rng.multinomial(sizes, shares, size=(500, 3)) / np.array(sizes)[:, None]).mean(axis=1)
        low, high = np.quantile(again, [0.025, 0.975], axis=0)
        resampled += (low <= truth) & (truth <= high)
    return {
        "rejected": rejected / runs,
        "coverage": float(held.min() / runs),
        "bootstrap": float(resampled.min() / runs),
    }


def picks(rng: np.random.Generator, n: int, *, follow: float = 0.5, planted: float = 0.0) -> tuple[Any, ...]:
    """Return picks of a model that follows length, and a cue that long choices have more often; four choices each."""
    length = rng.integers(5, 30, (n, 4)) + 0.01 * rng.random((n, 4))
    longest = length == length.max(axis=1, keepdims=True)
    gold = np.where(rng.random(n) < 0.3, length.argmax(axis=1), rng.integers(0, 4, n))
    cue = rng.random((n, 4)) < 0.05 + 0.6 * (length - 5) / 25
    pick = np.where(rng.random(n) < 0.7, gold, rng.integers(0, 4, n))
    pick = np.where(rng.random(n) < follow, length.argmax(axis=1), pick)
    has_it = (cue + 0.1 * rng.random((n, 4))).argmax(axis=1)
    pick = np.where((rng.random(n) < planted) & cue.any(axis=1), has_it, pick)
    right = np.eye(4)[gold]
    size = np.log(length) - np.log(length).mean(axis=1, keepdims=True)
    given = np.stack([right, longest, size, right * longest], axis=-1).reshape(4 * n, -1)
    return np.eye(4)[pick].ravel(), np.repeat(np.arange(n), 4), given, cue.reshape(-1, 1).astype(float)


def cue_given_length(runs: int, *, n: int = 600, planted: float = 0.0, seed: int = 0) -> dict[str, float]:
    """Return how often a model that follows length seems to follow a cue, length held fixed and not."""
    rng = np.random.default_rng(seed)
    fixed = free = 0
    for _ in range(runs):
        picked, examples, properties, cue = picks(rng, n, planted=planted)
        fixed += bool(choices_given(picked, examples, properties, cue).log10_p[0] <= np.log10(ALPHA))
        free += bool(choices_given(picked, examples, properties[:, :1], cue).log10_p[0] <= np.log10(ALPHA))
    return {"length held fixed": fixed / runs, "not held fixed": free / runs}


def better_at_one_class(
    runs: int, accuracies: tuple[float, float, float], *, follow: float = 0.0, n: int = 6_000, seed: int = 0
) -> dict[str, float]:
    """Return how often the permutation test has a finding, and how often that over all examples alone is significant.

    The model is right on every class with its own probability, whatever the words; or it follows the planted words.
    """
    rng = np.random.default_rng(seed)
    named, plain = 0, 0
    for run in range(runs):
        demo = demo_nli(n, seed=seed + run)
        data, audit = demo.instances, Cues(features=("word",))
        cues = choose_cues(data, audit, audit.run(data).tables["cues"], top=1)
        gold = cues.examples.gold
        right = rng.random(len(gold)) < np.array(accuracies)[gold]
        model = Predictions("m", np.where(right, gold, (gold + rng.integers(1, 3, len(gold))) % 3))
        if follow:
            planted = demo_predictions(
                demo, follow=follow, accuracy=accuracies[0], seed=seed + run, only=("word",)
            )
            (model,) = read_predictions(planted, data, model="m")
        found = PermutationTest(per_label=3 if follow else 50).run(data, [model], cues)
        named += found.findings[0].severity != "info"
        plain += found.summary["models"]["m"]["log10_p"] <= np.log10(ALPHA)
    return {"finding": named / runs, "over all examples": plain / runs}

"""Coverage of intervals of areas under ROC curves and of accuracies above the most frequent label, by simulation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl
from scipy.special import expit, logit, ndtr, ndtri

import cuecard as cc
from benchmarks.calibration.rows import Row
from cuecard.audits.pair_graph.audit import PairGraphAudit
from cuecard.stats import wilson
from cuecard.stats.arrays import Ints
from cuecard.stats.scores.additive_shares import path_weights, score_shares
from cuecard.stats.scores.auc import Auc, label_auc
from cuecard.stats.scores.cross_fit_intervals import excess_interval

AREAS = (0.5, 0.8, 0.95, 0.995)
#: Examples of the rarer label and of the other.
SIZES = ((5, 45), (10, 100), (30, 30), (30, 270), (100, 400), (500, 500))
#: Shares of labels, and how often a guess is right on each.
GUESSES: tuple[tuple[tuple[float, ...], tuple[float, ...]], ...] = (
    ((0.5, 0.5), (0.6, 0.6)),
    ((1 / 3, 1 / 3, 1 / 3), (0.5, 0.5, 0.5)),
    ((0.6, 0.4), (0.9, 0.4)),
    ((0.9, 0.1), (0.97, 0.3)),
)


def area_coverage(
    area: float, rarer: int, others: int, runs: int, *, skewed: bool = False, seed: int = 0
) -> tuple[float, float]:
    """Return how often the interval holds the area, and how often DeLong's on the logit scale does."""
    rng, labels = np.random.default_rng(seed), np.repeat([1, 0], [rarer, others])
    held, plain = 0, 0
    for _ in range(runs):
        if skewed:
            score = rng.exponential(np.where(labels == 1, area / (1 - area), 1.0))
        else:
            score = rng.standard_normal(len(labels)) + np.sqrt(2) * ndtri(area) * labels
        p = ndtr(score / 4)
        found = label_auc(np.column_stack([1 - p, p]), labels)
        held += found.low <= area <= found.high
        low, high = _delong(p, labels, found)
        plain += low <= area <= high
    return held / runs, plain / runs


def _delong(score: np.ndarray, labels: Ints, found: Auc) -> tuple[float, float]:
    positive, negative = score[labels == 1], score[labels == 0]
    wins = (positive[:, None] > negative) + 0.5 * (positive[:, None] == negative)
    sd = float(np.sqrt(np.var(wins.mean(1)) / len(positive) + np.var(wins.mean(0)) / len(negative)))
    if not 0 < found.value < 1:
        return found.value, found.value
    half = 1.959964 * sd / (found.value * (1 - found.value))
    return float(expit(logit(found.value) - half)), float(expit(logit(found.value) + half))


def excess_coverage(
    shares: Sequence[float], right: Sequence[float], n: int, runs: int, *, seed: int = 0
) -> tuple[float, float]:
    """Return how often the interval holds the accuracy above chance, and how often one with chance taken as known."""
    rng = np.random.default_rng(seed)
    truth, held, known = float(np.dot(shares, right)) - max(shares), 0, 0
    for _ in range(runs):
        labels = rng.choice(len(shares), n, p=shares)
        hits = rng.random(n) < np.array(right)[labels]
        low, high = excess_interval(hits, labels)
        held += low <= truth <= high
        chance = np.bincount(labels).max() / n
        low, high = (float(end) - chance for end in wilson(int(hits.sum()), n))
        known += low <= truth <= high
    return held / runs, known / runs


def graph_excess(n: int, seed: int, *, split: bool) -> tuple[bool, bool]:
    """Return whether the pair graph's accuracy above chance holds 0 for random labels, and so with chance as known."""
    rng = np.random.default_rng([seed, n])
    often = [
        f"sentence {k}" if rng.random() < 0.5 else f"text {i}" for i, k in enumerate(rng.integers(0, 30, n))
    ]
    table = pl.DataFrame(
        {
            "premise": [f"scene {i}" for i in range(n)],
            "hypothesis": often,
            "label": rng.choice(["no", "yes"], n),
        }
    )
    data = cc.load(table[: n // 2], test=table[n // 2 :]) if split else cc.load(table)
    measures = {measure.name: measure for measure in PairGraphAudit().run(data).measures}
    excess, accuracy = (measures[f"pair_graph.leakage.{name}"] for name in ("excess", "accuracy"))
    ends = [excess.low, excess.high, accuracy.low, accuracy.high, accuracy.chance]
    low, high, least, most, chance = (float("nan") if end is None else end for end in ends)
    return low <= 0 <= high, least <= chance <= most


def intervals(scale: float, seed: int) -> Iterator[Row]:
    """Coverage over grids of areas and of labels."""
    runs = max(20, round(400 * scale))
    for skewed, shape in ((False, "normal scores"), (True, "exponential scores")):
        for rarer, others in SIZES:
            for area in AREAS:
                now, before = area_coverage(area, rarer, others, runs, skewed=skewed, seed=seed)
                data = f"area {area:g}, {shape}"
                size = f"{rarer} / {others}"
                yield Row(
                    "coverage", "area under the ROC curve", data, size, runs, now, _before(before, "DeLong")
                )
    for shares, right in GUESSES:
        for n in (60, 300, 2_000):
            now, before = excess_coverage(shares, right, n, runs, seed=seed)
            data = f"labels {', '.join(f'{share:.0%}' for share in shares)}"
            before_text = _before(before, "majority share taken as known")
            yield Row("coverage", "accuracy above the majority", data, f"{n:,}", runs, now, before_text)

    cards = max(4, round(100 * scale))
    for n, split in ((200, True), (600, True), (600, False)):
        held = np.array([graph_excess(n, seed + run, split=split) for run in range(cards)]).mean(axis=0)
        data = f"pair graph, random labels, {'scored on half' if split else 'cross-fitted'}"
        before_text = _before(float(held[1]), "majority share taken as known")
        yield Row(
            "coverage", "accuracy above the majority", data, f"{n:,}", cards, float(held[0]), before_text
        )


def _before(share: float, method: str) -> str:
    return f"{share:.0%}, {method}".replace("%", " %", 1)


#: Weights of three features in a model; the shares of examples that have the second and the third.
WEIGHTS, OTHERS = np.array([1.8, -1.0, 0.6]), (0.3, 0.1)


def _parts(rng: np.random.Generator, n: int, frequency: float) -> tuple[np.ndarray, np.ndarray]:
    """Return what each feature adds to the log score of examples, and the scores: the model is a little too sure."""
    shares = np.array([frequency, *OTHERS])
    terms = ((rng.random((n, 3)) < shares) - shares) * WEIGHTS
    margin = terms.sum(axis=1)
    label = (rng.random(n) < expit(0.8 * margin)).astype(np.int64)
    slopes = path_weights(np.zeros(2), np.column_stack([np.zeros(n), margin]), label)
    sign = 2 * label - 1
    return terms * slopes[:, 1:], np.log(2 * expit(sign * margin))


def share_coverage(frequency: float, n: int, runs: int, *, copies: bool = False, seed: int = 0) -> float:
    """Return how often the interval holds the share of a log score that a feature of this frequency carries."""
    parts, scores = _parts(np.random.default_rng([seed, 1]), 2_000_000, frequency)
    true, held = parts[:, 0].sum() / scores.sum(), 0
    rng = np.random.default_rng(seed)
    for _ in range(runs):
        parts, scores = _parts(rng, n, frequency)
        units = np.repeat(np.arange(n), rng.integers(1, 5, n)) if copies else np.arange(n)
        found = score_shares(parts[units, :1], scores[units], units=units if copies else None)
        held += bool(found.low[0] <= true <= found.high[0])
    return held / runs


def score_parts(scale: float, seed: int) -> Iterator[Row]:
    """Coverage of shares of a log score."""
    runs = max(20, round(1_000 * scale))
    for frequency, n, copies in ((0.3, 500, False), (0.3, 500, True), (0.05, 500, False), (0.05, 2_000, False),
                                 (0.01, 2_000, False), (0.01, 10_000, False)):  # fmt: skip
        data = f"a word in {frequency:.0%} of the examples".replace("%", " %") + (
            ", copied up to four times" * copies
        )
        held = share_coverage(frequency, n, runs, copies=copies, seed=seed)
        yield Row("coverage", "share of the log score it carries", data, f"{n:,}", runs, held)


INTERVAL_SECTIONS = {"intervals": intervals, "parts of a score": score_parts}

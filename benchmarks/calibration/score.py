"""Level, power and coverage of the score test, of intervals of cross-fits and of the pair graph, by simulation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import sparse

from benchmarks.demo_shapes import repeated
from cuecard.data import Instances
from cuecard.stats.arrays import Floats

ALPHA = 0.05


def _binary(logit: Floats) -> Floats:
    one = 1 / (1 + np.exp(-logit))
    return np.column_stack([1 - one, one])


def score_test_level(
    sets: int, *, n: int = 200, rare: float = 0.1, skewed: bool = True, seed: int = 0
) -> float:
    """Return how often the score test rejects where probabilities have nothing to do with the labels."""
    from cuecard.stats.scores.score_test import score_test

    rng = np.random.default_rng(seed)
    rejected = 0
    for _ in range(sets):
        labels = (rng.random(n) < rare).astype(np.int64)
        logit = np.log(rare) + (rng.exponential(1.0, n) if skewed else rng.standard_normal(n))
        rejected += score_test(_binary(logit), labels).log_p <= np.log(ALPHA)
    return rejected / sets


def copies_level(
    sets: int, *, units: int = 60, copies: int = 5, same_label: bool = True, seed: int = 0
) -> float:
    """Return how often it rejects where every text occurs several times, with one label or with labels of their own."""
    from cuecard.stats.scores.score_test import score_test

    rng = np.random.default_rng(seed)
    unit = np.repeat(np.arange(units), copies)
    rejected = 0
    for _ in range(sets):
        labels = rng.integers(0, 2, units)[unit] if same_label else rng.integers(0, 2, len(unit))
        p = _binary(rng.standard_normal(units)[unit])
        rejected += score_test(p, labels, units=unit).log_p <= np.log(ALPHA)
    return rejected / sets


def partial_input_rejections(
    sets: int,
    *,
    n: int = 400,
    rare: float = 0.1,
    strength: float = 0.0,
    test_fraction: float = 0.0,
    seed: int = 0,
) -> dict[str, float]:
    """Return how often the hypothesis alone is significant by score and by hits; where strength is 0, the level."""
    from benchmarks.demo_shapes import demo_unbalanced
    from cuecard.audits import PartialInput

    audit = PartialInput(learning_curve=False, cross_fit=False)
    found = {"score": 0, "hits": 0}
    for i in range(sets):
        data = demo_unbalanced(n, rare=rare, strength=strength, test_fraction=test_fraction, seed=seed + i)
        lines = {line["name"]: line for line in audit.run(data).summary["baselines"]}
        found["score"] += lines["hypothesis_only"]["p_value"] <= ALPHA
        found["hits"] += lines["hypothesis_only"]["hits_p_value"] <= ALPHA
    return {name: count / sets for name, count in found.items()}


def accuracy_coverage(
    sets: int, *, n: int = 200, strength: float = 0.15, rare: float = 0.5, folds: int = 5, seed: int = 0
) -> dict[str, float]:
    """Return how often 95 % intervals of a cross-fitted accuracy hold the accuracy of such models on fresh data."""
    from cuecard.models import LinearModel
    from cuecard.stats import clopper_pearson
    from cuecard.stats.scores.cross_fit_intervals import cross_fit_inflation, share_interval

    rng = np.random.default_rng(seed)
    fresh, answers = _words(rng, 5_000, strength, rare)
    hits, truths = [], []
    for _ in range(sets):
        x, y = _words(rng, n, strength, rare)
        fold = np.empty(n, dtype=np.int64)
        for label in (0, 1):
            which = rng.permutation(np.flatnonzero(y == label))
            fold[which] = np.arange(len(which)) % folds
        right = 0
        for f in range(folds):
            model = LinearModel(tolerance=1e-6).fit(x[fold != f], y[fold != f])
            right += int((model.predict_proba(x[fold == f]).argmax(1) == y[fold == f]).sum())
            truths.append(float((model.predict_proba(fresh).argmax(1) == answers).mean()))
        hits.append(right)
    truth = float(np.mean(truths))
    size = n / cross_fit_inflation(folds)
    plain = [clopper_pearson(k, n) for k in hits]
    mended = [share_interval(k / n, size) for k in hits]
    return {
        "independent hits": float(np.mean([low <= truth <= high for low, high in plain])),
        "corrected": float(np.mean([low <= truth <= high for low, high in mended])),
    }


def _words(
    rng: np.random.Generator, n: int, strength: float, rare: float
) -> tuple[Any, npt.NDArray[np.int64]]:
    """Return texts of eight words out of 300, one of which is a cue, and their labels."""
    y = (rng.random(n) < rare).astype(np.int64)
    x = np.zeros((n, 300))
    x[np.arange(n)[:, None], (300 * rng.random((n, 8)) ** 2).astype(np.int64)] = 1 / np.sqrt(8)
    x[:, 0] = rng.random(n) < 0.3 * np.where(y == 1, 1 + strength, 1 - strength)
    return sparse.csr_matrix(x), y


def pair_graph_rejections(
    sets: int, *, n: int = 300, strength: float = 0.5, few: int = 30, copies: int = 1, seed: int = 0
) -> dict[str, float]:
    """Return how often the graph is significant without a test split, by chain and by raw hits.

    Every pair occurs `copies` times. Second sentences are new or one of a few; the label is "yes" for this share of
    those that repeat, and "no" for this share of the others: at one half, labels are random.
    """
    from cuecard.audits.pair_graph.outcomes import outcome
    from cuecard.audits.pair_graph.scores import trial
    from cuecard.features.pair_graph import graph_of, leakage_features
    from cuecard.stats import accuracy_log_p

    found = {"chain": 0, "hits of the cross-fit": 0}
    for i in range(sets):
        rng = np.random.default_rng([seed, i])
        repeats = rng.random(n) < 0.5
        second = [f"s{rng.integers(0, few)}" if r else f"new {j}" for j, r in enumerate(repeats)]
        yes = rng.random(n) < np.where(repeats, strength, 1 - strength)
        table = pl.DataFrame(
            {
                "example_id": [str(j) for j in range(n)],
                "position": 0,
                "split": "train",
                "premise": [f"p{j}" for j in range(n)],
                "hypothesis": second,
                "label": pl.Series(np.where(yes, "yes", "no")).cast(pl.Enum(["no", "yes"])),
            }
        )
        data = repeated(Instances(table, "pair", ("no", "yes")), copies)
        asked = trial(data, forest="fast", folds=5, seed=i)
        one = outcome(asked, leakage_features(graph_of(asked.data)))
        found["chain"] += one.score(asked).p_value <= ALPHA
        log_p = accuracy_log_p(np.floor(one.credits.sum()), n * copies, 0.5)
        found["hits of the cross-fit"] += bool(log_p <= np.log(ALPHA))
    return {name: count / sets for name, count in found.items()}


def whole_audit_level(
    draw: Callable[[int], Instances], sets: int, baseline: str, *, weights: str | None = None, seed: int = 0
) -> float:
    """Return how often a partial input is significant in the audit itself, where labels are random."""
    from cuecard.audits import PartialInput

    audit = PartialInput(learning_curve=False, cross_fit=False, weights=weights)
    rejected = 0
    for i in range(sets):
        lines = {line["name"]: line for line in audit.run(draw(seed + i)).summary["baselines"]}
        rejected += lines[baseline]["p_value"] <= ALPHA
    return rejected / sets


def slice_rejections(draw: Callable[[int], Instances], sets: int, *, seed: int = 0) -> float:
    """Return how often some rule is significant in some slice, by columns that have nothing to do with labels."""
    from cuecard.audits import Slices

    rejected = 0
    for i in range(sets):
        data = draw(seed + i)
        rng = np.random.default_rng([seed + i, 4])
        codes = data.example_codes
        columns = {
            name: pl.Series([f"{name} {value}" for value in rng.integers(0, many, data.n_examples)[codes]])
            for name, many in (("genre", 3), ("writer", 8))
        }
        rejected += bool(Slices().run(data.with_columns(**columns)).summary["significant"])
    return rejected / sets

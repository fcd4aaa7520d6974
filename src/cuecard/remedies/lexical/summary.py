"""What is said of lexical weights in numbers: what they balance, what they cost, and how they are spread."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from cuecard.remedies.lexical.balance_problem import Balanced, BalanceProblem
from cuecard.remedies.lexical.findings import otherwise_counted
from cuecard.remedies.lexical.held_out import chance_err_of_ngrams, random_ngrams
from cuecard.remedies.reaudits import Reaudit
from cuecard.stats.arrays import Floats
from cuecard.stats.entropy_balancing import BalancedWeights
from cuecard.stats.weighted import effective_sample_share

QUANTILES = (0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)


def lexical_summary(
    balanced: Balanced, strongest: BalanceProblem, again: Reaudit | None, seed: int
) -> dict[str, Any]:
    """Return the numbers about weights; `strongest` words and random n-grams are of the examples that are encoded."""
    solution, problem, weights = balanced.solution, balanced.problem, balanced.weights
    encoded = balanced.encoded
    constrained = problem.with_every_label()
    names = problem.features["feature"]
    judged = {
        "constrained": (problem.only(constrained), weights),
        "strongest_words": (strongest, weights),
        "random_bigrams": (random_ngrams(encoded, 2, names, seed), weights),
        "random_trigrams": (random_ngrams(encoded, 3, names, seed), weights),
    }
    by_family = problem.features.filter(pl.Series(constrained))["family"].value_counts()
    summary: dict[str, Any] = {
        "features": problem.features.height,
        "constrained": int(constrained.sum()),
        "families": dict(by_family.sort("family").iter_rows()),
        "skipped": balanced.skipped,
        "examples": len(weights),
        "ess": effective_sample_share(weights),
        "max_weight": float(weights.max()),
        "quantiles": dict(zip(map(str, QUANTILES), np.quantile(weights, QUANTILES).tolist(), strict=True)),
        "histogram": _histogram(weights),
        "err": {
            name: _judged(name, part, own, balanced.target, seed) for name, (part, own) in judged.items()
        },
        "target": dict(zip(problem.label_names, balanced.target.tolist(), strict=True)),
        "iterations": solution.iterations,
        "converged": solution.converged,
        "tokens": encoded.tokeniser,
        "language": encoded.language,
        "scope": encoded.scope,
        "cues": None
        if again is None
        else again.summary
        | {"counted": otherwise_counted(encoded.scope, encoded.tokeniser, encoded.language)},
    }
    if isinstance(solution, BalancedWeights):
        summary |= {
            "ridge": solution.ridge,
            "largest_residual": solution.largest_residual,
            "duality_gap": solution.duality_gap,
            "divergence": solution.divergence,
        }
    if problem.groups is None:
        shares = np.bincount(problem.labels, weights=weights) / weights.sum()
        summary["label_shares"] = dict(zip(problem.label_names, shares.tolist(), strict=True))
    return summary


def _judged(name: str, part: BalanceProblem, weights: Floats, target: Floats, seed: int) -> dict[str, Any]:
    """Return the distance of some features from the target, and what sampling explains of it."""
    judged: dict[str, Any] = {"features": part.features.height}
    by_weights = {"before": np.ones(len(weights)), "after": weights}
    judged |= {when: part.err(own, target) for when, own in by_weights.items()}
    for when, own in by_weights.items():
        judged[f"chance_{when}"] = (
            chance_err_of_ngrams(part, own, target, seed)
            if name.startswith("random_")
            else part.chance_err(own, target)
        )
    return judged


def _histogram(weights: Floats) -> list[dict[str, float]]:
    """Return bins of equal width in log weight, from the lightest to the heaviest."""
    low = max(float(weights.min()), 1e-3)
    edges = np.geomspace(low, max(float(weights.max()), low * 1.001), 41)
    counts, _ = np.histogram(np.clip(weights, edges[0], edges[-1]), bins=edges)
    return [
        {"from": float(a), "to": float(b), "examples": int(n)}
        for a, b, n in zip(edges[:-1], edges[1:], counts, strict=True)
    ]

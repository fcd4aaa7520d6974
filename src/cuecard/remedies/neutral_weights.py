"""Weights under which the pair graph says nothing about the label (Selection, Algorithm 1)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.analysis import Finding, Result, Skip
from cuecard.audits.pair_graph_scores import trial
from cuecard.data import Instances, Task
from cuecard.errors import InputError, UsageError
from cuecard.features.pair_graph import graph_of, leakage_features
from cuecard.remedies.weighted_audits import audits_before_and_after, chosen_audits
from cuecard.stats.counted_forest import cross_fitted, fold_numbers
from cuecard.stats.weighted import WeightedShare, effective_sample_size, weighted_share

FloatArray = npt.NDArray[np.float64]
QUANTILES = (0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)


@dataclass(frozen=True, eq=False)
class NeutralWeights:
    """A weight per row, mean 1, and what it rests on.

    Attributes:
        weights: `1 / P(S = y | l)`, so that label and leakage are independent; classes keep their share of weight.
        probabilities: cross-fitted `P(Y = y | l)` in the data, a column per label.
        labels: the labels, in the order of the columns.
        prior: `P(Y = y)` of the leakage-neutral world that keeps the classes' shares.
        infinite: rows whose label no tree thought possible; their weight would be infinite.
        clipped: rows whose weight was cut to `max_weight`.
    """

    weights: FloatArray
    probabilities: FloatArray
    labels: tuple[Any, ...]
    prior: FloatArray
    infinite: int
    clipped: int

    @property
    def effective_sample_size(self) -> float:
        """How many equally weighted rows these are worth."""
        return effective_sample_size(self.weights)


def leakage_neutral_weights(
    labels: npt.ArrayLike,
    leakage: npt.ArrayLike,
    *,
    folds: int = 100,
    trees: int = 1000,
    depth: int = 8,
    max_weight: float | None = None,
    seed: int = 0,
    threads: int | None = None,
) -> NeutralWeights:
    """Return weights under which the leakage features do not predict the label (Algorithm 1).

    `P(Y | l)` comes from cross-fitted random forests on the leakage features and their pairwise products. For two or
    more labels with intention S and prior π, equation 1 reads `P(S = y | l) ∝ P(Y = y | l) / π_y`, and the weight is
    1 / P(S = y | l).
    The prior that keeps every class's share of the weight is the only positive eigenvector of a small matrix; for two
    labels it is what bisection finds.

    Args:
        labels: the label of every row.
        leakage: features that reflect how rows were chosen, such as S1_freq, S2_freq, S1S2_inter; one row per label.
        folds: rows are predicted by forests on the other folds.
        trees: trees of every forest; identical rows are one point, so many are affordable.
        depth: largest depth of a tree.
        max_weight: largest weight allowed, in units of the mean; None allows any.
        seed: seed of folds and forests.
        threads: threads to use; the result does not depend on it.

    >>> rng = np.random.default_rng(0)
    >>> labels = rng.integers(0, 2, 4000)
    >>> frequency = rng.poisson(2 + labels)
    >>> found = leakage_neutral_weights(labels, frequency, folds=5, trees=50)
    >>> round(float(np.corrcoef(labels, frequency)[0, 1]), 2)
    0.3
    >>> abs(np.cov(labels, frequency, aweights=found.weights)[0, 1]) < 0.05
    True
    """
    classes, codes = np.unique(np.asarray(labels), return_inverse=True)
    rows = _checked(leakage, len(codes))
    if len(classes) < 2:
        raise InputError("Leakage-neutral weights need at least two labels, and all rows have the same one.")
    if not 2 <= folds <= len(codes):
        raise UsageError(f"folds must lie between 2 and the number of rows ({len(codes)}), and is {folds}.")
    if trees < 1 or depth < 1 or (max_weight is not None and max_weight <= 1):
        raise UsageError("trees and depth must be at least 1, and max_weight above the mean weight of 1.")
    probabilities = cross_fitted(
        with_products(rows),
        codes,
        n_labels=len(classes),
        folds=fold_numbers(len(codes), folds, seed=seed),
        trees=trees,
        depth=depth,
        seed=seed,
        threads=threads,
    )
    own = probabilities[np.arange(len(codes)), codes]
    infinite = int((own == 0).sum())
    if infinite:
        warnings.warn(
            f"{infinite:,} of {len(codes):,} weights would be infinite: no tree gave the row's label any chance at its "
            f"leakage features. Their probability is taken as 1/{trees + 1}; max_weight limits them further.",
            stacklevel=2,
        )
    weights, prior = weights_from_probabilities(
        codes, np.where(probabilities == 0, 1 / (trees + 1), probabilities)
    )
    clipped = 0
    if max_weight is not None:
        clipped = int((weights > max_weight).sum())
        weights = _limited(weights, codes, max_weight)
    return NeutralWeights(weights, probabilities, tuple(classes.tolist()), prior, infinite, clipped)


def weights_from_probabilities(
    codes: npt.NDArray[np.int64], probabilities: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the weights 1 / P(S = y | l), mean 1, and the prior π under which classes keep their share of weight.

    With a = 1/π, w_i = Σ_k a_k p_ik / (a_y p_iy). Class y keeps its share if Σ_k M_yk a_k = c a_y for every y, where
    M_yk is the mean of p_ik / p_iy over the class: a is the Perron vector of M, and c the mean weight.
    """
    own = probabilities[np.arange(len(codes)), codes]
    ratios = probabilities / own[:, None]
    means = np.array([ratios[codes == y].mean(axis=0) for y in range(probabilities.shape[1])])
    values, vectors = np.linalg.eig(means)
    inverse_prior = np.abs(vectors[:, int(values.real.argmax())].real)
    weights = (ratios @ inverse_prior) / inverse_prior[codes]
    prior = 1 / inverse_prior
    return weights / weights.mean(), prior / prior.sum()


def with_products(leakage: FloatArray) -> FloatArray:
    """Return the features followed by the products of every two of them, which the paper's weights use."""
    first, second = np.triu_indices(leakage.shape[1], 1)
    return np.column_stack([leakage, leakage[:, first] * leakage[:, second]])


def _checked(leakage: npt.ArrayLike, n: int) -> FloatArray:
    rows = np.asarray(leakage, dtype=np.float64)
    rows = rows[:, None] if rows.ndim == 1 else rows
    if rows.ndim != 2 or len(rows) != n:
        raise InputError(
            f"There are {n:,} labels and {len(rows):,} rows of leakage features; they must be as many."
        )
    if not np.isfinite(rows).all():
        raise InputError(
            "The leakage features have missing or infinite values; fill or drop these rows first."
        )
    return rows


def _limited(weights: FloatArray, codes: npt.NDArray[np.int64], largest: float) -> FloatArray:
    """Return weights of at most `largest`; what is cut goes to the rest of the same class, in proportion."""
    limited = weights.copy()
    for y in np.unique(codes):
        mine = weights[codes == y]
        low, high = 1.0, max(largest / mine.min(), 1.0)
        for _ in range(100):
            middle = np.sqrt(low * high)
            low, high = (
                (middle, high) if np.minimum(middle * mine, largest).sum() < mine.sum() else (low, middle)
            )
        limited[codes == y] = np.minimum(high * mine, largest)
    return limited


@dataclass(frozen=True)
class NeutralWeighting:
    """Weigh the examples so that the pair graph does not give the label away.

    The graph is of all splits, as whoever has the files can build it; how it goes with the label is estimated for
    every split from its own labels, and weights have mean 1 in each.

    Args:
        folds, trees, depth, max_weight, seed: as in `leakage_neutral_weights`.
        reaudit: audits of the train split to repeat under the weights, or "all".
    """

    name: ClassVar[str] = "neutral_weights"
    title: ClassVar[str] = "Leakage-neutral weights"
    tasks: ClassVar[frozenset[Task]] = frozenset({"pair"})

    folds: int = 100
    trees: int = 1000
    depth: int = 8
    max_weight: float | None = None
    seed: int = 0
    reaudit: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check the names at once, so that a typo costs no time."""
        chosen_audits(self.reaudit)

    def run(self, data: Instances) -> Result:
        """Return a weight for every example of every split, and the leak before and after."""
        if len(data) < 2:
            raise Skip("there are fewer than two pairs")
        features = leakage_features(graph_of(data))
        splits = self._by_split(data, features)
        main = splits.get("train") or next(iter(splits.values()))
        all_weights = np.ones(len(data))
        for name, found in splits.items():
            all_weights[_rows_of(data, name)] = found.weights
        effective = effective_sample_size(all_weights)
        asked = trial(data, forest="fast", folds=5, seed=self.seed)
        credits = asked.credits(features)
        weights = all_weights[asked.scored]
        labels = data.label_codes[asked.scored]
        shares = np.bincount(labels, weights=weights) / weights.sum()
        before = weighted_share(credits, np.ones(len(credits)))
        after = weighted_share(credits, weights)
        summary = {
            "examples": len(data),
            "effective_sample_size": effective,
            "effective_share": effective / len(data),
            "smallest": float(all_weights.min()),
            "largest": float(all_weights.max()),
            "quantiles": dict(zip(map(str, QUANTILES), np.quantile(all_weights, QUANTILES).tolist(), strict=True)),
            "infinite": sum(found.infinite for found in splits.values()),
            "clipped": sum(found.clipped for found in splits.values()),
            "prior": {data.labels[int(y)]: float(p) for y, p in zip(main.labels, main.prior, strict=True)},
            "unweighted_splits": [name for name in data.splits if name not in splits],
            "leakage_accuracy": {"unweighted": _described(before), "weighted": _described(after)},
            "majority": {"unweighted": asked.chance, "weighted": float(shares.max())},
        }  # fmt: skip
        keys = data.table.select("example_id", pl.col("split").cast(pl.String))
        examples = keys.with_columns(weight=pl.Series(all_weights))
        tables = {"neutral_weights": examples}
        findings = [_finding(summary, before, after)]
        if names := chosen_audits(self.reaudit):
            of_train = all_weights[_rows_of(data, "train")]
            audited = audits_before_and_after(data.train, of_train, names, seed=self.seed)
            tables["reaudit"] = audited.table
            findings += audited.findings(self.name)
        return Result(summary, tables, findings, examples)

    def _by_split(self, data: Instances, features: npt.NDArray[Any]) -> dict[str, NeutralWeights]:
        """Return the weights of every split from its own labels, so that train knows nothing of test's.

        A split that is not train and has one label only, so that nothing can be balanced, is left out.
        """
        found = {}
        for name in data.splits:
            rows = _rows_of(data, name)
            labels = data.label_codes[rows]
            if name != "train" and len(data.splits) > 1 and len(np.unique(labels)) < 2:
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # said in the summary and the finding instead
                found[name] = leakage_neutral_weights(
                    labels, features[rows], folds=min(self.folds, len(labels)), trees=self.trees, depth=self.depth,
                    max_weight=self.max_weight, seed=self.seed,
                )  # fmt: skip
        if not found:
            raise Skip("no split has two labels")
        return found


def _rows_of(data: Instances, split: str) -> npt.NDArray[np.bool_]:
    return (data.table["split"].cast(pl.String) == split).to_numpy()


def _described(found: WeightedShare) -> dict[str, float]:
    return {"accuracy": found.share, "low": found.low, "high": found.high}


def _finding(summary: dict[str, Any], before: WeightedShare, after: WeightedShare) -> Finding:
    text = (
        f"With these weights, the forest on sentence frequencies is right on {100 * after.share:.1f} % instead of "
        f"{100 * before.share:.1f} % (majority {100 * summary['majority']['weighted']:.1f} %). The weights keep "
        f"{100 * summary['effective_share']:.0f} % of the effective sample size and lie between "
        f"{summary['smallest']:.2g} and {summary['largest']:.4g}."
    )
    if summary["infinite"]:
        text += f" {summary['infinite']:,} of them would have been infinite and rest on a forest's smallest chance."
    return Finding(
        "neutral_weights", "info", "Weights that balance the pair graph", text, after.share, after.low, after.high,
        summary["majority"]["weighted"], after.n,
    )  # fmt: skip

"""A paired logistic model of the choice on differences of style, with errors over prompts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from cuecard.analysis import MeasureKind, Result, Skip
from cuecard.audits.partial_input.metadata import slice_columns
from cuecard.audits.style.covariates import Covariates, model_names, style_covariates
from cuecard.audits.style.findings import style_findings
from cuecard.audits.style.measures import KINDS, style_measures
from cuecard.audits.style.models import controlled_win_rates
from cuecard.data import Instances, Task
from cuecard.data.examples import Examples
from cuecard.data.weights import unequal_weights
from cuecard.errors import UsageError
from cuecard.stats import q_values
from cuecard.stats.arrays import Floats, Ints
from cuecard.stats.preferences.conditional_logit import choice_probabilities, conditional_logit
from cuecard.stats.scores.cross_fit_intervals import cross_fit_inflation, mean_interval

FEWEST_EXAMPLES = 50
#: Slices this small are not modelled.
FEWEST_IN_SLICE = 100


@dataclass(frozen=True)
class Style:
    """Model which response is preferred by the differences of length, formatting, hedges, sentiment and refusals.

    Coefficients are per standard deviation of the difference, with cluster-robust intervals over prompts. Accuracy and
    information are cross-fitted over prompts. Where a column names the model that wrote each response, win rates and
    ranks at equal style are estimated, too (Bradley–Terry).

    Args:
        folds: folds of the cross-fit.
        alpha: a coefficient differs from 0 if its q-value over all covariates is at most this.
        seed: of the folds and of the draws for win rates.
        weights: extra column that holds every example's weight.
    """

    name: ClassVar[str] = "style"
    title: ClassVar[str] = "Style"
    tasks: ClassVar[frozenset[Task]] = frozenset({"preference"})
    measures: ClassVar[tuple[MeasureKind, ...]] = KINDS
    measured = staticmethod(style_measures)
    parallel: ClassVar[bool] = True

    folds: int = 5
    alpha: float = 0.05
    seed: int = 0
    weights: str | None = None

    def __post_init__(self) -> None:
        """Check the folds at once."""
        if self.folds < 2:
            raise UsageError(f"style.folds must be at least 2, not {self.folds}.")

    def run(self, data: Instances) -> Result:
        """Return coefficients, what they explain overall and in every slice, and win rates at equal style."""
        row_weights = unequal_weights(data, self.weights)
        if row_weights is not None:
            data = data.rows(row_weights > 0)
            row_weights = row_weights[row_weights > 0]
        examples = Examples.of_rows(data, row_weights)
        if len(examples) < FEWEST_EXAMPLES:
            raise Skip(f"needs at least {FEWEST_EXAMPLES} preferences, found {len(examples)}")
        covariates = style_covariates(examples)
        if not covariates.names:
            raise Skip(
                "needs responses that differ in length or formatting; those of every example are alike"
            )
        clusters = _prompt_units(examples) if _have_prompts(examples) else examples.units("choices")
        prompts = len(np.unique(clusters))
        if prompts < self.folds:
            raise Skip(f"needs preferences about at least {self.folds} prompts, found {prompts}")
        table, fitted = self._coefficients(examples, covariates, clusters)
        probability = self._cross_fit(examples, covariates, clusters)
        chance = 1 / examples.sizes
        score = _hits(examples, probability)
        bits = np.log2(np.maximum(probability[examples.right_rows], 1e-9)) - np.log2(chance)
        inflation = cross_fit_inflation(self.folds)
        summary: dict[str, Any] = {
            "n": len(examples),
            "distinct": len(np.unique(examples.units("choices"))),
            "clusters": fitted["clusters"],
            "chance": float(np.average(chance, weights=examples.weights)),
            "accuracy": _with_ends(score, clusters, examples.weights, inflation),
            "information": _with_ends(bits, clusters, examples.weights, inflation),
            "pseudo_r2": fitted["pseudo_r2"],
            "p_value": fitted["p_value"],
            "penalty": fitted["penalty"],
            "coefficients": table.to_dicts(),
            "left_out": list(covariates.left_out),
            "alpha": self.alpha,
        }
        tables = {"style_coefficients": table}
        slices = self._slices(examples, covariates, clusters, score, bits)
        if slices.height:
            tables["style_slices"] = slices
        models = model_names(examples)
        if models is not None:
            rates = controlled_win_rates(examples, models, covariates.matrix, clusters, self.seed)
            tables["style_models"] = rates
            summary["models"] = rates.to_dicts()
        smallest = float(table["q_value"].to_numpy().min())
        return Result(
            summary, tables, style_findings(summary), None, style_measures(summary), smallest_q=smallest
        )

    def _coefficients(
        self, examples: Examples, covariates: Covariates, clusters: Ints
    ) -> tuple[pl.DataFrame, dict[str, Any]]:
        fit = conditional_logit(
            covariates.matrix,
            examples.first_rows[:-1],
            examples.right_rows,
            clusters=clusters,
            weights=examples.weights,
        )
        low, high = fit.interval()
        p = fit.p_values()
        table = pl.DataFrame(
            {
                "feature": list(covariates.names),
                "coefficient": fit.coefficients,
                "low": low,
                "high": high,
                "odds_ratio": np.exp(fit.coefficients),
                "error": fit.errors,
                "naive_error": np.sqrt(np.maximum(np.diag(fit.naive), 0.0)),
                "differing": covariates.differing,
                "unit": covariates.scale,
                "p_value": p,
                "q_value": q_values(np.log(np.maximum(p, 1e-300))),
            }
        ).sort(pl.col("coefficient").abs(), descending=True)
        return table, {
            "clusters": fit.clusters,
            "pseudo_r2": fit.pseudo_r2,
            "p_value": fit.wald_p(),
            "penalty": fit.penalty,
        }

    def _cross_fit(self, examples: Examples, covariates: Covariates, clusters: Ints) -> Floats:
        """Return the probability of every answer by a model that saw no example of its prompt."""
        codes = np.unique(clusters, return_inverse=True)[1]
        rng = np.random.default_rng(self.seed)
        fold = (rng.permutation(int(codes.max()) + 1) % self.folds)[codes]
        row_fold = np.repeat(fold, examples.sizes)
        probability = np.zeros(len(covariates.matrix))
        for k in range(self.folds):
            held, learn = np.flatnonzero(fold == k), np.flatnonzero(fold != k)
            if not len(held):
                continue
            part = examples.take(learn)
            fit = conditional_logit(
                covariates.matrix[row_fold != k],
                part.first_rows[:-1],
                part.right_rows,
                weights=part.weights,
            )
            test = examples.take(held)
            utilities = covariates.matrix[row_fold == k] @ fit.coefficients
            probability[row_fold == k] = choice_probabilities(utilities, test.first_rows[:-1])
        return probability

    def _slices(
        self, examples: Examples, covariates: Covariates, clusters: Ints, score: Floats, bits: Floats
    ) -> pl.DataFrame:
        """Return accuracy and information of the model on every slice, and the coefficient of length there."""
        length = covariates.names.index("length") if "length" in covariates.names else None
        inflation = cross_fit_inflation(self.folds)
        rows = []
        for column in slice_columns(examples, (self.weights, examples.instances.cluster)):
            for value in column.drop_nulls().unique().sort():
                inside = np.flatnonzero((column == value).fill_null(False).to_numpy())
                if not FEWEST_IN_SLICE <= len(inside) < len(examples):
                    continue
                part = examples.take(inside)
                accuracy = _with_ends(score[inside], clusters[inside], part.weights, inflation)
                row = {
                    "column": column.name,
                    "value": str(value),
                    "n": len(inside),
                    "accuracy": accuracy["value"],
                    "low": accuracy["low"],
                    "high": accuracy["high"],
                    "chance": float(np.mean(1 / part.sizes)),
                    "information": float(np.average(bits[inside], weights=part.weights)),
                }
                if length is not None:
                    within = conditional_logit(
                        covariates.matrix[examples.rows(inside)][:, [length]],
                        part.first_rows[:-1],
                        part.right_rows,
                        clusters=clusters[inside],
                        weights=part.weights,
                    )
                    low, high = within.interval()
                    row |= {
                        "length": float(within.coefficients[0]),
                        "length_low": float(low[0]),
                        "length_high": float(high[0]),
                    }
                rows.append(row)
        return pl.DataFrame(rows)


def _have_prompts(examples: Examples) -> bool:
    filled = (examples.of_first_rows("premise").str.len_chars() > 0).to_numpy()
    return 2 * int(filled.sum()) > len(filled)


def _prompt_units(examples: Examples) -> Ints:
    """Return a number per example that the copies of its prompt share.

    Near copies are one prompt, unless half of all examples are near copies of each other: they share a system prompt or
    a template then, and only identical ones are one prompt.
    """
    units = examples.units("premise")
    sizes = np.bincount(units)
    if examples.instances.cluster is not None or 2 * int(sizes.max()) <= len(units):
        return units
    identical = examples.of_first_rows("premise").rank("dense").to_numpy().astype(np.int64)
    return np.where(units == sizes.argmax(), len(sizes) + identical, units)


def _hits(examples: Examples, probability: Floats) -> Floats:
    """Return 1 where the chosen answer is the likeliest, and its share where several are."""
    starts, sizes = examples.first_rows[:-1], examples.sizes
    best = np.repeat(np.maximum.reduceat(probability, starts), sizes)
    named = probability >= best - 1e-12
    return np.asarray(named[examples.right_rows] / np.add.reduceat(named.astype(np.int64), starts))


def _with_ends(values: Floats, units: Ints, weights: Floats | None, inflation: float) -> dict[str, float]:
    value, low, high = mean_interval(values, units=units, weights=weights, inflation=inflation)
    return {"value": value, "low": low, "high": high}

"""How much of a preference does style explain? A logistic model of the choice on differences of style."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from cuecard.analysis import Finding, Measure, MeasureKind, Result, Severity, Skip, Summary, severity_of
from cuecard.audits.partial_input.slices import slice_columns
from cuecard.audits.repetition import with_distinct_texts
from cuecard.audits.style_view import style_view
from cuecard.data import Instances, Task
from cuecard.data.examples import Examples
from cuecard.data.splits import join_units, number_groups
from cuecard.data.weights import unequal_weights
from cuecard.errors import UsageError
from cuecard.features.style import Covariates, model_names, style_covariates
from cuecard.features.units import similar_rows
from cuecard.stats import q_values, state_probability
from cuecard.stats.arrays import Floats, Ints
from cuecard.stats.preferences.conditional_logit import (
    ConditionalLogit,
    choice_probabilities,
    conditional_logit,
)
from cuecard.stats.preferences.win_rates import controlled_win_rates
from cuecard.stats.scores.cross_fit_intervals import cross_fit_inflation, mean_interval
from cuecard.text import encode
from cuecard.wording import listed, percent, plural

NAME = "style"
ACCURACY = MeasureKind("accuracy", "style-only accuracy", "share", "higher", key=True)
PSEUDO_R2 = MeasureKind("pseudo_r2", "McFadden's pseudo-R² of style", "score", "higher")
INFORMATION = MeasureKind("information", "pointwise V-information of style", "bits", "higher")
COEFFICIENT = MeasureKind(
    "{feature}.coefficient", "log odds ratio of {feature} per standard deviation", "score"
)
RANK_CHANGE = MeasureKind("{model}.rank_change", "rank of {model} gained at equal style", "count")
KINDS = (ACCURACY, PSEUDO_R2, INFORMATION, COEFFICIENT, RANK_CHANGE)


def style_measures(summary: Summary) -> list[Measure]:
    """Return the measures of a summary."""
    n = summary["n"]
    measures = [
        ACCURACY.of(NAME, **summary["accuracy"], chance=summary["chance"], n=n),
        PSEUDO_R2.of(NAME, summary["pseudo_r2"], chance=0.0, n=n),
        INFORMATION.of(NAME, **summary["information"], chance=0.0, n=n),
    ]
    measures += [
        COEFFICIENT.of(NAME, row["coefficient"], **_ends(row, ""), n=row["differing"], feature=row["feature"])
        for row in summary["coefficients"]
    ]
    measures += [
        RANK_CHANGE.of(NAME, row["rank_change"], **_ends(row, "rank_change_"), n=row["n"], model=row["model"])
        for row in summary.get("models", [])
    ]
    return measures


def _ends(row: Summary, prefix: str) -> Summary:
    return {"low": row[f"{prefix}low"], "high": row[f"{prefix}high"], "chance": 0.0}


FEWEST_EXAMPLES = 50
#: Slices this small are not modelled.
FEWEST_IN_SLICE = 100
#: Covariates that a sentence names.
NAMED = 3
PHRASES = {
    "length": ("longer", "shorter"),
    "headings": ("with more headings", "with fewer headings"),
    "bold": ("with more bold text", "with less bold text"),
    "lists": ("with more list items", "with fewer list items"),
    "code": ("with more code", "with less code"),
    "emoji": ("with more emoji", "with fewer emoji"),
    "hedges": ("with more hedges", "with fewer hedges"),
    "refusals": ("with more refusal phrases", "with fewer refusal phrases"),
    "sentiment": ("with more positive words", "with more negative words"),
    "first_position": ("shown first", "shown second"),
}


def style_findings(summary: Summary) -> list[Finding]:
    """Return how well style alone predicts the choice, and models whose rank depends on it."""
    return [_explained(summary), *_ranks(summary)]


def _explained(summary: Summary) -> Finding:
    accuracy, chance = summary["accuracy"], summary["chance"]
    copies = with_distinct_texts(summary["n"], summary["distinct"], "preference")
    text = (
        f"Differences in style predict the preferred response with an accuracy of {percent(accuracy['value'])} "
        f"(cross-fitted, 95 % CI {percent(accuracy['low'])} to {percent(accuracy['high'])}; chance "
        f"{percent(chance)}) on {plural(summary['n'], 'preference')}{copies}; pseudo-R² "
        f"{summary['pseudo_r2']:z.3f}, {summary['information']['value']:z.3f} bits "
        f"({state_probability('p', summary['p_value'])} for all covariates)."
    )
    clear = [row for row in summary["coefficients"] if row["q_value"] <= summary["alpha"]]
    if summary["p_value"] > summary["alpha"] or not clear or accuracy["low"] <= chance:
        title = "Style does not surely predict the preference"
        severity: Severity = "info"
    else:
        severity = severity_of(max(0.0, (accuracy["low"] - chance) / (1 - chance)))
        title = f"Style predicts the preference: {_winners(clear[0])} win"
    return Finding(
        NAME,
        severity,
        title,
        text + _drivers(clear),
        **accuracy,
        chance=chance,
        n=summary["n"],
        key="style",
        q_value=min((row["q_value"] for row in summary["coefficients"]), default=None),
    )


def _drivers(clear: list[Summary]) -> str:
    parts = []
    for row in clear[:NAMED]:
        size, low, high = (abs(row[key]) for key in ("coefficient", "low", "high"))
        low, high = sorted((low, high))
        parts.append(
            f"{_winners(row)} (log odds ratio {size:z.2f} per SD, 95 % CI {low:z.2f} to {high:z.2f})"
        )
    return f" With the other features held equal, {listed(parts)} win more often." if parts else ""


def _winners(row: Summary) -> str:
    """Return which of two responses is preferred, by one feature: "shorter responses"."""
    more, less = PHRASES[row["feature"]]
    phrase = more if row["coefficient"] > 0 else less
    return f"responses {phrase}" if phrase.startswith(("with", "shown")) else f"{phrase} responses"


def _ranks(summary: Summary) -> list[Finding]:
    if summary["p_value"] > summary["alpha"]:  # without an effect of style no win rate depends on it
        return []
    models = summary.get("models", [])
    moved = [row for row in models if row["change_low"] > 0 or row["change_high"] < 0]
    if not moved:
        return []
    row = max(moved, key=lambda row: abs(row["change"]))
    text = (
        f"At equal style, the win rate of {row['model']} changes from {percent(row['plain'])} to "
        f"{percent(row['controlled'])} (change {row['change'] * 100:+z.1f} points, 95 % CI "
        f"{row['change_low'] * 100:+z.1f} to {row['change_high'] * 100:+z.1f}), its rank from {row['rank']} to "
        f"{row['controlled_rank']} of {len(models)}. The win rates of {plural(len(moved), 'model')} depend on style."
    )
    title = f"Win rates of {plural(len(moved), 'model')} depend on style"
    return [
        Finding(
            NAME,
            "low",
            title,
            text,
            *(row["change"], row["change_low"], row["change_high"], 0.0, row["n"]),
            key="models",
            unit="points",
            role="flaw",
        )
    ]


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
    view = staticmethod(style_view)
    measures: ClassVar[tuple[MeasureKind, ...]] = KINDS
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
        clusters = _with_similar_responses(examples, _prompt_units(examples))
        prompts = len(np.unique(clusters))
        if prompts < self.folds:
            raise Skip(f"needs preferences about at least {self.folds} prompts, found {prompts}")
        fit = conditional_logit(
            covariates.matrix,
            examples.first_rows[:-1],
            examples.right_rows,
            clusters=clusters,
            weights=examples.weights,
        )
        table = coefficient_table(fit, covariates)
        probability = self._cross_fit(examples, covariates, clusters)
        chance = 1 / examples.sizes
        score = _hits(examples, probability)
        bits = np.log2(np.maximum(probability[examples.right_rows], 1e-9)) - np.log2(chance)
        inflation = cross_fit_inflation(self.folds)
        summary = {
            "n": len(examples),
            "distinct": len(np.unique(examples.units("choices"))),
            "clusters": fit.clusters,
            "chance": float(np.average(chance, weights=examples.weights)),
            "accuracy": _with_ends(score, clusters, examples.weights, inflation),
            "information": _with_ends(bits, clusters, examples.weights, inflation),
            "pseudo_r2": fit.pseudo_r2,
            "p_value": fit.wald_p(),
            "penalty": fit.penalty,
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
            names = models.unique().sort()
            rates = controlled_win_rates(
                models.replace_strict(names, np.arange(len(names))).to_numpy(),
                covariates.matrix,
                examples.first_rows[:-1],
                examples.right_rows,
                clusters=clusters,
                weights=examples.weights,
                seed=self.seed,
            )
            tables["style_models"] = pl.DataFrame({"model": names, **rates}).sort(
                "controlled", descending=True
            )
            summary["models"] = tables["style_models"].to_dicts()
        smallest = float(table["q_value"].to_numpy().min())
        settled = {"extras": "english" if "sentiment" in (*covariates.names, *covariates.left_out) else ""}
        return Result(
            summary, tables, style_findings(summary), None, style_measures(summary), settled, smallest
        )

    def _cross_fit(self, examples: Examples, covariates: Covariates, clusters: Ints) -> Floats:
        """Return the probability of every answer by a model that saw no example of its prompt."""
        codes = np.unique(clusters, return_inverse=True)[1]
        rng = np.random.default_rng(self.seed)
        fold = (rng.permutation(int(codes.max()) + 1) % self.folds)[codes]
        row_fold = np.repeat(fold, examples.sizes)
        probability = np.zeros(len(covariates.matrix))
        for k in range(self.folds):
            test, train = (examples.take(np.flatnonzero(where)) for where in (fold == k, fold != k))
            if not len(test):
                continue
            fit = conditional_logit(
                covariates.matrix[row_fold != k],
                train.first_rows[:-1],
                train.right_rows,
                weights=train.weights,
            )
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


def coefficient_table(fit: ConditionalLogit, covariates: Covariates) -> pl.DataFrame:
    """Return every covariate's log odds ratio with its interval and test, the largest first."""
    low, high = fit.interval()
    p = fit.p_values()
    return pl.DataFrame(
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


def _prompt_units(examples: Examples) -> Ints:
    """Return a number per example that the copies of its prompt share, or those of its responses without prompts.

    Near copies are one prompt, unless half of all examples are near copies of each other: they share a system prompt or
    a template then, and only identical ones are one prompt.
    """
    if 2 * int((examples.of_first_rows("premise").str.len_chars() > 0).sum()) <= len(examples):
        return examples.units("choices")
    units = examples.units("premise")
    sizes = np.bincount(units)
    if examples.instances.cluster is not None or 2 * int(sizes.max()) <= len(units):
        return units
    identical = examples.of_first_rows("premise").rank("dense").to_numpy().astype(np.int64)
    return np.where(units == sizes.argmax(), len(sizes) + identical, units)


def _with_similar_responses(examples: Examples, units: Ints) -> Ints:
    """Return units that examples share whose responses are copies, or similar where such texts correlate.

    Those are similar whose responses all are. Where prompts and responses in common would join more than half of all
    examples, one of these counts: the one that leaves the fewest observations.
    """
    data = examples.instances
    joined = [units, examples.units("choices")]
    similar = similar_rows(encode(data), "hypothesis")
    if similar is not None:
        rows = np.concatenate([similar, int(similar.max()) + 1 + np.arange(len(data) - len(similar))])
        of_rows = pl.DataFrame({"example": data.example_codes, "text": rows})
        texts = of_rows.group_by("example").agg(pl.col("text").sort().cast(pl.String).str.join(" "))
        joined.append(texts.sort("example")["text"].rank("dense").to_numpy().astype(np.int64) - 1)
    leader = np.arange(len(examples))
    for codes in joined:
        join_units(codes[data.example_codes], None, data.example_codes, leader)
    number_groups(leader)
    if 2 * int(np.bincount(leader).max()) <= len(leader):
        return leader
    return max(joined, key=lambda codes: int((np.bincount(codes) ** 2).sum()))


def _hits(examples: Examples, probability: Floats) -> Floats:
    """Return 1 where the chosen answer is the likeliest, and its share where several are."""
    starts, sizes = examples.first_rows[:-1], examples.sizes
    best = np.repeat(np.maximum.reduceat(probability, starts), sizes)
    named = probability >= best - 1e-12
    return np.asarray(named[examples.right_rows] / np.add.reduceat(named.astype(np.int64), starts))


def _with_ends(values: Floats, units: Ints, weights: Floats | None, inflation: float) -> dict[str, float]:
    value, low, high = mean_interval(values, units=units, weights=weights, inflation=inflation)
    return {"value": value, "low": low, "high": high}

"""What the words of one text, lengths and overlap say about a score, whose classes a threshold makes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from cuecard.analysis import Finding, Measure, MeasureKind, Need, Result, Severity, Skip
from cuecard.data import COLUMNS, Instances, Task
from cuecard.data.layout.labels import parse_threshold
from cuecard.stats.arrays import Floats, Ints
from cuecard.text.encoded import encoded_texts
from cuecard.text.tokens import Tokens, presence
from cuecard.view import Axis, Column, Intervals, KeyFigure, Outcome, Table, View, interval_columns
from cuecard.wording import plural

NAME = "scores"
CORRELATION = MeasureKind(
    "{predictor}.rank_correlation", "rank correlation of {predictor} with the score", "score"
)
#: Predictors that a score of two texts should not depend on; overlap may belong to the task.
BLIND = ("hypothesis_only", "premise_only", "hypothesis_length", "premise_length")
#: Folds, groups of predictions whose mean scores are compared, and the strength of the ridge.
FOLDS, GROUPS, RIDGE = 5, 5, 10.0
#: Examples with a score below which nothing is learned.
FEWEST = 30
_HIGH, _MEDIUM = 0.3, 0.1
#: The normal quantile of 0.05 over four tests, by that of one.
_WIDER = 2.4977 / 1.96
_COLUMNS = {
    "predictor": Column("Predictor"),
    "correlation": Column("Rank correlation", "number", "Spearman's, with the score"),
    **interval_columns(kind="number"),
    "n": Column("Examples", "count"),
}
_CALIBRATION = {
    "predictor": Column("Predictor"),
    "group": Column("Fifth", "count", "of the predictions, the lowest first"),
    "predicted": Column("Predicted", "number", "mean of the predicted scores"),
    "score": Column("Score", "number", "mean of the scores"),
    **interval_columns(kind="number", of="the mean score"),
    "n": Column("Examples", "count"),
}


def score_column(data: Instances) -> str | None:
    """Return the column of numbers whose threshold makes the labels; None where the labels are not made so."""
    threshold = parse_threshold(data.report.recognised.get("label", ""))
    if threshold is None:
        return None
    # A column named as one of the table's own is kept beside it, where the file was read.
    name = f"original_{threshold.column}" if threshold.column in COLUMNS else threshold.column
    return name if name in data.table.columns else None


def scores_view(outcome: Outcome) -> View:
    """Return the rank correlations with their intervals, and how well the predictions are calibrated."""
    summary = outcome.summary
    return View(
        lead=(
            f"Rank correlation of predictors that see no meaning with {summary['column']!r}, on "
            f"{plural(summary['examples'], 'example')}. Word predictors are cross-fitted ridge regressions.",
        ),
        figures=[
            KeyFigure(f"{row['predictor']}: rank correlation", f"{row['correlation']:.2f}")
            for row in outcome.tables[NAME].head(2).iter_rows(named=True)
        ],
        charts=[
            Intervals(
                title="Rank correlation with the score",
                data=outcome.tables[NAME],
                y="predictor",
                x=Axis("correlation", "rank correlation", "number", domain=(-1, 1)),
                low="low",
                high="high",
                line=0.0,
                alt="Rank correlation of each blind predictor with the score, with 95 % CI.",
                caption="● Spearman's correlation with 95 % CI; copies of a text count once in the CI.",
            )
        ],
        tables=[Table("Predictors", NAME, _COLUMNS), Table("Calibration", "calibration", _CALIBRATION)],
    )


@dataclass(frozen=True)
class Scores:
    """How well words of one text, lengths and overlap predict a score.

    It runs where a threshold makes the labels (`--labels 'score>3.6'`), and sees the scores themselves.
    """

    name: ClassVar[str] = NAME
    title: ClassVar[str] = "Scores"
    tasks: ClassVar[frozenset[Task]] = frozenset({"pair", "text"})
    needs: ClassVar[frozenset[Need]] = frozenset()
    measures: ClassVar[tuple[MeasureKind, ...]] = (CORRELATION,)
    view = staticmethod(scores_view)

    def run(self, data: Instances) -> Result:
        """Return the rank correlation of every predictor with the score, and the calibration of the learned ones."""
        column = score_column(data)
        if column is None:
            raise Skip("needs scores: make labels of them with a threshold, --labels 'score>3.6'")
        raw = data.table[column]
        if isinstance(raw.dtype, pl.Enum | pl.Categorical):
            raw = raw.cast(pl.String)
        scores = raw.cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy()
        if np.isfinite(scores).sum() < FEWEST:
            raise Skip(
                f"needs at least {FEWEST} examples with a score, found {int(np.isfinite(scores).sum())}"
            )
        units = data.units("example" if data.task == "pair" else "hypothesis")
        rows, calibration, measures = [], [], []
        for predictor, values in _predictors(data, scores, units):
            known = np.isfinite(scores) & np.isfinite(values)
            if known.sum() < FEWEST or np.ptp(values[known]) == 0:
                continue
            learned = predictor.endswith("_only")
            n_units = len(np.unique(units[known]))
            value, low, high = rank_correlation(values[known], scores[known], n_units, cross_fitted=learned)
            rows.append(
                {
                    "predictor": predictor,
                    "correlation": value,
                    "low": low,
                    "high": high,
                    "n": int(known.sum()),
                }
            )
            measures.append(
                CORRELATION.of(
                    NAME, value, low=low, high=high, chance=0.0, n=int(known.sum()), predictor=predictor
                )
            )
            if learned:
                calibration.append(_calibration(predictor, values[known], scores[known]))
        table = pl.DataFrame(rows).sort(pl.col("correlation").abs(), descending=True)
        tables = {NAME: table, **({"calibration": pl.concat(calibration)} if calibration else {})}
        summary = {"column": column, "examples": int(np.isfinite(scores).sum())}
        return Result(summary, tables, list(_findings(measures)), measures=measures)


def rank_correlation(
    values: Floats, scores: Floats, units: int, *, cross_fitted: bool = False
) -> tuple[float, float, float]:
    """Return Spearman's correlation with its 95 % CI (Bonett and Wright's variance) for a number of independent units.

    Cross-fitted predictions have twice that variance: two examples of different folds predict each other, so that what
    they share counts twice.

    >>> [round(v, 2) for v in rank_correlation(np.arange(50.0), np.arange(50.0) % 25, 50)]
    [0.5, 0.24, 0.69]
    """
    from scipy.stats import rankdata

    value = float(np.corrcoef(rankdata(values), rankdata(scores))[0, 1])
    half = 1.959964 * np.sqrt((1 + cross_fitted) * (1 + value**2 / 2) / max(units - 3, 1))
    low, high = np.tanh(np.arctanh(np.clip(value, -0.999999, 0.999999)) + np.array([-half, half]))
    return value, float(low), float(high)


def _predictors(data: Instances, scores: Floats, units: Ints) -> Iterator[tuple[str, Floats]]:
    """Yield the name of every predictor with its prediction for each row."""
    texts = encoded_texts(data, "default")
    hypothesis = _matrix(texts.hypothesis)
    yield "hypothesis_only", _cross_fitted(hypothesis, scores, units)
    yield "hypothesis_length", np.diff(texts.hypothesis.offsets).astype(np.float64)
    if data.task != "pair":
        return
    premise = _matrix(texts.premise)
    yield "premise_only", _cross_fitted(premise, scores, units)
    yield "premise_length", np.diff(texts.premise.offsets).astype(np.float64)
    shared = np.asarray(hypothesis.multiply(premise).sum(axis=1)).ravel()
    either = np.diff(hypothesis.indptr) + np.diff(premise.indptr) - shared
    yield "overlap", np.where(either > 0, shared / np.maximum(either, 1), np.nan)


def _matrix(tokens: Tokens) -> csr_array:
    indptr, indices = presence(tokens)
    return csr_array((np.ones(len(indices)), indices, indptr), shape=(len(indptr) - 1, tokens.n_types))


def _cross_fitted(matrix: csr_array, scores: Floats, units: Ints) -> Floats:
    """Return the scores that a ridge regression on words predicts, learned on other units."""
    from sklearn.linear_model import Ridge

    order = np.random.default_rng(0).permutation(int(units.max()) + 1)
    folds = order[units] % FOLDS
    predicted = np.full(len(scores), np.nan)
    for fold in range(FOLDS):
        train = (folds != fold) & np.isfinite(scores)
        if train.sum() >= FOLDS and (folds == fold).any():
            model = Ridge(RIDGE, solver="sparse_cg", tol=1e-6).fit(matrix[train], scores[train])
            # The mean of the others falls where that of a fold rises: without it, noise does not look like a cue.
            others = scores[train].mean()
            predicted[folds == fold] = model.predict(matrix[folds == fold]) - others
    return np.asarray(predicted + np.nanmean(scores))


def _calibration(predictor: str, predicted: Floats, scores: Floats) -> pl.DataFrame:
    """Return the mean score of every fifth of the predictions beside the mean prediction."""
    fifth = np.argsort(np.argsort(predicted, kind="stable"), kind="stable") * GROUPS // len(predicted)
    table = pl.DataFrame({"group": fifth + 1, "predicted": predicted, "score": scores})
    half = 1.959964 * pl.col("score").std() / pl.len().sqrt()
    return (
        table.group_by("group")
        .agg(
            pl.col("predicted").mean(),
            low=pl.col("score").mean() - half,
            high=pl.col("score").mean() + half,
            n=pl.len(),
            score=pl.col("score").mean(),
        )
        .sort("group")
        .select(pl.lit(predictor).alias("predictor"), "group", "predicted", "score", "low", "high", "n")
    )


def _findings(measures: list[Measure]) -> Iterator[Finding]:
    for measure in measures:
        predictor = measure.name.split(".")[1]
        if predictor not in BLIND or measure.low is None or measure.high is None or measure.value is None:
            continue
        # As many predictors are tested as are blind: the interval of a finding is wider than the one that is shown.
        if predictor.endswith("_only") and measure.value < 0:  # what is learned predicts, or does not
            continue
        half = (np.arctanh(measure.high) - np.arctanh(measure.low)) / 2 * _WIDER
        least = float(np.tanh(abs(np.arctanh(measure.value)) - half))
        if least <= 0:
            continue
        severity: Severity = "high" if least >= _HIGH else "medium" if least >= _MEDIUM else "low"
        yield Finding(
            NAME,
            severity,
            f"The score is associated with the {predictor.replace('_', ' ')}",
            f"The rank correlation of {predictor.replace('_', ' ')} with the score is {measure.value:.2f} (95 % CI "
            f"{measure.low:.2f} to {measure.high:.2f}) on {measure.n or 0:,} examples; 0 by chance.",
            measure.value,
            measure.low,
            measure.high,
            chance=0.0,
            n=measure.n,
            key=predictor,
            unit="score",
        )

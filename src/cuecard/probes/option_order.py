"""Does a model prefer a place? Its answers by position of the choice, against the key's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.analysis import Finding, Measure, MeasureKind, Need, Result, Row, Severity
from cuecard.data import Instances, Task
from cuecard.probes.examples import check_test
from cuecard.probes.model_views import option_order_view
from cuecard.probes.predictions import Predictions, Probe
from cuecard.stats import clopper_pearson, format_p, goodness_of_fit, log10_p
from cuecard.wording import percent

NAME = "option_order"
PREFERENCE = MeasureKind("preference.{model}", "largest position preference of {model}", "points", "higher")
P_VALUE = MeasureKind("p.{model}", "p-value of the position preference of {model}", "p", "lower")


def option_order_measures(summary: Row) -> list[Measure]:
    """Return by how much every model prefers a position, and the p-value of the paired test."""
    measures = []
    for model, part in summary["models"].items():
        gap = max(row["answer_share"] - row["key_share"] for row in part["positions"])
        measures.append(PREFERENCE.of(NAME, gap, chance=0.0, n=part["n"], model=model))
        measures.append(P_VALUE.of(NAME, part["paired_log10_p"], n=part["n"], model=model))
    return measures


@dataclass(frozen=True, eq=False)
class OptionOrder:
    """How often each position was answered and was right, and whether the two distributions differ.

    `log10_p` is of Pearson's chi-square of the answers against the key's distribution taken as fixed. A good
    model's answers follow the key example by example, which makes that test cautious; `paired_log10_p` is of
    the Stuart–Maxwell test, which compares the two distributions over the same examples. Where a position was
    answered that the key never has, the chi-square divides by zero: `statistic` and `log10_p` are then None.
    """

    table: pl.DataFrame
    statistic: float | None
    log10_p: float | None
    paired_statistic: float
    paired_log10_p: float
    n: int

    def summary(self) -> Row:
        """Return the numbers as JSON can hold them; `p_value` is of the paired test where there is no chi-square."""
        return {
            "statistic": self.statistic,
            "p_value": 10 ** (self.paired_log10_p if self.log10_p is None else self.log10_p),
            "p_value_of": "stuart-maxwell" if self.log10_p is None else "chi-square",
            "log10_p": self.log10_p,
            "paired_statistic": self.paired_statistic,
            "paired_p_value": 10**self.paired_log10_p,
            "paired_log10_p": self.paired_log10_p,
            "n": self.n,
            "positions": self.table.to_dicts(),
        }


def option_order(answers: npt.ArrayLike, key: npt.ArrayLike) -> OptionOrder:
    """Return the check for positions answered and positions that are right, counted from 0.

    Examples with an answer below 0 were not answered and are left out. Columns of the table: `position`,
    `key`, `answers` (counts), `key_share`, `answer_share`, and `accuracy` with `low` and `high` among the
    examples whose right choice stands there.
    """
    chosen, right = np.asarray(answers, dtype=np.int64), np.asarray(key, dtype=np.int64)
    if chosen.shape != right.shape or chosen.ndim != 1:
        raise ValueError("answers and key must be one position per example each")
    answered = chosen >= 0
    chosen, right = chosen[answered], right[answered]
    n = len(chosen)
    if n == 0:
        raise ValueError("there is no answered example")
    k = int(max(chosen.max(), right.max())) + 1
    both = np.zeros((k, k), dtype=np.int64)
    np.add.at(both, (right, chosen), 1)
    keys, guesses = both.sum(axis=1), both.sum(axis=0)
    fit = goodness_of_fit(guesses, keys)
    defined = not (guesses[keys == 0] > 0).any()
    paired_statistic, paired_log_p = stuart_maxwell(both)
    low, high = clopper_pearson(np.diag(both), keys)
    table = pl.DataFrame(
        {
            "position": np.arange(k),
            "key": keys,
            "answers": guesses,
            "key_share": keys / n,
            "answer_share": guesses / n,
            "accuracy": np.diag(both) / np.maximum(keys, 1),
            "low": low,
            "high": high,
        }
    )
    return OptionOrder(
        table,
        float(fit.statistic) if defined else None,
        float(log10_p(fit.log_p)) if defined else None,
        paired_statistic,
        paired_log_p / math.log(10),
        n,
    )


def stuart_maxwell(both: npt.NDArray[np.int64]) -> tuple[float, float]:
    """Return statistic and log p-value of the test that a square table has equal row and column sums."""
    from scipy.stats import chi2

    difference = (both.sum(axis=1) - both.sum(axis=0)).astype(np.float64)
    off = both - np.diag(np.diag(both))
    covariance = np.diag((off.sum(axis=1) + off.sum(axis=0)).astype(np.float64)) - off - off.T
    used = np.diag(covariance) > 0
    if used.sum() < 2:
        return 0.0, 0.0
    inside = covariance[np.ix_(used, used)]
    degrees = int(np.linalg.matrix_rank(inside))
    statistic = float(difference[used] @ np.linalg.pinv(inside, hermitian=True) @ difference[used])
    return statistic, float(chi2.logsf(statistic, degrees))


@dataclass(frozen=True)
class OptionOrderTest(Probe):
    """Whether each model answers a position more often than the key has it; for multiple choice."""

    name: ClassVar[str] = NAME
    title: ClassVar[str] = "Option order"
    view = staticmethod(option_order_view)
    tasks: ClassVar[frozenset[Task]] = frozenset({"choice"})
    needs: ClassVar[frozenset[Need]] = frozenset({"test", "predictions"})
    measures: ClassVar[tuple[MeasureKind, ...]] = (PREFERENCE, P_VALUE)

    alpha: float = 0.05

    def run(self, data: Instances, predictions: Sequence[Predictions]) -> Result:
        """Return one row per model and position."""
        gold = check_test(data).gold
        models = {model.model: option_order(model.answers, gold) for model in predictions}
        table = pl.concat(
            order.table.select(pl.lit(name).alias("model"), pl.all()) for name, order in models.items()
        )
        summary = {"models": {name: order.summary() for name, order in models.items()}}
        findings = [self._finding(name, order) for name, order in models.items()]
        return Result(summary, {NAME: table}, findings, measures=option_order_measures(summary))

    def _finding(self, model: str, test: OptionOrder) -> Finding:
        gap = test.table.with_columns(gap=pl.col("answer_share") - pl.col("key_share"))
        row = gap.sort("gap", descending=True).row(0, named=True)
        prefers = 10**test.paired_log10_p <= self.alpha
        place = f"choice {row['position'] + 1}"
        text = (
            f"{model} chooses {place} in {percent(row['answer_share'])} of {test.n:,} examples; {place} is correct in "
            f"{percent(row['key_share'])} (Stuart–Maxwell p = {format_p(test.paired_log10_p)})."
        )
        title = f"{model} prefers {place}" if prefers else f"{model} prefers no position"
        text += "" if prefers else " The difference is not significant."
        severity: Severity = "medium" if prefers else "info"
        share, key = float(row["answer_share"]), float(row["key_share"])
        return Finding(NAME, severity, title, text, value=share, chance=key, n=test.n, key=model)

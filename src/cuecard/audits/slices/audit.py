"""Every blind rule and partial input on every value of every extra column with few values (SPEC section 3)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import polars as pl

from cuecard.analysis import MeasureKind, Result, Skip
from cuecard.audits.partial_input import PartialInput
from cuecard.audits.partial_input.baselines.battery import Battery, blind_battery
from cuecard.audits.partial_input.measures import CAVEAT
from cuecard.audits.partial_input.metadata import MOST_VALUES, codes_of, names_of, slice_columns
from cuecard.audits.slices.findings import slice_findings
from cuecard.audits.slices.hits import SliceTest
from cuecard.audits.slices.measures import KINDS, slice_measures
from cuecard.audits.slices.rules import answer_rules
from cuecard.audits.slices.scoring import SliceScorer
from cuecard.audits.slices.view import slices_view
from cuecard.data import TASKS, Instances, Task
from cuecard.data.examples import Examples
from cuecard.stats import log10_p, log_q_values
from cuecard.stats.arrays import counted


@dataclass(frozen=True)
class Slices:
    """Score every shortcut on every slice that an extra column (genre, annotator, source …) makes.

    The number of hits is tested two-sidedly against what the same guesses get by luck, and the false discovery rate is
    held over all rules and slices. Guesses are those of partial input; where that did not run, they are made again.

    Args:
        learned: whether the learned partial inputs are scored, too; blind rules alone take little longer than reading
            the texts.
        fewest: examples that a slice needs to be scored.
        alpha: a rule works on a slice, or is turned round there, if its q-value is at most this.
        tokens: tokenisation of the learner, where its guesses are made again.
        seed: of the learner and its folds, as above.
        weights: extra column that holds every example's weight.
    """

    name: ClassVar[str] = "slices"
    title: ClassVar[str] = "Slices"
    tasks: ClassVar[frozenset[Task]] = frozenset(TASKS)
    view = staticmethod(slices_view)
    measures: ClassVar[tuple[MeasureKind, ...]] = KINDS
    caveat: ClassVar[str] = CAVEAT
    any_size: ClassVar[bool] = True
    measured = staticmethod(slice_measures)

    learned: bool = True
    fewest: int = 20
    alpha: float = 0.05
    tokens: str | None = None
    seed: int = 0
    weights: str | None = None

    def run(self, data: Instances) -> Result:
        """Return one row per rule and slice, and sentences about the slices that differ from the rest."""
        columns = self._columns(Examples(data))
        if not columns:
            raise Skip(f"needs an extra column with 2 to {MOST_VALUES} values, such as genre or annotator")
        battery = self._battery(data)
        same = battery.examples.instances is data and battery.examples.chosen is None
        table = self._table(battery, columns if same else self._columns(battery.examples))
        if not table.height:
            raise Skip(f"needs a value of an extra column with at least {self.fewest} examples")
        significant = table.filter(pl.col("q_value") <= self.alpha)
        summary: dict[str, Any] = {
            "tests": table.height,
            "significant": significant.height,
            "columns": table["column"].unique(maintain_order=True).to_list(),
            "rules": table["rule"].unique(maintain_order=True).to_list(),
            "alpha": self.alpha,
            "strongest": _strongest(table, self.alpha),
        }
        findings = slice_findings(summary, data.task)
        smallest = float(np.nanmin(table["q_value"].to_numpy()))
        return Result(
            summary, {"slices": table}, findings, None, slice_measures(summary), smallest_q=smallest
        )

    def _battery(self, data: Instances) -> Battery:
        if not self.learned and data.grouped:
            data.answer_marks(with_units=True)  # rules need both
        battery = Battery.kept(data, self.weights) if self.learned else blind_battery(data, self.weights)
        if battery is None:
            learner = PartialInput(
                tokens=self.tokens,
                seed=self.seed,
                weights=self.weights,
                cross_fit=False,
                learning_curve=False,
            )
            learner.run(data)
            battery = Battery.kept(data, self.weights)
        assert battery is not None
        rules = answer_rules(battery.examples, battery.scored)
        return replace(battery, guesses={**battery.guesses, **rules})

    def _columns(self, examples: Examples) -> list[pl.Series]:
        return slice_columns(examples, (self.weights, examples.instances.cluster))

    def _table(self, battery: Battery, columns: Sequence[pl.Series]) -> pl.DataFrame:
        scored = battery.scored
        rows = []
        scorer = SliceScorer(battery, self.fewest)
        for column in columns:
            names = names_of(column)
            codes = codes_of(column)[scored]
            sizes = counted(codes + np.int16(1), len(names) + 1)[1:]
            tested = scorer.tests(codes, sizes)
            for i, value in enumerate(names):
                if scorer.is_tested(sizes[i]):
                    for rule, tests in tested.items():
                        test, rest = tests[i]
                        assert test is not None
                        share = sizes[i] / len(scored)
                        row = {"rule": rule, "column": column.name, "value": value, "share": share}
                        rows.append(row | _tested(test, rest))
        if not rows:
            return pl.DataFrame(schema={"rule": pl.String})
        table = pl.DataFrame(rows)
        log_q = log_q_values(table["log10_p"].to_numpy() * math.log(10))
        return table.with_columns(p_value=10.0 ** pl.col("log10_p"), q_value=pl.Series(np.exp(log_q))).sort(
            "q_value", "log10_p", maintain_order=True
        )


def _tested(test: SliceTest, rest: float) -> dict[str, Any]:
    """Return the columns of one rule on one slice; `rest` is the rule's excess on all other examples."""
    return {
        "n": test.n,
        "texts": test.units,
        "accuracy": test.accuracy,
        "low": test.low,
        "high": test.high,
        "chance": test.luck,
        "majority": test.majority,
        "excess": test.excess,
        "rest_excess": rest,
        "log10_p": float(log10_p(test.log_p)),
    }


def _strongest(table: pl.DataFrame, alpha: float) -> list[dict[str, Any]]:
    """Return for every rule the slice where it is farthest from luck, at the careful end of its interval."""
    careful = (
        pl.when(pl.col("excess") >= 0)
        .then(pl.col("low") - pl.col("chance"))
        .otherwise(pl.col("chance") - pl.col("high"))
    )
    differs = (
        pl.when(pl.col("excess") >= 0)
        .then(pl.col("low") - pl.col("chance") > pl.col("rest_excess"))
        .otherwise(pl.col("high") - pl.col("chance") < pl.col("rest_excess"))
    )
    ranked = table.with_columns(
        careful=careful, differs=differs, significant=pl.col("q_value") <= alpha
    ).sort("significant", "careful", descending=True, maintain_order=True)
    best: list[dict[str, Any]] = ranked.unique("rule", keep="first", maintain_order=True).to_dicts()
    return best

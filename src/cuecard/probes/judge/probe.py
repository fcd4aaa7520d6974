"""Is a judge consistent and fair, and does it agree with people? Asked of its verdicts or scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from cuecard.analysis import About, MeasureKind, Need, Result
from cuecard.data import Instances, Task
from cuecard.probes.judge import biases
from cuecard.probes.judge.findings import judge_findings
from cuecard.probes.judge.measures import KINDS, judge_measures
from cuecard.probes.judge.verdicts import Verdicts
from cuecard.stats import q_values

#: What is tested of every judge, where there are enough comparisons for it.
TESTS = ("position", "style", "self_preference", "stability", "agreement")


@dataclass(frozen=True)
class JudgeTest:
    """Test the verdicts of judges, or the scores of reward models, for what they follow besides quality.

    Position (both orders, exact), length and formatting at equal quality, the judge's own family among responses of
    about the same length, stability of repeated verdicts, and agreement with people (κ, accuracy, accuracy balanced by
    length). Scores are also written without their smooth part by length.

    Args:
        alpha: a bias is named if its q-value over the tests of a judge is at most this.
    """

    name: ClassVar[str] = "judge"
    title: ClassVar[str] = "Judges"
    tasks: ClassVar[frozenset[Task]] = frozenset({"preference"})
    needs: ClassVar[frozenset[Need]] = frozenset({"judge"})
    measures: ClassVar[tuple[MeasureKind, ...]] = KINDS
    about: ClassVar[About] = "models"
    measured = staticmethod(judge_measures)

    alpha: float = 0.05

    def run(self, data: Instances, judge: Sequence[Verdicts]) -> Result:
        """Return what every judge follows, with the rewards of those that gave scores."""
        del data
        judges, rewards = {}, []
        smallest = 1.0
        for verdicts in judge:
            part, calibrated = self._judged(verdicts)
            smallest = min([smallest, *part["q_values"].values()])
            judges[verdicts.name] = part | {"tested": tested(part)}
            if calibrated is not None:
                rewards.append(calibrated.drop("side").with_columns(judge=pl.lit(verdicts.name)))
        summary: dict[str, Any] = {
            "judges": judges,
            "alpha": self.alpha,
            "fewest": biases.FEWEST,
        }
        tables = {"judges": _table(judges)}
        if rewards:
            tables["judge_rewards"] = pl.concat(rewards)
        return Result(
            summary, tables, judge_findings(summary), None, judge_measures(summary), smallest_q=smallest
        )

    def _judged(self, verdicts: Verdicts) -> tuple[dict[str, Any], pl.DataFrame | None]:
        table = verdicts.table
        part: dict[str, Any] = {
            "verdicts": table.height,
            "missing": verdicts.missing,
            "comparisons": table["item"].n_unique(),
            "position": biases.position(table),
            "style": biases.style_reliance(table),
            "self_preference": biases.self_preference(table, verdicts.name),
            "stability": biases.stability(table),
            "agreement": biases.agreement(table),
        }
        rewards = biases.calibrated_rewards(table)
        if rewards is not None:
            part["calibrated"] = biases.calibrated_accuracy(table, rewards)
        p_values = {}
        if part["position"]:
            p_values["position"] = part["position"]["p_value"]
        length = [r for r in (part["style"] or {}).get("covariates", ()) if r["feature"] == "length"]
        if length:
            p_values["length"] = length[0]["p_value"]
        if part["self_preference"]:
            p_values["self"] = part["self_preference"]["p_value"]
        adjusted = q_values(np.log(np.maximum(list(p_values.values()), 1e-300))) if p_values else np.empty(0)
        part["q_values"] = dict(zip(p_values, map(float, adjusted), strict=True))
        part["biases"] = [name for name, q in part["q_values"].items() if q <= self.alpha]
        people = part["agreement"]
        if people and not people["kappa"]["low"] > 0:
            # An interval that holds both no agreement and some is wide because there are few verdicts.
            if people["kappa"]["high"] < biases.SOME_AGREEMENT:
                part["biases"] = ["chance", *part["biases"]]
            else:
                part["unclear"] = ["agreement"]
        return part, rewards


def tested(part: Mapping[str, Any]) -> bool:
    """Return whether there were enough comparisons for any test of a judge."""
    return any(part[name] for name in TESTS)


def _table(judges: dict[str, Any]) -> pl.DataFrame:
    """Return one row per judge with its main numbers."""
    rows = []
    for name, part in judges.items():
        order, people = part["position"] or {}, part["agreement"] or {}
        length = [r for r in (part["style"] or {}).get("covariates", ()) if r["feature"] == "length"]
        rows.append(
            {
                "judge": name,
                "verdicts": part["verdicts"],
                "missing": part["missing"],
                "named": ", ".join(part["biases"]) or ("fair" if tested(part) else "not tested"),
                "consistency": order.get("consistency"),
                "consistency_low": order.get("low"),
                "consistency_high": order.get("high"),
                "to_first": order.get("to_first"),
                "to_second": order.get("to_second"),
                "length": length[0]["coefficient"] if length else None,
                "length_low": length[0]["low"] if length else None,
                "length_high": length[0]["high"] if length else None,
                "accuracy": (people.get("accuracy") or {}).get("value"),
                "balanced": (people.get("balanced") or {}).get("value"),
                "kappa": (people.get("kappa") or {}).get("value"),
                "kappa_low": (people.get("kappa") or {}).get("low"),
                "kappa_high": (people.get("kappa") or {}).get("high"),
                "self_preference": (part["self_preference"] or {}).get("value"),
                "stability": (part["stability"] or {}).get("value"),
            }
        )
    schema = {"verdicts": pl.Int64, "missing": pl.Int64, "to_first": pl.Int64, "to_second": pl.Int64}
    floats = (
        "consistency",
        "consistency_low",
        "consistency_high",
        "length",
        "length_low",
        "length_high",
        "accuracy",
        "balanced",
        "kappa",
        "kappa_low",
        "kappa_high",
        "self_preference",
        "stability",
    )
    return pl.DataFrame(rows, schema_overrides={**schema, **dict.fromkeys(floats, pl.Float64)})

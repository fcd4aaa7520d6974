"""Agreement of two models or conditions: does a partial-input model predict what a full one predicts? (PECO)"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import polars as pl

from cuecard.analysis import About, Finding, Measure, MeasureKind, Need, Result, Skip
from cuecard.data import TASKS, Instances, Task
from cuecard.probes.examples import UNANSWERED, check_test
from cuecard.probes.predictions import Predictions
from cuecard.probes.shared_texts import effect_on_mean, shared_texts
from cuecard.registry import unknown_name
from cuecard.stats import wilson
from cuecard.stats.models.agreement import agreement
from cuecard.stats.models.design_effect import widened
from cuecard.wording import percent, plural

SAME = MeasureKind("nba.{model}.{other}", "same answer of {model} and {other} (NBA)", "share")
KAPPA = MeasureKind("kappa.{model}.{other}", "κ of {model} and {other}", "score")
BOTH_RIGHT = MeasureKind(
    "nbr.{model}.{other}", "{model} and {other} both correct among same answers (NBR)", "share"
)


def agreement_measures(summary: Mapping[str, Any]) -> list[Measure]:
    """Return how often every two models give the same answer, beside what their label frequencies explain."""
    measures = []
    for pair in summary["pairs"]:
        name, n = "agreement", pair["n"]
        two = {"model": pair["normal"], "other": pair["biased"]}
        ends = {"low": pair["nba_low"], "high": pair["nba_high"], "chance": pair["expected_nba"]}
        measures.append(SAME.of(name, pair["nba"], **ends, n=n, **two))
        measures.append(KAPPA.of(name, pair["kappa"], chance=0.0, n=n, **two))
        measures.append(BOTH_RIGHT.of(name, pair["nbr"], n=pair["agreed"], **two))
    return measures


@dataclass(frozen=True)
class AgreementOfModels:
    """NBA, NBR and Cohen's κ of every two models, the normal one (full input) and the biased one (partial input).

    Of two models, the one that was trained on partial input is the biased one; otherwise the first that was given is
    the normal one. Which one is more accurate does not matter: a biased model may be. Examples that one of the two did
    not answer are left out and counted.

    Args:
        normal: names of models that are the normal one wherever they take part.
    """

    name: ClassVar[str] = "agreement"
    title: ClassVar[str] = "Agreement"
    tasks: ClassVar[frozenset[Task]] = frozenset(TASKS)
    needs: ClassVar[frozenset[Need]] = frozenset({"test", "predictions"})
    measures: ClassVar[tuple[MeasureKind, ...]] = (SAME, KAPPA, BOTH_RIGHT)
    about: ClassVar[About] = "models"
    measured = staticmethod(agreement_measures)

    normal: tuple[str, ...] = ()

    def run(self, data: Instances, predictions: Sequence[Predictions]) -> Result:
        """Return one row per two models."""
        if len(predictions) < 2:
            raise Skip("needs at least two models, found one")
        for name in self.normal:
            if name not in (model.model for model in predictions):
                raise unknown_name("model in agreement.normal", name, [model.model for model in predictions])
        examples = check_test(data)
        gold, shared = examples.gold, shared_texts(examples)
        rows, findings = [], []
        skipped: list[str] = []
        for pair in combinations(predictions, 2):
            first, second = sorted(pair, key=self._role)
            # No answer is not an answer that two models can share.
            both = (first.answers != UNANSWERED) & (second.answers != UNANSWERED)
            left_out = len(both) - int(both.sum())
            if not both.any():
                skipped.append(f"No example has an answer from both {first.model} and {second.model}.")
                continue
            agreed = agreement(first.answers[both], second.answers[both], gold[both])
            effect = effect_on_mean(
                (first.answers == second.answers)[both], [codes[both] for codes in shared]
            )
            ends = widened(agreed.nba, wilson(agreed.agreed, agreed.n), effect)
            low, high = (float(end) for end in np.clip(ends, 0.0, 1.0))
            rows.append(
                {
                    "normal": first.model,
                    "biased": second.model,
                    "n": agreed.n,
                    "left_out": left_out,
                    "agreed": agreed.agreed,
                    "both_right": agreed.both_right,
                    "nba": agreed.nba,
                    "nba_low": low,
                    "nba_high": high,
                    "expected_nba": agreed.expected_nba,
                    "kappa": agreed.kappa,
                    "nbr": agreed.nbr,
                    "nbr_released": agreed.nbr_released,
                    "normal_accuracy": agreed.normal_right / agreed.n,
                    "biased_accuracy": agreed.biased_right / agreed.n,
                }
            )
            text = (
                f"{first.model} and {second.model} give the same answer to {percent(agreed.nba)} of the test examples "
                f"(95 % CI {percent(low)} to {percent(high)}; {percent(agreed.expected_nba)} is expected from their "
                f"label frequencies). Where {first.model} is correct, {second.model} is correct in "
                f"{percent(agreed.nbr_released)}."
            )
            if left_out:
                text += f" {plural(left_out, 'example')} without an answer from both models are left out."
            title = f"{first.model} and {second.model} agree on {percent(agreed.nba)} of the examples"
            findings.append(
                Finding(
                    "agreement",
                    "info",
                    title,
                    text,
                    agreed.nba,
                    low,
                    high,
                    agreed.expected_nba,
                    agreed.n,
                    key=f"{first.model}/{second.model}",
                )
            )
        if not rows:
            raise Skip(" ".join(skipped))
        table = pl.DataFrame(rows).with_columns(pl.selectors.float().fill_nan(None))
        summary = {
            "pairs": [{k: _plain(v) for k, v in row.items()} for row in table.iter_rows(named=True)],
            "notes": skipped,
        }
        return Result(summary, {"agreement": table}, findings, measures=agreement_measures(summary))

    def _role(self, model: Predictions) -> tuple[bool, bool]:
        """Return what sorts the normal model before the biased one; models alike stay in the order given."""
        return model.model not in self.normal, bool(model.partial_input)


def _plain(value: object) -> object:
    return value.item() if isinstance(value, np.generic) else value

"""Two models on the same examples: do they agree, which is more accurate, and do they look at the same tokens?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import polars as pl

from cuecard.analysis import About, Finding, Measure, MeasureKind, Need, Result, Skip
from cuecard.data import TASKS, Instances, Task
from cuecard.models import TextModel
from cuecard.models.saliency import (
    RelevanceAgreement,
    Shown,
    relevance_agreement,
    saliency_table,
    token_texts,
)
from cuecard.probes.cue_set import CueSet
from cuecard.probes.examples import UNANSWERED, check_test, effect_on_mean, effects_of, q_of, shared_texts
from cuecard.probes.predictions import Predictions
from cuecard.registry import unknown_name
from cuecard.stats import format_p, wilson
from cuecard.stats.models.agreement import agreement
from cuecard.stats.models.design_effect import deflated_log10_p, widened
from cuecard.stats.models.paired import paired_by_cue, paired_comparison
from cuecard.wording import percent, plural, points

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


DIFFERENCE = MeasureKind("difference.{model}.{other}", "accuracy of {model} minus that of {other}", "points")
P_VALUE = MeasureKind("p.{model}.{other}", "p-value of the difference of {model} and {other}", "p")


def paired_measures(summary: Mapping[str, Any]) -> list[Measure]:
    """Return the accuracy difference of every two models with its interval and p-value."""
    measures = []
    for pair in summary["pairs"]:
        name, two = "paired_comparison", {"model": pair["model_a"], "other": pair["model_b"]}
        ends = {"low": pair["low"], "high": pair["high"], "n": pair["n"]}
        measures.append(DIFFERENCE.of(name, pair["difference"], **ends, chance=0.0, **two))
        measures.append(P_VALUE.of(name, pair["log10_p"], n=pair["n"], **two))
    return measures


@dataclass(frozen=True)
class PairedComparison:
    """Exact McNemar test and bootstrap interval of the accuracy difference of every two models.

    Args:
        draws: resamples behind the intervals.
        alpha: a difference within a cue is significant if its q-value is at most this.
        seed: seed of the resamples.
    """

    name: ClassVar[str] = "paired_comparison"
    title: ClassVar[str] = "Paired comparison"
    tasks: ClassVar[frozenset[Task]] = frozenset(TASKS)
    needs: ClassVar[frozenset[Need]] = frozenset({"test", "predictions", "cues"})
    measures: ClassVar[tuple[MeasureKind, ...]] = (DIFFERENCE, P_VALUE)
    about: ClassVar[About] = "models"
    measured = staticmethod(paired_measures)

    draws: int = 2000
    alpha: float = 0.05
    seed: int = 0

    def run(self, data: Instances, predictions: Sequence[Predictions], cues: CueSet) -> Result:
        """Return one row per two models, and one per two models and cue."""
        if len(predictions) < 2:
            raise Skip("needs at least two models, found one")
        rows: list[dict[str, Any]] = []
        tables, findings = [], []
        for a, b in combinations(predictions, 2):
            right_a, right_b = a.correct(cues.examples), b.correct(cues.examples)
            whole = paired_comparison(right_a, right_b, draws=self.draws, seed=self.seed)
            effect = effect_on_mean(right_a.astype(np.int64) - right_b, cues.shared)
            rows.append(
                {
                    "model_a": a.model,
                    "model_b": b.model,
                    "n": whole.n,
                    "accuracy_a": whole.accuracy_a,
                    "accuracy_b": whole.accuracy_b,
                    "difference": whole.difference,
                    "low": max(float(widened(whole.difference, whole.low, effect)), -1.0),
                    "high": min(float(widened(whole.difference, whole.high, effect)), 1.0),
                    "only_a": whole.only_a,
                    "only_b": whole.only_b,
                    "log10_p": float(deflated_log10_p(whole.log10_p, effect)),
                }
            )
            findings.append(_paired_finding(rows[-1]))
            tables.append(self._by_cue(a, b, cues))
        summary = {"pairs": rows}
        frames = {"paired_comparison": pl.DataFrame(rows), "paired_by_cue": pl.concat(tables)}
        return Result(summary, frames, findings, measures=paired_measures(summary))

    def _by_cue(self, a: Predictions, b: Predictions, cues: CueSet) -> pl.DataFrame:
        right_a, right_b, having = a.correct(cues.examples), b.correct(cues.examples), cues.members.having
        comparison = paired_by_cue(right_a, right_b, having, draws=self.draws, seed=self.seed)
        effects = effects_of(right_a.astype(np.int64) - right_b, having, cues.shared)
        low = np.maximum(widened(comparison.difference, comparison.low, effects), -1.0)
        high = np.minimum(widened(comparison.difference, comparison.high, effects), 1.0)
        log_p = deflated_log10_p(comparison.log10_p, effects)
        q = q_of(log_p)
        return cues.names.select(
            pl.lit(a.model).alias("model_a"), pl.lit(b.model).alias("model_b"), pl.all()
        ).with_columns(
            n=comparison.n,
            only_a=comparison.only_a,
            only_b=comparison.only_b,
            difference=pl.Series(comparison.difference, dtype=pl.Float64).fill_nan(None),
            low=pl.Series(low, dtype=pl.Float64).fill_nan(None),
            high=pl.Series(high, dtype=pl.Float64).fill_nan(None),
            log10_p=log_p,
            q_value=pl.Series(q, dtype=pl.Float64),
            significant=pl.Series(q <= self.alpha, dtype=pl.Boolean),
        )


def _paired_finding(row: dict[str, Any]) -> Finding:
    a, b, difference = str(row["model_a"]), str(row["model_b"]), float(row["difference"])
    low, high, log10_p = (float(row[key]) for key in ("low", "high", "log10_p"))
    p = format_p(log10_p)
    better, worse = (a, b) if difference >= 0 else (b, a)
    clear = log10_p <= -1.30103
    title = f"{better} is more accurate than {worse}" if clear else f"{a} and {b} do not differ significantly"
    text = (
        f"{a} has an accuracy of {percent(float(row['accuracy_a']))} and {b} of {percent(float(row['accuracy_b']))} on "
        f"the same {int(row['n']):,} test examples: a difference of {points(difference)} points (95 % CI "
        f"{points(low)} to {points(high)}; exact McNemar p = {p})."
    )
    return Finding(
        "paired_comparison", "info", title, text, difference, low, high, 0.0, int(row["n"]),
        unit="points", key=f"{a}/{b}",
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class TokenRelevance:
    """How far two models look at the same tokens, and the maps of some examples.

    Attributes:
        agreement: TRA with its interval, and all maps.
        examples: `example_id` and `cosine` of every example.
        maps: the maps of some examples, see `saliency_table`.
        finding: the result as a sentence.
    """

    agreement: RelevanceAgreement
    examples: pl.DataFrame
    maps: pl.DataFrame
    finding: Finding


def token_relevance(
    full: TextModel,
    partial: TextModel,
    data: Instances,
    *,
    show: int = 12,
    which: Shown = "spread",
    draws: int = 2000,
    seed: int = 0,
) -> TokenRelevance:
    """Return the token relevance agreement of a full-input model and a partial-input one on some data.

    Args:
        full: the model that reads everything (PSC).
        partial: a model of the same kind that reads a part of it (SSC).
        data: instances of one split, such as `data.test`.
        show: rows whose maps are kept to be looked at.
        which: whether those are spread over the cosines, the least alike or the most alike.
        draws: resamples for the interval.
        seed: of the resamples.
    """
    agreement = relevance_agreement(full, partial, data, draws=draws, seed=seed)
    first = np.flatnonzero(np.diff(data.example_codes, prepend=-1))
    examples = pl.DataFrame(
        {"example_id": data.table["example_id"].gather(first), "cosine": agreement.cosines}
    ).with_columns(pl.col("cosine").fill_nan(None))
    maps = saliency_table(agreement, data, token_texts(full, data), show=show, which=which)
    return TokenRelevance(agreement, examples, maps, _relevance_finding(agreement, full.name))


def _relevance_finding(agreement: RelevanceAgreement, name: str) -> Finding:
    n = len(agreement.cosines) - agreement.left_out
    text = (
        f"The saliency maps of two {name} models, one with full and one with partial input, have a mean "
        f"cosine of {agreement.tra:.2f} (95 % CI {agreement.low:.2f} to {agreement.high:.2f}) over "
        f"{plural(n, 'example')}. A cosine of 1 means the same tokens, 0 means no token in common; two uniform maps "
        f"would have {agreement.even:.2f}."
    )
    if agreement.left_out:
        text += f" {plural(agreement.left_out, 'example')} without a map are left out."
    title = f"Token relevance agreement is {agreement.tra:.2f}"
    return Finding(
        "saliency",
        "info",
        title,
        text,
        agreement.tra,
        agreement.low,
        agreement.high,
        agreement.even,
        n,
        unit="score",
        key=name,
    )

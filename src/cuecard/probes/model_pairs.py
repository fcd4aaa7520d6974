"""Two models on the same examples: do they agree, which is more accurate, and do they look at the same tokens?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np
import polars as pl

from cuecard.analysis import Finding, Measure, MeasureKind, Need, Result, Row, Skip, interval
from cuecard.data import Instances
from cuecard.features.family import spoken_cue
from cuecard.models import TextModel
from cuecard.models.saliency import (
    RelevanceAgreement,
    Shown,
    relevance_agreement,
    saliency_table,
    token_texts,
)
from cuecard.probes.cues.cue_set import CueSet
from cuecard.probes.examples import (
    UNANSWERED,
    check_test,
    effect_on_mean,
    effects_of,
    nullable,
    q_of,
    share_interval,
    shared_texts,
    tested_columns,
    versus,
    widened_within,
)
from cuecard.probes.model_views import agreement_view, paired_view
from cuecard.probes.predictions import Predictions, Probe
from cuecard.registry import unknown_name
from cuecard.stats import format_p
from cuecard.stats.arrays import Floats
from cuecard.stats.models.agreement import agreement
from cuecard.stats.models.paired import (
    deflated_log10_p,
    paired_by_cue,
    paired_comparison,
    reliance_change,
    two_sided_design_effects,
)
from cuecard.wording import listed, percent, plural, points

AGREEMENT, PAIRED = "agreement", "paired_comparison"
SAME = MeasureKind("nba.{model}.{other}", "same answer of {model} and {other} (NBA)", "share")
KAPPA = MeasureKind("kappa.{model}.{other}", "κ of {model} and {other}", "score")
BOTH_RIGHT = MeasureKind(
    "nbr.{model}.{other}", "{model} and {other} both correct among same answers (NBR)", "share"
)


def agreement_measures(summary: Row) -> list[Measure]:
    """Return how often every two models give the same answer, beside what their label frequencies explain."""
    measures = []
    for pair in summary["pairs"]:
        n, two = pair["n"], {"model": pair["normal"], "other": pair["biased"]}
        same = interval(pair, "nba", "nba_")
        measures.append(SAME.of(AGREEMENT, **same, chance=pair["expected_nba"], n=n, **two))
        measures.append(KAPPA.of(AGREEMENT, pair["kappa"], chance=0.0, n=n, **two))
        measures.append(BOTH_RIGHT.of(AGREEMENT, pair["nbr"], n=pair["agreed"], **two))
    return measures


@dataclass(frozen=True)
class AgreementOfModels(Probe):
    """NBA, NBR and Cohen's κ of every two models, the normal one (full input) and the biased one (partial input).

    Of two models, the one that was trained on partial input is the biased one; otherwise the first that was given is
    the normal one. Which one is more accurate does not matter: a biased model may be. Examples that one of the two did
    not answer are left out and counted.

    Args:
        normal: names of models that are the normal one wherever they take part.
    """

    name: ClassVar[str] = AGREEMENT
    title: ClassVar[str] = "Agreement"
    view = staticmethod(agreement_view)
    needs: ClassVar[frozenset[Need]] = frozenset({"test", "predictions"})
    measures: ClassVar[tuple[MeasureKind, ...]] = (SAME, KAPPA, BOTH_RIGHT)

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
        rows: list[Row] = []
        skipped: list[str] = []
        for pair in combinations(predictions, 2):
            first, second = sorted(pair, key=self._role)
            # No answer is not an answer that two models can share.
            both = (first.answers != UNANSWERED) & (second.answers != UNANSWERED)
            if not both.any():
                skipped.append(f"No example has an answer from both {first.model} and {second.model}.")
                continue
            agreed = agreement(first.answers[both], second.answers[both], gold[both])
            same = (first.answers == second.answers)[both]
            _, low, high = share_interval(same, [codes[both] for codes in shared])
            rows.append(
                {
                    "normal": first.model,
                    "biased": second.model,
                    "n": agreed.n,
                    "left_out": len(both) - agreed.n,
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
        if not rows:
            raise Skip(" ".join(skipped))
        table = pl.DataFrame(rows).with_columns(pl.selectors.float().fill_nan(None))
        summary = {"pairs": table.to_dicts(), "notes": skipped}
        findings = [_agreement_finding(row) for row in rows]
        return Result(summary, {AGREEMENT: table}, findings, measures=agreement_measures(summary))

    def _role(self, model: Predictions) -> tuple[bool, bool]:
        """Return what sorts the normal model before the biased one; models alike stay in the order given."""
        return model.model not in self.normal, bool(model.partial_input)


def _agreement_finding(row: Row) -> Finding:
    normal, biased = row["normal"], row["biased"]
    text = (
        f"{normal} and {biased} give the same answer to {percent(row['nba'])} of the test examples (95 % CI "
        f"{percent(row['nba_low'])} to {percent(row['nba_high'])}; {percent(row['expected_nba'])} is expected from "
        f"their label frequencies). Where {normal} is correct, {biased} is correct in {percent(row['nbr_released'])}."
    )
    if row["left_out"]:
        text += f" {plural(row['left_out'], 'example')} without an answer from both models are left out."
    title = f"{normal} and {biased} agree on {percent(row['nba'])} of the examples"
    same = interval(row, "nba", "nba_") | {"chance": row["expected_nba"], "n": row["n"]}
    return Finding(AGREEMENT, "info", title, text, **same, key=f"{normal}/{biased}")


DIFFERENCE = MeasureKind("difference.{model}.{other}", "accuracy of {model} minus that of {other}", "points")
P_VALUE = MeasureKind("p.{model}.{other}", "p-value of the difference of {model} and {other}", "p")


def paired_measures(summary: Row) -> list[Measure]:
    """Return the accuracy difference of every two models with its interval and p-value."""
    measures = []
    for pair in summary["pairs"]:
        n, two = pair["n"], {"model": pair["model_a"], "other": pair["model_b"]}
        measures.append(DIFFERENCE.of(PAIRED, **interval(pair, "difference"), chance=0.0, n=n, **two))
        measures.append(P_VALUE.of(PAIRED, pair["log10_p"], n=n, **two))
    return measures


#: What the second of two models does with a cue that the first also met.
LESS, NO_CHANGE, MORE = "less", "no change", "more"


@dataclass(frozen=True)
class PairedComparison(Probe):
    """Exact McNemar test and bootstrap interval of the accuracy difference of every two models.

    And per cue whether the second model relies on it less or more than the first, such as a model that was trained with
    weights beside one without: accuracy with the usual label minus accuracy with another, compared pair by pair.

    Args:
        draws: resamples behind the intervals.
        alpha: a difference within a cue is significant if its q-value is at most this.
        seed: seed of the resamples.
    """

    name: ClassVar[str] = PAIRED
    title: ClassVar[str] = "Paired comparison"
    view = staticmethod(paired_view)
    measures: ClassVar[tuple[MeasureKind, ...]] = (DIFFERENCE, P_VALUE)

    draws: int = 2000
    alpha: float = 0.05
    seed: int = 0

    def run(self, data: Instances, predictions: Sequence[Predictions], cues: CueSet) -> Result:
        """Return one row per two models, and one per two models and cue."""
        if len(predictions) < 2:
            raise Skip("needs at least two models, found one")
        rows: list[Row] = []
        tables = []
        for a, b in combinations(predictions, 2):
            right_a, right_b = a.correct(cues.examples), b.correct(cues.examples)
            compared = paired_comparison(right_a, right_b, draws=self.draws, seed=self.seed)
            effect = effect_on_mean(right_a.astype(np.int64) - right_b, cues.shared)
            low, high = widened_within(compared.difference, compared.low, compared.high, effect)
            rows.append(
                {
                    "model_a": a.model,
                    "model_b": b.model,
                    "n": compared.n,
                    "accuracy_a": compared.accuracy_a,
                    "accuracy_b": compared.accuracy_b,
                    "difference": compared.difference,
                    "low": float(low),
                    "high": float(high),
                    "only_a": compared.only_a,
                    "only_b": compared.only_b,
                    "log10_p": float(deflated_log10_p(compared.log10_p, effect)),
                }
            )
            tables.append(self._by_cue(a, b, cues))
        summary = {"pairs": rows}
        frames = {PAIRED: pl.DataFrame(rows), "paired_by_cue": pl.concat(tables)}
        findings = [_paired_finding(row) for row in rows]
        findings += [found for table in tables if (found := _reliance_finding(table)) is not None]
        return Result(summary, frames, findings, measures=paired_measures(summary))

    def _by_cue(self, a: Predictions, b: Predictions, cues: CueSet) -> pl.DataFrame:
        right_a, right_b, having = a.correct(cues.examples), b.correct(cues.examples), cues.members.having
        comparison = paired_by_cue(right_a, right_b, having, draws=self.draws, seed=self.seed)
        effects = effects_of(right_a.astype(np.int64) - right_b, having, cues.shared)
        low, high = widened_within(comparison.difference, comparison.low, comparison.high, effects)
        sets, d = cues.members, right_b.astype(np.int64) - right_a
        contrasts = versus(sets.usual, sets.unusual)
        relied = reliance_change(
            right_a,
            right_b,
            sets.usual,
            sets.unusual,
            strata=None if cues.examples.instances.grouped else cues.examples.gold,
            effects=two_sided_design_effects(d, contrasts, cues.shared),
        )
        q_of_change = q_of(relied.log10_p)
        return cues.names.select(
            pl.lit(a.model).alias("model_a"), pl.lit(b.model).alias("model_b"), pl.all()
        ).with_columns(
            n=comparison.n,
            only_a=comparison.only_a,
            only_b=comparison.only_b,
            difference=nullable(comparison.difference),
            low=nullable(low),
            high=nullable(high),
            **tested_columns(deflated_log10_p(comparison.log10_p, effects), self.alpha),
            reliance_change=nullable(relied.change),
            reliance_change_low=nullable(relied.low),
            reliance_change_high=nullable(relied.high),
            reliance_change_q=nullable(q_of_change),
            relies=_verdicts(relied.change, q_of_change, self.alpha),
        )


def _verdicts(change: Floats, q: Floats, alpha: float) -> pl.Series:
    """Return whether the second model relies on each cue less or more than the first; null where it is not tested."""
    said = np.where(q > alpha, NO_CHANGE, np.where(change < 0, LESS, MORE))
    verdicts = [None if np.isnan(one) else str(word) for one, word in zip(q, said, strict=True)]
    return pl.Series(verdicts, dtype=pl.String)


def _paired_finding(row: Row) -> Finding:
    a, b, difference = row["model_a"], row["model_b"], row["difference"]
    better, worse = (a, b) if difference >= 0 else (b, a)
    clear = row["log10_p"] <= -1.30103
    title = f"{better} is more accurate than {worse}" if clear else f"{a} and {b} do not differ significantly"
    text = (
        f"{a} has an accuracy of {percent(row['accuracy_a'])} and {b} of {percent(row['accuracy_b'])} on the same "
        f"{row['n']:,} test examples: a difference of {points(difference)} points (95 % CI {points(row['low'])} to "
        f"{points(row['high'])}; exact McNemar p = {format_p(row['log10_p'])})."
    )
    ends = interval(row, "difference") | {"chance": 0.0, "n": row["n"]}
    return Finding(PAIRED, "info", title, text, **ends, unit="points", key=f"{a}/{b}")


def _reliance_finding(table: pl.DataFrame) -> Finding | None:
    """Return on how many cues the second model relies less or more than the first; None where no cue can tell."""
    tested = table.drop_nulls("relies")
    if tested.is_empty():
        return None
    a, b = tested.row(0, named=True)["model_a"], tested.row(0, named=True)["model_b"]
    counts = {word: tested.filter(relies=word) for word in (LESS, MORE)}
    same = tested.height - sum(rows.height for rows in counts.values())
    said = [
        f"{word} on {rows.height:,} ({listed([_named_cue(row) for row in rows.head(NAMED).iter_rows(named=True)])})"
        if rows.height
        else f"{word} on none"
        for word, rows in counts.items()
    ]
    text = (
        f"Of {plural(tested.height, 'cue')} with enough test examples, {b} relies {' and '.join(said)} than {a}; the "
        f"other {same:,} show no change beyond noise. Reliance is the accuracy where a cue has its usual label minus "
        "that where it has another."
    )
    if not any(rows.height for rows in counts.values()):
        title = f"No change beyond noise in how much {b} and {a} rely on cues"
    else:
        less, more = counts[LESS].height, counts[MORE].height
        title = f"{b} relies on {plural(max(less, more), 'cue')} {LESS if less >= more else MORE} than {a}"
    return Finding(PAIRED, "info", title, text, n=max(tested["n"].to_list()), key=f"{a}/{b}/reliance")


#: Cues that a sentence names.
NAMED = 3


def _named_cue(row: Row) -> str:
    return f"{spoken_cue(row['family'], row['feature'])}: {points(row['reliance_change'])} points"


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
    ends = interval(vars(agreement), "tra") | {"chance": agreement.even}
    return Finding("saliency", "info", title, text, **ends, n=n, unit="score", key=name)

"""Prompt study: the same examples asked with several prompts; which one leans least on a cue? (ICQ 5)"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from cuecard.analysis import Finding, Measure, MeasureKind, Need, Result, Row, Skip, interval
from cuecard.data import Instances
from cuecard.features.family import spoken_cue
from cuecard.probes.cues.accuracy import accuracy_table
from cuecard.probes.cues.cue_set import CueSet
from cuecard.probes.cues.distribution import DistributionTest
from cuecard.probes.predictions import Predictions, Probe
from cuecard.view import Column, KeyFigure, Outcome, Table, View, interval_columns
from cuecard.wording import display_text, percent, plural, points

_COLUMNS = {
    "feature": Column("Cue"),
    "prompt": Column("Prompt"),
    "accuracy_with": Column("Acc. with", "percent", "accuracy on examples with the cue"),
    "accuracy_without": Column("Acc. without", "percent"),
    "gap": Column("ΔAcc", "points", "accuracy with the cue minus accuracy without, in points"),
    **interval_columns("gap_", "points", brief=True),
    "usual_share": Column(
        "On balanced", "percent", "how often the usual label is predicted on balanced labels"
    ),
    "unanswered": Column("Unparsed", "count", "answers that could not be parsed; they count as wrong"),
    "q_value": Column("q", "probability"),
}


def prompts_view(outcome: Outcome) -> View:
    """Return accuracy gaps and leans per prompt, and which prompt has the smallest gap."""
    summary = outcome.summary
    prompts = summary["prompts"].items()
    lead = [
        f"For “{display_text(cue, 40)}”, {display_text(model, 60)} has the smallest accuracy gap."
        for cue, model in summary["smallest_gap"].items()
    ]
    return View(
        lead,
        figures=[
            KeyFigure(f"{display_text(name, 40)} accuracy", percent(scores["accuracy"]))
            for name, scores in prompts
        ],
        tables=[Table("Comparison of prompts", "prompts", _COLUMNS)],
        notes=[f"{display_text(name, 60)}: {note}" for name, scores in prompts for note in scores["how"]],
    )


NAME = "prompts"
ACCURACY = MeasureKind("accuracy.{model}", "accuracy with the prompt {model}", "share", "lower")
UNANSWERED_SHARE = MeasureKind(
    "unanswered.{model}", "unanswered examples with the prompt {model}", "share", "higher"
)


def prompt_measures(summary: Row) -> list[Measure]:
    """Return the accuracy with every prompt, and how many answers could not be read."""
    n = summary["n"]
    return [
        kind.of(NAME, value, n=n, model=model)
        for model, part in summary["prompts"].items()
        for kind, value in ((ACCURACY, part["accuracy"]), (UNANSWERED_SHARE, part["unanswered"] / n))
    ]


@dataclass(frozen=True)
class PromptStudy(Probe):
    """Which of several prompts has the smallest accuracy gap, and how each leans on flattened examples.

    Args:
        alpha: level of the q-values over the cues.
        draws: seeded samples of the distribution test.
        seed: seed of the samples.
    """

    name: ClassVar[str] = NAME
    title: ClassVar[str] = "Prompt study"
    view = staticmethod(prompts_view)
    needs: ClassVar[frozenset[Need]] = frozenset({"test", "prompts", "cues"})
    measures: ClassVar[tuple[MeasureKind, ...]] = (ACCURACY, UNANSWERED_SHARE)

    alpha: float = 0.05
    draws: int = 200
    seed: int = 0

    def run(self, data: Instances, prompts: Sequence[Predictions], cues: CueSet) -> Result:
        """Return one row per prompt and cue, and the prompt with the smallest |ΔAcc| of every cue."""
        if not len(cues):
            raise Skip("needs at least one cue to compare prompts")
        table = pl.concat([self._of_prompt(model, cues) for model in prompts])
        best = (
            table.drop_nans("gap")
            .with_columns(size=pl.col("gap").abs())
            .sort("size", maintain_order=True)
            .unique(["family", "feature"], keep="first", maintain_order=True)
        )
        summary = {
            "prompts": {
                model.model: {
                    "unanswered": model.unanswered,
                    "accuracy": float(model.correct(cues.examples).mean()),
                    "how": list(model.notes),
                }
                for model in prompts
            },
            "smallest_gap": {row["feature"]: row["model"] for row in best.iter_rows(named=True)},
            "n": len(cues.examples),
        }
        findings = [_finding(row, table) for row in best.iter_rows(named=True)]
        return Result(summary, {NAME: table}, findings, measures=prompt_measures(summary))

    def _of_prompt(self, model: Predictions, cues: CueSet) -> pl.DataFrame:
        leans = DistributionTest(draws=self.draws, alpha=self.alpha, seed=self.seed).tested(model, cues)[1]
        gaps = accuracy_table(model, cues, alpha=self.alpha)
        return pl.concat(
            [
                gaps.with_columns(prompt=pl.lit(model.prompt), unanswered=pl.lit(model.unanswered)),
                leans.select("usual_share", "flat", "amplification", lean_q="q_value"),
            ],
            how="horizontal",
        )


def _finding(best: Row, table: pl.DataFrame) -> Finding:
    name = spoken_cue(best["family"], best["feature"])
    rows = table.filter((pl.col("family") == best["family"]) & (pl.col("feature") == best["feature"]))
    gaps = ", ".join(f"{row['prompt']} {points(row['gap'])}" for row in rows.iter_rows(named=True))
    text = (
        f"Accuracy gaps (with {name} minus without), in points: {gaps}. The prompt “{best['prompt']}” has the smallest "
        f"gap (95 % CI {points(best['gap_low'])} to {points(best['gap_high'])}; "
        f"{plural(best['with_cue'], 'test example')} with the cue). Prompts with overlapping CIs cannot be ranked."
    )
    title = f"The prompt “{best['prompt']}” has the smallest accuracy gap for {name}"
    gap = interval(best, "gap", "gap_") | {"chance": 0.0, "n": best["with_cue"]}
    key = f"{best['family']}:{best['feature']}"
    return Finding(NAME, "info", title, text, **gap, unit="points", key=key)

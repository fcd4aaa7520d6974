"""The joined table: how strong a cue is in the data, how much each model relies on it, and what to do next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import polars as pl

from cuecard.analysis import Finding, Measure, MeasureKind, Result, Row, Severity, interval
from cuecard.data import GROUPED_TASKS, Instances, Task
from cuecard.features.family import spoken_cue
from cuecard.probes.cues.accuracy import accuracy_table
from cuecard.probes.cues.cue_set import CueSet
from cuecard.probes.cues.distribution import DistributionTest
from cuecard.probes.cues.given_length import given_length
from cuecard.probes.cues.permutation import usual_table
from cuecard.probes.cues.views import reliance_view
from cuecard.probes.predictions import Predictions, Probe
from cuecard.wording import TRAINING_SET, listed, percent, plural

RelianceVerdict = Literal["relies", "signs", "avoids", "length", "none", "unknown"]
VERDICTS: tuple[RelianceVerdict, ...] = ("relies", "signs", "avoids", "length", "none", "unknown")

#: Fewer test examples than this that break a cue cannot tell whether a model relies on it.
ENOUGH_UNUSUAL = 20

NAME = "reliance"
#: Columns of the tests that the joined table shows.
_BREAKS = (
    "usual",
    "unusual",
    "usual_accuracy",
    "unusual_accuracy",
    "difference",
    "difference_low",
    "difference_high",
)
_LEANS = (
    *("usual_share", "flat", "lean", "amplification", "usual_share_without"),
    *("contrast", "contrast_q", "with_cue_only", "against_cue"),
)
CUES = MeasureKind("cues", "cues probed", "count")
RELIES = MeasureKind("relies.{model}", "cues {model} relies on", "count", "higher")
SIGNS = MeasureKind("signs.{model}", "cues {model} shows signs of using", "count", "higher")


def reliance_measures(summary: Row) -> list[Measure]:
    """Return how many cues every model relies on or shows signs of using."""
    measures = [CUES.of(NAME, summary["cues"])]
    for model, part in summary["models"].items():
        measures.append(RELIES.of(NAME, part["relies"], model=model))
        measures.append(SIGNS.of(NAME, part["signs"], model=model))
    return measures


@dataclass(frozen=True)
class Reliance(Probe):
    """One row per cue and model: data strength beside the evidence of three tests.

    A model *relies* on a cue if it is more often right where the cue has its usual label than where it has
    another, and leans to that label on flattened examples, and more so than on examples without the cue (all at
    q ≤ alpha), and all that beyond what the length of the text explains. The last alone is a *sign*; where too few
    examples could tell, so is predicting the label more often with the cue than without it among examples of the
    same gold label and length, which a model that is merely better at one label does not do. What only holds before
    length is held fixed is explained by *length*. A model that leans away from the usual label where the cue is,
    and only there, *avoids* it.

    Args:
        alpha: level of the q-values over the cues.
        draws: seeded samples of the distribution test.
        seed: seed of the samples.
    """

    name: ClassVar[str] = NAME
    title: ClassVar[str] = "Cues and reliance"
    view = staticmethod(reliance_view)
    measures: ClassVar[tuple[MeasureKind, ...]] = (CUES, RELIES, SIGNS)

    alpha: float = 0.05
    draws: int = 200
    seed: int = 0

    def run(self, data: Instances, predictions: Sequence[Predictions], cues: CueSet) -> Result:
        """Return the joined table with what to do next about every cue."""
        cues.check_any()
        table = pl.concat([self._of_model(model, cues) for model in predictions])
        advice = _advice(table, trained=cues.source == TRAINING_SET)
        table = table.join(advice, on=["family", "feature"], how="left", maintain_order="left")
        counted = {
            model: {v: int((part["verdict"] == v).sum()) for v in VERDICTS}
            for (model,), part in table.group_by("model", maintain_order=True)
        }
        summary = {"models": counted, "cues": len(cues), "alpha": self.alpha, "source": cues.source}
        findings = [_finding(str(model), table, len(cues), data.task) for model in counted]
        return Result(summary, {NAME: table}, findings, measures=reliance_measures(summary))

    def _of_model(self, model: Predictions, cues: CueSet) -> pl.DataFrame:
        strength = cues.table.select(
            "family", "feature", "label", "train_count", "test_count", "share", "lift", "z", "cueness"
        )
        gaps = accuracy_table(model, cues, alpha=self.alpha)
        right = model.correct(cues.examples)
        breaks = usual_table(model, cues.names, cues.members, right, alpha=self.alpha, shared=cues.shared)
        leans = DistributionTest(draws=self.draws, alpha=self.alpha, seed=self.seed).tested(model, cues)[1]
        joined = pl.concat(
            [
                strength.select(pl.lit(model.model).alias("model"), pl.all()),
                gaps.select("gap", "gap_low", "gap_high", gap_q="q_value"),
                breaks.select(*_BREAKS, breaks_q="q_value", breaks_significant="significant"),
                leans.select(*_LEANS, lean_q="q_value", leaning="towards_usual"),
                given_length(model, cues).drop("given_length_log10_p"),
            ],
            how="horizontal",
        )
        better = pl.col("breaks_significant") & (pl.col("difference") > 0)
        leaning, beyond = pl.col("leaning"), pl.col("with_cue_only")
        # Whether the model prefers the label anyway is not known where too few examples could tell.
        open_question = pl.col("contrast_q").is_null()
        beyond_length = pl.col("given_length_q") <= self.alpha
        towards = (beyond_length & (pl.col("given_length") > 0)).fill_null(False)
        away = (beyond_length & (pl.col("given_length") < 0)).fill_null(False)
        unexplained = beyond & (towards | pl.col("given_length_q").is_null())
        verdict = (
            pl.when(better & leaning & unexplained)
            .then(pl.lit("relies"))
            .when(unexplained | (open_question & towards))
            .then(pl.lit("signs"))
            .when(pl.col("against_cue") & away)
            .then(pl.lit("avoids"))
            .when(beyond)
            .then(pl.lit("length"))
            .when(pl.col("unusual") < ENOUGH_UNUSUAL)
            .then(pl.lit("unknown"))
            .otherwise(pl.lit("none"))
        )
        return joined.with_columns(verdict=verdict).drop(
            "breaks_significant", "leaning", "with_cue_only", "against_cue"
        )


def _advice(table: pl.DataFrame, *, trained: bool) -> pl.DataFrame:
    """Return for every cue what to do next, given what all models do with it.

    `trained` says that there is a training set.
    """
    rows = [
        {"family": str(family), "feature": str(feature), "next": _next(part, trained=trained)}
        for (family, feature), part in table.group_by("family", "feature", maintain_order=True)
    ]
    return pl.DataFrame(rows)


def _next(part: pl.DataFrame, *, trained: bool) -> str:
    unusual = int(part["unusual"][0])
    relying = part.filter(pl.col("verdict") == "relies")["model"].to_list()
    signs = part.filter(pl.col("verdict") == "signs")["model"].to_list()
    if relying:
        on_counterexamples = f"the accuracy of {listed(relying)} on {plural(unusual, 'counterexample')}"
        if not trained:
            return f"Report {on_counterexamples}, and look for the cue in the model's training data."
        return f"Balance the cue before training (cuecard debias), and report {on_counterexamples} in the test set."
    if unusual < ENOUGH_UNUSUAL:
        return f"Collect more test examples that are counterexamples: {unusual} are too few to test."
    avoiding = part.filter(pl.col("verdict") == "avoids")["model"].to_list()
    if avoiding:
        return f"Report that {listed(avoiding)} avoids the cue; this reduces accuracy on examples that follow the cue."
    if signs:
        return f"Inspect the {plural(unusual, 'counterexample')} and what {listed(signs)} predicts there."
    return "Nothing to do for these models; another model may still learn the cue."


def _finding(model: str, table: pl.DataFrame, cues: int, task: Task) -> Finding:
    part = table.filter(pl.col("model") == model)
    relied = part.filter(pl.col("verdict") == "relies").sort("difference", descending=True)
    if relied.is_empty():
        signs = int((part["verdict"] == "signs").sum())
        text = f"For none of {plural(cues, 'cue')} do all tests show that {model} relies on it" + (
            f"; for {signs}, some tests do." if signs else "."
        )
        title = f"No evidence that {model} relies on a cue"
        return Finding(NAME, "info", title, text, n=cues, key=model, counted="cues")
    worst: Row = relied.row(0, named=True)
    names = [spoken_cue(*cue) for cue in relied.select("family", "feature").head(3).iter_rows()]
    severity: Severity = "high" if relied.height >= 3 or worst["difference"] >= 0.3 else "medium"
    such_as = f", such as {listed(names)}" if relied.height > len(names) else f", {listed(names)}"
    usual, other = (
        (f"with the usual label ({worst['label']})", "with another label")
        if task not in GROUPED_TASKS
        else (f"that follow the cue (the {whose_choice(task, worst['label'])})", "that do not")
    )
    text = (
        f"{model} relies on {relied.height} of {plural(cues, 'cue')}{such_as}. With {names[0]}, its accuracy is "
        f"{percent(worst['usual_accuracy'])} on {plural(worst['usual'], 'test example')} {usual} and "
        f"{percent(worst['unusual_accuracy'])} on the {worst['unusual']:,} {other}."
    )
    title = f"{model} relies on {plural(relied.height, 'cue')}"
    difference = interval(worst, "difference", "difference_") | {"n": worst["usual"] + worst["unusual"]}
    return Finding(NAME, severity, title, text, **difference, chance=0.0, unit="points", key=model)


def whose_choice(task: Task, label: str) -> str:
    """Return what it means for the choices with a cue to have a label: “right choice has the cue”."""
    key = "chosen answer" if task == "preference" else "right choice"
    return f"{key} has the cue" if label in ("right", "chosen") else f"{key} does not have the cue"

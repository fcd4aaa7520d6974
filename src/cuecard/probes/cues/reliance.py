"""The joined table: how strong a cue is in the data, and how much each model relies on it at equal length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import polars as pl

from cuecard.analysis import Finding, Measure, MeasureKind, Result, Row, Severity, interval
from cuecard.data import GROUPED_TASKS, Instances, Task
from cuecard.features.family import spoken_cue
from cuecard.probes.cues.accuracy import accuracy_table
from cuecard.probes.cues.cue_set import CueSet
from cuecard.probes.cues.distribution import DistributionTest
from cuecard.probes.cues.permutation import usual_table
from cuecard.probes.cues.views import reliance_view
from cuecard.probes.examples import UNANSWERED, effects_of, nullable, q_of
from cuecard.probes.predictions import Predictions, Probe
from cuecard.stats.arrays import Bools, Floats, Ints
from cuecard.stats.given_properties import PreferenceGiven, choices_given, labels_given
from cuecard.stats.models.paired import deflated_log10_p
from cuecard.wording import TRAINING_SET, listed, percent, plural

#: Instances are compared with others of about the same length, in this many classes of about equal size.
LENGTH_CLASSES = 10
#: The family that is length itself, which is tested without holding length fixed.
LENGTH = "length"


def given_length(model: Predictions, cues: CueSet) -> pl.DataFrame:
    """Return per cue how far the model leans to its usual label, gold label and length held fixed.

    Columns `given_length` (the excess; above 0: towards the usual label) and `given_length_log10_p`, `given_length_q`.
    Length itself is tested within gold labels only.
    """
    if not len(cues):
        return _frame(PreferenceGiven(np.empty(0), np.empty(0)))
    return _frame((_choices if cues.examples.instances.grouped else _labels)(model, cues))


def _frame(preference: PreferenceGiven) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "given_length": pl.Series(preference.excess, dtype=pl.Float64),
            "given_length_log10_p": nullable(preference.log10_p),
            "given_length_q": nullable(q_of(preference.log10_p)),
        }
    )


def _labels(model: Predictions, cues: CueSet) -> PreferenceGiven:
    labels = cues.examples.instances.labels
    answered = model.answers != UNANSWERED
    usual = np.array([labels.index(label) for label in cues.table["label"]], dtype=np.int64)
    hit = model.answers[answered, None] == usual[None, :]
    having = np.asarray(cues.members.having.todense())[answered] > 0
    gold = cues.examples.gold[answered]
    lengths = _test_lengths(cues)[answered]
    edges = np.quantile(lengths, np.arange(1, LENGTH_CLASSES) / LENGTH_CLASSES) if len(lengths) else []
    bins = np.searchsorted(np.unique(edges), lengths, side="left")
    is_length = (cues.table["family"] == LENGTH).to_numpy()
    strata = gold * (LENGTH_CLASSES + 1) + bins
    preference = labels_given(hit, strata, having)
    alone = labels_given(hit, gold, having)
    log_p = np.where(is_length, alone.log10_p, preference.log10_p)
    if shared := [codes[answered] for codes in cues.shared]:
        effects = np.ones(len(cues))
        for label in np.unique(usual):
            mine = usual == label
            contrasts = having[:, mine] - _stratum_means(having[:, mine], strata)
            effects[mine] = effects_of(model.answers[answered] == label, contrasts, shared, strata=gold)
        log_p = deflated_log10_p(log_p, effects)
    return PreferenceGiven(np.where(is_length, alone.excess, preference.excess), log_p)


def _stratum_means(values: Bools, strata: Ints) -> Floats:
    """Return for every row the mean of its stratum."""
    codes = np.unique(strata, return_inverse=True)[1].ravel()
    sums = np.zeros((int(codes.max(initial=-1)) + 1, values.shape[1]))
    np.add.at(sums, codes, values)
    return np.asarray((sums / np.maximum(np.bincount(codes), 1)[:, None])[codes])


def _choices(model: Predictions, cues: CueSet) -> PreferenceGiven:
    examples = cues.examples
    answered = np.flatnonzero(model.answers != UNANSWERED)
    rows = np.repeat(model.answers != UNANSWERED, examples.sizes)
    picked = np.zeros(len(examples.instances))
    picked[examples.first_rows[answered] + model.answers[answered]] = 1
    right = np.zeros(len(examples.instances))
    right[examples.right_rows] = 1
    codes = np.repeat(np.arange(len(examples)), examples.sizes)
    long, short, size = _length_properties(_test_lengths(cues), examples.first_rows[:-1], codes)
    having = np.asarray(cues.instances_having.todense()) > 0
    is_length = (cues.table["family"] == LENGTH).to_numpy()
    controls = np.column_stack([right, long, short, size, right * long])
    if not len(answered):
        return PreferenceGiven(np.zeros(len(cues)), np.full(len(cues), np.nan))
    preference = choices_given(picked[rows], codes[rows], controls[rows], having[rows])
    alone = choices_given(picked[rows], codes[rows], right[rows, None], having[rows])
    excess = np.where(is_length, alone.excess, preference.excess)
    # A cue whose usual label is the second one is followed by passing over it.
    sign = np.where((cues.table["label"] == examples.instances.labels[0]).to_numpy(), 1.0, -1.0)
    log_p = np.where(is_length, alone.log10_p, preference.log10_p)
    effects = np.array([cues.effect_on_picks(model.answers, i) for i in range(len(cues))])
    return PreferenceGiven(sign * excess, deflated_log10_p(log_p, effects))


def _test_lengths(cues: CueSet) -> Ints:
    """Return the number of tokens of every test instance, in the text in which cues are looked for."""
    lengths = cues.encoded.scoped.lengths
    return np.asarray(lengths[len(cues.encoded.instances) - len(cues.examples.instances) :], dtype=np.int64)


def _length_properties(lengths: Ints, starts: Ints, codes: Ints) -> tuple[Floats, Floats, Floats]:
    """Return whether a choice is among the longest, the shortest, and its log length within its example."""
    longest = (lengths == np.maximum.reduceat(lengths, starts)[codes]).astype(np.float64)
    shortest = (lengths == np.minimum.reduceat(lengths, starts)[codes]).astype(np.float64)
    size = np.log1p(lengths.astype(np.float64))
    mean = np.add.reduceat(size, starts) / np.diff(np.append(starts, len(lengths)))
    return longest, shortest, size - mean[codes]


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

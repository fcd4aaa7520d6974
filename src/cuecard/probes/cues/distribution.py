"""Distribution test: what does a model predict for examples with a cue once their labels are flat? (ICQ 3.3.2)"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import polars as pl

from cuecard.analysis import Finding, Measure, MeasureKind, Result, Row, Severity, interval
from cuecard.data import GROUPED_TASKS, Instances, Task
from cuecard.features.family import spoken_cue
from cuecard.probes.cues.cue_set import CueSet
from cuecard.probes.cues.views import distribution_view
from cuecard.probes.examples import (
    UNANSWERED,
    column,
    effects_of,
    nullable,
    q_of,
    tested_columns,
    widened_within,
)
from cuecard.probes.predictions import Predictions, Probe
from cuecard.stats.arrays import Bools, Floats, Ints
from cuecard.stats.models.flattened import FlattenedContrast, bits_from, flattened_choice, flattened_contrast
from cuecard.stats.models.paired import deflated_log10_p, deflated_tail, widened
from cuecard.stats.models.weakness import FlattenedDistribution, flattened_distribution
from cuecard.wording import percent, plural

FINDINGS_PER_MODEL = 3
#: A lean gets a sentence if the interval of the usual label's share lies this far from flat.
NOTABLE_LEAN = 0.05


def distribution_findings(tests: pl.DataFrame, task: Task, source: str = "the training set") -> list[Finding]:
    """Return a sentence for the strongest leans of a model towards a cue's usual label, and away from it.

    `source` is what to call the examples that the cues come from.
    """
    towards = pl.col("towards_usual") & pl.col("with_cue_only")
    away = pl.col("away_from_usual") & pl.col("against_cue")
    nearest = pl.when(towards).then(pl.col("usual_low") - pl.col("flat")).when(away).then(
        pl.col("flat") - pl.col("usual_high")
    )  # fmt: skip
    notable = (
        tests.with_columns(distance=nearest)
        .filter(pl.col("distance") >= NOTABLE_LEAN)
        .sort(pl.col("lean").abs(), descending=True, maintain_order=True)
    )
    findings = []
    for row in notable.head(FINDINGS_PER_MODEL).iter_rows(named=True):
        name = spoken_cue(row["family"], row["feature"])
        severity: Severity = "high" if row["distance"] >= 4 * NOTABLE_LEAN else "medium"
        title, text = (_of_choices if task in GROUPED_TASKS else _of_labels)(row, name, source)
        usual = interval(row, "usual_share", "usual_") | {"chance": row["flat"], "n": row["n"]}
        key = f"{row['model']}/{row['family']}:{row['feature']}"
        findings.append(Finding(NAME, severity, title, text, **usual, key=key))
    return findings


def _of_labels(row: Row, name: str, source: str) -> tuple[str, str]:
    text = (
        f"On {plural(row['n'], 'test example')} with {name}, sampled to balanced labels, {row['model']} predicts "
        f"{row['label']} for {_share(row)}. An unbiased model would predict it for {percent(row['flat'])}; without the "
        f"cue, this model predicts it for {percent(row['usual_share_without'])}. In {source}, "
        f"{percent(row['train_share'])} of the instances with the cue are {row['label']}."
    )
    if row["lean"] < 0:
        return f"{row['model']} avoids {row['label']} in examples with {name}", text + _opposite(row, source)
    return f"{row['model']} prefers {row['label']} in examples with {name}", text


def _of_choices(row: Row, name: str, source: str) -> tuple[str, str]:
    verb = "prefers" if row["label"] in ("right", "chosen") else "rejects"
    noun = "choices" if row["label"] in ("right", "wrong") else "answers"
    does, do = ("picks", "pick") if verb == "prefers" else ("passes over", "pass over")
    text = (
        f"On {plural(row['n'], 'test example')}, reweighted so that {noun} with {name} are correct at chance, "
        f"{row['model']} {does} {_share(row)} of them; an unbiased model would {do} {percent(row['flat'])}. In "
        f"{source}, {percent(row['train_share'])} of these {noun} are {row['label']}."
    )
    if row["lean"] < 0:
        opposite = "rejects" if verb == "prefers" else "prefers"
        return f"{row['model']} {opposite} {noun} with {name}", text + _opposite(row, source)
    return f"{row['model']} {verb} {noun} with {name}", text


def _opposite(row: Row, source: str) -> str:
    """Return that the model does the opposite of what the cue suggests, where it suggests anything."""
    return f" This is the opposite of {source}." if row["train_share"] > row["flat"] else ""


def _share(row: Row) -> str:
    low, high = percent(row["usual_low"]), percent(row["usual_high"])
    return f"{percent(row['usual_share'])} (95 % CI {low} to {high})"


NAME = "distribution_test"
PREFERRED = MeasureKind("preferred.{model}", "cues whose usual label {model} prefers", "count", "higher")


def distribution_measures(summary: Row) -> list[Measure]:
    """Return of how many cues every model prefers the usual label, more than without the cue."""
    return [
        PREFERRED.of(NAME, part["with_cue_only"], model=model) for model, part in summary["models"].items()
    ]


@dataclass(frozen=True)
class DistributionTest(Probe):
    """Predicted labels on S_f flattened to its rarest label, beside train's R_f and the flat gold.

    A model that prefers a label everywhere leans to it where a cue is, too. So the share of the usual label is also
    compared with that on examples without the cue, flattened alike (`contrast`); only a lean that is stronger
    with the cue (`with_cue_only`) is a finding. Choices with and without a cue are compared within each example.

    Args:
        draws: seeded samples that flatten the test examples of a cue.
        min_per_label: a cue is tested if at least this many test examples of every label have it.
        alpha: a lean is significant if its q-value over the cues is at most this.
        seed: seed of the samples.
    """

    name: ClassVar[str] = NAME
    title: ClassVar[str] = "Distribution test"
    view = staticmethod(distribution_view)
    measures: ClassVar[tuple[MeasureKind, ...]] = (PREFERRED,)

    draws: int = 200
    min_per_label: int = 5
    alpha: float = 0.05
    seed: int = 0

    def run(self, data: Instances, predictions: Sequence[Predictions], cues: CueSet) -> Result:
        """Return the predicted label shares per model and cue, and the test of each against flat."""
        cues.check_any()
        parts = [self.tested(model, cues) for model in predictions]
        shares, tests = pl.concat([part[0] for part in parts]), pl.concat([part[1] for part in parts])
        tested = tests.filter(pl.col("log10_p").is_not_null())
        untested = tests.join(tested, on=["family", "feature"], how="anti")
        summary = {
            "models": {
                model: {
                    "tested": int(part["log10_p"].is_not_null().sum()),
                    "towards_usual": int(part["towards_usual"].sum()),
                    "with_cue_only": int((part["towards_usual"] & part["with_cue_only"]).sum()),
                    "away_from_usual": int(part["away_from_usual"].sum()),
                    "avoided": int((part["away_from_usual"] & part["against_cue"]).sum()),
                }
                for (model,), part in tests.group_by("model", maintain_order=True)
            },
            "cues": len(cues),
            "untested": sorted(
                {spoken_cue(*cue) for cue in untested.select("family", "feature").iter_rows()}
            ),
            "min_per_label": self.min_per_label,
            "draws": self.draws,
            "alpha": self.alpha,
            "source": cues.source,
        }
        findings = [f for part in parts for f in distribution_findings(part[1], data.task, cues.source)]
        tables = {NAME: tests, "distribution_shares": shares}
        return Result(summary, tables, findings, measures=distribution_measures(summary))

    def tested(self, model: Predictions, cues: CueSet) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return the shares of a model, cue by cue and label by label, and one test per cue."""
        flatten = self._choice if cues.examples.instances.grouped else self._labels
        rows, tests = [], []
        for i, cue in enumerate(cues.names.iter_rows(named=True)):
            shares, test = flatten(model, cues, i)
            tests.append({"model": model.model, **cue, **test})
            rows += [{"model": model.model, **cue, **row} for row in shares]
        table = pl.DataFrame(tests, schema=_TEST_SCHEMA, orient="row")
        tested = tested_columns(table["log10_p"].fill_null(np.nan).to_numpy(), self.alpha)
        contrast_q = nullable(q_of(table["contrast_log10_p"].fill_null(np.nan).to_numpy()))
        clear, contrast_clear = tested["significant"], (contrast_q <= self.alpha).fill_null(False)
        # The test is about all labels; whether it is the usual one that is preferred, its interval says.
        table = table.with_columns(
            q_value=tested["q_value"],
            significant=clear,
            towards_usual=(clear & (pl.col("usual_low") > pl.col("flat"))).fill_null(False),
            contrast_q=contrast_q,
            with_cue_only=(contrast_clear & (pl.col("contrast") > 0)).fill_null(False),
            against_cue=(contrast_clear & (pl.col("contrast") < 0)).fill_null(False),
            away_from_usual=(clear & (pl.col("usual_high") < pl.col("flat"))).fill_null(False),
        )
        return pl.DataFrame(rows, schema=_SHARE_SCHEMA, orient="row"), table

    def _labels(self, model: Predictions, cues: CueSet, i: int) -> tuple[list[Row], Row]:
        """Return the shares and the test of one cue for a task whose answers are labels."""
        labels = cues.examples.instances.labels
        having = column(cues.members.having, i)
        here = having & (model.answers != UNANSWERED)
        gold, predicted = cues.examples.gold[here], model.answers[here]
        counts = np.bincount(gold, minlength=len(labels))
        cue = _Cue.of(cues, i, np.full(len(labels), 1 / len(labels)), counts)
        if counts.min() < self.min_per_label:
            return cue.shares(), cue.test()
        flattened = _with_effects(
            flattened_distribution(
                predicted, gold, label_count=len(labels), draws=self.draws, seed=self.seed
            ),
            _label_effects(model, cues, having),
        )
        drawn_low, drawn_high = np.quantile(flattened.draws, [0.025, 0.975], axis=0)
        shares = cue.shares(
            predicted_share=flattened.share,
            low=flattened.low,
            high=flattened.high,
            drawn_low=drawn_low,
            drawn_high=drawn_high,
        )
        test = cue.test(flattened.share, flattened.low, flattened.high) | {
            "amplification": flattened.amplification,
            "amplification_low": flattened.amplification_low,
            "amplification_high": flattened.amplification_high,
            "amplification_null": flattened.amplification_null,
            "log10_p": flattened.log10_p,
        }
        contrast = self._contrast(model, cues, having, cue.usual)
        if contrast is not None:
            test |= {
                "usual_share_without": contrast.share_without,
                "contrast": contrast.difference,
                "contrast_log10_p": contrast.log10_p,
            }
        return shares, test

    def _contrast(
        self, model: Predictions, cues: CueSet, having: Bools, usual: int
    ) -> FlattenedContrast | None:
        """Return the share of the usual label with and without a cue, if enough examples have it and have not."""
        answered = model.answers != UNANSWERED
        gold, having = cues.examples.gold[answered], having[answered]
        predicted = model.answers[answered] == usual
        without = np.bincount(gold[~having], minlength=len(cues.examples.instances.labels))
        if without.min() < self.min_per_label:
            return None
        contrast = flattened_contrast(predicted, gold, having, seed=self.seed)
        if contrast is None or not cues.shared:
            return contrast
        counts = [np.bincount(gold[who], minlength=int(gold.max()) + 1) for who in (having, ~having)]
        mean = np.where(having, 1.0, -1.0) / np.where(having, counts[0][gold], counts[1][gold])
        shared = [codes[answered] for codes in cues.shared]
        [effect] = effects_of(predicted, mean[:, None], shared, strata=2 * gold + having)
        return replace(contrast, log10_p=float(deflated_log10_p(contrast.log10_p, effect)))

    def _choice(self, model: Predictions, cues: CueSet, i: int) -> tuple[list[Row], Row]:
        """Return the shares and the test of one cue for a task whose answers are choices."""
        examples = cues.examples
        here = np.flatnonzero(column(cues.members.having, i) & (model.answers != UNANSWERED))
        having = column(cues.instances_having, i)
        picked = having[examples.first_rows[here] + model.answers[here]]
        right = having[examples.right_rows[here]]
        counts = np.array([right.sum(), len(right) - right.sum()])
        m = np.add.reduceat(having.astype(np.int64), examples.first_rows[:-1])[here]
        sizes = examples.sizes[here]
        enough = counts.min() >= self.min_per_label
        contrast = flattened_choice(picked, right, m, sizes) if enough else None
        if contrast is None:
            flat = float((m / sizes).sum() / m.sum()) if len(m) else float("nan")
            cue = _Cue.of(cues, i, np.array([flat, 1 - flat]), counts)
            return cue.shares(), cue.test()
        low, high, log10_p = contrast.low, contrast.high, contrast.log10_p
        if (effect := cues.effect_on_picks(model.answers, i)) > 1:
            low, high = map(float, widened_within(contrast.share, low, high, effect, minimum=0.0))
            log10_p = float(deflated_log10_p(log10_p, effect))
        cue = _Cue.of(cues, i, np.array([contrast.flat, 1 - contrast.flat]), counts)
        share, lows, highs = (
            np.array(pair)
            for pair in ((contrast.share, 1 - contrast.share), (low, 1 - high), (high, 1 - low))
        )
        spread = [float(bits_from([end, 1 - end], cue.flat)) for end in (low, high)]
        test = cue.test(share, lows, highs)
        return cue.shares(predicted_share=share, low=lows, high=highs), test | {
            "n": contrast.examples,
            "amplification": float(bits_from(share, cue.flat)),
            "amplification_low": 0.0 if low <= contrast.flat <= high else min(spread),
            "amplification_high": max(spread),
            "log10_p": log10_p,
            # The other choices of an example are what its choices with the cue are compared with.
            "usual_share_without": test["flat"],
            "contrast": test["lean"],
            "contrast_log10_p": log10_p,
        }


@dataclass(frozen=True, eq=False)
class _Cue:
    """What is known of a cue before a model is tested: by label, or for choices by whether the right one has it."""

    labels: tuple[str, ...]
    usual: int
    train: Floats
    flat: Floats
    counts: Ints

    @classmethod
    def of(cls, cues: CueSet, i: int, flat: Floats, counts: Ints) -> _Cue:
        labels = cues.examples.instances.labels
        return cls(labels, labels.index(cues.table["label"][i]), cues.train_shares[i], flat, counts)

    def shares(self, **columns: Floats) -> list[Row]:
        """Return a row per label, with further columns."""
        columns |= {"train_share": self.train, "flat": self.flat}
        return [
            {"answer": label, "test_count": int(self.counts[code])}
            | {name: float(values[code]) for name, values in columns.items()}
            for code, label in enumerate(self.labels)
        ]

    def test(self, *share_and_ends: Floats) -> dict[str, float]:
        """Return what a test says of the usual label: its share with both ends by label, where it is tested."""
        flat = float(self.flat[self.usual])
        test = {
            "n": int(self.counts.sum()),
            "per_label": int(self.counts.min()),
            "train_share": float(self.train[self.usual]),
            "flat": flat,
        }
        if not share_and_ends:
            return test
        share, low, high = (float(values[self.usual]) for values in share_and_ends)
        return test | {
            "usual_share": share,
            "usual_low": low,
            "usual_high": high,
            "lean": share - flat,
            "train_divergence": float(bits_from(self.train, self.flat)),
        }


def _label_effects(model: Predictions, cues: CueSet, having: Bools) -> Floats:
    """Return for every label the design effect of its share among the predictions with a cue, gold labels flattened."""
    labels, answered = len(cues.examples.instances.labels), model.answers != UNANSWERED
    if not cues.shared:
        return np.ones(labels)
    gold, here, answers = cues.examples.gold[answered], having[answered], model.answers[answered]
    weight = here / np.maximum(np.bincount(gold[here], minlength=labels), 1)[gold]
    shared = [codes[answered] for codes in cues.shared]
    return np.concatenate(
        [
            effects_of(answers == code, weight[:, None], shared, strata=2 * gold + here)
            for code in range(labels)
        ]
    )


def _with_effects(flattened: FlattenedDistribution, effects: Floats) -> FlattenedDistribution:
    """Return the distribution with intervals and test of examples that share texts."""
    largest = float(effects.max())
    if largest <= 1:
        return flattened
    low, high = widened_within(flattened.share, flattened.low, flattened.high, effects, minimum=0.0)
    bits = flattened.amplification
    return replace(
        flattened,
        low=low,
        high=high,
        amplification_low=max(float(widened(bits, flattened.amplification_low, largest)), 0.0),
        amplification_high=float(widened(bits, flattened.amplification_high, largest)),
        amplification_null=flattened.amplification_null * largest,
        log10_p=deflated_tail(flattened.log10_p, largest, len(effects) - 1),
    )


_NAMES = {"model": pl.String, "family": pl.String, "feature": pl.String, "label": pl.String}
_SHARE_SCHEMA = {
    **_NAMES,
    "answer": pl.String,
    **dict.fromkeys(("predicted_share", "low", "high", "drawn_low", "drawn_high"), pl.Float64),
    **dict.fromkeys(("train_share", "flat"), pl.Float64),
    "test_count": pl.Int64,
}
_TEST_SCHEMA = {
    **_NAMES,
    "n": pl.Int64,
    "per_label": pl.Int64,
    **dict.fromkeys(
        (
            *("usual_share", "usual_low", "usual_high", "train_share", "flat", "lean", "amplification"),
            *("amplification_low", "amplification_high", "amplification_null", "train_divergence", "log10_p"),
            *("usual_share_without", "contrast", "contrast_log10_p"),
        ),
        pl.Float64,
    ),
}

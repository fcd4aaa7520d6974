"""Distribution test: what does a model predict for examples with a cue once their labels are flat? (ICQ 3.3.2)"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import polars as pl

from cuecard.analysis import About, Finding, Measure, MeasureKind, Need, Result, Severity
from cuecard.data import GROUPED_TASKS, TASKS, Instances, Task
from cuecard.features.cue_names import spoken_cue
from cuecard.probes.cue_set import CueSet
from cuecard.probes.examples import UNANSWERED, effects_of, q_of
from cuecard.probes.predictions import Predictions
from cuecard.stats.arrays import Bools, Floats
from cuecard.stats.models.design_effect import deflated_log10_p, deflated_tail, widened
from cuecard.stats.models.distribution import FlattenedDistribution, flattened_distribution
from cuecard.stats.models.flattened_choice import bits_from, flattened_choice
from cuecard.stats.models.flattened_contrast import FlattenedContrast, flattened_contrast
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
        findings.append(
            Finding(
                "distribution_test",
                severity,
                title,
                text,
                row["usual_share"],
                row["usual_low"],
                row["usual_high"],
                row["flat"],
                row["n"],
                key=f"{row['model']}/{row['family']}:{row['feature']}",
            )
        )
    return findings


def _of_labels(row: dict[str, Any], name: str, source: str) -> tuple[str, str]:
    text = (
        f"On {plural(row['n'], 'test example')} with {name}, sampled to balanced labels, {row['model']} predicts "
        f"{row['label']} for {_share(row)}. An unbiased model would predict it for {percent(row['flat'])}; without the "
        f"cue, this model predicts it for {percent(row['usual_share_without'])}. In {source}, "
        f"{percent(row['train_share'])} of the instances with the cue are {row['label']}."
    )
    if row["lean"] < 0:
        return f"{row['model']} avoids {row['label']} in examples with {name}", text + _opposite(row, source)
    return f"{row['model']} prefers {row['label']} in examples with {name}", text


def _of_choices(row: dict[str, Any], name: str, source: str) -> tuple[str, str]:
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


def _opposite(row: dict[str, Any], source: str) -> str:
    """Return that the model does the opposite of what the cue suggests, where it suggests anything."""
    return f" This is the opposite of {source}." if row["train_share"] > row["flat"] else ""


def _share(row: dict[str, Any]) -> str:
    low, high = percent(row["usual_low"]), percent(row["usual_high"])
    return f"{percent(row['usual_share'])} (95 % CI {low} to {high})"


PREFERRED = MeasureKind("preferred.{model}", "cues whose usual label {model} prefers", "count", "higher")


def distribution_measures(summary: Mapping[str, Any]) -> list[Measure]:
    """Return of how many cues every model prefers the usual label, more than without the cue."""
    return [
        PREFERRED.of("distribution_test", part["with_cue_only"], model=model)
        for model, part in summary["models"].items()
    ]


@dataclass(frozen=True)
class DistributionTest:
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

    name: ClassVar[str] = "distribution_test"
    title: ClassVar[str] = "Distribution test"
    tasks: ClassVar[frozenset[Task]] = frozenset(TASKS)
    needs: ClassVar[frozenset[Need]] = frozenset({"test", "predictions", "cues"})
    measures: ClassVar[tuple[MeasureKind, ...]] = (PREFERRED,)
    about: ClassVar[About] = "models"
    measured = staticmethod(distribution_measures)

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
        tables = {"distribution_test": tests, "distribution_shares": shares}
        return Result(summary, tables, findings, measures=distribution_measures(summary))

    def tested(self, model: Predictions, cues: CueSet) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return the shares of a model, cue by cue and label by label, and one test per cue."""
        flatten = self._choice if cues.examples.instances.grouped else self._labels
        rows, tests = [], []
        for i, cue in enumerate(cues.names.iter_rows(named=True)):
            flattened = flatten(model, cues, i)
            tests.append({"model": model.model, **cue, **flattened["test"]})
            rows += [{"model": model.model, **cue, **row} for row in flattened["shares"]]
        table = pl.DataFrame(tests, schema=_TEST_SCHEMA, orient="row")
        log_p = table["log10_p"].fill_null(np.nan).to_numpy()
        q = pl.Series(q_of(log_p), dtype=pl.Float64).fill_nan(None)
        significant = (q <= self.alpha).fill_null(False)
        contrast_q = pl.Series(q_of(table["contrast_log10_p"].fill_null(np.nan).to_numpy()), dtype=pl.Float64)
        # The test is about all labels; whether it is the usual one that is preferred, its interval says.
        table = table.with_columns(
            q_value=q,
            significant=significant,
            towards_usual=(significant & (pl.col("usual_low") > pl.col("flat"))).fill_null(False),
            contrast_q=contrast_q.fill_nan(None),
            with_cue_only=((contrast_q.fill_nan(None) <= self.alpha) & (pl.col("contrast") > 0)).fill_null(
                False
            ),
            against_cue=((contrast_q.fill_nan(None) <= self.alpha) & (pl.col("contrast") < 0)).fill_null(
                False
            ),
            away_from_usual=(significant & (pl.col("usual_high") < pl.col("flat"))).fill_null(False),
        )
        return pl.DataFrame(rows, schema=_SHARE_SCHEMA, orient="row"), table

    def _labels(self, model: Predictions, cues: CueSet, i: int) -> dict[str, Any]:
        """Return the test of one cue for a task whose answers are labels."""
        labels = cues.examples.instances.labels
        usual = labels.index(cues.table["label"][i])
        train = cues.train_shares[i]
        here = _members(cues, i) & (model.answers != UNANSWERED)
        gold, predicted = cues.examples.gold[here], model.answers[here]
        counts = np.bincount(gold, minlength=len(labels))
        flat = 1 / len(labels)
        if counts.min() < self.min_per_label:
            return _untested(int(counts.sum()), labels, train, np.full(len(labels), flat), counts, usual)
        flattened = flattened_distribution(
            predicted, gold, label_count=len(labels), draws=self.draws, seed=self.seed
        )
        contrast = self._contrast(model, cues, i, usual)
        effects = _label_effects(model, cues, _members(cues, i))
        flattened = _with_effects(flattened, effects)
        drawn_low, drawn_high = np.quantile(flattened.draws, [0.025, 0.975], axis=0)
        shares = [
            {
                "answer": label,
                "predicted_share": float(flattened.share[code]),
                "low": float(flattened.low[code]),
                "high": float(flattened.high[code]),
                "drawn_low": float(drawn_low[code]),
                "drawn_high": float(drawn_high[code]),
                "train_share": float(train[code]),
                "flat": flat,
                "test_count": int(counts[code]),
            }
            for code, label in enumerate(labels)
        ]
        test = {
            "n": int(counts.sum()),
            "per_label": flattened.per_label,
            "usual_share": float(flattened.share[usual]),
            "usual_low": float(flattened.low[usual]),
            "usual_high": float(flattened.high[usual]),
            "train_share": float(train[usual]),
            "flat": flat,
            "lean": float(flattened.share[usual]) - flat,
            "amplification": flattened.amplification,
            "amplification_low": flattened.amplification_low,
            "amplification_high": flattened.amplification_high,
            "amplification_null": flattened.amplification_null,
            "train_divergence": float(bits_from(train, np.full(len(labels), flat))),
            "log10_p": flattened.log10_p,
        }
        if contrast is not None:
            test |= {
                "usual_share_without": contrast.share_without,
                "contrast": contrast.difference,
                "contrast_log10_p": contrast.log10_p,
            }
        return {"shares": shares, "test": test}

    def _contrast(self, model: Predictions, cues: CueSet, i: int, usual: int) -> FlattenedContrast | None:
        """Return the share of the usual label with and without a cue, if enough examples have it and have not."""
        answered = model.answers != UNANSWERED
        gold, having = cues.examples.gold[answered], _members(cues, i)[answered]
        without = np.bincount(gold[~having], minlength=len(cues.examples.instances.labels))
        if without.min() < self.min_per_label:
            return None
        contrast = flattened_contrast(model.answers[answered] == usual, gold, having, seed=self.seed)
        if contrast is None or not cues.shared:
            return contrast
        counts = [np.bincount(gold[who], minlength=int(gold.max()) + 1) for who in (having, ~having)]
        mean = np.where(having, 1.0, -1.0) / np.where(having, counts[0][gold], counts[1][gold])
        shared = [codes[answered] for codes in cues.shared]
        [effect] = effects_of(
            model.answers[answered] == usual, mean[:, None], shared, strata=2 * gold + having
        )
        return replace(contrast, log10_p=float(deflated_log10_p(contrast.log10_p, effect)))

    def _choice(self, model: Predictions, cues: CueSet, i: int) -> dict[str, Any]:
        """Return the test of one cue for a task whose answers are choices."""
        examples = cues.examples
        labels, train = examples.instances.labels, cues.train_shares[i]
        usual = labels.index(cues.table["label"][i])
        here = np.flatnonzero(_members(cues, i) & (model.answers != UNANSWERED))
        having = np.asarray(cues.instances_having[:, [i]].todense()).ravel() > 0
        picked = having[examples.first_rows[here] + model.answers[here]]
        right = having[examples.right_rows[here]]
        counts = np.array([right.sum(), len(right) - right.sum()])
        m = np.add.reduceat(having.astype(np.int64), examples.first_rows[:-1])[here]
        sizes = examples.sizes[here]
        contrast = None
        if counts.min() >= self.min_per_label:
            contrast = flattened_choice(picked, right, m, sizes)
            if contrast is not None and (effect := cues.effect_on_picks(model.answers, i)) > 1:
                contrast = replace(
                    contrast,
                    low=max(float(widened(contrast.share, contrast.low, effect)), 0.0),
                    high=min(float(widened(contrast.share, contrast.high, effect)), 1.0),
                    log10_p=float(deflated_log10_p(contrast.log10_p, effect)),
                )
        if contrast is None:
            flat = float((m / sizes).sum() / m.sum()) if len(m) else float("nan")
            return _untested(len(right), labels, train, np.array([flat, 1 - flat]), counts, usual)
        flats = np.array([contrast.flat, 1 - contrast.flat])
        ends = {0: (contrast.share, contrast.low, contrast.high)}
        ends[1] = (1 - contrast.share, 1 - contrast.high, 1 - contrast.low)
        shares = [
            {
                "answer": label,
                "predicted_share": ends[code][0],
                "low": ends[code][1],
                "high": ends[code][2],
                "drawn_low": None,
                "drawn_high": None,
                "train_share": float(train[code]),
                "flat": float(flats[code]),
                "test_count": int(counts[code]),
            }
            for code, label in enumerate(labels)
        ]
        spread = [float(bits_from([x, 1 - x], flats)) for x in (contrast.low, contrast.high)]
        inside = contrast.low <= contrast.flat <= contrast.high
        test = {
            "n": contrast.examples,
            "per_label": int(counts.min()),
            "usual_share": ends[usual][0],
            "usual_low": ends[usual][1],
            "usual_high": ends[usual][2],
            "train_share": float(train[usual]),
            "flat": float(flats[usual]),
            "lean": ends[usual][0] - float(flats[usual]),
            "amplification": float(bits_from([contrast.share, 1 - contrast.share], flats)),
            "amplification_low": 0.0 if inside else min(spread),
            "amplification_high": max(spread),
            "train_divergence": float(bits_from(train, flats)),
            "log10_p": contrast.log10_p,
            # The other choices of an example are what its choices with the cue are compared with.
            "usual_share_without": float(flats[usual]),
            "contrast": ends[usual][0] - float(flats[usual]),
            "contrast_log10_p": contrast.log10_p,
        }
        return {"shares": shares, "test": test}


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
    bits = flattened.amplification
    return replace(
        flattened,
        low=np.maximum(widened(flattened.share, flattened.low, effects), 0.0),
        high=np.minimum(widened(flattened.share, flattened.high, effects), 1.0),
        amplification_low=max(float(widened(bits, flattened.amplification_low, largest)), 0.0),
        amplification_high=float(widened(bits, flattened.amplification_high, largest)),
        amplification_null=flattened.amplification_null * largest,
        log10_p=deflated_tail(flattened.log10_p, largest, len(effects) - 1),
    )


_NAMES = {"model": pl.String, "family": pl.String, "feature": pl.String, "label": pl.String}
_SHARE_SCHEMA: dict[str, Any] = {
    **_NAMES,
    "answer": pl.String,
    **dict.fromkeys(("predicted_share", "low", "high", "drawn_low", "drawn_high"), pl.Float64),
    **dict.fromkeys(("train_share", "flat"), pl.Float64),
    "test_count": pl.Int64,
}
_TEST_SCHEMA: dict[str, Any] = {
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


def _members(cues: CueSet, i: int) -> Bools:
    column: Bools = np.asarray(cues.members.having[:, [i]].todense()).ravel() > 0
    return column


def _untested(
    n: int, labels: Sequence[str], train: Any, flat: Any, counts: Any, usual: int
) -> dict[str, Any]:
    """Return what is known of a cue that too few test examples of some label have."""
    shares = [
        {
            "answer": label,
            "train_share": float(train[code]),
            "flat": float(flat[code]),
            "test_count": int(counts[code]),
        }
        for code, label in enumerate(labels)
    ]
    tested = {
        "n": n,
        "per_label": int(counts.min()),
        "train_share": float(train[usual]),
        "flat": float(flat[usual]),
    }
    return {"shares": shares, "test": tested}

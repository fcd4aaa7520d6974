"""How accurate is a model on the test examples that no partial input gives away, and on the others?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from cuecard.analysis import Finding, Measure, MeasureKind, Need, Result, Row, Severity, Skip, interval
from cuecard.audits import PartialInput
from cuecard.audits.partial_input.leak_scores import SOLVED, easy_examples, solvers_of
from cuecard.data import Instances
from cuecard.probes.examples import check_test, share_interval, shared_texts, versus, widened_within
from cuecard.probes.model_views import hard_subset_view
from cuecard.probes.predictions import Predictions, Probe
from cuecard.stats import newcombe_difference
from cuecard.stats.arrays import Bools, Ints
from cuecard.stats.models.paired import two_sided_design_effects
from cuecard.wording import listed, percent, plural, points

#: A loss on the hard subset is of low severity from here, and of medium severity from twice that.
NOTABLE_LOSS = 0.05
NAME = "hard_subset"
SHARE = MeasureKind("share", "hard test examples", "share", "lower")
HARD = MeasureKind("hard.{model}", "accuracy of {model} on the hard subset", "share", "lower")
EASY = MeasureKind("easy.{model}", "accuracy of {model} on the easy subset", "share")
DIFFERENCE = MeasureKind(
    "difference.{model}", "accuracy of {model} on the easy minus the hard subset", "points", "higher"
)


def hard_subset_measures(summary: Row) -> list[Measure]:
    """Return the share of hard examples, and the accuracy of every model on both subsets."""
    n, hard = summary["n"], summary["hard"]
    measures = [SHARE.of(NAME, hard / n, n=n)]
    for model, part in summary["models"].items():
        for kind, subset in ((HARD, "hard"), (EASY, "easy")):
            accuracy = interval(part, f"{subset}_accuracy", f"{subset}_")
            measures.append(kind.of(NAME, **accuracy, n=summary[subset], model=model))
        measures.append(DIFFERENCE.of(NAME, **interval(part, "difference"), chance=0.0, n=n, model=model))
    return measures


@dataclass(frozen=True)
class HardSubset(Probe):
    """Every model's accuracy on the hard and on the easy test examples.

    An example is easy if a model that is trained on partial input (hypothesis only, choices only, …) names the right
    answer, at a confidence at which most of its *other* answers are correct; all others are hard. It is what
    `cuecard stress` writes.

    Args:
        tokens: tokenisation of the partial-input model; what suits the language by default.
        min_examples: both subsets need at least this many examples.
        seed: seed of the partial-input model.
    """

    name: ClassVar[str] = NAME
    title: ClassVar[str] = "Hard and easy subset"
    view = staticmethod(hard_subset_view)
    needs: ClassVar[frozenset[Need]] = frozenset({"test", "predictions"})
    measures: ClassVar[tuple[MeasureKind, ...]] = (SHARE, HARD, EASY, DIFFERENCE)

    tokens: str | None = None
    min_examples: int = 5
    seed: int = 0

    def run(self, data: Instances, predictions: Sequence[Predictions]) -> Result:
        """Return one row per model."""
        examples = check_test(data)
        easy, solvers = self._easy(data)
        hard_n, easy_n = int((~easy).sum()), int(easy.sum())
        for name, count in (("easy", easy_n), ("hard", hard_n)):
            if count < self.min_examples:
                raise Skip(f"needs at least {self.min_examples} {name} test examples, found {count}")
        majority = {name: _majority(examples.gold[at]) for name, at in (("hard", ~easy), ("easy", easy))}
        shared = shared_texts(examples)
        rows = [{"model": one.model, **_scores(one.correct(examples), easy, shared)} for one in predictions]
        table = pl.DataFrame(rows)
        summary = {
            "models": {row["model"]: {k: v for k, v in row.items() if k != "model"} for row in rows},
            "solvers": solvers,
            "n": len(easy),
            "hard": hard_n,
            "easy": easy_n,
            "hard_majority": majority["hard"],
            "easy_majority": majority["easy"],
        }
        findings = [
            _finding(row, summary, restricted=bool(one.partial_input))
            for one, row in zip(predictions, rows, strict=True)
        ]
        about = pl.DataFrame({"example_id": examples.ids, "split": ["test"] * len(examples)}).with_columns(
            subset=pl.when(pl.Series(easy)).then(pl.lit("easy")).otherwise(pl.lit("hard"))
        )
        return Result(summary, {NAME: table}, findings, about, hard_subset_measures(summary))

    def _easy(self, data: Instances) -> tuple[Bools, list[str]]:
        """Return which test examples a partial input gives away, and the partial inputs."""
        audit = PartialInput(tokens=self.tokens, cross_fit=False, learning_curve=False, seed=self.seed)
        leaks = audit.run(data).examples
        assert leaks is not None
        solvers = solvers_of(leaks)
        ids = check_test(data).ids.cast(pl.String)
        scored = leaks.filter(pl.col("split").cast(pl.String) == "test")
        in_order = pl.DataFrame({"example_id": ids}).join(
            scored.with_columns(pl.col("example_id").cast(pl.String)),
            on="example_id",
            how="left",
            maintain_order="left",
        )
        assert not in_order.select(f"{SOLVED}{name}" for name in solvers).null_count().sum_horizontal().item()
        test = data.test
        assert test is not None
        return easy_examples(test, in_order, solvers), solvers


def _majority(gold: Ints) -> float:
    """Return the accuracy of always giving the most frequent answer."""
    return float(np.bincount(gold).max() / len(gold))


def _scores(right: Bools, easy: Bools, shared: Sequence[Ints]) -> dict[str, float]:
    """Return accuracies on both subsets and their difference, with intervals that count shared texts."""
    scores: dict[str, float] = {}
    for name, at in (("hard", ~easy), ("easy", easy)):
        shared_here = [np.unique(codes[at], return_inverse=True)[1].astype(np.int64) for codes in shared]
        ends = share_interval(right[at], shared_here)
        scores |= dict(zip((f"{name}_accuracy", f"{name}_low", f"{name}_high"), ends, strict=True))
    difference = scores["easy_accuracy"] - scores["hard_accuracy"]
    newcombe = newcombe_difference(right[easy].sum(), easy.sum(), right[~easy].sum(), (~easy).sum())
    [effect] = two_sided_design_effects(right, versus(easy[:, None], ~easy[:, None]), shared)
    low, high = widened_within(difference, *newcombe, effect)
    return scores | {"difference": difference, "low": float(low), "high": float(high)}


def _finding(row: Row, summary: Row, *, restricted: bool) -> Finding:
    """Return both accuracies in a sentence; of a model that sees partial input only, a loss is no news."""
    model = row["model"]
    severity: Severity = "info"
    if row["low"] >= NOTABLE_LOSS and not restricted:
        severity = "medium" if row["low"] >= 2 * NOTABLE_LOSS else "low"
        title = f"{model} is less accurate on the examples that no partial input gives away"
    else:
        title = f"Accuracy of {model} on the hard subset: {percent(row['hard_accuracy'])}"
    text = (
        f"{model} has an accuracy of {percent(row['hard_accuracy'])} (95 % CI {percent(row['hard_low'])} to "
        f"{percent(row['hard_high'])}) on {plural(summary['hard'], 'hard test example')}, which no partial input "
        f"({listed([name.replace('_', ' ') for name in summary['solvers']])}) gives away, and "
        f"{percent(row['easy_accuracy'])} on {summary['easy']:,} easy ones: a difference of "
        f"{points(row['difference'])} points (95 % CI {points(row['low'])} to {points(row['high'])}). "
        "Different labels in the two subsets, and examples that are difficult for other reasons, can also cause a "
        f"difference; the most frequent answer has an accuracy of {percent(summary['hard_majority'])} and "
        f"{percent(summary['easy_majority'])}."
    )
    difference = interval(row, "difference") | {"chance": 0.0, "n": summary["n"]}
    return Finding(NAME, severity, title, text, **difference, unit="points", key=model)

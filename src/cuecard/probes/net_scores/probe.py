"""How much of a benchmark score is left without the leak, which ranks change, and which labels are suspect?"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from cuecard.analysis import About, Finding, Measure, MeasureKind, Need, Result, Severity, Skip
from cuecard.data import Instances, Task
from cuecard.data.examples import Examples
from cuecard.probes.examples import check_test
from cuecard.probes.net_scores.leak import Leak, measured_leak
from cuecard.probes.net_scores.ranking import scores_of
from cuecard.probes.net_scores.suspects import suspect_labels
from cuecard.probes.predictions import Predictions
from cuecard.stats.arrays import Floats
from cuecard.stats.scores.cross_fit_intervals import mean_interval
from cuecard.wording import listed, percent, plural

NAME = "net_scores"
AS_IT_STANDS = MeasureKind("{model}.accuracy", "accuracy of {model} as it stands", "share", "lower")
UNSOLVED = MeasureKind("{model}.unsolved", "accuracy of {model} where no shortcut works", "share", "lower")
NEUTRAL = MeasureKind("{model}.neutral", "accuracy of {model} under leak-neutral weights", "share", "lower")
BEYOND = MeasureKind("{model}.beyond_choices", "information of {model} beyond choices only", "bits", "lower")
SUSPECT = MeasureKind("suspect", "examples whose label strong models contradict", "count", "higher")
WAYS = {"accuracy": AS_IT_STANDS, "unsolved": UNSOLVED, "neutral": NEUTRAL}
FEWEST = 20
#: Weights are neutral if they bring all shortcuts this close to chance.
NEUTRAL_WITHIN = 0.01
#: Item response needs the answers of this many models.
FEWEST_MODELS = 5
#: With right keys everywhere, this many models list next to nothing; fewer also agree by chance.
SURE_MODELS = 30
_CHOICES = re.compile(r"[-_ ]choices([-_ ]only)?$")


def net_measures(summary: Mapping[str, Any]) -> list[Measure]:
    """Return every model's accuracies, and what it adds to the choices alone."""
    measures = []
    for row in summary["models"]:
        for way, kind in WAYS.items():
            if way in row:
                ends = {"low": row[f"{way}_low"], "high": row[f"{way}_high"], "n": summary["counts"][way]}
                measures.append(kind.of(NAME, row[way], **ends, model=row["model"]))
        beyond = summary["beyond"].get(row["model"])
        if beyond:
            ends = {"low": beyond["low"], "high": beyond["high"], "chance": 0.0, "n": summary["n"]}
            measures.append(BEYOND.of(NAME, beyond["value"], **ends, model=row["model"]))
    if summary["suspect"] is not None:
        measures.append(SUSPECT.of(NAME, summary["suspect"], n=summary["n"]))
    return measures


@dataclass(frozen=True)
class NetScores:
    """Accuracy as it stands, where no shortcut works, and under weights that are neutral to all of them.

    A shortcut is a content-blind rule (longest, first, most frequent, …) or a partial input that is above chance on the
    test examples. With probabilities, the information beyond choices only is given: log P(answer | question, choices) −
    log P(answer | choices), the latter from the predictions called MODEL-choices, otherwise from our own choices-only
    model. With the answers of at least five models, examples where strong models agree on another answer than the key
    are listed as suspect labels.

    Args:
        tokens: tokenisation of the partial-input models; what suits the language by default.
        alpha: a shortcut works if its q-value over all of them is at most this.
        seed: of partial-input models and resamples.
    """

    name: ClassVar[str] = NAME
    title: ClassVar[str] = "Scores net of the leak"
    tasks: ClassVar[frozenset[Task]] = frozenset({"choice", "preference"})
    needs: ClassVar[frozenset[Need]] = frozenset({"test", "predictions"})
    measures: ClassVar[tuple[MeasureKind, ...]] = (AS_IT_STANDS, UNSOLVED, NEUTRAL, BEYOND, SUSPECT)
    about: ClassVar[About] = "models"
    measured = staticmethod(net_measures)

    tokens: str | None = None
    alpha: float = 0.05
    seed: int = 0

    def run(self, data: Instances, predictions: Sequence[Predictions]) -> Result:
        """Return one row per model, ranks and their changes, and suspect labels."""
        examples = check_test(data)
        if len(examples) < FEWEST:
            raise Skip(f"needs at least {FEWEST} test examples, found {len(examples)}")
        leak = measured_leak(data, tokens=self.tokens, seed=self.seed, alpha=self.alpha)
        full = [one for one in predictions if not _CHOICES.search(one.model)] or list(predictions)
        correct = np.stack([one.correct(examples).astype(np.float64) for one in full], axis=1)
        ways, counts = {"accuracy": np.ones(len(examples))}, {"accuracy": len(examples)}
        if leak.remaining <= NEUTRAL_WITHIN:
            ways["neutral"], counts["neutral"] = leak.weights, len(examples)
        left = int((~leak.solved).sum())
        if leak.working and left >= FEWEST:
            ways["unsolved"] = (~leak.solved).astype(np.float64)
            counts["unsolved"] = left
        table = scores_of([one.model for one in full], correct, ways, examples.units("example"), self.seed)
        suspects = _suspects(full, correct, examples)
        summary: dict[str, Any] = {
            "n": len(examples),
            "working": list(leak.working),
            "solved": int(leak.solved.sum()),
            "counts": counts,
            "models": table.to_dicts(),
            "beyond": _beyond(full, predictions, examples, leak),
            "suspect": None if suspects is None else suspects.height,
        }
        tables = {NAME: table}
        if suspects is not None:
            tables["suspect_labels"] = suspects
        return Result(summary, tables, _findings(summary), None, net_measures(summary))


def _beyond(
    full: Sequence[Predictions], everyone: Sequence[Predictions], examples: Examples, leak: Leak
) -> dict[str, dict[str, Any]]:
    """Return for every model with probabilities the mean information beyond choices only, in bits."""
    own = {_CHOICES.sub("", one.model): one for one in everyone if _CHOICES.search(one.model)}
    rows, result = np.arange(len(examples)), {}
    for one in full:
        if one.probabilities is None:
            continue
        partner = own.get(one.model)
        if partner is not None and partner.probabilities is not None:
            reference, by = partner.probabilities[rows, examples.gold], partner.model
        elif leak.choices_only is not None:
            reference, by = leak.choices_only, "our choices-only model"
        else:
            continue
        bits = np.log2(np.maximum(one.probabilities[rows, examples.gold], 1e-9)) - np.log2(
            np.maximum(reference, 1e-9)
        )
        value, low, high = mean_interval(bits, units=examples.units("example"))
        result[one.model] = {"value": value, "low": low, "high": high, "beyond": by}
    return result


def _suspects(models: Sequence[Predictions], correct: Floats, examples: Examples) -> pl.DataFrame | None:
    """Return examples where strong models agree on another answer than the key, the clearest first."""
    if len(models) < FEWEST_MODELS:
        return None
    answers = np.stack([one.answers for one in models], axis=1)
    which, other, agreed, discrimination, as_key = suspect_labels(answers, correct, examples.gold)
    names = examples.answer_names
    return pl.DataFrame(
        {
            "example_id": pl.Series([str(examples.ids[int(i)]) for i in which], dtype=pl.String),
            "key": pl.Series([names[int(examples.gold[i])] for i in which], dtype=pl.String),
            "answer": pl.Series([names[int(k)] for k in other], dtype=pl.String),
            "agreed": agreed,
            "discrimination": discrimination,
            "as_key": as_key,
        }
    ).sort("agreed", "as_key", descending=True)


def _findings(summary: Mapping[str, Any]) -> list[Finding]:
    findings = []
    if not summary["working"]:
        text = f"No content-blind rule or partial input is above chance on {plural(summary['n'], 'test example')}."
        findings.append(
            Finding(NAME, "info", "No shortcut to take out of the scores", text, key="none", role="flaw")
        )
    elif "neutral" not in summary["counts"]:
        text = (
            f"{_names(summary['working'])} solve {summary['solved']:,} of {plural(summary['n'], 'test example')}: no "
            "weights bring them to chance, so an accuracy on these examples says little about anything else."
        )
        title = "The scores cannot be freed from the leak"
        findings.append(Finding(NAME, "high", title, text, n=summary["n"], key="not_neutral", role="flaw"))
    for row in summary["models"] if summary["working"] and "neutral" in summary["counts"] else ():
        lost = row["accuracy"] - row["neutral"]
        surely = row["accuracy_low"] > row["neutral_high"]
        severity: Severity = "medium" if surely and lost >= 0.1 else "low" if surely else "info"
        text = (
            f"{row['model']} has an accuracy of {percent(row['accuracy'])} as it stands and {percent(row['neutral'])} "
            f"(95 % CI {percent(row['neutral_low'])} to {percent(row['neutral_high'])}) under weights at which "
            f"{_names(summary['working'])} are at chance"
        )
        if "unsolved" in row:
            left = plural(summary["counts"]["unsolved"], "example")
            text += f"; {percent(row['unsolved'])} on the {left} that none solves"
        if row.get("neutral_rank_change"):
            text += f"; its rank changes from {row['accuracy_rank']} to {row['neutral_rank']}"
        findings.append(
            Finding(
                NAME,
                severity,
                f"{row['model']}: {percent(row['neutral'])} net of the leak",
                f"{text}.",
                row["neutral"],
                row["neutral_low"],
                row["neutral_high"],
                n=summary["n"],
                key=row["model"],
                role="flaw",
            )
        )
    if summary["suspect"]:
        n, models = summary["suspect"], len(summary["models"])
        text = (
            f"On {plural(n, 'example')} most strong models agree on another answer than the key, and it fits as a key "
            "better (item response model): look at them in tables/suspect_labels.parquet."
        )
        if models < SURE_MODELS:
            text += (
                f" {models} models also agree on a wrong answer by chance, so right keys are among them; "
                f"{SURE_MODELS} or more models list few of these."
            )
        findings.append(
            Finding(
                NAME,
                "low" if models >= SURE_MODELS else "info",
                f"{plural(n, 'label')} {'may be wrong' if models >= SURE_MODELS else 'to check'}",
                text,
                float(n),
                n=summary["n"],
                key="suspect",
                unit="count",
                role="flaw",
            )
        )
    return findings


def _names(working: Sequence[str]) -> str:
    return listed([name.replace("_", " ") for name in working])

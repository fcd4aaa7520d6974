"""How much of a benchmark score is left without the leak, and which ranks change?"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl
from scipy.optimize import minimize
from scipy.special import logsumexp

from cuecard.analysis import Finding, Measure, MeasureKind, Need, Result, Row, Severity, Skip, interval
from cuecard.audits.partial_input import PartialInput
from cuecard.audits.partial_input.guesses import Guesses
from cuecard.audits.partial_input.leak_scores import given_away
from cuecard.audits.partial_input.rules import Battery
from cuecard.audits.slices.scoring import answer_rules, slice_test
from cuecard.data import Instances, Task
from cuecard.data.examples import Examples
from cuecard.probes.examples import check_test
from cuecard.probes.model_views import net_scores_view
from cuecard.probes.predictions import Predictions, Probe
from cuecard.stats import q_values
from cuecard.stats.arrays import Bools, Floats, Ints
from cuecard.stats.scores.cross_fit_intervals import mean_interval
from cuecard.wording import listed, percent, plural


@dataclass(frozen=True, eq=False)
class Leak:
    """The shortcuts that work on the test examples, what they solve, and weights that are neutral to them."""

    working: tuple[str, ...]
    solved: Bools
    weights: Floats
    #: How far above chance the best of them stays under these weights; above 0 where it solves nearly all examples.
    remaining: float
    #: Probability of the right answer by the learned choices-only model, where it is in the battery.
    choices_only: Floats | None


def measured_leak(data: Instances, *, tokens: str | None, seed: int, alpha: float) -> Leak:
    """Return the leak of the test split: every blind rule and partial input, tested against chance."""
    audit = PartialInput(tokens=tokens, seed=seed, cross_fit=False, learning_curve=False)
    audit.run(data)
    battery = Battery.kept(data, None)
    assert battery is not None
    rules: Mapping[str, Guesses] = {
        **battery.guesses,
        **answer_rules(battery.examples, battery.scored),
    }
    rules = {name: guesses for name, guesses in rules.items() if name != "most_overlap"}
    gold, grouped = battery.examples.gold[battery.scored], battery.examples.grouped
    tests = {
        name: slice_test(g, gold, grouped=grouped, inflation=battery.inflation.get(name, 1.0))
        for name, g in rules.items()
    }
    q = dict(zip(tests, q_values([t.log_p for t in tests.values()]), strict=True))
    working = tuple(name for name, test in tests.items() if test.excess > 0 and q[name] <= alpha)
    solved = np.zeros(len(gold), dtype=np.bool_)
    for name in working:
        solved |= _solves(rules[name], tests[name].luck)
    excess = [rules[name].score.astype(np.float64) - tests[name].luck for name in working]
    weights = neutral_weights(excess, len(gold))
    remaining = max((float(weights @ one) / len(gold) for one in excess), default=0.0)
    learned = rules.get("choices_only")
    return Leak(working, solved, weights, remaining, None if learned is None else learned.probability)


def _solves(guesses: Guesses, chance: float) -> Bools:
    """Return which examples a shortcut answers; one with probabilities only where it can tell."""
    if guesses.table is None:
        return np.asarray(guesses.score >= 1)
    confidence = np.nanmax(guesses.table, axis=1)
    return given_away(guesses.score.astype(np.float64), confidence, chance)


def neutral_weights(excess: list[Floats], n: int, most: float = 20.0) -> Floats:
    """Return weights of mean 1, as even as can be, under which the mean of every excess is 0.

    They are those of largest entropy: exp of a sum of the excesses; none is larger than `most` times the mean, or
    nearly so. Where a rule solves nearly all examples, no such weights take it to chance.
    """
    if not excess:
        return np.ones(n)
    matrix = np.stack(excess, axis=1)

    def dual(b: Floats) -> tuple[float, Floats]:
        utilities = matrix @ b
        total = float(logsumexp(utilities))
        share = np.exp(utilities - total)
        return total + 1e-4 * float(b @ b), share @ matrix + 2e-4 * b

    fitted = minimize(dual, np.zeros(matrix.shape[1]), jac=True, method="L-BFGS-B")
    utilities = matrix @ fitted.x
    weights = np.exp(utilities - logsumexp(utilities)) * n
    weights = np.minimum(weights, most)
    return np.asarray(weights / weights.mean())


RESAMPLES = 1_000


def scores_of(
    models: list[str], correct: Floats, ways: Mapping[str, Floats], units: Ints, seed: int
) -> pl.DataFrame:
    """Return every model's mean under every way to weight examples, with its rank and the change from the first way.

    Args:
        models: names of the models.
        correct: examples × models, 1 where right.
        ways: weights of the examples by the name of the way; the first is the plain one.
        units: examples that are one observation share a number; they are resampled together.
        seed: of the resamples.
    """
    rng = np.random.default_rng(seed)
    codes = np.unique(units, return_inverse=True)[1]
    groups = int(codes.max(initial=-1)) + 1
    names = list(ways)
    means = {name: _means(correct, weights) for name, weights in ways.items()}
    ranks = {name: _ranks(value) for name, value in means.items()}
    moves: dict[str, list[Ints]] = {name: [] for name in names[1:]}
    for _ in range(RESAMPLES if len(models) > 1 else 0):
        times = rng.multinomial(groups, np.full(groups, 1 / groups))[codes]
        first = _ranks(_means(correct, ways[names[0]] * times))
        for name in names[1:]:
            moves[name].append(first - _ranks(_means(correct, ways[name] * times)))
    columns: dict[str, object] = {"model": models}
    for name, weights in ways.items():
        used: Bools = weights > 0
        ends = [
            mean_interval(correct[used, m], units=codes[used], weights=weights[used])
            for m in range(len(models))
        ]
        columns |= {
            name: means[name],
            f"{name}_low": np.clip([e[1] for e in ends], 0, 1),
            f"{name}_high": np.clip([e[2] for e in ends], 0, 1),
            f"{name}_rank": ranks[name],
        }
        if moves.get(name):
            low, high = np.percentile(np.stack(moves[name]), [2.5, 97.5], axis=0)
            columns |= {
                f"{name}_rank_change": ranks[names[0]] - ranks[name],
                f"{name}_rank_change_low": np.rint(low).astype(np.int64),
                f"{name}_rank_change_high": np.rint(high).astype(np.int64),
            }
    return pl.DataFrame(columns)


def _means(correct: Floats, weights: Floats) -> Floats:
    return np.asarray(weights @ correct / max(float(weights.sum()), 1e-12))


def _ranks(values: Floats) -> Ints:
    """Return 1 for the highest value."""
    return np.asarray((-values).argsort(kind="stable").argsort(kind="stable") + 1)


NAME = "net_scores"
AS_IT_STANDS = MeasureKind("{model}.accuracy", "accuracy of {model} as it stands", "share", "lower")
UNSOLVED = MeasureKind("{model}.unsolved", "accuracy of {model} where no shortcut works", "share", "lower")
NEUTRAL = MeasureKind("{model}.neutral", "accuracy of {model} under leak-neutral weights", "share", "lower")
BEYOND = MeasureKind("{model}.beyond_choices", "information of {model} beyond choices only", "bits", "lower")
WAYS = {"accuracy": AS_IT_STANDS, "unsolved": UNSOLVED, "neutral": NEUTRAL}
FEWEST = 20
#: Weights are neutral if they bring all shortcuts this close to chance.
NEUTRAL_WITHIN = 0.01
_CHOICES = re.compile(r"[-_ ]choices([-_ ]only)?$")


def net_measures(summary: Row) -> list[Measure]:
    """Return every model's accuracies, and what it adds to the choices alone."""
    measures = []
    for row in summary["models"]:
        for way, kind in WAYS.items():
            if way in row:
                accuracy = interval(row, way, f"{way}_")
                measures.append(kind.of(NAME, **accuracy, n=summary["counts"][way], model=row["model"]))
        if beyond := summary["beyond"].get(row["model"]):
            bits = interval(beyond) | {"chance": 0.0, "n": summary["n"]}
            measures.append(BEYOND.of(NAME, **bits, model=row["model"]))
    return measures


@dataclass(frozen=True)
class NetScores(Probe):
    """Accuracy as it stands, where no shortcut works, and under weights that are neutral to all of them.

    A shortcut is a content-blind rule (longest, first, most frequent, …) or a partial input that is above chance on the
    test examples. With probabilities, the information beyond choices only is given: log P(answer | question, choices) −
    log P(answer | choices), the latter from the predictions called MODEL-choices, otherwise from our own choices-only
    model.

    Args:
        tokens: tokenisation of the partial-input models; what suits the language by default.
        alpha: a shortcut works if its q-value over all of them is at most this.
        seed: of partial-input models and resamples.
    """

    name: ClassVar[str] = NAME
    title: ClassVar[str] = "Scores net of the leak"
    view = staticmethod(net_scores_view)
    tasks: ClassVar[frozenset[Task]] = frozenset({"choice", "preference"})
    needs: ClassVar[frozenset[Need]] = frozenset({"test", "predictions"})
    measures: ClassVar[tuple[MeasureKind, ...]] = (AS_IT_STANDS, UNSOLVED, NEUTRAL, BEYOND)

    tokens: str | None = None
    alpha: float = 0.05
    seed: int = 0

    def run(self, data: Instances, predictions: Sequence[Predictions]) -> Result:
        """Return one row per model, with ranks and their changes."""
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
        summary = {
            "n": len(examples),
            "working": list(leak.working),
            "solved": int(leak.solved.sum()),
            "counts": counts,
            "models": table.to_dicts(),
            "beyond": _beyond(full, predictions, examples, leak),
        }
        return Result(summary, {NAME: table}, _findings(summary), None, net_measures(summary))


def _beyond(
    full: Sequence[Predictions], everyone: Sequence[Predictions], examples: Examples, leak: Leak
) -> dict[str, Row]:
    """Return for every model with probabilities the mean information beyond choices only, in bits."""
    choices_only = {_CHOICES.sub("", one.model): one for one in everyone if _CHOICES.search(one.model)}
    rows = np.arange(len(examples))
    result: dict[str, Row] = {}
    for one in full:
        if one.probabilities is None:
            continue
        partner = choices_only.get(one.model)
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


def _findings(summary: Row) -> list[Finding]:
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
        title = f"{row['model']}: {percent(row['neutral'])} net of the leak"
        net = interval(row, "neutral", "neutral_") | {"n": summary["n"]}
        findings.append(Finding(NAME, severity, title, f"{text}.", **net, key=row["model"], role="flaw"))
    return findings


def _names(working: Sequence[str]) -> str:
    return listed([name.replace("_", " ") for name in working])

"""What does a model answer from part of the input, and what does it lose without the rest?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl
from scipy.stats import binom

from cuecard.analysis import Finding, Measure, MeasureKind, Need, Result, Row, Severity, interval, severity_of
from cuecard.audits.partial_input import PartialInput
from cuecard.audits.partial_input.rules import Battery
from cuecard.audits.partial_input.slices import slice_columns
from cuecard.data import Instances
from cuecard.data.examples import Examples
from cuecard.probes.examples import (
    check_test,
    effect_on_mean,
    share_interval,
    shared_texts,
    widened_within,
)
from cuecard.probes.input_parts_view import CAUTION, input_parts_view, part_name
from cuecard.probes.predictions import Predictions, Probe
from cuecard.probes.prompts.inputs import FULL, OPEN
from cuecard.probes.variants import InputParts
from cuecard.stats import format_p, q_values
from cuecard.stats.arrays import Bools, Floats, Ints
from cuecard.stats.models.paired import deflated_log10_p, paired_comparison
from cuecard.stats.models.variants import error_kappa, recovered_share
from cuecard.stats.multiple_testing import holm
from cuecard.wording import percent, plural, points

NAME = "input_parts"
ACCURACY = MeasureKind("{model}.{input}.accuracy", "accuracy of {model} with {input}", "share")
RECOVERED = MeasureKind(
    "{model}.{input}.recovered", "share of what {model} has above chance recovered from {input}", "share"
)
LOSS = MeasureKind("{model}.{input}.loss", "accuracy of {model} in full minus with {input}", "points")
BEYOND = MeasureKind(
    "{model}.{input}.beyond", "accuracy of {model} with {input} minus that of a learned model", "points"
)
KAPPA = MeasureKind("{model}.{input}.kappa", "κ of the errors of {model} in full and with {input}", "score")
#: The input of our learned model that shows the same part.
LEARNED = {"choices": "choices_only", "hypothesis": "hypothesis_only", "premise": "premise_only"}
#: Fewest examples of a slice.
FEWEST = 20
SWAPPED = "swapped"


@dataclass(frozen=True)
class PartsOfInput(Probe):
    """Accuracy of a model with parts of the input, on the same examples, beside chance and the full input.

    A part is *recovered from* if its accuracy is above chance (exact test), and the rest is *needed* if the model is
    less accurate with the part than in full (exact McNemar test); both p-values are adjusted over the parts of a model
    (Holm). The share recovered is (A_part − chance) / (A_full − chance), and %R = A_part / A_full. Success from choices
    alone may be inference of the question, so two inputs tell both apart: `swapped` shows the question of a similar
    example, `open` asks without options.

    Args:
        tokens: tokenisation of the learned model; what suits the language by default.
        alpha: level of the tests: lower than usual, so that a fair model that is asked in many ways is left alone.
        seed: of the learned model.
    """

    name: ClassVar[str] = NAME
    title: ClassVar[str] = "Parts of the input"
    view = staticmethod(input_parts_view)
    needs: ClassVar[frozenset[Need]] = frozenset({"test", "input_parts"})
    measures: ClassVar[tuple[MeasureKind, ...]] = (ACCURACY, RECOVERED, LOSS, BEYOND, KAPPA)

    tokens: str | None = None
    alpha: float = 0.01
    seed: int = 0

    def run(self, data: Instances, input_parts: Mapping[str, InputParts]) -> Result:
        """Return one row per model and input, and one per slice of the extra columns."""
        examples = check_test(data)
        shared = shared_texts(examples)
        learned = self._learned(data, {name for parts in input_parts.values() for name in parts})
        rows: list[Row] = []
        slices: list[pl.DataFrame] = []
        for model, parts in input_parts.items():
            own = [
                {"model": model, **_row(name, one, parts.get(FULL), learned.get(name), examples, shared)}
                for name, one in parts.items()
            ]
            rows += _tested(own, self.alpha)
            slices += _by_slice(model, parts, examples, shared)
        tables = {NAME: pl.DataFrame(rows, infer_schema_length=None)}
        if slices:
            tables["input_slices"] = _with_q(pl.concat(slices, how="diagonal"))
        swaps = [
            swap for model, parts in input_parts.items() if (swap := _swap(model, parts, examples, shared))
        ]
        summary = {"rows": rows, "swaps": swaps, "n": len(examples), "task": data.task, "alpha": self.alpha}
        findings = [
            _finding(row, rows, swaps, self.alpha)
            for row in rows
            if row["input"] not in (FULL, SWAPPED, OPEN)
        ]
        return Result(summary, tables, findings, measures=_measures(rows))

    def _learned(self, data: Instances, names: set[str]) -> dict[str, Floats]:
        """Return whether our learned model of the same part is right, per example; none without training examples."""
        wanted = {name: LEARNED[name] for name in names if name in LEARNED}
        if not wanted or "train" not in data.splits:
            return {}
        PartialInput(tokens=self.tokens, seed=self.seed, cross_fit=False, learning_curve=False).run(data)
        battery = Battery.kept(data, None)
        assert battery is not None
        n = len(check_test(data))
        found = {name: battery.guesses.get(own) for name, own in wanted.items()}
        return {
            name: guesses.score.astype(np.float64)
            for name, guesses in found.items()
            if guesses is not None and len(guesses) == n
        }


def chance_of(examples: Examples, one: Predictions) -> float:
    """Return the accuracy at chance: the most frequent label; of options, one in their number or that of places alone.

    A model that answers places at random, as often as it does, is right where these happen to have the right option.
    """
    gold = examples.gold
    if not examples.grouped:
        return float(np.bincount(gold).max() / len(gold))
    even = float((1 / examples.sizes).mean())
    width = int(examples.sizes.max())
    shown = np.broadcast_to(np.arange(width), (len(gold), width)) if one.shown is None else one.shown
    if one.shown is None and examples.instances.task == "preference":  # the order is not known
        return even
    shares = [(shown == answers[:, None]).mean(axis=0) for answers in (one.answers, gold)]
    return max(even, float(shares[0] @ shares[1]))


def _row(
    name: str,
    one: Predictions,
    full: Predictions | None,
    learned: Floats | None,
    examples: Examples,
    shared: Sequence[Ints],
) -> dict[str, object]:
    """Return the figures of one input: accuracy, the test against chance, and what is paired with the full input."""
    asked = np.ones(len(examples), dtype=np.bool_) if one.asked is None else one.asked
    kinds = _kinds(shared, asked)
    right = one.correct(examples)[asked]
    # Free answers have no chance level.
    chance = 0.0 if name == OPEN else chance_of(examples, one)
    accuracy, low, high = share_interval(right, kinds)
    n, hits = len(right), int(right.sum())
    log10_p = float(binom.logsf(hits - 1, n, chance)) / np.log(10) if chance else 0.0
    row: dict[str, object] = {
        "input": name,
        "n": n,
        "accuracy": accuracy,
        "low": low,
        "high": high,
        "chance": chance,
        "log10_p": float(deflated_log10_p(log10_p, effect_on_mean(right, kinds), sides=1)),
        "unanswered": int((one.answers[asked] < 0).sum()),
    }
    if full is not None and name != FULL:
        whole = full.correct(examples)[asked]
        row |= {f"loss_{key}": value for key, value in _difference(whole, right, kinds).items()}
        row["ratio"] = accuracy / float(whole.mean()) if whole.any() else None
        names = ("recovered", "recovered_low", "recovered_high")
        row |= dict(zip(names, map(_finite, recovered_share(right, whole, chance, kinds)), strict=True))
        row |= dict(
            zip(
                ("kappa", "kappa_low", "kappa_high"),
                map(_finite, error_kappa(whole, right, kinds)),
                strict=True,
            )
        )
        wrong = ~whole & ~right
        same = (full.answers == one.answers)[asked]
        row["same_wrong"] = float(same[wrong].mean()) if wrong.any() else None
    if learned is not None:
        by_rule = learned[asked] >= 1
        row["learned"] = float(by_rule.mean())
        row |= {f"beyond_{key}": value for key, value in _difference(right, by_rule, kinds).items()}
    return row


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _kinds(shared: Sequence[Ints], used: Bools) -> list[Ints]:
    return [np.unique(codes[used], return_inverse=True)[1].astype(np.int64) for codes in shared]


def _difference(a: Bools, b: Bools, kinds: Sequence[Ints]) -> dict[str, float]:
    """Return the accuracy of one minus that of the other, its interval, and McNemar's exact p-value."""
    compared = paired_comparison(a, b)
    effect = effect_on_mean(a.astype(np.int64) - b, kinds)
    low, high = widened_within(compared.difference, compared.low, compared.high, effect)
    log10_p = float(deflated_log10_p(compared.log10_p, effect))
    return {"difference": compared.difference, "low": float(low), "high": float(high), "log10_p": log10_p}


def _tested(rows: list[dict[str, object]], alpha: float) -> list[Row]:
    """Return the rows of a model with adjusted p-values, and what is said of each part."""
    parts = [row for row in rows if row["input"] not in (FULL, OPEN)]
    for source, target in (("log10_p", "p_above"), ("loss_log10_p", "p_loss")):
        tested = [row for row in parts if source in row]
        p = holm([10.0 ** float(str(row[source])) for row in tested])
        for row, value in zip(tested, p, strict=True):
            row[target] = float(value)
    for row in parts:
        row["above_chance"] = float(str(row["p_above"])) <= alpha
        if "p_loss" in row:
            loss = float(str(row["loss_difference"]))
            row["needs_rest"] = bool(float(str(row["p_loss"])) <= alpha and loss > 0)
    return list(rows)


def _by_slice(
    model: str, parts: InputParts, examples: Examples, shared: Sequence[Ints]
) -> list[pl.DataFrame]:
    """Return accuracy and the loss beside the full input by the values of the extra columns."""
    rows: list[Row] = []
    full = parts.get(FULL)
    for column in slice_columns(examples, (examples.instances.cluster,)):
        values = column.cast(pl.String)
        for value in values.unique(maintain_order=True).drop_nulls().to_list():
            inside = (values == value).fill_null(False).to_numpy()
            for name, one in parts.items():
                used = inside if one.asked is None else inside & one.asked
                if used.sum() < FEWEST:
                    continue
                right, kinds = one.correct(examples)[used], _kinds(shared, used)
                accuracy, low, high = share_interval(right, kinds)
                row = {
                    "model": model,
                    "input": name,
                    "column": column.name,
                    "value": value,
                    "n": len(right),
                    "accuracy": accuracy,
                    "low": low,
                    "high": high,
                }
                if full is not None and name != FULL:
                    loss = _difference(full.correct(examples)[used], right, kinds)
                    row |= {f"loss_{key}": figure for key, figure in loss.items()}
                rows.append(row)
    return [pl.DataFrame(rows, infer_schema_length=None)] if rows else []


def _with_q(table: pl.DataFrame) -> pl.DataFrame:
    """Return the slices with q-values of their losses."""
    if "loss_log10_p" not in table.columns:
        return table
    p = 10.0 ** table["loss_log10_p"].to_numpy()
    q = np.full(len(p), np.nan)
    q[~np.isnan(p)] = q_values(p[~np.isnan(p)])
    return table.with_columns(q_value=pl.Series(q).fill_nan(None))


def _swap(model: str, parts: InputParts, examples: Examples, shared: Sequence[Ints]) -> Row | None:
    """Return by how much a model is less accurate with another example's question than with none."""
    alone = next((name for name in ("choices", "hypothesis") if name in parts), None)
    if alone is None or SWAPPED not in parts:
        return None
    one, other = parts[alone], parts[SWAPPED]
    used = np.ones(len(examples), dtype=np.bool_) if other.asked is None else other.asked
    right = [part.correct(examples)[used] for part in (one, other)]
    drop = _difference(right[0], right[1], _kinds(shared, used))
    return {"model": model, "part": alone, "swapped": float(right[1].mean()), "n": len(right[0]), **drop}


def _measures(rows: Sequence[Row]) -> list[Measure]:
    measures = []
    for row in rows:
        slots = {"n": row["n"], "model": row["model"], "input": row["input"]}
        measures.append(ACCURACY.of(NAME, **interval(row, "accuracy"), chance=row["chance"] or None, **slots))
        for kind, value, prefix, chance in (
            (RECOVERED, "recovered", "recovered_", 0.0),
            (LOSS, "loss_difference", "loss_", 0.0),
            (BEYOND, "beyond_difference", "beyond_", 0.0),
            (KAPPA, "kappa", "kappa_", 0.0),
        ):
            if row.get(value) is not None and row["input"] != OPEN:
                measures.append(kind.of(NAME, **interval(row, value, prefix), chance=chance, **slots))
    return measures


def _finding(row: Row, rows: Sequence[Row], swaps: Sequence[Row], alpha: float) -> Finding:
    model, part = row["model"], part_name(row["input"])
    p = format_p(float(np.log10(max(row["p_above"], 1e-300))))
    text = (
        f"{model} has an accuracy of {percent(row['accuracy'])} with {part} (95 % CI {percent(row['low'])} to "
        f"{percent(row['high'])}; chance {percent(row['chance'])}, p = {p}) on {plural(row['n'], 'example')}."
    )
    if "loss_difference" in row:
        text += (
            f" With the full input it is {points(row['loss_difference'])} points more accurate (95 % CI "
            f"{points(row['loss_low'])} to {points(row['loss_high'])})."
        )
    if row["above_chance"] and row.get("recovered") is not None and row["recovered_low"] is not None:
        text += (
            f" It recovers {percent(row['recovered'])} of what the full input has above chance (95 % CI "
            f"{percent(row['recovered_low'])} to {percent(row['recovered_high'])})."
        )
    severity: Severity = "info"
    if not row["above_chance"]:
        title = f"{model} is at chance with {part}"
    elif row["input"] == "no-context":
        # What a question needs is not a cue: a model may know the answer.
        needs = row.get("needs_rest")
        title = f"{model} needs the context" if needs else f"{model} shows no loss without the context"
    else:
        gain = (row["low"] - row["chance"]) / (1 - row["chance"])
        severity = "low" if severity_of(gain) == "low" else "medium"
        title = f"{model} answers above chance with {part}"
        text += _lead(row, rows, swaps, alpha)
    numbers = interval(row, "accuracy") | {"chance": row["chance"], "n": row["n"]}
    return Finding(NAME, severity, title, text, **numbers, key=f"{model}/{row['input']}", role="flaw")


def _lead(row: Row, rows: Sequence[Row], swaps: Sequence[Row], alpha: float) -> str:
    """Return the caution, what a learned model adds to it, and what the two checks say."""
    said = [CAUTION]
    if "learned" in row:
        said.append(
            f"Our model of the same part, learned on the training set, has {percent(row['learned'])}: a difference of "
            f"{points(row['beyond_difference'])} points (95 % CI {points(row['beyond_low'])} to "
            f"{points(row['beyond_high'])})."
        )
    for swap in swaps:
        if swap["model"] != row["model"] or swap["part"] != row["input"]:
            continue
        falls = swap["log10_p"] <= np.log10(alpha) and swap["difference"] > 0
        what = (
            "so it follows the question it is shown, which speaks for inference"
            if falls
            else "no significant loss, which speaks for cues in what it is shown of the answers"
        )
        said.append(
            f"With the question of a similar example, {percent(swap['swapped'])} of its answers are the option that "
            f"was correct before, {points(swap['difference'])} points fewer (95 % CI {points(swap['low'])} to "
            f"{points(swap['high'])}): {what}."
        )
    free = [other for other in rows if other["model"] == row["model"] and other["input"] == OPEN]
    said += [
        f"Asked without options, {percent(other['accuracy'])} of its free answers to {plural(other['n'], 'question')} "
        "are the correct option."
        for other in free
    ]
    return " " + " ".join(said)

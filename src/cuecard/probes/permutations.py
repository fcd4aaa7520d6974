"""Does a model hold its answer when the options move, and does a place draw its answers?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any, ClassVar

import numpy as np
import polars as pl

from cuecard.analysis import Finding, Measure, MeasureKind, Need, Result, Row, Severity, Skip, interval
from cuecard.data import Instances
from cuecard.data.examples import Examples
from cuecard.probes.examples import check_test, share_interval, share_mean_interval, shared_texts
from cuecard.probes.predictions import Probe
from cuecard.probes.prompts.inputs import FULL, INPUTS
from cuecard.probes.prompts.orders import references
from cuecard.probes.variants import Orders
from cuecard.stats.arrays import Bools, Ints
from cuecard.stats.models.variants import flips, place_preference
from cuecard.view import Axis, Column, Intervals, Outcome, Table, View, interval_columns
from cuecard.wording import display_text, percent, plural, points, probability

NAME = "permutations"
ACCURACY = MeasureKind("{model}.accuracy", "order-averaged accuracy of {model}", "share", "lower")
PUBLISHED = MeasureKind("{model}.published", "accuracy of {model} in the first order", "share", "lower")
FLIPS = MeasureKind("{model}.flips", "flip rate of {model} between two orders", "share", "higher")
PREFERENCE = MeasureKind("{model}.preference", "largest place preference of {model}", "points", "higher")
#: Fewer examples with options that move cannot show a preference.
FEWEST = 10
#: A preference is of medium severity from here, of low severity below.
NOTABLE = 0.1


@dataclass(frozen=True)
class Permutations(Probe):
    """Answers of every model with options in several orders: flip rate, order-averaged accuracy, place preference.

    An answer is known by its content and by the place where it stood. The flip rate is the probability that two random
    orders of a question get different answers. A place is preferred if a model answers it more often than its answers
    by content explain.

    Args:
        alpha: a place is preferred if its p-value, adjusted over all places, is at most this: lower than usual, so that
            a fair model that is asked in many ways is left alone.
    """

    name: ClassVar[str] = NAME
    title: ClassVar[str] = "Options in other orders"
    needs: ClassVar[frozenset[Need]] = frozenset({"test", "permutations"})
    measures: ClassVar[tuple[MeasureKind, ...]] = (ACCURACY, PUBLISHED, FLIPS, PREFERENCE)

    alpha: float = 0.01

    def run(self, data: Instances, permutations: Mapping[str, Orders]) -> Result:
        """Return one row per model, one per model and place, and the table of consistency and accuracy."""
        examples = check_test(data)
        shared = shared_texts(examples)
        models, places, agreement = [], [], []
        for model, ways in permutations.items():
            answers = Answers.of(ways)
            movable = answers.movable
            if movable.sum() < FEWEST:
                raise Skip(f"needs at least {FEWEST} examples whose options move, found {int(movable.sum())}")
            name = {"model": model, "input": input_of(model)}
            models.append({**name, **_scores(answers, examples, shared)})
            places += [{**name, **row} for row in _places(answers, examples, shared)]
            agreement += [{**name, **row} for row in _consistency(answers, examples)]
        kept = options_in_place(examples)
        tables = {
            NAME: pl.DataFrame(models),
            "places": pl.DataFrame(places),
            "consistency": pl.DataFrame(agreement),
        }
        if kept.height:
            tables["options_in_place"] = kept
        summary = {
            "models": models,
            "places": places,
            "consistency": agreement,
            "in_place": kept["example_id"].n_unique(),
            "n": len(examples),
            "alpha": self.alpha,
        }
        findings = [_finding(row, places, self.alpha) for row in models]
        return Result(summary, tables, findings, measures=_measures(summary))

    @staticmethod
    def view(outcome: Outcome) -> View:
        """Return flip rates, the preference of places, and consistency beside accuracy."""
        return permutations_view(outcome)


@dataclass(frozen=True, eq=False)
class Answers:
    """Answers by content and what stood in each place, examples × orders."""

    picked: Ints
    shown: Ints  # examples × orders × places
    asked: Bools

    @classmethod
    def of(cls, ways: Orders) -> Answers:
        """Return the answers of a model in several orders."""
        shown = [one.shown for one in ways if one.shown is not None]
        width = max(matrix.shape[1] for matrix in shown)
        padded = [np.pad(m, ((0, 0), (0, width - m.shape[1])), constant_values=-1) for m in shown]
        asked = [
            np.ones(len(one.answers), dtype=np.bool_) if one.asked is None else one.asked for one in ways
        ]
        return cls(
            np.stack([one.answers for one in ways], axis=1),
            np.stack(padded, axis=1),
            np.stack(asked, axis=1),
        )

    @property
    def movable(self) -> Bools:
        """Which examples were asked in at least two orders."""
        several = self.asked.sum(axis=1) >= 2
        return np.asarray(several & (self.shown != self.shown[:, :1]).any(axis=(1, 2)))


def options_in_place(examples: Examples) -> pl.DataFrame:
    """Return the options that refer to others, which every order leaves in place."""
    rows: list[tuple[str, str, str]] = []
    if examples.instances.task == "choice":
        ids = examples.ids.cast(pl.String).to_list()
        for name, choices in zip(ids, examples.choices.to_list(), strict=True):
            rows += [(name, ascii_uppercase[k % 26], choices[k]) for k in references(choices).referring]
    return pl.DataFrame(
        rows, schema={"example_id": pl.String, "place": pl.String, "option": pl.String}, orient="row"
    )


def _scores(answers: Answers, examples: Examples, shared: Sequence[Ints]) -> Row:
    """Return accuracies and the flip rate with intervals over examples."""
    right = (answers.picked == examples.gold[:, None]) & answers.asked
    mean = right.sum(axis=1) / np.maximum(answers.asked.sum(axis=1), 1)
    flip = flips(np.where(answers.asked, answers.picked, -1))
    told = np.flatnonzero(answers.movable & ~np.isnan(flip))
    row: dict[str, float | int] = {
        "n": len(mean),
        "moved": int(answers.movable.sum()),
        "orders": answers.picked.shape[1],
    }
    for name, ends in (
        ("accuracy", share_mean_interval(mean, shared)),
        ("published", share_interval(right[:, 0], shared)),
        ("flips", share_mean_interval(flip[told], [codes[told] for codes in shared])),
    ):
        row |= dict(zip((name, f"{name}_low", f"{name}_high"), ends, strict=True))
    row["unanswered"] = int((answers.asked & (answers.picked < 0)).sum())
    return row


def _places(answers: Answers, examples: Examples, shared: Sequence[Ints]) -> list[Row]:
    """Return how often each place is answered beside what content explains."""
    picked = np.where(answers.asked, answers.picked, -1)
    test = place_preference(picked, answers.shown, shared)
    right = picked == examples.gold[:, None]
    rows: list[Row] = []
    for place in range(len(test.n)):
        if not test.n[place]:
            continue
        here = (answers.shown[:, :, place] == examples.gold[:, None]) & (picked >= 0)
        rows.append(
            {
                "place": place_name(place, grouped=examples.grouped),
                "answered": float(test.answered[place]),
                "expected": float(test.expected[place]),
                "excess": float(test.excess[place]),
                "low": float(test.low[place]),
                "high": float(test.high[place]),
                "p_value": float(test.p_value[place]),
                "accuracy": float(right[here].mean()) if here.any() else None,
                "n": int(test.n[place]),
            }
        )
    return rows


def input_of(model: str) -> str:
    """Return what a model was shown, by the end of its name; the tables have it beside names that may be long."""
    end = model.rpartition(" · ")[2]
    return end if any(end in of_task for of_task in INPUTS.values()) else FULL


def place_name(place: int, *, grouped: bool) -> str:
    """Return what a place is called: its letter, or where a label is listed."""
    return ascii_uppercase[place % 26] if grouped else f"label listed {place + 1}."


def _consistency(answers: Answers, examples: Examples) -> list[Row]:
    """Return how many examples get the same answer in every order, and how accurate a model is on those and others."""
    moved = answers.movable
    picked, asked = answers.picked[moved], answers.asked[moved]
    gold = examples.gold[moved]
    right = ((picked == gold[:, None]) & asked).sum(axis=1) / asked.sum(axis=1)
    highest = np.where(asked, picked, -2).max(axis=1)
    lowest = np.where(asked, picked, np.iinfo(np.int64).max).min(axis=1)
    same = (highest == lowest) & (lowest >= 0)
    rows: list[Row] = []
    for name, which in (("same answer in every order", same), ("different answers", ~same)):
        rows.append(
            {
                "answers": name,
                "n": int(which.sum()),
                "share": float(which.mean()),
                "accuracy": float(right[which].mean()) if which.any() else None,
                "always_right": int((right[which] == 1).sum()),
                "sometimes_right": int(((right[which] > 0) & (right[which] < 1)).sum()),
                "never_right": int((right[which] == 0).sum()),
            }
        )
    return rows


def _measures(summary: Row) -> list[Measure]:
    measures = []
    for row in summary["models"]:
        model, n = row["model"], row["n"]
        for kind, name in ((ACCURACY, "accuracy"), (PUBLISHED, "published"), (FLIPS, "flips")):
            measures.append(kind.of(NAME, **interval(row, name, f"{name}_"), n=n, model=model))
        if (strongest := _strongest(summary["places"], model)) is not None:
            ends = interval(strongest, "excess")
            measures.append(PREFERENCE.of(NAME, **ends, chance=0.0, n=strongest["n"], model=model))
    return measures


def _strongest(places: Sequence[Row], model: str) -> Row | None:
    """Return the place that draws most answers of a model beyond their content."""
    own = [row for row in places if row["model"] == model and row["n"] > 1]
    return max(own, key=lambda row: row["excess"], default=None)


def _finding(row: Row, places: Sequence[Row], alpha: float) -> Finding:
    model, strongest = row["model"], _strongest(places, row["model"])
    text = (
        f"Over {plural(row['orders'], 'order')} of the options, {model} has an accuracy of {percent(row['accuracy'])} "
        f"(95 % CI {percent(row['accuracy_low'])} to {percent(row['accuracy_high'])}); in the first order it has "
        f"{percent(row['published'])}. Two random orders of the same example get different answers in "
        f"{percent(row['flips'])} (95 % CI {percent(row['flips_low'])} to {percent(row['flips_high'])})."
    )
    severity: Severity = "info"
    title = f"{model} prefers no place of the options"
    numbers: dict[str, Any] = {}
    if strongest is not None:
        prefers = strongest["p_value"] <= alpha and strongest["excess"] > 0
        text += (
            f" It answers {strongest['place']} in {percent(strongest['answered'])}, where its answers by content "
            f"would make it {percent(strongest['expected'])}: {points(strongest['excess'])} points (95 % CI "
            f"{points(strongest['low'])} to {points(strongest['high'])}; "
            f"{_p(strongest['p_value'])}, adjusted for all places)."
        )
        if prefers:
            severity = "medium" if strongest["low"] >= NOTABLE else "low"
            title = f"{model} prefers the place {strongest['place']}"
        numbers = {**interval(strongest, "excess"), "chance": 0.0, "n": strongest["n"]}
    return Finding(NAME, severity, title, text, **numbers, unit="points", key=model, role="flaw")


def _p(value: float) -> str:
    return f"p = {probability(value)}"


_MODELS = {
    "model": Column("Model"),
    "input": Column("Input"),
    "accuracy": Column("Accuracy", "percent", "mean over all orders"),
    **interval_columns("accuracy_", brief=True),
    "published": Column("First order", "percent", "accuracy in the published order"),
    "flips": Column("Flip rate", "percent", "two random orders of an example get different answers"),
    **interval_columns("flips_", brief=True),
    "orders": Column("Orders", "count"),
    "moved": Column("Moved", "count", "examples whose options move", brief=False),
    "unanswered": Column("Unparsed", "count", "answers that could not be parsed", brief=False),
}
_PLACES = {
    "model": Column("Model"),
    "input": Column("Input"),
    "place": Column("Place"),
    "answered": Column("Answered", "percent", "share of the answers at this place"),
    "expected": Column("Expected", "percent", "share if content alone decided"),
    "excess": Column("Preference", "points", "answered minus expected"),
    **interval_columns("", "points", brief=True),
    "p_value": Column("p", "probability", "two-sided, adjusted for all places (Holm)"),
    "accuracy": Column("Accuracy", "percent", "accuracy where the correct option stands here"),
}
_CONSISTENCY = {
    "model": Column("Model"),
    "input": Column("Input"),
    "answers": Column("Answers"),
    "n": Column("Examples", "count"),
    "share": Column("Share", "percent"),
    "accuracy": Column("Accuracy", "percent", "mean over orders"),
    "always_right": Column("Always correct", "count"),
    "sometimes_right": Column("Sometimes", "count"),
    "never_right": Column("Never", "count"),
}
_IN_PLACE = {"example_id": Column("Example"), "place": Column("Place"), "option": Column("Option")}


def permutations_view(outcome: Outcome) -> View:
    """Return flip rates, place preferences with intervals, consistency beside accuracy, and what stayed in place."""
    summary = outcome.summary
    lead = [
        f"{display_text(row['model'], 60)}: accuracy {percent(row['accuracy'])} over {plural(row['orders'], 'order')}, "
        f"{percent(row['published'])} in the first; flip rate {percent(row['flips'])}."
        for row in summary["models"]
    ]
    places = outcome.rows("places")
    chart = Intervals(
        title="Preference for places",
        data=places,
        alt="How much more often each model answers a place than its answers by content explain, with 95 % CI",
        caption="0: content alone decides.",
        y="place",
        x=Axis("excess", "answered minus expected, points", "points"),
        low="low",
        high="high",
        series="model",
        line=0.0,
    )
    tables = [
        Table("Accuracy and flip rate over all orders", NAME, _MODELS),
        Table("Answers by place", "places", _PLACES, everywhere=True),
        Table("Consistency and accuracy", "consistency", _CONSISTENCY, everywhere=True),
    ]
    notes = []
    if "options_in_place" in outcome.tables:
        tables.append(Table("Options that stay in place", "options_in_place", _IN_PLACE, most=20))
        notes.append(
            f"{plural(summary['in_place'], 'example')} of {summary['n']:,} have options that refer to others, such as "
            "“all of the above”: these keep their place, and so do options that they name."
        )
    return View(lead, charts=[chart], tables=tables, notes=notes)

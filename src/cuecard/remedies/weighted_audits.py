"""Audits of a train split without and with weights, so that one sees what the weights change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.analysis import Finding, Skip
from cuecard.audits import AUDITS
from cuecard.data import Instances
from cuecard.errors import MissingExtraError
from cuecard.wording import percent

#: Names that stand for every audit, and for none.
ALL, NONE = "all", "none"
WEIGHT = "cuecard_weight"
#: What an audit draws or tries besides its figures, and that a comparison can do without.
QUICK: dict[str, Any] = {"map": "none", "sweep": False, "learning_curve": False}
SCHEMA = {
    "audit": pl.String,
    "figure": pl.String,
    "unit": pl.String,
    **{
        f"{what}{when}": pl.Float64
        for when in ("_before", "_after")
        for what in ("value", "low", "high", "chance")
    },
}


@dataclass(frozen=True)
class Figure:
    """A number of an audit: its unit ("share", "score" or "count"), its interval, and what chance would give."""

    name: str
    unit: str
    value: float
    low: float | None = None
    high: float | None = None
    chance: float | None = None


@dataclass(frozen=True, eq=False)
class WeightedAudits:
    """The figures of every audit before and after, and the reasons of those that did not apply."""

    table: pl.DataFrame
    skipped: dict[str, str]

    def findings(self, section: str) -> list[Finding]:
        """Return a sentence for every accuracy that was, or is, beyond chance."""
        rows = self.table.filter(pl.col("audit").is_in(["partial_input", "pair_graph"]))
        return [_finding(section, row) for row in rows.iter_rows(named=True) if _telling(row)]


def chosen_audits(names: Sequence[str]) -> tuple[str, ...]:
    """Return the audits to repeat after checking their names; "all" is every one, "none" is none."""
    for name in names:
        if name not in (ALL, NONE):
            AUDITS.get(name)
    return tuple(name for name in AUDITS.names() if ALL in names or name in names)


def audits_before_and_after(
    train: Instances,
    weights: npt.NDArray[np.float64],
    names: Sequence[str],
    **options: Any,
) -> WeightedAudits:
    """Return what audits say of a train split with equal weights and with the weights of its examples.

    `options` go to every audit that has a parameter of that name.
    """
    of_rows = pl.Series(weights[train.example_codes])
    weighted = replace(train, table=train.table.with_columns(of_rows.alias(WEIGHT)))
    rows: list[dict[str, Any]] = []
    skipped: dict[str, str] = {}
    for name in names:
        kind: Any = AUDITS.get(name)
        known = {field.name for field in fields(kind)}
        if train.task not in kind.tasks:
            skipped[name] = f"it is not for {train.task} data"
            continue
        if name not in FIGURES or "weights" not in known:
            skipped[name] = "it takes no weights, or has no figure to compare"
            continue
        given = {key: value for key, value in (QUICK | options).items() if key in known}
        try:
            before, after = (
                list(FIGURES[name](kind(**given, weights=column).run(weighted).summary))
                for column in (None, WEIGHT)
            )
        except (Skip, MissingExtraError) as reason:
            skipped[name] = str(reason)
            continue
        later = {figure.name: figure for figure in after}
        rows += [
            {"audit": name, "figure": figure.name, "unit": figure.unit}
            | _numbers(figure, "_before")
            | _numbers(later[figure.name], "_after")
            for figure in before
        ]
    return WeightedAudits(pl.DataFrame(rows, schema=SCHEMA), skipped)


def _numbers(figure: Figure, when: str) -> dict[str, float | None]:
    return {f"{what}{when}": getattr(figure, what) for what in ("value", "low", "high", "chance")}


def _overview(summary: Mapping[str, Any]) -> Iterator[Figure]:
    labels = summary["splits"]["train"]["labels"]
    for label, mass in labels.items():
        yield Figure(f"share of {label}", "share", mass / sum(labels.values()))


def _partial_input(summary: Mapping[str, Any]) -> Iterator[Figure]:
    for line in summary["baselines"]:
        if line["kind"] != "reference":
            name = f"accuracy, {line['name'].replace('_', ' ')}"
            yield Figure(name, "share", *(line[key] for key in ("accuracy", "low", "high", "chance")))


def _pair_graph(summary: Mapping[str, Any]) -> Iterator[Figure]:
    accuracy, interval = summary["accuracy"], summary["intervals"]["leakage"]
    yield Figure(
        "accuracy, sentence frequencies",
        "share",
        accuracy["leakage"],
        interval["low"],
        interval["high"],
        accuracy["majority"],
    )


def _clusters(summary: Mapping[str, Any]) -> Iterator[Figure]:
    yield Figure("PECO score", "score", summary["peco_exact_l2"], chance=summary["null_mean"])
    yield Figure("texts in clusters that lean to a label", "share", summary["leaning_share"])


def _cues(summary: Mapping[str, Any]) -> Iterator[Figure]:
    yield Figure("significant features", "count", summary["significant"])


FIGURES: dict[str, Callable[[Mapping[str, Any]], Iterator[Figure]]] = {
    "overview": _overview,
    "partial_input": _partial_input,
    "pair_graph": _pair_graph,
    "clusters": _clusters,
    "cues": _cues,
}

_SUBJECTS = {
    "hypothesis only": "the hypothesis alone",
    "premise only": "the premise alone",
    "choices only": "the choices alone",
    "length": "the length of a text alone",
    "position": "the position of a choice alone",
    "longest": "the rule to take the longest answer",
    "shortest": "the rule to take the shortest answer",
    "sentence frequencies": "how often sentences occur",
}


def _telling(row: Mapping[str, Any]) -> bool:
    """Return whether an accuracy that should be at chance was above it, or lies off it with the weights."""
    if row["chance_before"] is None or row["figure"] in ("accuracy, full", "accuracy, overlap"):
        return False
    above = row["low_before"] > row["chance_before"]
    return bool(above or not row["low_after"] <= row["chance_after"] <= row["high_after"])


def _finding(section: str, row: Mapping[str, Any]) -> Finding:
    what = row["figure"].removeprefix("accuracy, ")
    subject = _SUBJECTS.get(what, what)
    text = (
        f"From {subject}, a learner is right on {percent(row['value_before'])} with equal weights (chance "
        f"{percent(row['chance_before'])}) and on {percent(row['value_after'])} with these (95 % interval "
        f"{percent(row['low_after'])} to {percent(row['high_after'])}, chance {percent(row['chance_after'])})."
    )
    if row["high_after"] < row["chance_after"]:
        text += (
            " Below chance is what weights do that balance a set exactly: what some folds lean to, the others lean "
            "against."
        )
    return Finding(
        section,
        "info",
        f"{subject[0].upper()}{subject[1:]} under the weights",
        text,
        row["value_after"],
        row["low_after"],
        row["high_after"],
        row["chance_after"],
    )

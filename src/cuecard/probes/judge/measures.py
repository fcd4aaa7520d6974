"""The measures of a judge: consistency, flips, reliance on length, agreement with people, its own family, stability."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cuecard.analysis import Measure, MeasureKind

NAME = "judge"
CONSISTENCY = MeasureKind(
    "{model}.consistency", "verdicts of {model} that stay in the other order", "share", "lower"
)
FIRST = MeasureKind("{model}.flips_to_first", "flips of {model} to the response shown first", "share")
LENGTH = MeasureKind(
    "{model}.length", "log odds ratio of length for {model} at equal quality, per SD", "score"
)
FORMATTING = MeasureKind("{model}.formatting", "log odds ratio of formatting for {model}, per SD", "score")
GAP = MeasureKind(
    "{model}.length_gap", "accuracy of {model} where the longer minus where the shorter is better", "points"
)
ACCURACY = MeasureKind("{model}.accuracy", "agreement of {model} with people", "share", "lower")
BALANCED = MeasureKind(
    "{model}.balanced_accuracy", "length-balanced agreement of {model} with people", "share", "lower"
)
KAPPA = MeasureKind("{model}.kappa", "Cohen's κ of {model} and people", "score", "lower")
SELF = MeasureKind(
    "{model}.self_preference", "preference of {model} for its own family, beyond people's", "points"
)
STABILITY = MeasureKind("{model}.stability", "repeated verdicts of {model} that agree", "share", "lower")
KINDS = (CONSISTENCY, FIRST, LENGTH, FORMATTING, GAP, ACCURACY, BALANCED, KAPPA, SELF, STABILITY)


def judge_measures(summary: Mapping[str, Any]) -> list[Measure]:
    """Return the measures of every judge of a summary."""
    measures = []
    for model, part in summary["judges"].items():
        order, style, people = part.get("position"), part.get("style"), part.get("agreement")
        if order:
            ends = {"low": order["low"], "high": order["high"], "n": order["n"]}
            measures.append(CONSISTENCY.of(NAME, order["consistency"], **ends, model=model))
            measures.append(
                FIRST.of(
                    NAME,
                    order["first_share"],
                    low=order["first_low"],
                    high=order["first_high"],
                    chance=0.5,
                    n=order["to_first"] + order["to_second"],
                    model=model,
                )
            )
        for row in style["covariates"] if style else ():
            kind = {"length": LENGTH, "formatting": FORMATTING}.get(row["feature"])
            if kind is not None:
                ends = {"low": row["low"], "high": row["high"], "chance": 0.0, "n": style["n"]}
                measures.append(kind.of(NAME, row["coefficient"], **ends, model=model))
        for kind, key in ((ACCURACY, "accuracy"), (BALANCED, "balanced"), (KAPPA, "kappa"), (GAP, "gap")):
            value = (people or {}).get(key)
            if people and value:
                chance = 0.0 if kind in (KAPPA, GAP) else 0.5
                measures.append(kind.of(NAME, **_ends(value), chance=chance, n=people["n"], model=model))
        own, again = part.get("self_preference"), part.get("stability")
        if own:
            measures.append(SELF.of(NAME, **_ends(own), chance=0.0, n=own["n"], model=model))
        if again:
            measures.append(STABILITY.of(NAME, **_ends(again), n=again["n"], model=model))
    return measures


def _ends(part: Mapping[str, Any]) -> dict[str, Any]:
    return {key: part[key] for key in ("value", "low", "high")}

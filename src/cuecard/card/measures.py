"""The few numbers of a card by which versions are compared: one per baseline, model and measure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from cuecard.card.card import Card

MeasureKind = Literal["count", "percent", "points", "number", "log10_p"]


@dataclass(frozen=True)
class Measure:
    """A number with what people call it and how it is written; shares are fractions."""

    section: str
    name: str
    value: float | None
    kind: MeasureKind


def measures(card: Card) -> list[Measure]:
    """Return the measures of every section that ran, in the card's order; other sections tell their plain numbers."""
    found = []
    for name, section in card.sections.items():
        if section.status == "done":
            rows = _SECTIONS.get(name, _plain_numbers)(section.summary)
            found += [Measure(name, what, value, kind) for what, value, kind in rows]
    return found


Row = tuple[str, float | None, MeasureKind]


def _cues(summary: Mapping[str, Any]) -> list[Row]:
    return [("cues", summary["cues"], "count"), ("features tested", summary["features"], "count")]


def _baselines(summary: Mapping[str, Any]) -> list[Row]:
    return [(f"{row['name']} accuracy", row["accuracy"], "percent") for row in summary["baselines"]]


def _graph(summary: Mapping[str, Any]) -> list[Row]:
    names = {"leakage": "pair graph accuracy", "majority": "majority accuracy"}
    return [(said, summary["accuracy"].get(name), "percent") for name, said in names.items()]


def _clusters(summary: Mapping[str, Any]) -> list[Row]:
    return [
        ("PECO", summary["peco_exact_l2"], "number"),
        ("PECO beyond chance", summary["excess"], "number"),
        ("p of PECO", math.log10(summary["p_value"]), "log10_p"),
    ]


def _overview(summary: Mapping[str, Any]) -> list[Row]:
    overlap = summary.get("overlap") or {}
    return [
        ("conflicting labels", summary.get("conflicting_labels"), "count"),
        ("test examples that share a text with train", overlap.get("sentence"), "count"),
    ]


def _of_models(*wanted: tuple[str, str, MeasureKind]) -> Callable[[Mapping[str, Any]], list[Row]]:
    def rows(summary: Mapping[str, Any]) -> list[Row]:
        return [
            (f"{model}: {said}", known.get(name), kind)
            for model, known in summary["models"].items()
            for name, said, kind in wanted
            if name in known
        ]

    return rows


def _of_pairs(
    first: str, second: str, *wanted: tuple[str, str, MeasureKind]
) -> Callable[[Mapping[str, Any]], list[Row]]:
    def rows(summary: Mapping[str, Any]) -> list[Row]:
        return [
            (f"{pair[first]} and {pair[second]}: {said}", pair.get(name), kind)
            for pair in summary["pairs"]
            for name, said, kind in wanted
        ]

    return rows


def _named(**wanted: tuple[str, MeasureKind]) -> Callable[[Mapping[str, Any]], list[Row]]:
    return lambda summary: [(said, summary.get(name), kind) for name, (said, kind) in wanted.items()]


def _plain_numbers(summary: Mapping[str, Any]) -> list[Row]:
    """Return the numbers that stand at the top of a summary that nothing more is known of."""
    return [
        (name.replace("_", " "), value, "number")
        for name, value in summary.items()
        if isinstance(value, (int, float)) and not isinstance(value, bool) and name != "alpha"
    ]


_SECTIONS: dict[str, Callable[[Mapping[str, Any]], list[Row]]] = {
    "overview": _overview,
    "cues": _cues,
    "partial_input": _baselines,
    "pair_graph": _graph,
    "clusters": _clusters,
    "lexical_weights": _named(
        ess=("effective sample size", "percent"), max_weight=("largest weight", "number")
    ),
    "neutral_weights": _named(
        effective_share=("effective sample size", "percent"), largest=("largest weight", "number")
    ),
    "reliance": _of_models(
        ("relies", "cues relied on", "count"), ("signs", "cues with signs of use", "count")
    ),
    "accuracy_test": _of_models(
        ("accuracy", "accuracy", "percent"), ("weakness_corrected", "weakness without noise", "points")
    ),
    "debiased_evaluation": _of_models(
        ("accuracy", "accuracy", "percent"), ("weighted_accuracy", "accuracy under the weights", "percent")
    ),
    "identical_pairs": _of_models(
        ("matched", "identical pairs that match", "percent"), ("rise", "rise with frequency", "number")
    ),
    "distribution_test": _of_models(("with_cue_only", "cues whose usual label it prefers", "count")),
    "permutation_test": _of_models(
        ("difference", "accuracy with usual minus unusual label", "points"),
        ("log10_p", "p of the permutation test", "log10_p"),
    ),
    "agreement": _of_pairs("normal", "biased", ("nba", "same answer", "percent"), ("kappa", "κ", "number")),
    "paired_comparison": _of_pairs("model_a", "model_b", ("difference", "difference in accuracy", "points")),
}

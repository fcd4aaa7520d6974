"""The sentences of the pair-graph audit."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.analysis import Evidence, Finding, Summary, severity_of
from cuecard.audits.pair_graph.scores import Score
from cuecard.audits.repetition import with_distinct_texts
from cuecard.data import Instances, Task
from cuecard.stats.arrays import Ints, chunks
from cuecard.stats.counted_forest import Points
from cuecard.stats.units.codes import counts_of_codes, distinct_codes
from cuecard.wording import percent, plural, points

ALPHA = 0.05
EXAMPLES = 3
_SINGLE = {
    "s1_freq": "the frequency of the {first}",
    "s2_freq": "the frequency of the {second}",
    "s1s2_inter": "two-step walks between {first} and {second}",
}
#: What the two texts of an example are called.
_TEXTS = {
    "choice": ("question", "answer"),
    "preference": ("prompt", "response"),
}


def _texts(task: Task) -> tuple[str, str]:
    return _TEXTS.get(task, ("first sentence", "second sentence"))


def _single(feature: str, task: Task) -> str:
    first, second = _texts(task)
    return _SINGLE[feature].format(first=first, second=second)


def pair_graph_findings(
    data: Instances,
    features: Points,
    scores: dict[str, Score],
    chance: float,
    summary: Summary,
    by_frequency: pl.DataFrame,
    *,
    scored: npt.NDArray[np.bool_],
    weights: npt.NDArray[np.float64] | None = None,
) -> list[Finding]:
    """Return whether the graph predicts the label, how much of it remains from train alone, and where it shows.

    `scored` are the rows that the accuracy is of.
    """
    leak = scores["leakage"]
    level = "chance" if data.grouped else "the majority baseline"
    graph = summary["graph"]
    text_of = "text" if data.task in _TEXTS else "sentence"
    if graph["sentences_repeated"] == 0:
        text = f"No {text_of} occurs twice, so {text_of} frequency cannot predict the label."
        return [
            Finding(
                "pair_graph", "info", "The pair graph cannot predict the label", text, n=leak.n, key="leakage"
            )
        ]
    interval = f"95 % CI {percent(leak.low)} to {percent(leak.high)}"
    examples = f"{plural(leak.n, 'example')}{_copies(data, scored, leak.n)}"
    accuracy = f"{percent(leak.accuracy)} on {examples} ({interval})"
    if leak.p_value > ALPHA or leak.direction == "below":
        text = (
            f"From {text_of} frequencies and pairings alone, the accuracy is {accuracy}. It is not significantly above "
            f"{level} of {percent(chance)}."
        )
        title = "The pair graph does not predict the label"
        return [
            Finding(
                "pair_graph",
                "info",
                title,
                text,
                leak.accuracy,
                leak.low,
                leak.high,
                chance,
                leak.n,
                key="leakage",
                q_value=leak.p_value,
            )
        ]
    if not _surely_above(leak, chance):
        text = (
            f"A test of the log score is significant, but neither interval excludes chance: from {text_of} frequencies "
            f"and pairings alone, the accuracy is {accuracy}, where {level} is {percent(chance)}"
            f"{'' if leak.auc is None else f', and the AUC is {_auc(leak)}'}."
        )
        title = "The pair graph may predict the label"
        finding = Finding(
            "pair_graph",
            "info",
            title,
            text,
            leak.accuracy,
            leak.low,
            leak.high,
            chance,
            leak.n,
            key="leakage",
        )
        return [finding]
    best = max(_SINGLE, key=lambda name: scores[name].accuracy)
    text = (
        f"From {text_of} frequencies and pairings alone, without reading a word, the accuracy is {accuracy}; "
        f"{level} is {percent(chance)}. With only {_single(best, data.task)}, it is {percent(scores[best].accuracy)}."
        f"{_ranking(leak, chance)}"
    )
    severity = severity_of((leak.low - chance) / max(1 - chance, 1e-9))
    where, evidence = _strongest_class(data, features, by_frequency, weights)
    finding = Finding(
        "pair_graph", severity, f"{text_of.capitalize()} frequency predicts the label", f"{text}{where}",
        leak.accuracy, leak.low, leak.high, chance, leak.n, evidence, key="leakage",
        q_value=leak.p_value,
    )  # fmt: skip
    if _only_ranks(leak, chance):  # the accuracy beside its chance would contradict the title
        finding = replace(
            finding,
            title=f"The AUC of {text_of} frequency is above chance",
            value=leak.auc,
            low=leak.auc_low,
            high=leak.auc_high,
            chance=0.5,
            unit="score",
        )
    findings = [finding]
    if summary["parts"] is not None:
        findings.append(_origin(summary["parts"], leak, chance))
    return findings


def _copies(data: Instances, scored: npt.NDArray[np.bool_], n: int) -> str:
    """Say how many different sentences the scored examples have, where some repeat."""
    every = bool(scored.all())  # then no copy of their units is needed

    def distinct(units: Ints) -> int:
        return distinct_codes(units if every else units[scored])

    if data.grouped:
        return with_distinct_texts(n, distinct(data.units("choices")), data.task)
    scopes: tuple[Literal["premise", "hypothesis"], ...] = ("premise", "hypothesis")
    first, second = (distinct(data.closest_units(scope)) for scope in scopes)
    if min(first, second) >= n:
        return ""
    return f" with {first:,} distinct first and {second:,} distinct second sentences"


def _surely_above(leak: Score, chance: float) -> bool:
    """Return whether the interval of the accuracy or of the AUC excludes chance."""
    return leak.low > chance or (leak.auc_low is not None and leak.auc_low > 0.5)


def _auc(leak: Score) -> str:
    return f"{leak.auc:.3f} (95 % CI {leak.auc_low:.3f} to {leak.auc_high:.3f}; chance 0.5)"


def _only_ranks(leak: Score, chance: float) -> bool:
    """Return whether the AUC shows a leak that the accuracy does not."""
    return leak.low <= chance and None not in (leak.auc, leak.auc_low, leak.auc_high)


def _ranking(leak: Score, chance: float) -> str:
    """Say how well the probabilities rank the label where accuracy does not show that they know it."""
    if not _only_ranks(leak, chance):
        return ""
    return f" Accuracy alone does not show the leak; the AUC is {_auc(leak)}."


def _origin(parts: Summary, leak: Score, chance: float) -> Finding:
    """Say how much of the leak is there without sentences shared between train and test."""
    train_only, shared = parts["train_only"], parts["shared"]
    text = (
        f"With a graph of all splits, the accuracy is {percent(leak.accuracy)}, "
        f"{_from_chance(leak.accuracy - chance)}; with a graph of the training set only, it is "
        f"{percent(train_only['accuracy'])}, {_from_chance(train_only['accuracy'] - chance)}"
    )
    if leak.low <= chance and leak.auc is not None and train_only["auc"] is not None:
        text = (
            f"With a graph of all splits, the AUC is {leak.auc:.3f}; with a graph of the training set only, it is "
            f"{train_only['auc']:.3f}"
        )
    remains = train_only["p_value"] <= ALPHA and train_only["direction"] == "above"
    if not remains:
        text += f" (95 % CI {percent(train_only['low'])} to {percent(train_only['high'])}; not significant)"
    text += f". {shared['n']:,} of {leak.n:,} test examples share a text with the training set."
    return Finding(
        "pair_graph", "info",
        "Source of the pair-graph leak", text,
        train_only["accuracy"], train_only["low"], train_only["high"], chance, leak.n, key="train-only",
        q_value=max(leak.p_value, train_only["p_value"]),
    )  # fmt: skip


def _from_chance(gain: float) -> str:
    return f"{points(abs(gain)).lstrip('+')} points {'below' if gain < 0 else 'above'} chance"


def _strongest_class(
    data: Instances,
    features: Points,
    by_frequency: pl.DataFrame,
    weights: npt.NDArray[np.float64] | None,
) -> tuple[str, tuple[Evidence, ...]]:
    """Return a sentence about the frequency class that surely moves most labels, with examples of it."""
    counts = (
        counts_of_codes(data.label_codes, len(data.labels))
        if weights is None
        else np.bincount(data.label_codes, weights, minlength=len(data.labels))
    )
    prior = dict(zip(data.labels, (counts / counts.sum()).tolist(), strict=True))
    expected = pl.col("label").replace_strict(prior, return_dtype=pl.Float64)
    # The class that carries most of the effect: a few pairs with an extreme share would illustrate another one.
    gain = (pl.col("share_low") - expected) * pl.col("n")
    gains = by_frequency.with_columns(gain=gain).sort("gain", descending=True, maintain_order=True)
    row = gains.row(0, named=True)
    if row["gain"] <= 0:
        return "", ()
    column = 0 if row["feature"] == "s1_freq" else 1
    sentence = _texts(data.task)[column]
    often = f"{row['from']}" if row["from"] == row["to"] else f"{row['from']} to {row['to']}"
    noun = {"choice": "choices", "preference": "responses"}.get(data.task, "examples")
    text = (
        f" If the {sentence} occurs {'once' if often == '1' else f'{often} times'}, {percent(row['share'])} of "
        f"{row['n']:,} {noun} are {row['label']} (overall {percent(prior[row['label']])})."
    )
    values = features.values[:, column]
    here = (values >= row["from"]) & (values <= row["to"])
    shown = data.table[_first_rows(data, features, here, data.labels.index(row["label"]))]
    evidence = tuple(
        Evidence(str(r["example_id"]), str(r["split"]), str(r["label"]), r["hypothesis"], r["premise"])
        for r in shown.iter_rows(named=True)
    )
    return text, evidence


def _first_rows(data: Instances, features: Points, points: npt.NDArray[np.bool_], label: int) -> Ints:
    """Return the first pairs that have one of some features and a label."""
    found: list[int] = []
    for rows in chunks(len(data)):
        here = points[features.index[rows]] & (data.label_codes[rows] == label)
        found += (np.flatnonzero(here)[: EXAMPLES - len(found)] + rows.start).tolist()
        if len(found) == EXAMPLES:
            break
    return np.array(found, dtype=np.int64)

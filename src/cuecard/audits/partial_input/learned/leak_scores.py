"""Leak scores: how likely the right answer of each example is from partial input, by a model that never saw it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from cuecard.audits.partial_input.baselines.guessing import Guesses
from cuecard.audits.partial_input.baselines.judging import pointwise_information
from cuecard.audits.partial_input.given_away import CONFIDENCE, SOLVED
from cuecard.data.examples import Examples
from cuecard.data.weights import weight_total
from cuecard.stats.arrays import Floats, Ints

HISTOGRAM_BINS = 20


@dataclass(frozen=True, eq=False)
class Scored:
    """The guesses for some examples, with what a model that sees nothing gives their right answers."""

    examples: Ints
    guesses: Guesses
    null: Floats


def leak_table(examples: Examples, scored: Mapping[str, Sequence[Scored]], primary: str) -> pl.DataFrame:
    """Return one row per scored example: `leak_score`, `pvi` (bits), and how every partial input did on it.

    `leak_<name>` is the probability of the right answer from another partial input; `solved_<name>` is 1 where
    that input was enough to find the right answer, 0 where not, and a fraction where answers tied;
    `confidence_<name>` is the probability it gave its own answer.
    """
    n = len(examples)
    columns: dict[str, Floats] = {}
    for name, parts in scored.items():
        leak, solved, information, confidence = (np.full(n, np.nan) for _ in range(4))
        for part in parts:
            if part.guesses.probability is not None:
                leak[part.examples] = part.guesses.probability
                information[part.examples] = pointwise_information(part.guesses, part.null)
            if part.guesses.table is not None:
                confidence[part.examples] = np.nanmax(part.guesses.table, axis=1)
            solved[part.examples] = part.guesses.score
        if name == primary:
            columns = {"leak_score": leak, "pvi": information, **columns}
        else:
            columns[f"leak_{name}"] = leak
        columns[f"{SOLVED}{name}"] = solved
        if np.isfinite(confidence).any():
            columns[f"{CONFIDENCE}{name}"] = confidence
    rows = examples.instances.table.select("example_id", pl.col("split").cast(pl.String))
    table = rows.select(pl.all().gather(examples.first_rows[:-1])).with_columns(
        **{name: pl.Series(values).fill_nan(None) for name, values in columns.items()}
    )
    return table.filter(pl.any_horizontal(pl.col(list(columns)).is_not_null()))


def scored_examples(scored: Mapping[str, Sequence[Scored]]) -> Ints:
    """Return the examples that `leak_table` has a row for, in its order."""
    return np.unique(np.concatenate([part.examples for parts in scored.values() for part in parts]))


def leak_histogram(examples: Examples, leak: Floats) -> pl.DataFrame:
    """Return how many examples of every split and label, or their weight, have a leak score in each of some bins."""
    scored = np.flatnonzero(np.isfinite(leak))
    weight = examples.weight(scored)
    if examples.instances.grouped:
        labels = pl.Series(["all"] * len(scored), dtype=pl.String)
    else:
        labels = pl.Series(examples.instances.labels, dtype=pl.String).gather(examples.gold[scored])
    bins = np.minimum((leak[scored] * HISTOGRAM_BINS).astype(np.int64), HISTOGRAM_BINS - 1)
    frame = pl.DataFrame(
        {
            "split": examples.splits.gather(scored),
            "label": labels,
            "bin": bins,
            "weight": np.ones(len(scored), np.int64) if weight is None else weight,
        }
    )
    return (
        frame.group_by("split", "label", "bin")
        .agg(count=weight_total("weight", frame.schema["weight"]))
        .sort("split", "label", "bin")
        .select(
            "split",
            "label",
            low=pl.col("bin") / HISTOGRAM_BINS,
            high=(pl.col("bin") + 1) / HISTOGRAM_BINS,
            count="count",
        )
    )


def most_leaking(examples: Examples, leaks: pl.DataFrame, scored: Ints, shown: int) -> pl.DataFrame:
    """Return the examples whose right answer partial input makes most likely, with their texts.

    `scored` are the examples that the rows of `leaks` are about, as `scored_examples` gives them. For grouped tasks the
    text is that of the right answer, the label what stands against it.
    """
    top = leaks.select(pl.int_range(pl.len()).alias("_row"), "leak_score", "pvi").drop_nulls("leak_score")
    top = top.sort("leak_score", descending=True, maintain_order=True).head(shown)
    right = examples.right_rows[scored[top["_row"].to_numpy()]]
    return examples.instances.texts_of(right).select(
        "example_id",
        pl.col("split").cast(pl.String),
        top["leak_score"],
        top["pvi"],
        pl.col("label").cast(pl.String),
        "premise",
        "hypothesis",
    )

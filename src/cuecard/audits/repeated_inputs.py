"""Inputs that occur more than once: how many, which, and with how many answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from cuecard.data import Instances
from cuecard.data.fingerprint import mixed
from cuecard.data.row_numbers import series_of
from cuecard.data.splits import example_keys

#: Examples that are compared at a time.
AT_A_TIME = 1 << 21
_KEYS = ["premise_key", "hypothesis_key"]


@dataclass(frozen=True, eq=False)
class RepeatedInputs:
    """What occurs more often than it should.

    Attributes:
        examples: all examples.
        exact: examples that could go without losing a distinct input, counted within each split.
        normalised: the same, ignoring case and punctuation.
        answered: test examples that occur in train with the same answer, which is the most frequent one there.
        conflicting: examples whose input also has another answer.
        repeated: the most frequent inputs that occur more than once, with texts and labels.
        conflicts: those with several answers.
    """

    examples: int
    exact: int
    normalised: int
    answered: int
    conflicting: int
    repeated: pl.DataFrame
    conflicts: pl.DataFrame


def repeated_inputs(
    table: pl.DataFrame, data: Instances, most_repeated: int, most_conflicts: int
) -> RepeatedInputs:
    """Return the inputs that occur more than once, of a table of `row_table`; the list is limited."""
    examples = _examples(table, data)
    exact = normalised = examples.height
    answered = conflicting = 0
    repeated, conflicts = [], []
    for part in _by_input(examples):
        exact -= part.select("split", "premise_text", "hypothesis_text").n_unique()
        normalised -= part.select("split", *_KEYS).n_unique()
        answered += _answered(part)
        often = _repeated(part)
        several = often.filter(pl.col("answers").list.len() > 1)
        conflicting += int(several["count"].sum())
        repeated.append(_first(often, most_repeated))
        conflicts.append(_first(several, most_conflicts))
    shown = [_first(pl.concat(repeated), most_repeated), _first(pl.concat(conflicts), most_conflicts)]
    texts = _with_texts(pl.concat(shown), data)
    n = shown[0].height
    return RepeatedInputs(examples.height, exact, normalised, answered, conflicting, texts[:n], texts[n:])


def _first(repeated: pl.DataFrame, most: int) -> pl.DataFrame:
    """Return the most frequent ones; of equally frequent ones, those that are first in the data."""
    return repeated.sort("count", "row", descending=[True, False]).head(most)


def _by_input(examples: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Yield the examples in parts of bounded size, by hash: no input is in two parts."""
    n_parts = -(-examples.height // AT_A_TIME)
    if n_parts <= 1:
        yield examples
        return
    part = np.empty(examples.height, dtype=np.uint16)
    for start in range(0, examples.height, AT_A_TIME):
        premise, hypothesis = (examples[name].slice(start, AT_A_TIME).to_numpy() for name in _KEYS)
        part[start : start + AT_A_TIME] = mixed(premise * np.uint64(31) + hypothesis) % np.uint64(n_parts)
    for number in range(n_parts):
        yield examples[np.flatnonzero(part == number)]


def _examples(table: pl.DataFrame, data: Instances) -> pl.DataFrame:
    """One row per example: its first row, keys of its premise and of its hypotheses in any order, and its answer.

    The answer to a question is its right choice, or its answer in words, which is the same one up to case and
    punctuation.
    """
    first = data.first_rows[:-1]
    chosen = ["split", "premise_text", "premise_key", "premise_filled"]
    if not data.grouped:
        examples = table.select(
            *chosen,
            "hypothesis_text",
            "hypothesis_key",
            "hypothesis_filled",
            answer=data.table["label"].to_physical() if data.labelled else series_of(data.answer_codes),
        )
        if not data.labelled:  # the hypothesis is the answer, no part of the input
            examples = examples.with_columns(
                pl.lit(0, dtype=pl.UInt64).alias("hypothesis_text"),
                pl.lit(0, dtype=pl.UInt64).alias("hypothesis_key"),
                pl.lit(False).alias("hypothesis_filled"),
            )
        return examples.with_columns(row=series_of(first), answer_row=series_of(first))
    examples = table[first].select(chosen)
    of_choices = {
        name: series_of(example_keys(data, None, table[name].to_numpy()))
        for name in ("hypothesis_text", "hypothesis_key")
    }
    right = np.flatnonzero(data.label_codes == 0)
    right = right[np.unique(data.example_codes[right], return_index=True)[1]]
    return examples.with_columns(
        **of_choices,
        hypothesis_filled=pl.Series(np.logical_or.reduceat(table["hypothesis_filled"].to_numpy(), first)),
        answer=table["hypothesis_key"].gather(right),
        row=pl.Series(first),
        answer_row=pl.Series(right),
    )


def _repeated(examples: pl.DataFrame) -> pl.DataFrame:
    """Return inputs that occur more than once: the first row, and one for every answer."""
    return (
        examples.select(*_KEYS, "split", "row", "answer", "answer_row")
        .filter(pl.struct(_KEYS).is_duplicated())
        .group_by(_KEYS, maintain_order=True)
        .agg(
            pl.col("row").first(),
            pl.col("answer_row").filter(pl.col("answer").is_first_distinct()).alias("answers"),
            pl.len().alias("count"),
            pl.col("split").unique(maintain_order=True).alias("splits"),
        )
        .drop(_KEYS)
    )


def _with_texts(repeated: pl.DataFrame, data: Instances) -> pl.DataFrame:
    """Return repeated inputs with their texts and labels; the hypotheses of a question are joined, in order."""
    first, sizes = repeated["row"].to_numpy().astype(np.int64), np.ones(repeated.height, np.int64)
    if data.grouped:
        sizes = np.diff(data.first_rows)[data.example_codes[first]]
    rows = np.repeat(first - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())
    answers = repeated["answers"].explode(empty_as_null=False).to_numpy().astype(np.int64)
    wanted, place = np.unique(np.concatenate([rows, answers]), return_inverse=True)
    texts = data.table[wanted][place].select("premise", "hypothesis", pl.col("label").cast(pl.String))
    inputs = (
        texts[: len(rows)]
        .with_columns(input=np.repeat(np.arange(len(first)), sizes))
        .group_by("input", maintain_order=True)
        .agg(
            pl.col("premise").first(),
            pl.col("hypothesis").sort().str.join(" ⏐ ") if data.labelled else pl.lit("").alias("hypothesis"),
        )
    )
    labels = (
        texts[len(rows) :]
        .select(label="hypothesis" if data.grouped or not data.labelled else "label")
        .with_columns(input=np.repeat(np.arange(len(first)), repeated["answers"].list.len().to_numpy()))
        .group_by("input", maintain_order=True)
        .agg(pl.col("label").sort())
    )
    return pl.DataFrame(
        [
            inputs["premise"],
            inputs["hypothesis"],
            labels["label"].alias("labels"),
            repeated["count"],
            repeated["splits"].cast(pl.List(pl.String)),
        ]
    )


def _answered(examples: pl.DataFrame) -> int:
    """Return how many test examples occur in train with the same answer, which is the most frequent one there.

    Of equally frequent ones it is the smallest, whatever the order of rows.
    """
    filled = pl.col("premise_filled") | pl.col("hypothesis_filled")
    test = examples.filter((pl.col("split") == "test") & filled)
    if test.is_empty():
        return 0
    remembered = (
        examples.filter(pl.col("split") == "train")
        .join(test, on=_KEYS, how="semi", maintain_order="left")
        .group_by(_KEYS, maintain_order=True)
        .agg(pl.col("answer").mode().min().alias("remembered"))
    )
    return test.join(remembered, on=_KEYS).filter(pl.col("answer") == pl.col("remembered")).height

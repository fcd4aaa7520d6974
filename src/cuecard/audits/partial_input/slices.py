"""Where in the data partial input is enough: by label, by length, and by every extra column."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from cuecard.audits.partial_input.baselines.guessing import Guesses
from cuecard.audits.partial_input.baselines.judging import counted_hits, interval, measured
from cuecard.audits.partial_input.metadata import slice_columns
from cuecard.data.examples import Examples
from cuecard.stats import accuracy_log_p, log10_p, q_values
from cuecard.stats.arrays import Bools, Floats, Ints

FEWEST_EXAMPLES = 20
LENGTH_BINS = 5


@dataclass(frozen=True, eq=False)
class _Slice:
    column: str
    value: str
    which: Bools


def slice_table(examples: Examples, scored: Ints, guesses: Guesses, tokens: Floats) -> pl.DataFrame:
    """Return accuracy, chance and an exact test of the guesses in every slice of the scored examples.

    Chance in a slice is the commonest label's share there, or 1/k. Within a single label it is how often that
    label was guessed at all: what guesses that know nothing would get right of it. `tokens` is the length of
    each scored example.
    """
    grouped = examples.instances.grouped
    rows = []
    for part in _slices(examples, scored, tokens):
        inside, gold = guesses.take(part.which), examples.gold[scored][part.which]
        if part.column == "label":
            chance = guesses.mean(guesses.answer == gold[0])
            hits, counts = counted_hits(inside, np.zeros(len(inside), dtype=np.int64))
            log_p = float(accuracy_log_p(hits, int(counts.sum()), chance))
            p, log10 = float(np.exp(log_p)), float(log10_p(log_p))
        else:
            line = measured(part.value, "slice", inside, gold, grouped=grouped)
            chance, p, log10 = line.chance, line.p_value, line.log10_p
        low, high = interval(inside.score, inside.weight, unit=inside.unit)
        accuracy = inside.mean(inside.score)
        rows.append((part.column, part.value, len(inside), accuracy, low, high, chance, p, log10))
    columns = ["column", "value", "n", "accuracy", "low", "high", "chance", "p_value", "log10_p"]
    schema = dict.fromkeys(columns, pl.Float64) | {"column": pl.String, "value": pl.String, "n": pl.Int64}
    table = pl.DataFrame(rows, schema=schema, orient="row")
    return table.with_columns(q_value=pl.Series(q_values(table["log10_p"].to_numpy() * np.log(10))))


def _slices(examples: Examples, scored: Ints, tokens: Floats) -> Iterator[_Slice]:
    data = examples.instances
    gold = examples.gold[scored]
    if not data.grouped:
        yield from _values("label", pl.Series(data.labels, dtype=pl.String).gather(gold))
    elif data.task == "choice":
        yield from _values("answer position", pl.Series(gold + 1).cast(pl.String))
    edges = np.unique(np.quantile(tokens, np.arange(1, LENGTH_BINS) / LENGTH_BINS, method="higher"))
    bins = np.searchsorted(edges, tokens, side="right")
    for b in np.unique(bins):
        inside = tokens[bins == b]
        first, last = f"{inside.min():.0f}", f"{inside.max():.0f}"
        yield _Slice("length", f"{first} words" if first == last else f"{first} to {last} words", bins == b)
    for column in slice_columns(examples):
        yield from _values(column.name, column.gather(scored))


def _values(name: str, values: pl.Series) -> Iterator[_Slice]:
    for value in values.drop_nulls().unique().sort():
        which = (values == value).fill_null(False).to_numpy()
        if which.sum() >= FEWEST_EXAMPLES:
            yield _Slice(name, str(value), which)

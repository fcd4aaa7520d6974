"""Where in the data partial input is enough: by label, by length, and by every extra column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from cuecard.audits.partial_input.baselines.battery import gold_of
from cuecard.audits.partial_input.baselines.guessing import Guesses
from cuecard.audits.partial_input.baselines.judging import against_chance, chance_of, counted_hits, interval
from cuecard.audits.partial_input.metadata import codes_of, names_of, slice_columns
from cuecard.data.examples import Examples
from cuecard.models.linear.input_features import InputRows
from cuecard.stats import accuracy_log_p, log10_p, q_values
from cuecard.stats.arrays import Bools, Codes, Floats, Ints, chunks, counted

FEWEST_EXAMPLES = 20
LENGTH_BINS = 5


@dataclass(frozen=True, eq=False)
class _Slice:
    column: str
    value: str
    which: Bools


def lengths_of(examples: Examples, rows: InputRows) -> Floats:
    """Return the length of every example in words; that of its rows on average, rounded."""
    lengths: Floats = examples.instances.space.array(np.float64, len(examples))
    first = 0
    for piece, _ in rows.pieces():
        starts, last = piece.first_row[:-1], first + len(piece.first_row) - 1
        lengths[first:last] = np.rint(
            np.add.reduceat(piece.lengths("hypothesis"), starts) / np.diff(piece.first_row)
        )
        first = last
    return lengths


def slice_table(examples: Examples, scored: Ints, guesses: Guesses, tokens: Floats) -> pl.DataFrame:
    """Return accuracy, chance and an exact test of the guesses in every slice of the scored examples.

    Chance in a slice is the commonest label's share there, or 1/k. Within a single label it is how often that
    label was guessed at all: what guesses that know nothing would get right of it. `tokens` is the length of
    each scored example.
    """
    grouped, answers = examples.instances.grouped, gold_of(examples, scored)
    rows = []
    for part in _slices(examples, scored, answers, tokens):
        here = np.flatnonzero(part.which)
        inside, gold = guesses.take(here), guesses.space.gathered(answers, here)
        del here
        if part.column == "label":
            chance = guesses.mean(guesses.answer == gold[0])
            hits, counts = counted_hits(inside, np.broadcast_to(np.int64(0), len(inside)))
            log_p = float(accuracy_log_p(hits, int(counts.sum()), chance))
            p, log10 = float(np.exp(log_p)), float(log10_p(log_p))
        else:
            chance = chance_of(inside, gold, grouped=grouped)
            test = against_chance(inside, gold, grouped=grouped)
            p, log10 = test.p_value, test.log10_p
        low, high = interval(inside.score, inside.weight, unit=inside.unit)
        accuracy = inside.mean(inside.score)
        rows.append((part.column, part.value, len(inside), accuracy, low, high, chance, p, log10))
    columns = ["column", "value", "n", "accuracy", "low", "high", "chance", "p_value", "log10_p"]
    schema = dict.fromkeys(columns, pl.Float64) | {"column": pl.String, "value": pl.String, "n": pl.Int64}
    table = pl.DataFrame(rows, schema=schema, orient="row")
    return table.with_columns(q_value=pl.Series(q_values(table["log10_p"].to_numpy() * np.log(10))))


def _slices(examples: Examples, scored: Ints, gold: Ints, tokens: Floats) -> Iterator[_Slice]:
    data = examples.instances
    if not data.grouped:
        yield from _values("label", gold, data.labels)
    elif data.task == "choice":
        yield from _values(
            "answer position", gold, [str(i + 1) for i in range(int(gold.max(initial=-1)) + 1)]
        )
    edges = np.unique(np.quantile(tokens, np.arange(1, LENGTH_BINS) / LENGTH_BINS, method="higher"))
    bins = np.empty(len(tokens), dtype=np.int8)
    for some in chunks(len(tokens)):
        bins[some] = np.searchsorted(edges, tokens[some], side="right")
    for b in np.flatnonzero(counted(bins)):
        inside = tokens[bins == b]
        first, last = f"{inside.min():.0f}", f"{inside.max():.0f}"
        del inside
        yield _Slice("length", f"{first} words" if first == last else f"{first} to {last} words", bins == b)
    for column in slice_columns(examples):
        yield from _values(column.name, codes_of(column)[scored], names_of(column).to_list())


def _values(name: str, codes: Codes, names: Sequence[str]) -> Iterator[_Slice]:
    """Yield the slices of enough examples, in the order of their names."""
    for code in sorted(range(len(names)), key=lambda code: names[code]):
        which = codes == code
        if np.count_nonzero(which) >= FEWEST_EXAMPLES:
            yield _Slice(name, names[code], which)

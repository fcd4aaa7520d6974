"""What extra columns, slices and the words of the premise say beside the baselines."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.analysis import Finding, Result, Row, Summary
from cuecard.audits.cues.statistics import POINTS_TO
from cuecard.audits.partial_input.guesses import Guesses, gold_of
from cuecard.audits.partial_input.judging import Baseline, against_chance, chance_of, counted_hits, interval
from cuecard.data import COLUMNS
from cuecard.data.examples import Examples
from cuecard.data.layout.responses import FILE_POSITION
from cuecard.errors import InputError
from cuecard.models.linear.input_features import InputRows
from cuecard.models.linear.learner import Indicators
from cuecard.registry import unknown_name
from cuecard.stats import accuracy_log_p, log10_p, q_values
from cuecard.stats.arrays import Bools, Codes, Floats, Ints, chunks, counted
from cuecard.wording import listed, percent, plural

#: A column with more values than this is a text or an identifier, not a slice.
MOST_VALUES = 60


def slice_columns(examples: Examples, without: Collection[str | None] = ()) -> list[pl.Series]:
    """Return the extra columns with few values, one value per example, as an Enum of their texts in order.

    Columns that differ between the rows of an example are none, nor are those that only write the label or the place of
    the right choice another way, and those of the preferred response or of its rival: they follow from the answer.
    """
    data = examples.instances
    table = data.table.select(pl.exclude(*COLUMNS))
    starts = examples.first_rows[:-1]
    kept = []
    outcomes = _of_one_outcome(table.columns) if data.task == "preference" else set()
    for column in table:
        if column.name in {*without, *outcomes} or column.dtype.is_nested() or column.dtype.is_float():
            continue
        if column.dtype == pl.Duration:  # it has no text of its own
            column = column.to_physical()
        values = column.gather(starts) if data.grouped else column
        if not 2 <= values.n_unique() <= MOST_VALUES:
            continue
        if data.grouped and _differs_within(column, starts):
            continue
        values = coded(values)
        if _writes_the_answer(values, examples):
            continue
        kept.append(values)
    return kept


def coded(values: pl.Series) -> pl.Series:
    """Return few values as an Enum of their texts in order, which takes a byte for each."""
    kind = pl.Enum(values.unique().cast(pl.String).drop_nulls().sort())
    parts = [values[chunk].cast(pl.String).cast(kind) for chunk in chunks(len(values))]
    return pl.concat([values[:0].cast(pl.String).cast(kind), *parts]).rechunk()


def codes_of(values: pl.Series) -> npt.NDArray[np.int16]:
    """Return the places of the values of an Enum, -1 where one is missing."""
    codes: npt.NDArray[np.int16] = values.to_physical().cast(pl.Int16).fill_null(-1).to_numpy()
    return codes


def names_of(values: pl.Series) -> pl.Series:
    """Return the values that an Enum can have."""
    assert isinstance(values.dtype, pl.Enum)
    return values.dtype.categories


def response_columns(examples: Examples) -> list[pl.Series]:
    """Return what extra columns say about each answer of an example, one value per row, as text.

    Columns of text with few values, such as the model that wrote an answer, count as they are. Of all others only
    whether a value is there: a score may be what the label was made of.
    """
    data = examples.instances
    kept = []
    for column in data.table.select(pl.exclude(*COLUMNS, FILE_POSITION)):
        if column.dtype.is_nested() or not _differs_within(column, examples.first_rows[:-1]):
            continue
        text = column.dtype in (pl.String, pl.Categorical, pl.Boolean) or isinstance(column.dtype, pl.Enum)
        values = column.cast(pl.String) if text else column.is_null().cast(pl.String)
        if 2 <= values.n_unique() <= MOST_VALUES:
            kept.append(values)
    return kept


def _differs_within(column: pl.Series, starts: Ints) -> bool:
    """Return whether two rows of one example have different values; `starts` are the examples' first rows."""
    changes = column.ne_missing(column.shift(1)).to_numpy().copy()
    changes[starts] = False
    return bool(changes.any())


def metadata_features(columns: Sequence[pl.Series]) -> Indicators:
    """Return an indicator of every value of every column, one row per example; a missing value is a value."""
    features = []
    for column in columns:
        values = column if isinstance(column.dtype, pl.Enum) else coded(column)
        codes = codes_of(values)
        if values.null_count() and names_of(values)[0] != "":
            codes = codes + np.int16(1)
        features.append(np.maximum(codes, np.int16(0)))
    return Indicators(tuple(features), tuple(int(codes.max(initial=0)) + 1 for codes in features))


def _of_one_outcome(names: Sequence[str]) -> set[str]:
    """Return the columns of the chosen or the rejected response, such as `chosen_model` beside `rejected_model`."""
    lower = {name.lower() for name in names}
    return {
        name
        for name in names
        for mine, other in (("chosen", "rejected"), ("rejected", "chosen"))
        if mine in name.lower() and name.lower().replace(mine, other) in lower
    }


def _writes_the_answer(values: pl.Series, examples: Examples) -> bool:
    """Return whether every value goes with one label, or place of the right choice, and every one with one value."""
    codes, gold = codes_of(values), examples.gold
    k = int(gold.max(initial=0)) + 1 if examples.grouped else len(examples.labels)
    together = np.zeros((len(names_of(values)) + 1) * k, dtype=np.int64)
    for chunk in chunks(len(codes)):
        together += np.bincount((codes[chunk] + 1) * k + gold[chunk], minlength=len(together))
    there = together.reshape(-1, k) > 0
    return int(there.sum()) == int(there.any(axis=1).sum()) == int(there.any(axis=0).sum())


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
    for chunk, _ in rows.chunks():
        starts, last = chunk.first_row[:-1], first + len(chunk.first_row) - 1
        lengths[first:last] = np.rint(
            np.add.reduceat(chunk.lengths("hypothesis"), starts) / np.diff(chunk.first_row)
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
    for chunk in chunks(len(tokens)):
        bins[chunk] = np.searchsorted(edges, tokens[chunk], side="right")
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


WORDS_SHOWN = 5
#: Columns of the table, as the cue audit names them.
KEPT = (
    *("feature", "label", "direction", "train_count", "test_count"),
    *("share", "share_low", "share_high", "chance", "z", "q_value"),
)


def premise_words(baselines: Sequence[Baseline], search: Callable[[], Result]) -> pl.DataFrame | None:
    """Return the words of the premise that are associated with a label, most significant first.

    `search` returns the cues of the premise. None where the premise alone is at chance, so that nothing is searched;
    below chance is a leak turned round.
    """
    if not any(b.name == "premise_only" and b.direction != "at" for b in baselines):
        return None
    cues = search().tables["cues"].filter("significant")
    return cues.select([name for name in KEPT if name in cues.columns])


def with_words(findings: Sequence[Finding], words: pl.DataFrame) -> list[Finding]:
    """Return the findings; the one about the premise also names its strongest words."""
    if words.height:
        shown = [
            f"“{row['feature']}” ({percent(row['share'])} {row['label']}, {_beside_chance(row)})"
            for row in words.head(WORDS_SHOWN).iter_rows(named=True)
        ]
        sentence = (
            f" {plural(words.height, 'word')} of the premise {'is' if words.height == 1 else 'are'} associated with a "
            f"label; the strongest: {listed(shown)}."
        )
    else:
        sentence = " No single word of the premise is associated with a label."
    return [
        replace(finding, text=finding.text + sentence)
        if finding.key == "premise_only" and finding.severity != "info"
        else finding
        for finding in findings
    ]


def _beside_chance(row: Row) -> str:
    below = "" if row["direction"] == POINTS_TO else "below "
    return f"{below}chance {percent(row['chance'])}"


def outside_accuracy(examples: Examples, column: str, scored: Ints) -> Summary:
    """Return the accuracy that an extra column states for the scored examples, by the first row and weight of each.

    Values are true and false, shares from 0 to 1, or percentages where one is above 1.
    """
    table = examples.instances.table
    if column not in table.columns:
        raise unknown_name("column (outside)", column, [c for c in table.columns if c not in COLUMNS])
    values = table[column].gather(examples.first_rows[scored])
    if not (values.dtype.is_numeric() or values.dtype == pl.Boolean) or values.null_count():
        raise InputError(
            f"The column {column} must hold true and false, shares or percentages for every evaluated example."
        )
    numbers = values.cast(pl.Float64).to_numpy()
    if not (np.isfinite(numbers).all() and (numbers >= 0).all() and (numbers <= 100).all()):
        raise InputError(f"The column {column} must hold values from 0 to 1, or percentages from 0 to 100.")
    share = numbers / (100 if numbers.max(initial=0) > 1 else 1)
    accuracy = float(np.average(share, weights=examples.example_weights[scored]))
    return {"column": column, "accuracy": accuracy, "n": len(share)}

"""What partial input needs of every row where texts stay on disk: figures, extra columns, and hashes of words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from cuecard.audits.partial_input.metadata import MOST_VALUES
from cuecard.cache import content_key
from cuecard.data import COLUMNS, Instances, Task
from cuecard.data.files.raw import alike
from cuecard.data.survey import NumberedInstances
from cuecard.engines import Stream, Summary
from cuecard.models.linear.input_features import InputRows, Reading, WordBlock, feature_blocks
from cuecard.models.linear.kept_rows import FiguredInstances, PackedRows
from cuecard.models.text_model import Condition
from cuecard.stats.arrays import Ints
from cuecard.text import encode
from cuecard.text.encoded import LANGUAGE_ROWS, Side
from cuecard.text.languages.language import guess_language, suggested_tokeniser
from cuecard.text.style import formatting

FIGURES, EXTRAS, HASHES = "figures", "extras", "hashes"
_KEPT = "_figured"
#: A column that every part has, so that those without extra columns have rows, too.
_ROWS = "_rows"


def figured(
    stream: Stream, *, tokens: str | None = None, ngrams: int = 2, whole: str | None = None
) -> FiguredInstances:
    """Return a dataset in parts with figures of all its rows, made in one pass and kept with it.

    Args:
        stream: the dataset.
        tokens: tokenisation of the learner; what suits the language by default.
        ngrams: longest n-gram of the learner, in words.
        whole: an extra column that is kept with all its values.
    """
    data = stream.data
    kept: dict[RowReader, FiguredInstances] = data.__dict__.setdefault(_KEPT, {})
    language = guess_language(data.sampled_texts(LANGUAGE_ROWS))
    reader = RowReader(data.task, tokens or suggested_tokeniser(language), language, ngrams, whole)
    if reader not in kept:
        kept[reader] = _figured(stream, data, reader)
    return kept[reader]


@dataclass(frozen=True)
class RowReader:
    """Reads what is kept of every row of a part."""

    task: Task
    tokens: str
    language: str
    ngrams: int
    whole: str | None

    @property
    def stage(self) -> str:
        """What the summaries of this reader are called."""
        return f"figures {content_key({f.name: getattr(self, f.name) for f in fields(self)})}"

    @property
    def readings(self) -> list[tuple[Reading | None, int]]:
        """What is read of the words of a row, by any input of the task."""
        inputs: tuple[Condition, ...] = ("full", "choices")
        if self.task in ("pair", "text"):
            inputs = ("full", "hypothesis", "premise") if self.task == "pair" else ("full",)
        blocks = [b for c in inputs for b, _ in feature_blocks(self.task, c, ngrams=self.ngrams).values()]
        return list(dict.fromkeys((b.side, b.ngrams) for b in blocks if isinstance(b, WordBlock)))

    def __call__(self, part: Instances, start: int) -> Summary:
        """Return figures, extra columns and hashed words of the rows of a part."""
        if not len(part):
            return {}
        rows = InputRows(encode(part, tokens=self.tokens, language=self.language), part.first_rows)
        return {
            FIGURES: _figures(part, rows),
            EXTRAS: _extra_columns(part, self.whole),
            HASHES: pl.DataFrame({_name(side, n): _lists(rows, side, n) for side, n in self.readings}),
        }


def _figured(stream: Stream, data: NumberedInstances, reader: RowReader) -> FiguredInstances:
    stream.each(reader.stage, reader, title="Lengths, shared words and extra columns")
    figures = pl.concat(stream.store.tables(reader.stage, FIGURES))
    extras = _stacked_columns(stream, reader)
    place = stream.store.folder / f"{reader.stage} packed"
    packed = {
        (side, n): PackedRows(place, _name(side, n)).write(_hashes(stream, reader, _name(side, n)))
        for side, n in reader.readings
    }
    table = data.table.with_columns(figures["position"], *extras)
    own = {f.name: getattr(data, f.name) for f in fields(NumberedInstances)} | {"table": table}
    return FiguredInstances(**own, figures=figures.drop("position"), packed=packed)


def _name(side: Reading | None, ngrams: int) -> str:
    return f"{side or 'shared'} {ngrams}"


def _figures(part: Instances, rows: InputRows) -> pl.DataFrame:
    columns: dict[str, npt.NDArray[Any]] = dict(zip(("shared", "distinct"), rows.words(), strict=True))
    sides: tuple[Side, ...] = ("premise", "hypothesis")
    for side in sides:
        columns |= {
            f"{side}_length": rows.lengths(side),
            f"{side}_characters": part.characters(side),
            f"{side}_blank": part.blank(side),
        }
    if part.grouped:
        columns |= answer_figures(part)
    numbers = {name: pl.Series(values) for name, values in columns.items()}
    return pl.DataFrame(
        {n: v if v.dtype == pl.Boolean else v.cast(pl.Int32) for n, v in numbers.items()}
    ).with_columns(part.table["position"].cast(pl.Int32))


def answer_figures(data: Instances) -> dict[str, npt.NDArray[Any]]:
    """Return for every answer how much formatting it has, and how many words it shares with the prompt."""
    if isinstance(data, FiguredInstances):
        return {name: data.figure(name) for name in ("formatting", "prompt_words")}
    responses, prompts = (data.folded(side) for side in ("hypothesis", "premise"))
    return {
        "formatting": formatting(data.table["hypothesis"], responses.signs),
        "prompt_words": responses.shared_with(prompts),
    }


def _lists(rows: InputRows, side: Reading | None, ngrams: int) -> pl.Series:
    """Return the hashed words of every row as lists."""
    hashed = rows.hashed(side, ngrams).take(np.arange(len(rows.data)))
    ends = np.append(hashed.starts, len(hashed.slots)).astype(np.int64)
    return pl.Series(pa.LargeListArray.from_arrays(pa.array(ends), pa.array(hashed.slots)))


def _hashes(stream: Stream, reader: RowReader, name: str) -> Iterator[tuple[npt.NDArray[np.int32], Ints]]:
    for table in stream.store.tables(reader.stage, HASHES, [name]):
        lists = table[name]
        yield lists.explode(empty_as_null=False).to_numpy(), lists.list.len().to_numpy().astype(np.int64)


# Extra columns.


def _extra_columns(part: Instances, whole: str | None) -> pl.DataFrame:
    """Return the extra columns of a part; of one with many values, as many as show that it has too many."""
    starts = part.first_rows[:-1]
    columns = [c for c in part.table.select(pl.exclude(*COLUMNS)) if not c.dtype.is_nested()]
    kept = [c if c.name == whole else with_few_values(c, starts) for c in columns]
    return pl.DataFrame([*kept, pl.Series(_ROWS, np.zeros(len(part), dtype=np.bool_))])


def with_few_values(column: pl.Series, starts: Ints) -> pl.Series:
    """Return a column with a bounded number of values that is a slice, or none, wherever the column itself is.

    A slice has at most `MOST_VALUES` values in the first rows of examples, and does not differ within one; what is
    known of answers has as few in all rows. Therefore so many values of the first rows are kept, two that differ within
    an example if there are any, and so many of all rows. One of them stands for all others; what is missing stays so.
    """
    if column.n_unique() <= MOST_VALUES + 1:
        return column
    changes = column.ne_missing(column.shift(1)).to_numpy().copy()
    changes[starts] = False
    differing = np.flatnonzero(changes)[:1]
    of_first = column.gather(starts).drop_nulls().unique(maintain_order=True).head(MOST_VALUES + 1)
    of_all = column.drop_nulls().unique(maintain_order=True).head(MOST_VALUES + 1)
    kept = pl.concat([of_first, column.gather(np.append(differing, differing - 1)).drop_nulls(), of_all])
    some = pl.DataFrame({"value": column}).with_columns(
        pl.when(pl.col("value").is_in(kept.unique().implode()) | pl.col("value").is_null())
        .then("value")
        .otherwise(pl.lit(kept[:1]).first())
    )
    return some["value"].alias(column.name)


def _stacked_columns(stream: Stream, reader: RowReader) -> list[pl.Series]:
    """Return the extra columns of all parts, texts as numbers of their values."""
    tables = alike(list(stream.store.tables(reader.stage, EXTRAS)))
    columns = pl.concat(tables, how="diagonal_relaxed").drop(_ROWS)
    return [
        column.cast(pl.Enum(column.drop_nulls().unique().sort())) if column.dtype == pl.String else column
        for column in columns
    ]

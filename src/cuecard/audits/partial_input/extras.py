"""Extra columns of a dataset whose texts stay on disk: those with many values are cut short, numbers stay on disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa

from cuecard.audits.partial_input.metadata import MOST_VALUES
from cuecard.data import COLUMNS, Instances
from cuecard.data.files.raw import alike, as_text
from cuecard.engines import Stream
from cuecard.stats.arrays import Ints

EXTRAS = "extras"
#: A column that every part has, so that those without extra columns have rows, too.
_ROWS = "_rows"


def extra_columns(part: Instances, whole: str | None) -> pl.DataFrame:
    """Return the extra columns of a part; of one with many values, as many as show that it has too many."""
    starts = part.first_rows[:-1]
    columns = [c for c in part.table.select(pl.exclude(*COLUMNS)) if not c.dtype.is_nested()]
    kept = [c if c.name == whole else with_few_values(c, starts) for c in columns]
    return pl.DataFrame([*kept, pl.Series(_ROWS, np.zeros(len(part), dtype=np.bool_))])


def with_few_values(column: pl.Series, starts: Ints) -> pl.Series:
    """Return a column with a bounded number of values that is a slice, or none, wherever the column itself is.

    A slice has at most `MOST_VALUES` values in the first rows of examples, and does not differ within one; what is
    known of answers has as few in all rows. Therefore this many values of the first rows are kept, two that differ
    within an example if there are any, and as many of all rows. One of them stands for all others; what is
    missing stays so.
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


def stacked_columns(stream: Stream, stage: str) -> list[pl.Series]:
    """Return the extra columns of all parts: texts as numbers of their values, the others mapped from a file."""
    parts = _Parts(stream, stage)
    texts = [name for name, kind in parts.schema.items() if _is_text(kind)]
    others = [name for name in parts.schema if name not in texts]
    kinds: pl.Schema = pl.Schema({name: pl.Enum(parts.values(name)) for name in texts})
    coded = pl.concat([pl.DataFrame(schema=kinds), *(table.select(texts).cast(kinds) for table in parts)])
    columns = {c.name: c for c in (*coded.rechunk(), *parts.mapped(others))}
    return [columns[name] for name in parts.schema]


def _is_text(kind: pl.DataType) -> bool:
    return kind in (pl.String, pl.Categorical) or isinstance(kind, pl.Enum)


class _Parts:
    """The extra columns of every part, all of one type."""

    def __init__(self, stream: Stream, stage: str) -> None:
        self._stream, self._stage = stream, stage
        heads = [table.head(0) for table in stream.store.tables(stage, EXTRAS)]
        self.schema = pl.concat(alike(heads), how="diagonal_relaxed").drop(_ROWS).schema

    def __iter__(self) -> Iterator[pl.DataFrame]:
        for table in self._stream.store.tables(self._stage, EXTRAS):
            missing = [pl.lit(None).alias(name) for name in self.schema if name not in table.columns]
            table = table.with_columns(missing)
            yield pl.DataFrame(
                as_text(table[name]) if _is_text(kind) else table[name].cast(kind)
                for name, kind in self.schema.items()
            )

    def values(self, name: str) -> pl.Series:
        """Return the values of a column of texts, in order."""
        values = pl.Series([], dtype=pl.String)
        for table in self:
            values = pl.concat([values, table[name].drop_nulls().unique().alias("")]).unique()
        return values.sort()

    def mapped(self, names: list[str]) -> pl.DataFrame:
        """Return columns whose values are in a file: memory holds what is looked at."""
        if not names:
            return pl.DataFrame()
        place = Path(self._stream.store.folder) / f"{self._stage} extras.arrow"
        schema = pl.DataFrame(schema={name: self.schema[name] for name in names}).to_arrow().schema
        with pa.OSFile(str(place), "wb") as file, pa.ipc.new_file(file, schema) as writer:
            for table in self:
                writer.write_table(table.select(names).to_arrow())
        mapped = pl.from_arrow(pa.ipc.open_file(pa.memory_map(str(place))).read_all(), rechunk=False)
        assert isinstance(mapped, pl.DataFrame)
        return mapped

"""Sums over the parts of a dataset: tables larger than memory, and texts whose copies are in several parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.engines import Store
from cuecard.stats.arrays import Ints

KEYS = ["family", "feature"]
#: What the name of a table ends with that has the sums over texts all of whose copies are in one part.
COMPLETE = " complete"
#: Rows of tables that are added up at a time.
AT_A_TIME = 4_000_000
#: The most files that such tables are divided into.
MOST_BUCKETS = 256

NO_UNITS = pl.DataFrame(
    schema={"family": pl.String, "feature": pl.String, "level": pl.String}
    | dict.fromkeys(("units", "n", "squares", "crossed"), pl.Int64)
)


def buckets(store: Store, stage: str, name: str, keys: list[str], by: list[str]) -> Iterator[pl.DataFrame]:
    """Yield the sums of a table over all pieces by its keys, in parts of bounded size: no key is in two parts.

    Pieces are added up as long as they fit, and divided into files by hash; then every file is added up.
    """
    whole = pl.scan_parquet(store.files(stage, name))
    n = min(MOST_BUCKETS, max(1, -(-int(whole.select(pl.len()).collect().item()) // AT_A_TIME)))
    if n == 1:
        yield whole.group_by(keys).agg(pl.all().sum()).collect()
        return
    bucket = (pl.struct(by).hash() % n).alias("bucket")
    with TemporaryDirectory(dir=store.folder) as place:
        for run, tables in enumerate(_some(store.tables(stage, name), AT_A_TIME)):
            summed = pl.concat(tables).group_by(keys).agg(pl.all().sum()).with_columns(bucket)
            for (number,), part in summed.partition_by("bucket", as_dict=True, include_key=False).items():
                part.write_parquet(Path(place) / f"{number}-{run}.parquet", compression="lz4")
        for number in range(n):
            files = sorted(Path(place).glob(f"{number}-*.parquet"))
            if files:
                yield pl.concat(map(pl.read_parquet, files)).group_by(keys).agg(pl.all().sum())


class PartCopies:
    """The texts with copies of a part: which of them have all copies in it."""

    def __init__(self, units: Ints, sizes: Ints, family: str, names: pl.Series) -> None:
        self._units, here = np.unique(units, return_counts=True)
        self._complete = sizes[self._units] == here
        self._sizes, self._family, self._names = sizes, family, names

    def counted(self, features: npt.NDArray[Any], units: Ints, level: str) -> dict[str, pl.DataFrame]:
        """Return how often each feature occurs in each unit, and that times the rows of the unit.

        Units that are complete here are summed up: nothing of them is in other parts.
        """
        table = (
            pl.DataFrame({"column": features, "unit": units})
            .group_by("column", "unit")
            .agg(n=pl.len().cast(pl.Int64))
        )
        own = table["unit"].to_numpy()
        table = table.with_columns(
            pl.Series("crossed", self._sizes[own] * table["n"].to_numpy(), pl.Int64),
            pl.Series("complete", self._complete[np.searchsorted(self._units, own)], pl.Boolean),
        )
        named = {
            "family": pl.lit(self._family),
            "feature": pl.lit(self._names).gather(pl.col("column")),
            "level": pl.lit(level),
        }
        parts = table.filter(~pl.col("complete")).select(
            **named, unit=pl.col("unit").cast(pl.Int64), n="n", crossed="crossed"
        )
        sums = over_units(table.filter("complete"), ["column"])
        return {
            "": parts,
            COMPLETE: sums.select(**named, units="units", n="n", squares="squares", crossed="crossed"),
        }


def over_units(table: pl.DataFrame, by: Sequence[str] = (*KEYS, "level")) -> pl.DataFrame:
    """Return for every feature its units, their rows, these squared, and times all rows."""
    return table.group_by(by).agg(
        units=pl.len().cast(pl.Int64),
        n=pl.col("n").sum(),
        squares=(pl.col("n") ** 2).sum(),
        crossed=pl.col("crossed").sum(),
    )


def _some(tables: Iterable[pl.DataFrame], rows: int) -> Iterator[list[pl.DataFrame]]:
    """Yield as many tables at a time as have that many rows together, and at least one."""
    some: list[pl.DataFrame] = []
    for table in tables:
        some.append(table)
        if sum(each.height for each in some) >= rows:
            yield some
            some = []
    if some:
        yield some

"""Sums over texts with copies: those whose copies are in one part of the dataset, and in several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.stats.arrays import Ints

KEYS = ["family", "feature"]
#: What the name of a table ends with that has the sums over texts all of whose copies are in one part.
COMPLETE = " complete"

NO_UNITS = pl.DataFrame(
    schema={"family": pl.String, "feature": pl.String, "level": pl.String}
    | dict.fromkeys(("units", "n", "squares", "crossed"), pl.Int64)
)


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

"""A label by threshold: `relatedness_score>3.6` makes two classes of a column of numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import polars as pl

from cuecard.data.files.raw import RawTable
from cuecard.errors import InputError
from cuecard.registry import unknown_name

_TYPED = re.compile(
    r"^\s*(?P<column>[^<>=,]+?)\s*(?P<sign>>=|<=|>|<)\s*(?P<value>[-+]?[\d.]+(?:[eE][-+]?\d+)?)\s*$"
)
_NAMES = {
    ">": ("above {0}", "at most {0}"),
    ">=": ("at least {0}", "below {0}"),
    "<": ("below {0}", "at least {0}"),
    "<=": ("at most {0}", "above {0}"),
}


@dataclass(frozen=True)
class Threshold:
    """A column of numbers and where it is cut; the first class is that of the numbers that meet the condition."""

    column: str
    sign: str
    value: float

    @property
    def names(self) -> tuple[str, str]:
        """Names of the two classes, such as "above 3.6" and "at most 3.6"."""
        meets, fails = (name.format(f"{self.value:g}") for name in _NAMES[self.sign])
        return meets, fails

    @property
    def label(self) -> str:
        """Name of the column of labels."""
        return f"{self.column}{self.sign}{self.value:g}"

    def applied(self, raw: RawTable) -> RawTable:
        """Return the table with a column of labels, empty where the number is."""
        if self.column not in raw.frame.columns:
            raise unknown_name(f"column of {raw.where}", self.column, raw.frame.columns)
        values = raw.frame[self.column]
        numbers = values.cast(pl.Float64, strict=False) if not values.dtype.is_nested() else None
        if numbers is None or numbers.null_count() > values.null_count():
            bad = None if numbers is None else int((numbers.is_null() & values.is_not_null()).arg_max() or 0)
            which = f" ({raw.place(bad)} has {values[bad]!r})" if bad is not None else ""
            raise InputError(
                f"Column {self.column!r} of {raw.where} does not hold numbers{which}: name a "
                "column of numbers in --labels."
            )
        meets = {">": numbers > self.value, ">=": numbers >= self.value, "<": numbers < self.value}.get(
            self.sign, numbers <= self.value
        )
        present = numbers.is_not_null() & numbers.is_not_nan().fill_null(False)
        names = self.names
        labels = pl.select(
            pl.when(present & meets)
            .then(pl.lit(names[0]))
            .when(present)
            .then(pl.lit(names[1]))
            .alias(self.label)
        ).to_series()
        return replace(raw, frame=raw.frame.with_columns(labels))


def parse_threshold(text: str) -> Threshold | None:
    """Return the threshold that was typed, None if it is none."""
    match = _TYPED.match(text)
    try:
        return Threshold(match["column"], match["sign"], float(match["value"])) if match else None
    except ValueError:
        return None

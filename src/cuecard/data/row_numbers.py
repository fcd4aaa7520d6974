"""Numbers that stand for the texts of every row: equal numbers mean equal texts, by 128 bits of hash."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np
import polars as pl

from cuecard.data.fingerprint import Hashes, is_placeholder, made_distinct, normalised, text_hashes
from cuecard.data.instances import Instances, taken
from cuecard.data.reading.sources import SPLITS
from cuecard.stats.arrays import Array, Bools

Side = Literal["premise", "hypothesis"]
SIDES: tuple[Side, ...] = ("premise", "hypothesis")
#: Texts as they are, or up to case and punctuation.
Kind = Literal["text", "key"]
Columns = Mapping[str, Array]


def row_table(data: Instances) -> pl.DataFrame:
    """Return a row of numbers for every instance: split, label, example, lengths and numbers of its texts.

    `premise_text` and `hypothesis_text` are equal for equal texts, `premise_key` and `hypothesis_key` for texts that
    are equal up to case and punctuation, on either side and for no others. `premise_filled` and `hypothesis_filled`
    say whether anything is left then, and `premise_placeholder` and `hypothesis_placeholder` whether the text only
    says that there is none.
    """
    columns = {**text_numbers(data), **text_keys_of(data), **_figures(data)}
    return pl.DataFrame({name: series_of(values) for name, values in columns.items()}).with_columns(
        split=data.table["split"].cast(pl.String).cast(pl.Enum(SPLITS)),
        label=data.table["label"],
        example=series_of(data.example_codes),
    )


def text_numbers(data: Instances) -> Columns:
    """Return `premise_text` and `hypothesis_text` of every row."""
    return _of_rows(data, "text", lambda texts: texts)


def text_keys_of(data: Instances) -> Columns:
    """Return `premise_key` and `hypothesis_key` of every row, and `…_filled`."""
    return _of_rows(data, "key", normalised)


def side_keys(data: Instances, *sides: Side) -> tuple[Hashes, Bools]:
    """Return the keys of the texts of each side, one side after the other, and whether they are not empty."""
    columns = text_keys_of(data)
    keys, filled = ([columns[f"{side}_{name}"] for side in sides] for name in ("key", "filled"))
    return (keys[0], filled[0]) if len(sides) == 1 else (np.concatenate(keys), np.concatenate(filled))


def series_of(values: Array) -> pl.Series:
    """Return numbers as a column that shares their memory, or their file."""
    import pyarrow as pa

    if values.dtype == np.bool_ or not values.flags.c_contiguous:
        return pl.Series(values)
    series = pl.from_arrow(
        pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, pa.py_buffer(values)])
    )
    assert isinstance(series, pl.Series)
    return series


def _of_rows(data: Instances, kind: Kind, form: Callable[[pl.Series], pl.Series]) -> Columns:
    """Return the numbers of these rows among those of the whole dataset, which are made once."""
    whole = data.whole
    return _taken(data, whole.derived(("numbers", kind), lambda: _numbers(whole, kind, form)))


def _taken(data: Instances, columns: Columns) -> Columns:
    rows = data.row_numbers
    return columns if rows is None else {name: taken(values, rows) for name, values in columns.items()}


def _numbers(data: Instances, kind: Kind, form: Callable[[pl.Series], pl.Series]) -> Columns:
    n = len(data)
    # Both sides in one array: the same text has one number on either side.
    first, second = (data.space.array(np.uint64, 2 * n) for _ in range(2))
    columns: dict[str, Array] = {}
    for i, side in enumerate(SIDES):
        filled = data.space.array(np.bool_, n)
        for rows in data.chunks():
            texts = form(data.table[side].slice(rows.start, rows.stop - rows.start))
            own = slice(i * n + rows.start, i * n + rows.stop)
            first[own], second[own] = text_hashes(texts), texts.hash().to_numpy()
            filled[rows] = (texts != "").fill_null(False).to_numpy()
        if kind == "key":
            columns[f"{side}_filled"] = filled
    made_distinct(first, second)
    for i, side in enumerate(SIDES):
        columns[f"{side}_{kind}"] = first[i * n : (i + 1) * n]
    return columns


def _figures(data: Instances) -> Columns:
    """Return `…_placeholder`, and the white-space separated words: what a reader would call the length of a text."""
    whole = data.whole
    return _taken(data, whole.derived(("figures",), lambda: _whole_figures(whole)))


def _whole_figures(data: Instances) -> Columns:
    columns: dict[str, Array] = {}
    for side in SIDES:
        words, placeholder = (data.space.array(kind, len(data)) for kind in (np.int32, np.bool_))
        for rows in data.chunks():
            texts = data.table[side].slice(rows.start, rows.stop - rows.start)
            words[rows] = texts.str.count_matches(r"\S+").cast(pl.Int32).to_numpy()
            placeholder[rows] = is_placeholder(texts).to_numpy()
        columns |= {f"{side}_placeholder": placeholder, f"{side}_tokens": words}
    return columns

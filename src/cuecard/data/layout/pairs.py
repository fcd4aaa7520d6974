"""Rows with several chosen and as many rejected responses become all pairs of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data.layout.columns import PAIR, Columns
from cuecard.data.layout.texts import is_chat
from cuecard.data.reading.raw import RawTable
from cuecard.wording import plural

#: Columns of pairs: the row that a pair is from, and one over the number of that row's pairs.
ROW_OF_PAIR, WEIGHT_OF_PAIR = "row_of_pair", "weight_of_pair"


def with_all_pairs(raws: Mapping[str, RawTable], roles: Mapping[str, Columns]) -> dict[str, RawTable]:
    """Return the tables with a row per pair if rows have several chosen and as many rejected responses.

    Of other numbers, a chosen response would stand in more pairs than a rejected one, or in fewer: how often a text
    occurs would give it away. Such tables stay as they are.
    """
    if roles["train"].task != "preference" or "winner" in roles["train"]:
        return dict(raws)
    names = {split: columns.response_columns for split, columns in roles.items()}
    texts = {
        split: replace(raw, frame=with_passage_texts(raw.frame, names[split])) for split, raw in raws.items()
    }
    counts = {split: _as_many(raw.frame, names[split]) for split, raw in texts.items()}
    if not all((n > 0).all() for n in counts.values()) or all((n == 1).all() for n in counts.values()):
        return dict(raws)
    paired = {split: _paired(raw, split, names[split], counts[split]) for split, raw in texts.items()}
    n_rows, n_pairs = (sum(raw.frame.height for raw in tables.values()) for tables in (raws, paired))
    note = (
        f"Rows have several chosen responses in column {names['train'][0]!r}: every chosen response is compared with "
        f"every rejected one of its row, which makes {n_pairs:,} pairs of {plural(n_rows, 'row')}. The pairs of a row "
        "weigh as much as one example, and tests and intervals count the row as one observation."
    )
    return {split: replace(raw, notes=(*raw.notes, note)) for split, raw in paired.items()}


def _as_many(frame: pl.DataFrame, names: Sequence[str]) -> npt.NDArray[np.int64]:
    """Return how many responses each row has of both kinds; 0 where it has not as many of one as of the other."""
    if not all(holds_responses(frame.schema[name]) for name in names):
        return np.zeros(frame.height, np.int64)
    chosen, rejected = (frame[name].list.drop_nulls().list.len().fill_null(0).to_numpy() for name in names)
    return np.where(chosen == rejected, chosen, 0).astype(np.int64)


def holds_responses(dtype: pl.DataType) -> bool:
    """Return whether a column holds lists of responses: of texts, or of conversations."""
    if not isinstance(dtype, pl.List):
        return False
    inner = cast("pl.DataType", dtype.inner)
    return inner == pl.String or is_chat(inner)


def _paired(raw: RawTable, split: str, names: Sequence[str], n: npt.NDArray[np.int64]) -> RawTable:
    """Return the n² pairs of every row, each under the number of its row."""
    frame = raw.frame.with_columns(
        pl.format("{} {}", pl.lit(split), pl.Series(raw.numbers_throughout)).alias(ROW_OF_PAIR),
        pl.Series(1 / n**2).alias(WEIGHT_OF_PAIR),
        *(pl.col(name).list.drop_nulls() for name in names),
    )
    for name in names:
        frame = frame.explode(name)
    frame = frame.with_columns(pl.int_range(1, pl.len() + 1).over(ROW_OF_PAIR).alias(PAIR))
    sizes = [int(part.sum()) for part in np.split(n**2, np.cumsum(raw.sizes)[:-1])]
    return replace(raw, frame=frame, sizes=tuple(sizes), rows=np.repeat(raw.numbers, n**2))


def with_passage_texts(frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Return lists of passages, objects with a text and a title or an id, as lists of their texts."""

    def texts(values: pl.Series) -> pl.Series:
        inner = values.dtype.inner if isinstance(values.dtype, pl.List) else None
        fields = {f.name for f in inner.fields} if isinstance(inner, pl.Struct) else set()
        if "text" not in fields or not fields & {"docid", "title", "_id", "id"}:
            return values
        return values.list.eval(pl.element().struct.field("text").cast(pl.String))

    return frame.with_columns(texts(frame[name]) for name in names)

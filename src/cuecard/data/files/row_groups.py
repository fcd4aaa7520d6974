"""Row groups of a parquet file, one after another; damaged ones can be left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from cuecard.data.files.formats import check_size
from cuecard.data.files.guard import check_schema, guarded
from cuecard.data.files.metadata import class_names
from cuecard.data.files.paths import shown
from cuecard.data.files.raw import RawTable, stacked
from cuecard.errors import InputError
from cuecard.wording import DAMAGED_FILE

#: Rows that are looked at together where only whole row groups matter.
_ROWS_AT_A_TIME = 4096


def parquet_parts(
    path: Path,
    *,
    rows: int,
    columns: list[str] | None = None,
    groups: tuple[int, int] | None = None,
    skip: bool = False,
) -> Iterator[RawTable]:
    """Yield the rows of a parquet file, or of its row groups from one number up to another, at most `rows` at a time.

    With `skip`, a damaged row group is a table without rows that counts them as dropped, and so is a file that cannot
    be opened, as one row.
    """
    import pyarrow.parquet as pq

    where = shown(path)
    # Opened here, because a name that is no UTF-8 cannot be handed on.
    with path.open("rb") as opened:
        try:
            file = guarded(lambda: pq.ParquetFile(opened), where)
        except InputError:
            if not skip:
                raise
            yield RawTable(pl.DataFrame(), (where,), (0,), dropped={f"{DAMAGED_FILE} {path.name}": 1})
            return
        with file:
            check_schema(file.schema_arrow, where)
            yield from _of_groups(file, where, rows, columns, groups, skip=skip)


def _of_groups(
    file: Any,
    where: str,
    rows: int,
    columns: list[str] | None,
    groups: tuple[int, int] | None,
    *,
    skip: bool,
) -> Iterator[RawTable]:
    written = (file.schema_arrow.metadata or {}).get(b"huggingface", b"")
    names = class_names(written.decode(errors="replace"))
    first, end = groups or (0, file.metadata.num_row_groups)
    sizes = [file.metadata.row_group(i).num_rows for i in range(end)]
    before = sum(sizes[:first])
    # Whether a row group is damaged is known when it has been read to its end.
    for part in [range(i, i + 1) for i in range(first, end)] if skip else [range(first, end)]:
        if skip and not _readable(file, part):
            lost = sum(sizes[i] for i in part)
            reason = f"damaged rows {before + 1:,} to {before + lost:,} of {Path(where).name}"
            nothing = pl.DataFrame(schema=dict.fromkeys(file.schema_arrow.names, pl.Null))
            yield RawTable(nothing, (where,), (0,), dropped={reason: lost}, first_row=before)
            before += lost
            continue
        open_batches = partial(file.iter_batches, batch_size=rows, columns=columns, row_groups=part)
        next_frame = partial(_next_frame, guarded(open_batches, where))
        while (frame := guarded(next_frame, f"{where} after row {before:,}")) is not None:
            yield RawTable(frame, (where,), (frame.height,), class_names=names, first_row=before)
            before += frame.height


def _next_frame(batches: Iterator[Any]) -> pl.DataFrame | None:
    import pyarrow as pa

    batch = next(batches, None)
    if batch is None:
        return None
    batch.validate(full=True)
    return pl.DataFrame(pa.Table.from_batches([batch]))


def _readable(file: Any, groups: range) -> bool:
    batches = file.iter_batches(batch_size=_ROWS_AT_A_TIME, row_groups=groups)
    try:
        while guarded(lambda: _next_frame(batches), "") is not None:
            pass
    except InputError:
        return False
    return True


def undamaged(path: Path) -> RawTable:
    """Return the row groups of a parquet file that can be read, with the others as dropped."""
    parts: list[RawTable] = []
    size = 0
    for part in parquet_parts(path, rows=_ROWS_AT_A_TIME, skip=True):
        size += int(part.frame.estimated_size())
        check_size(size, shown(path))
        parts.append(part)
    numbers = [part.numbers + part.first_row for part in parts]
    whole = stacked(parts)
    height = whole.frame.height
    return replace(
        whole, files=whole.files[:1], sizes=(height,), rows=np.concatenate(numbers), rows_before=(0,)
    )

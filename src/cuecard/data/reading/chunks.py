"""A file in chunks of bounded size, for data larger than memory."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np
import polars as pl

from cuecard.data.reading.files import CUT_SHORT, OnError, parse, quote_of, read_file, read_parquet
from cuecard.data.reading.formats import (
    Compression,
    Format,
    check_schema,
    check_size,
    checked_format,
    class_names,
    guarded,
    shown,
)
from cuecard.data.reading.raw import RawTable, stacked
from cuecard.data.reading.remote import arrow_frames, is_saved_dataset, saved_class_names, saved_files
from cuecard.data.reading.sources import read_class_folder
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


#: Bytes of text that are parsed at a time.
BLOCK = 16_000_000


def parts_of(
    path: Path,
    *,
    rows: int,
    on_error: OnError,
    columns: list[str] | None = None,
    header: str | None = None,
    groups: tuple[int, int] | None = None,
) -> Iterator[RawTable]:
    """Yield the rows of a file, or of a saved dataset's folder, in tables of at most `rows` rows, structs as they are.

    `columns` reads only these where the format can (parquet, Arrow); other formats yield all. `groups` reads the row
    groups of a parquet file from the first number up to the second.
    """
    for table in _tables(path, rows, on_error, columns, header, groups):
        for start in range(0, table.frame.height, rows):
            if table.frame.height <= rows:
                yield table
                break
            numbers = None if table.rows is None else table.rows[start : start + rows]
            frame = table.frame.slice(start, rows)
            dropped = table.dropped if start == 0 else {}
            first = table.first_row + (start if table.rows is None else 0)
            yield replace(
                table, frame=frame, sizes=(frame.height,), rows=numbers, dropped=dropped, first_row=first
            )
        else:
            if table.frame.height == 0 and table.dropped:
                yield table


@dataclass(frozen=True)
class Chunk:
    """A chunk of a file that is read by itself: `groups` of a parquet file, otherwise all of it.

    `before` are the rows of the file that stand before it, `rows` its own; None where only reading them tells.
    """

    path: Path
    groups: tuple[int, int] | None = None
    before: int = 0
    rows: int | None = None


def chunks_of(path: Path, *, rows: int, on_error: OnError) -> list[Chunk]:
    """Return the chunks of a file, each read by itself, row groups joined up to `rows` rows."""
    if path.is_dir() or checked_format(path, damaged=on_error == "skip") != ("parquet", "none"):
        return [Chunk(path)]
    import pyarrow.parquet as pq

    try:
        with path.open("rb") as opened, guarded(lambda: pq.ParquetFile(opened), shown(path)) as file:
            sizes = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
    except InputError:
        if on_error == "stop":
            raise
        return [Chunk(path, rows=1)]  # it is left out, and counted as one row
    chunks: list[Chunk] = []
    before, first, size = 0, 0, 0
    for i, n in enumerate(sizes):
        if size and size + n > rows:
            chunks.append(Chunk(path, (first, i), before, size))
            before, first, size = before + size, i, 0
        size += n
    return [*chunks, Chunk(path, (first, len(sizes)), before, size)]


def _tables(
    path: Path,
    rows: int,
    on_error: OnError,
    columns: list[str] | None,
    header: str | None,
    groups: tuple[int, int] | None,
) -> Iterator[RawTable]:
    if path.is_dir() and not is_saved_dataset(path):
        yield read_class_folder(path)
        return
    if path.is_dir():
        yield from _saved(path, columns)
        return
    kind, compression = checked_format(path, damaged=on_error == "skip")
    if kind == "parquet" and compression == "none":
        yield from parquet_parts(path, rows=rows, columns=columns, groups=groups, skip=on_error == "skip")
    elif kind == "parquet":
        yield read_parquet(path, compression)
    elif kind in ("json", "txt"):
        yield read_file(path, on_error=on_error, header=header)
    else:
        yield from _text(path, kind, compression, on_error, header)


def _text(
    path: Path, kind: Format, compression: Compression, on_error: OnError, header: str | None
) -> Iterator[RawTable]:
    def blocks() -> Iterator[tuple[bytes, bool]]:
        return _blocks(
            path, compression, quoted=kind != "jsonl", has_header=header is None, on_error=on_error
        )

    # One field decides for a whole .tsv file whether quotation marks quote.
    literal = kind == "tsv" and any(quote_of(block, kind) is None for block, _ in blocks())
    before = 0
    for block, cut_short in blocks():
        table = parse(
            block,
            kind,
            shown(path),
            on_error=on_error,
            first_row=before,
            literal_quotes=literal,
            header=header,
        )
        before += table.n_read
        lost = {CUT_SHORT: 1} if cut_short else {}
        yield replace(table, dropped={**table.dropped, **lost})


def _saved(folder: Path, columns: list[str] | None) -> Iterator[RawTable]:
    before = 0
    names = saved_class_names(folder)
    for path in saved_files(folder):
        for frame in arrow_frames(path, columns):
            yield RawTable(frame, (shown(folder),), (frame.height,), class_names=names, first_row=before)
            before += frame.height


def _blocks(
    path: Path, compression: Compression, *, quoted: bool, has_header: bool, on_error: OnError
) -> Iterator[tuple[bytes, bool]]:
    """Yield the text of a file in blocks of whole records, and whether the file is cut short after each.

    Each block of a csv file starts with the header.
    """
    header = b""
    rest = b""
    with _opened(path, compression) as stream:
        while True:
            data, cut_short = _read_on(stream)
            if cut_short and on_error == "stop":
                raise InputError(
                    f"{shown(path)} is damaged or cut short ({compression} stream ends early): copy it again, or "
                    "keep the rows before the cut with --on-error skip."
                )
            block = rest + data
            ended = not data and not cut_short
            end = len(block) if ended else _last_record_end(block, quoted=quoted)
            if end > len(header) and block[:end].strip():
                if quoted and has_header and not header:
                    header = block[: block.find(b"\n") + 1]
                yield block[:end], cut_short
                block = header + block[end:]
            if ended or cut_short:
                return
            rest = block


def _read_on(stream: IO[bytes]) -> tuple[bytes, bool]:
    """Return about one block more of a stream, and whether the stream turned out to be damaged."""
    parts: list[bytes] = []
    size = 0
    try:
        while size < BLOCK and (part := stream.read(min(BLOCK, 1 << 20))):
            parts.append(part)
            size += len(part)
    except (EOFError, OSError, zlib.error):
        return b"".join(parts), True
    return b"".join(parts), False


def _last_record_end(block: bytes, *, quoted: bool) -> int:
    """Return where the last whole record of a block ends: after a line break that no quotes enclose."""
    cut = block.rfind(b"\n")
    if quoted:
        inside = block.count(b'"', 0, max(cut, 0)) % 2
        while cut > 0 and inside:
            earlier = block.rfind(b"\n", 0, cut)
            inside = (inside + block.count(b'"', max(earlier, 0), cut)) % 2
            cut = earlier
    return cut + 1


def _opened(path: Path, compression: Compression) -> IO[bytes] | Any:
    if compression == "gz":
        return gzip.open(path, "rb")
    if compression == "zst":
        import pyarrow as pa

        return pa.input_stream(str(path), compression="zstd")
    return path.open("rb")

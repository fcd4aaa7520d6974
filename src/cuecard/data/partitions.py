"""A file in parts of bounded size, for data larger than memory."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from cuecard.data.files.class_folders import read_class_folder
from cuecard.data.files.formats import Compression, Format, checked_format
from cuecard.data.files.guard import guarded
from cuecard.data.files.hub import arrow_frames, is_saved_dataset, saved_class_names, saved_files
from cuecard.data.files.paths import shown
from cuecard.data.files.raw import RawTable
from cuecard.data.files.reading import CUT_SHORT, OnError, parse, quote_of, read_file, read_parquet
from cuecard.data.files.row_groups import parquet_parts
from cuecard.errors import InputError

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
    """A part of a file that is read by itself: `groups` of a parquet file, otherwise all of it.

    `before` are the rows of the file that stand before it, `rows` its own; None where only reading them tells.
    """

    path: Path
    groups: tuple[int, int] | None = None
    before: int = 0
    rows: int | None = None


def chunks_of(path: Path, *, rows: int, on_error: OnError) -> list[Chunk]:
    """Return the parts of a file that can be read by themselves, row groups joined up to `rows` rows."""
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

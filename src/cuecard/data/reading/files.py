"""One file becomes a raw table: a fast parser first, and a slow search for the bad row only if that fails."""

from __future__ import annotations

import io
import os
import re
import stat
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import IO, Any, Literal

import polars as pl

from cuecard.data.reading.formats import (
    Compression,
    Format,
    check_encoding,
    check_schema,
    check_size,
    checked_format,
    class_names,
    content,
    guarded,
    shown,
    text_format,
)
from cuecard.data.reading.json_files import read_document
from cuecard.data.reading.mending import JsonMarks, json_marks, may_be_nested, mend_csv, mend_jsonl
from cuecard.data.reading.raw import RawTable
from cuecard.errors import InputError, UsageError

_ANSWER = re.compile(r"^\(?([A-Ja-j])\)?[.)]?$")
_OPTION = re.compile(r"^\(?([A-Ja-j])\)?\s*[.):：．、]\s*(.+)$")


def read_blocks(data: bytes, where: str) -> RawTable | None:
    """Return the questions of a text of blocks, or None if it is not made of blocks.

    A block is the letter of the answer, the context, the question and the options, one per line and each option
    with its letter; a blank line comes before or after it.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    blocks = [b for b in re.split(r"\n\s*\n", text.replace("\r\n", "\n").strip()) if b.strip()]
    first = _question(blocks[0]) if blocks else None
    if first is None:
        return None
    rows = []
    for number, block in enumerate(blocks, start=1):
        question = _question(block)
        if question is None:
            raise InputError(
                f"Block {number:,} of {where} is not a question, but earlier blocks are: expected a line with the "
                "letter of the answer, the context, the question, and one line per option (A. …, B. …)."
            )
        rows.append(question)
    schema: dict[str, pl.DataType | type[pl.DataType]] = {
        "context": pl.String,
        "question": pl.String,
        "options": pl.List(pl.String),
        "answer": pl.String,
    }
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    return RawTable(frame, (where,), (frame.height,))


def _question(block: str) -> tuple[str, str, list[str], str] | None:
    lines = [line.strip() for line in block.splitlines() if line.strip()]
    answer = _ANSWER.match(lines[0]) if lines else None
    start = next((i for i, line in enumerate(lines) if i and _OPTION.match(line)), len(lines))
    options = [_OPTION.match(line) for line in lines[start:]]
    if answer is None or start < 2 or len(options) < 2 or None in options:
        return None
    letters = [o.group(1).upper() for o in options if o is not None]
    if letters != [chr(ord("A") + i) for i in range(len(letters))]:
        return None
    texts = [o.group(2) for o in options if o is not None]
    context = "\n".join(lines[1 : start - 1])
    return context, lines[start - 1], texts, answer.group(1).upper()


def read_lines(data: bytes, where: str) -> RawTable:
    """Return the lines of a text as a table of one column, `text`; blank lines count as rows."""
    try:
        lines = data.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(
            f"{where} is not valid UTF-8 (byte {error.start:,}): save the file as UTF-8."
        ) from None
    frame = pl.DataFrame({"text": lines}, schema={"text": pl.String})
    return RawTable(frame, (where,), (frame.height,))


#: Rows of a parquet file that are read before their size is looked at.
_ROWS_AT_A_TIME = 4096

#: Rows that say which keys and types the others are expected to have.
_LIKE_THE_FIRST = 1_000
#: Bytes that are looked at first for anything but white space.
_BEGINNING = 4096
#: Bytes of a part in which a large file of JSON lines is read: few enough for memory that the next part uses again.
_PART_BYTES = 1 << 22
#: Smaller files are read at once.
_LARGE = 1 << 25

OnError = Literal["stop", "skip"]

#: Reason under which the unreadable end of a damaged file is counted, once.
CUT_SHORT = "file cut short: rest of the file"

#: What columns are called that a file has no names for: column_1, column_2, …
UNNAMED = "column_"

#: A quoted field of a .tsv file from its opening quote; group 1 is the closing one if it ends the field.
_QUOTED_FIELD = re.compile(rb'(?:\A|[\t\n])"[^"]*+(?:""[^"]*+)*+("(?=[\t\r\n]|\Z))?')

#: An escaped half of a surrogate pair without its other half; the fast parser would read another character.
_LONE_SURROGATE = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])"
    rb"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)


def read_file(
    path: Path, *, on_error: OnError = "stop", limit: int | None = None, header: str | None = None
) -> RawTable:
    """Return the rows of one file; every value of a csv or tsv file is text, an empty field is null.

    `header` is "none" where the first line of a csv or tsv file is a row, or the names of its columns, as in
    "premise,hypothesis,label".
    """
    kind, compression = checked_format(path, damaged=on_error == "skip")
    if kind == "parquet":
        try:
            return read_parquet(path, compression, limit=limit)
        except InputError:
            if on_error == "stop" or compression != "none":
                raise
            from cuecard.data.reading.chunks import undamaged

            return undamaged(path)
    if kind == "jsonl" and compression == "none" and limit is None:
        rows = _rows_in_parts(path)
        if rows is not None:
            return RawTable(rows, (shown(path),), (rows.height,))
    data, whole = content(path, compression, allow_cut=on_error == "skip")
    if not data[:_BEGINNING].strip() and not data.strip():
        raise InputError(f"{shown(path)} is empty: give a file with at least one row.")
    dropped = {}
    if not whole:
        data = data[: data.rfind(b"\n") + 1]
        dropped[CUT_SHORT] = 1
    table = parse(data, kind, shown(path), on_error=on_error, header=header)
    table = replace(table, dropped={**table.dropped, **dropped})
    return table if limit is None else table.head(limit)


def parse(
    data: bytes,
    kind: Format,
    where: str,
    *,
    on_error: OnError,
    first_row: int = 0,
    literal_quotes: bool | None = None,
    header: str | None = None,
) -> RawTable:
    """Return the table that the text of a file in any format but parquet, or a part of it, holds.

    `first_row` rows stand before the part; `literal_quotes` says that quotation marks quote nothing, and None
    that the text itself decides.
    """
    check_encoding(data, where)
    if kind == "txt":
        blocks = read_blocks(data, where)
        if blocks is not None:
            return blocks
        kind = text_format(data)
        if kind == "txt":
            return read_lines(data, where)
    if kind == "json":
        document = read_document(data, where)
        if document is not None:
            return document
        kind = "jsonl"
    if kind == "jsonl":
        return _lines_of_json(data, where, on_error, first_row)
    return _separated(data, kind, where, on_error, first_row, literal_quotes, header)


def _rows_in_parts(path: Path) -> pl.DataFrame | None:
    """Return the rows of a large file of JSON lines without holding its bytes, None where it has to be read whole.

    Its parts are parsed in memory that is used again. Whatever is unusual in one of them is left to `_lines_of_json`.
    """
    where = shown(path)
    frames: list[pl.DataFrame] = []
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_size < _LARGE:
                return None
            while lines := _whole_lines(file):
                if not frames:
                    check_encoding(lines, where)
                marks = json_marks(lines)
                if lines.isspace() or _needs_mending(lines, marks):
                    return None
                frame = _rows_like_the_first(lines, where, marks, frames[0].schema if frames else None)
                if frame is None:
                    return None
                frames.append(frame)
    except (OSError, InputError):
        return None
    return pl.concat(frames) if frames else None


def _whole_lines(file: IO[bytes]) -> bytes:
    """Return the next part of a file, up to the end of a line; where that is, is looked for first, to copy nothing."""
    start = file.tell()
    file.seek(start + _PART_BYTES)
    size = _PART_BYTES + len(file.readline())
    file.seek(start)
    return file.read(size)


def _needs_mending(data: bytes, marks: JsonMarks) -> bool:
    """Return whether the fast parser would misread lines of JSON, or take very long for them."""
    # One character is looked for far more quickly than two.
    if b"\\" in data and b"\\u" in data and _LONE_SURROGATE.search(data):
        return True
    return may_be_nested(data, marks)


def _lines_of_json(data: bytes, where: str, on_error: OnError, first_row: int) -> RawTable:
    skip = on_error == "skip"
    marks = json_marks(data)
    if _needs_mending(data, marks):
        return mend_jsonl(data, where, skip=skip, first_row=first_row)
    try:
        frame = _rows_like_the_first(data, where, marks)
        if frame is None:
            frame = guarded(lambda: pl.read_ndjson(io.BytesIO(data), infer_schema_length=None), where)
    except InputError:
        return mend_jsonl(data, where, skip=skip, first_row=first_row)
    return RawTable(frame, (where,), (frame.height,), first_row=first_row)


def _rows_like_the_first(
    data: bytes, where: str, marks: JsonMarks, schema: pl.Schema | None = None
) -> pl.DataFrame | None:
    """Return the rows of JSON lines that all have the keys and types of the first ones, None where that is not sure.

    To look for keys and types everywhere is to parse the file twice. A value of another type is an error of the parser,
    and a further key shows in the number of keys, which is sure where no space stands before a colon. `schema` has the
    keys and types of the first rows, where these were read before.
    """
    lines = io.BytesIO(data)
    try:
        frame = guarded(
            lambda: pl.read_ndjson(lines, schema=schema, infer_schema_length=_LIKE_THE_FIRST), where
        )
    except InputError:
        return None
    if frame.is_empty() or any(column.null_count() or column.dtype.is_nested() for column in frame):
        return None
    return frame if not marks.spaced and marks.keys == frame.height * frame.width else None


def _separated(
    data: bytes,
    kind: Format,
    where: str,
    on_error: OnError,
    first_row: int,
    literal_quotes: bool | None,
    header: str | None,
) -> RawTable:
    separator = separator_of(data, kind)
    quote = quote_of(data, kind) if literal_quotes is None else None if literal_quotes else '"'
    try:
        frame = guarded(
            lambda: pl.read_csv(
                io.BytesIO(data),
                separator=separator,
                quote_char=quote,
                infer_schema=False,
                has_header=header is None,
            ),
            where,
        )
    except InputError:
        table = mend_csv(
            data,
            where,
            separator=separator,
            quote=quote,
            skip=on_error == "skip",
            first_row=first_row,
            has_header=header is None,
        )
    else:
        if frame.width > 1 and frame.height and frame[:, 0].null_count():
            # The parser takes a blank line for a row without values.
            frame = frame.filter(~pl.all_horizontal(pl.all().is_null()))
        table = RawTable(frame, (where,), (frame.height,), untyped=True, first_row=first_row)
    return _named(table, header)


def _named(table: RawTable, header: str | None) -> RawTable:
    """Return the table with the names that the caller gives its columns, and a note on names that repeat."""
    columns = table.frame.columns
    if header is None:
        repeated = [name for name in columns if "_duplicated_" in name]
        if not repeated:
            return table
        first = repeated[0].rpartition("_duplicated_")[0]
        note = (
            f"The header of {table.where} repeats the name {first!r}; later columns are called "
            f"{', '.join(repeated[:5])}."
        )
        return replace(table, notes=(*table.notes, note))
    names = [name.strip() for name in header.split(",")]
    if header == "none":
        names = [f"{UNNAMED}{i}" for i in range(1, len(columns) + 1)]
    if len(names) != len(columns) or len(set(names)) != len(names) or not all(names):
        raise UsageError(
            f"--header names {len(names)} columns, but {table.where} has {len(columns)}: give every column a distinct "
            "name, or type --header none."
        )
    return replace(table, frame=table.frame.rename(dict(zip(columns, names, strict=True))))


def separator_of(data: bytes, kind: Format) -> str:
    """Return what separates the fields: a tab in .tsv, and in .csv the comma unless the header has none."""
    if kind == "tsv":
        return "\t"
    lines = data[:100_000].splitlines()[:20]
    first = lines[0] if lines else b""
    if b"," in first:
        tabs, commas = ({line.count(s) for line in lines if line.strip()} for s in (b"\t", b","))
        # Texts have commas too, but not every text the same number.
        return "\t" if b"\t" in first and len(tabs) == 1 and len(commas) > 1 else ","
    return next((s.decode() for s in (b"\t", b";") if s in first), ",")


def quote_of(data: bytes, kind: Format) -> str | None:
    """Return the quote character: none in a .tsv file where a field merely begins with a quotation mark."""
    if kind == "csv" or b'"' not in data:
        return '"'
    proper = all(match.group(1) is not None for match in _QUOTED_FIELD.finditer(data))
    return '"' if proper else None


def read_parquet(path: Path, compression: Compression = "none", *, limit: int | None = None) -> RawTable:
    """Return the rows of a parquet file, with the class names that Hugging Face wrote into it."""
    if compression != "none":
        return parquet_table(io.BytesIO(content(path, compression)[0]), shown(path), limit=limit)
    # Opened here, because a name that is no UTF-8 cannot be handed on.
    with path.open("rb") as file:
        return parquet_table(file, shown(path), limit=limit)


def parquet_table(source: IO[bytes], where: str, *, limit: int | None = None) -> RawTable:
    """Return the rows of a parquet file on disk or in memory.

    Arrow reads and validates it: over a damaged page the faster reader of polars may ask for more memory than any
    machine has, and that ends the process.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    def read() -> tuple[pl.DataFrame, bytes]:
        file = pq.ParquetFile(source)
        check_schema(file.schema_arrow, where)
        batches: list[Any] = []
        size = 0
        # In parts, because a text that is stored once may stand in every row.
        for batch in islice(file.iter_batches(batch_size=limit or _ROWS_AT_A_TIME), limit and 1):
            size += batch.nbytes
            check_size(size, where)
            batches.append(batch)
        table = pa.Table.from_batches(batches, file.schema_arrow)
        table.validate(full=True)
        return pl.DataFrame(table), (file.schema_arrow.metadata or {}).get(b"huggingface", b"")

    frame, metadata = guarded(read, where, "no row can be read; copy or export it again")
    names = class_names(metadata.decode(errors="replace"))
    return RawTable(frame, (where,), (frame.height,), class_names=names)

"""One file becomes a raw table: a fast parser first, and a slow search for the bad row only if that fails."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Literal

import polars as pl

from cuecard.data.files.formats import Compression, Format, checked_format, content
from cuecard.data.files.raw import RawTable
from cuecard.data.layout.diagnosis import mend_csv, mend_jsonl
from cuecard.errors import InputError

OnError = Literal["stop", "skip"]

#: Reason under which the unreadable end of a damaged file is counted, once.
CUT_SHORT = "file cut short: rest of the file"

#: A quoted field of a .tsv file from its opening quote; group 1 is the closing one if it ends the field.
_QUOTED_FIELD = re.compile(rb'(?:\A|[\t\n])"[^"]*+(?:""[^"]*+)*+("(?=[\t\r\n]|\Z))?')


def read_file(path: Path, *, on_error: OnError = "stop", limit: int | None = None) -> RawTable:
    """Return the rows of one file; every value of a csv or tsv file is text, an empty field is null."""
    kind, compression = checked_format(path)
    if kind == "parquet":
        return read_parquet(path, compression, limit=limit)
    data, whole = content(path, compression, allow_cut=on_error == "skip")
    if not data.strip():
        raise InputError(f"{path} is empty; give a file with at least one row.")
    dropped = {}
    if not whole:
        data = data[: data.rfind(b"\n") + 1]
        dropped[CUT_SHORT] = 1
    table = parse(data, kind, str(path), on_error=on_error)
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
) -> RawTable:
    """Return the table that the text of a csv, tsv or jsonl file, or a part of it, holds.

    `first_row` rows stand before the part; `literal_quotes` says that quotation marks quote nothing, and None
    that the text itself decides.
    """
    skip = on_error == "skip"
    if kind == "jsonl":
        try:
            frame = pl.read_ndjson(io.BytesIO(data), infer_schema_length=None)
        except pl.exceptions.PolarsError:
            return mend_jsonl(data, where, skip=skip, first_row=first_row)
        return RawTable(frame, (where,), (frame.height,), first_row=first_row)
    separator = separator_of(data, kind)
    quote = quote_of(data, kind) if literal_quotes is None else None if literal_quotes else '"'
    try:
        frame = pl.read_csv(io.BytesIO(data), separator=separator, quote_char=quote, infer_schema=False)
    except pl.exceptions.PolarsError:
        return mend_csv(data, where, separator=separator, quote=quote, skip=skip, first_row=first_row)
    if frame.width > 1 and frame.height and frame[:, 0].null_count():
        # The parser takes a blank line for a row without values.
        frame = frame.filter(~pl.all_horizontal(pl.all().is_null()))
    return RawTable(frame, (where,), (frame.height,), untyped=True, first_row=first_row)


def separator_of(data: bytes, kind: Format) -> str:
    """Return what separates the fields: a tab in .tsv, and in .csv the comma unless the header has none."""
    if kind == "tsv":
        return "\t"
    header = data[: data.find(b"\n")] if b"\n" in data else data
    if b"," in header:
        return ","
    return next((s.decode() for s in (b"\t", b";") if s in header), ",")


def quote_of(data: bytes, kind: Format) -> str | None:
    """Return the quote character: none in a .tsv file where a field merely begins with a quotation mark."""
    if kind == "csv" or b'"' not in data:
        return '"'
    proper = all(match.group(1) is not None for match in _QUOTED_FIELD.finditer(data))
    return '"' if proper else None


def read_parquet(path: Path, compression: Compression = "none", *, limit: int | None = None) -> RawTable:
    """Return the rows of a parquet file, with the class names that Hugging Face wrote into it."""
    source: Path | io.BytesIO = path
    if compression != "none":
        source = io.BytesIO(content(path, compression)[0])
    try:
        frame = pl.read_parquet(source, n_rows=limit, glob=False)
        metadata = pl.read_parquet_metadata(source)
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = str(error).splitlines()[0].removeprefix("parquet: ")
        raise InputError(
            f"{path} is damaged or cut short, so no row can be read ({reason}): copy or export it again."
        ) from None
    names = class_names(metadata.get("huggingface"))
    return RawTable(frame, (str(path),), (frame.height,), class_names=names)


def class_names(metadata: str | None) -> dict[str, tuple[str, ...]]:
    """Return column → class names from the JSON that Hugging Face datasets write about their features."""
    if not metadata:
        return {}
    try:
        described = json.loads(metadata)
    except json.JSONDecodeError:
        return {}
    features = described.get("info", described).get("features") or {}
    return {
        column: tuple(map(str, feature["names"]))
        for column, feature in features.items()
        if isinstance(feature, dict) and feature.get("_type") == "ClassLabel" and feature.get("names")
    }

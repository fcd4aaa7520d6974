"""Rows that a fast parser stumbles over, or would misread: the first is named, or they are left out."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data.reading.formats import guarded
from cuecard.data.reading.raw import RawTable
from cuecard.errors import InputError

#: Levels that a value of a row may have; no dataset is known to need more than ten.
DEEPEST = 64
_CHUNK = 1 << 20
#: Characters whose marks are counted at a time.
_CHUNK_OF_MARKS = 1 << 15
_OPENS, _CLOSES, _LINE, _OBJECT = 0x5B, 0x5D, 0x0A, 0x7B
_SPACE, _QUOTE, _COLON, _BACKSLASH = 0x20, 0x22, 0x3A, 0x5C


def may_be_nested(data: bytes, counted: JsonMarks) -> bool:
    """Return whether a line of JSON may be nested too deeply; brackets in texts count, too, so look closer then."""
    # Lines of objects open one bracket each; with few others, none can be deep.
    if counted.further_brackets < DEEPEST - 1:
        return False
    depth = 0
    for start in range(0, len(data), _CHUNK):
        chars = np.frombuffer(data, dtype=np.uint8, count=min(_CHUNK, len(data) - start), offset=start)
        folded = chars & 0xDF  # "[" and "{" differ in one bit, as "]" and "}" do
        marks = np.flatnonzero((folded == _OPENS) | (folded == _CLOSES) | (chars == _LINE))
        steps = (folded[marks] == _OPENS).astype(np.int64) - (folded[marks] == _CLOSES)
        levels = np.cumsum(steps) + depth
        ends = chars[marks] == _LINE
        at_end = np.maximum.accumulate(np.where(ends, np.arange(len(marks)), -1))
        base = np.where(at_end >= 0, levels[at_end], 0)
        inside = levels - base
        if inside.max(initial=0) > DEEPEST:
            return True
        depth = int(inside[-1]) if len(inside) else depth
    return False


class JsonMarks(NamedTuple):
    """What lines of JSON hold, read without parsing them."""

    #: Keys that a colon follows at once: a quotation mark and a colon, which texts hold with a backslash.
    keys: int
    #: Quotation marks with a space and a colon behind them.
    spaced: int
    #: Brackets that are opened beside those that lines begin with.
    further_brackets: int


def json_marks(data: bytes) -> JsonMarks:
    """Return the marks of lines of JSON, counted in one pass."""
    return JsonMarks(*_count_marks(np.frombuffer(data, dtype=np.uint8)))


def _count_marks(chars: npt.NDArray[np.uint8]) -> tuple[int, int, int]:
    """Return the fields of `JsonMarks`; chunk by chunk, so that masks stay in the processor's cache."""
    keys = spaced = opened = begins = 0
    padded = 2  # characters that a mark of two or three reaches beyond its first
    for start in range(0, len(chars), _CHUNK_OF_MARKS):
        before = chars[start - 1] if start else 0
        here = chars[start : start + _CHUNK_OF_MARKS]
        ahead = np.zeros(len(here) + padded, dtype=np.uint8)
        known = chars[start + 1 : start + 1 + len(ahead)]
        ahead[: len(known)] = known
        after, next_after = ahead[: len(here)], ahead[1 : len(here) + 1]
        previous = np.concatenate([np.array([before], dtype=np.uint8), here[:-1]])
        quote = here == _QUOTE
        keys += int(np.count_nonzero(quote & (after == _COLON) & (previous != _BACKSLASH)))
        spaced += int(np.count_nonzero(quote & (after == _SPACE) & (next_after == _COLON)))
        opened += int(np.count_nonzero((here & 0xDF) == _OPENS))  # "[" and "{" differ in one bit
        begins += int(np.count_nonzero((here == _OBJECT) & (previous == _LINE)))
    if len(chars) and chars[0] == _OBJECT:
        begins += 1
    return keys, spaced, opened - begins


def is_nested(value: object) -> bool:
    """Return whether a value has more than `DEEPEST` levels of lists and objects."""
    level = [value]
    for _ in range(DEEPEST + 1):
        level = [
            part
            for holder in level
            if isinstance(holder, list | dict)
            for part in (holder.values() if isinstance(holder, dict) else holder)
            if isinstance(part, list | dict)
        ]
        if not level:
            return False
    return True


_REMEDY = "correct the row, or skip such rows with --on-error skip"


def mend_csv(
    data: bytes,
    where: str,
    *,
    separator: str,
    quote: str | None,
    skip: bool,
    first_row: int = 0,
    has_header: bool = True,
) -> RawTable:
    """Return the good rows of a csv file a fast parser refused, or raise an error about the first bad one."""
    text = data.decode("utf-8-sig", errors="surrogateescape")
    previous = csv.field_size_limit(max(len(text), 1))
    try:
        return _mend_csv(text, where, separator, quote, skip, first_row, has_header)
    finally:
        csv.field_size_limit(previous)


def _mend_csv(
    text: str, where: str, separator: str, quote: str | None, skip: bool, first_row: int, has_header: bool
) -> RawTable:
    def records() -> Iterator[list[str]]:
        return csv.reader(
            io.StringIO(text, newline=""),
            delimiter=separator,
            quotechar=quote,
            quoting=csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE,
            strict=True,
        )

    reader = records()
    header = _header(reader, where)
    if not has_header:
        header = [f"column_{i}" for i in range(1, len(header) + 1)]
        reader = records()
    good: list[list[str | None]] = []
    rows: list[int] = []
    reasons: Counter[str] = Counter()
    for number, fields in enumerate(_records(reader), start=1):
        problem = _csv_problem(fields, len(header))
        if problem is None and isinstance(fields, list):
            good.append([f or None for f in fields] + [None] * (len(header) - len(fields)))
            rows.append(number)
        elif problem is not None:
            reason, detail = problem
            if not skip:
                raise InputError(f"Row {first_row + number:,} of {where} {detail}: {_REMEDY}.")
            reasons[reason] += 1
    frame = pl.DataFrame(good, schema=dict.fromkeys(_unique(header), pl.String), orient="row")
    return replace(_mended(frame, where, rows, reasons), first_row=first_row, untyped=True)


def _header(reader: Iterator[list[str]], where: str) -> list[str]:
    try:
        header = next(reader)
    except (csv.Error, StopIteration):
        header = ["\udc80"]
    if any(_undecodable(name) for name in header):
        raise InputError(f"The header of {where} is not valid UTF-8: save the file as UTF-8 csv.")
    return header


def _records(reader: Iterator[list[str]]) -> Iterator[list[str] | csv.Error]:
    """Yield the records of a csv file, or the error in place of one that breaks the rules of quoting."""
    while True:
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield error
            continue
        if fields:
            yield fields


def _csv_problem(fields: list[str] | csv.Error, width: int) -> tuple[str, str] | None:
    if isinstance(fields, csv.Error):
        return "broken quoting", f"has invalid csv quoting ({fields})"
    if len(fields) > width:
        return (
            "too many fields",
            f"has {len(fields)} fields, but the header has {width} (is a quote missing?)",
        )
    if any(_undecodable(field) for field in fields):
        return "invalid UTF-8", "is not valid UTF-8 (save the file as UTF-8)"
    return None


def _unique(header: list[str]) -> list[str]:
    """Return the names of a header, those that repeat with a number that no other name has."""
    names: list[str] = []
    for name in header:
        number, unique = 0, name
        while unique in names or (unique != name and unique in header):
            unique = f"{name}_duplicated_{number}"
            number += 1
        names.append(unique)
    return names


def _undecodable(text: str) -> bool:
    return not text.isascii() and any("\udc80" <= char <= "\udcff" for char in text)


def mend_jsonl(data: bytes, where: str, *, skip: bool, first_row: int = 0) -> RawTable:
    """Return the good rows of a jsonl file a fast parser refused, or raise an error about the first bad one.

    Columns whose values have no common type (a number here, an object there) become text.
    """
    good: list[dict[str, Any]] = []
    rows: list[int] = []
    reasons: Counter[str] = Counter()
    for number, line in _lines(data):
        try:
            value = json.loads(line.decode())
            reason, detail = "not a JSON object", "is not a JSON object in curly braces"
        except UnicodeDecodeError:
            value, reason, detail = None, "invalid UTF-8", "is not valid UTF-8 (save the file as UTF-8)"
        except (ValueError, RecursionError) as error:
            value, reason, detail = None, "broken JSON", f"is not valid JSON ({_said(error)})"
        if isinstance(value, dict) and b"\\u" in line and not whole_characters(value):
            value, reason = None, "half of a character"
            detail = "has half of a character (a lone surrogate, \\ud800 to \\udfff)"
        if isinstance(value, dict) and is_nested(value):
            value, reason, detail = None, "nested too deeply", f"is nested more than {DEEPEST} levels deep"
        if isinstance(value, dict):
            good.append(value)
            rows.append(number)
            continue
        if not skip:
            raise InputError(f"Row {first_row + number:,} of {where} {detail}: {_REMEDY}.")
        reasons[reason] += 1
    return replace(_mended(frame_of(good), where, rows, reasons), first_row=first_row)


def _lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    filled = (line for line in data.removeprefix(b"\xef\xbb\xbf").split(b"\n") if line.strip())
    return enumerate(filled, start=1)


def _said(error: ValueError | RecursionError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return error.msg
    return "nested too deeply" if isinstance(error, RecursionError) else "a number of more than 4,300 digits"


def whole_characters(value: object) -> bool:
    """Return whether every text of a JSON value has whole characters only; JSON can escape half of one."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except (UnicodeEncodeError, RecursionError):
        return False
    return True


def frame_of(records: list[dict[str, Any]]) -> pl.DataFrame:
    """Return records as a table, writing out as text every column whose values have no common type."""
    names = dict.fromkeys(name for record in records for name in record)
    columns = {}
    for name in names:
        values = [record.get(name) for record in records]
        try:
            columns[name] = guarded(partial(pl.Series, name, values, strict=True), name)
        except InputError:
            columns[name] = pl.Series(name, [_as_text(v) for v in values], dtype=pl.String)
    return pl.DataFrame(columns)


def _as_text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def _mended(frame: pl.DataFrame, where: str, rows: list[int], reasons: Counter[str]) -> RawTable:
    numbers = np.asarray(rows, dtype=np.int64)
    return RawTable(frame, (where,), (frame.height,), numbers, dropped=dict(reasons))

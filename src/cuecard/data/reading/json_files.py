"""A `.json` file becomes a table: an array of objects or arrays, an object of lists, or objects by their id."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from cuecard.data.reading.formats import guarded
from cuecard.data.reading.mending import DEEPEST, frame_of, is_nested, whole_characters
from cuecard.data.reading.raw import RawTable
from cuecard.errors import InputError

Record = dict[str, Any]
#: What stands for a text of several documents, one per line.
_SEVERAL = object()
#: A key that may name a split, before the whole document is read for it.
_NAMED_SPLIT = re.compile(rb'"[^"]{0,40}train[^"]{0,40}"\s*:\s*[\[{]', re.IGNORECASE)

#: What a list of rows is called where an object has it beside a version, a description, …
_ROWS = (
    "data",
    "rows",
    "examples",
    "samples",
    "instances",
    "questions",
    "items",
    "train",
    "test",
    "validation",
)
_EXPECTED = "expected an array of objects, an object of equally long lists, or objects by their id"


def read_splits(data: bytes, where: str, split_of: Callable[[str], str | None]) -> dict[str, RawTable]:
    """Return the tables of a JSON document with one per split, by their names there; empty if it is another document.

    Other parts, such as a version or a description, are left out.
    """
    if data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] != b"{" or not _NAMED_SPLIT.search(data):
        return {}
    document = _parsed(data, where)
    if not isinstance(document, dict):
        return {}
    tables = {
        name: part
        for name, part in document.items()
        if split_of(name) and isinstance(part, list | dict) and part
    }
    others = [name for name, part in document.items() if isinstance(part, list | dict) and name not in tables]
    if len(tables) < 2 or any(isinstance(document[name], list) for name in others):
        return {}
    if not all(isinstance(part, list) and _holds_rows(part) for part in tables.values()) and not all(
        isinstance(part, dict) and all(isinstance(column, list) for column in part.values())
        for part in tables.values()
    ):
        return {}
    return {
        name: _table(_records(part, f"{name} of {where}"), f"{name} of {where}")
        for name, part in tables.items()
    }


def _holds_rows(part: list[object]) -> bool:
    return all(isinstance(row, dict) for row in part) or all(isinstance(row, list) for row in part)


def read_document(data: bytes, where: str) -> RawTable | None:
    """Return the table that a JSON document holds, or None if it is several documents, one per line."""
    document = _parsed(data, where)
    return None if document is _SEVERAL else _table(_records(document, where), where)


def _parsed(data: bytes, where: str) -> object:
    try:
        return json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise InputError(f"{where} is not valid UTF-8: save the file as UTF-8.") from None
    except json.JSONDecodeError as error:
        if data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{" and error.msg == "Extra data":
            return _SEVERAL
        raise InputError(
            f"{where} is not valid JSON (line {error.lineno:,}: {error.msg}): correct it or export it again."
        ) from None
    except RecursionError:
        raise InputError(f"{where} is not valid JSON (nested too deeply): export it again.") from None
    except ValueError:
        raise InputError(
            f"{where} has a number of more than 4,300 digits: write it as text in quotation marks."
        ) from None


def _records(document: object, where: str) -> list[Record]:
    """Return the rows of a document as objects."""
    if isinstance(document, list):
        return _of_list(document, where)
    if not isinstance(document, dict) or not document:
        raise InputError(f"{where} holds no rows: {_EXPECTED}.")
    values = list(document.values())
    if all(isinstance(value, list) for value in values) and not any(_is_rows(value) for value in values):
        return _of_columns(document, where)
    if all(isinstance(value, dict) for value in values):
        return _of_objects(document)
    lists = [name for name in _ROWS if isinstance(document.get(name), list)]
    lists += [name for name, value in document.items() if isinstance(value, list) and name not in lists]
    rows = [name for name in lists if _is_rows(document[name])]
    if len(rows) > 1:
        raise InputError(
            f"{where} contains several tables ({', '.join(rows)}): save each to its own file, and give them as "
            "TRAIN and --test."
        )
    if rows:
        return _of_list(document[rows[0]], where)
    if any(isinstance(value, str) for value in values):
        return [document]
    raise InputError(f"{where} holds no rows: {_EXPECTED}.")


def _is_rows(value: list[object]) -> bool:
    """Return whether a list is a table of its own, not a column."""
    return bool(value) and all(isinstance(row, dict) for row in value)


def _of_list(rows: Sequence[Any], where: str) -> list[Record]:
    if rows and all(isinstance(row, list) for row in rows):
        return _questions([{f"column_{i}": v for i, v in enumerate(row, start=1)} for row in rows])
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict):
            raise InputError(f"Row {number:,} of {where} is not a JSON object in curly braces: {_EXPECTED}.")
    return _questions(list(rows))


def _of_columns(columns: Mapping[str, list[object]], where: str) -> list[Record]:
    sizes = {name: len(values) for name, values in columns.items()}
    if len(set(sizes.values())) > 1:
        listed = ", ".join(f"{name} {size:,}" for name, size in list(sizes.items())[:6])
        raise InputError(f"{where} has lists of different lengths ({listed}): {_EXPECTED}.")
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _of_objects(document: Mapping[str, Record]) -> list[Record]:
    """Return the rows of objects by id, or of columns by row number, as pandas writes them."""
    keys = [list(value) for value in document.values()]
    numbers = keys[0]  # of rows, with gaps where some were filtered out
    if numbers and all(i.isdecimal() for i in numbers) and all(k == numbers for k in keys):
        return [{name: values[i] for name, values in document.items()} for i in numbers]
    named = "id" if not any("id" in value for value in document.values()) else "key"
    return _questions([{named: key, **value} for key, value in document.items()])


def _questions(rows: list[Record]) -> list[Record]:
    """Return one row per question where rows have a list of questions, each an object with its own choices."""
    columns = rows[0] if rows else ()
    column = next((c for c in columns if all(_asks(row.get(c)) for row in rows)), None)
    if column is not None:
        return _with_flags(_exploded(rows, column))
    # The paragraphs of SQuAD have a list of questions each.
    column = next((c for c in columns if all(_has_questions(row.get(c)) for row in rows)), None)
    return _with_flags(rows) if column is None else _questions(_exploded(rows, column))


def _exploded(rows: list[Record], column: str) -> list[Record]:
    """Return one row per object of a column of lists of objects, with what else the row says."""
    return [
        {**{k: v for k, v in row.items() if k != column and k not in each}, **each}
        for row in rows
        for each in row[column]
    ]


def _asks(value: object) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(
            isinstance(q, dict) and "question" in q and any(isinstance(v, list) for v in q.values())
            for q in value
        )
    )


def _has_questions(value: object) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(part, dict) and any(map(_asks, part.values())) for part in value)
    )


def _with_flags(rows: list[Record]) -> list[Record]:
    """Return rows with objects of answers by 0 or 1, such as TruthfulQA's, as lists of answers and of flags.

    Objects with the same keys in every row have fields instead.
    """
    columns = [
        c for c in (rows[0] if rows else ()) if len(rows) > 1 and all(_flags(row.get(c)) for row in rows)
    ]
    columns = [c for c in columns if len({tuple(row[c]) for row in rows}) > len(rows) // 2]
    return [
        {
            **row,
            **{c: {"choices": list(row[c]), "labels": [int(v) for v in row[c].values()]} for c in columns},
        }
        for row in rows
    ]


def _flags(value: object) -> bool:
    return isinstance(value, dict) and len(value) > 1 and all(v in (0, 1) for v in value.values())


def _table(records: list[Record], where: str) -> RawTable:
    for number, record in enumerate(records, start=1):
        if is_nested(record):
            raise InputError(
                f"Row {number:,} of {where} is nested more than {DEEPEST} levels deep: correct the row."
            )
        if not whole_characters(record):
            raise InputError(
                f"Row {number:,} of {where} has half of a character (a lone surrogate): correct the row."
            )
    frame = guarded(lambda: frame_of(records), where)
    return RawTable(frame, (where,), (frame.height,), np.arange(1, frame.height + 1, dtype=np.int64))

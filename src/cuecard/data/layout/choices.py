"""The choices of a question as one list per row, however the file lays them out."""

from __future__ import annotations

from hashlib import blake2b

import polars as pl

from cuecard.data.files.raw import RawTable
from cuecard.data.layout.answers import Answered
from cuecard.data.layout.columns import Columns
from cuecard.data.layout.dialogues import is_chat, last_message
from cuecard.data.layout.labels import label_texts
from cuecard.data.texts import text
from cuecard.errors import InputError

_TEXT_FIELDS = ("text", "choice", "option", "content")
_KEY_FIELDS = ("label", "key", "id")


def choice_texts(raw: RawTable, columns: Columns) -> tuple[pl.Series, pl.Series | None]:
    """Return each row's choices as a list of texts, and the keys that came with them where they did.

    Accepted: one column of lists, a struct of two lists (`{text: […], label: […]}`), a list of structs, or
    several columns with one choice each. A null among them is a choice the row does not have; it stays here,
    because answers count its place. Where one of the columns is the right answer, the file has no order of
    choices, and they are put in one that their texts decide.
    """
    names = columns.roles["choices"]
    if len(names) > 1:
        nested = [n for n in names if raw.frame[n].dtype.is_nested()]
        if nested:
            raise InputError(
                f"Column {nested[0]!r} of {raw.where} holds {_kind(raw.frame[nested[0]].dtype)}, not the text of one "
                "choice: name the columns of the choices with --columns choices=A+B+C+D."
            )
        present = [pl.Series(n, raw.frame[n].cast(pl.String)) for n in names]
        lists = pl.select(pl.concat_list(present)).to_series()
        return _in_any_order(lists) if columns.roles["answer"][0] in names else lists, None
    values = raw.frame[names[0]]
    if values.dtype == pl.String:
        raise InputError(
            f"Column {names[0]!r} of {raw.where} holds the choices as one text: give a column of lists, "
            "or name one column per choice with --columns choices=A+B+C+D."
        )
    if isinstance(values.dtype, pl.Array):
        values = values.arr.to_list()
    texts, keys = _fields(values)
    if texts is None or not isinstance(texts.dtype, pl.List) or texts.dtype.inner.is_nested():
        raise InputError(
            f"Column {names[0]!r} of {raw.where} holds {_kind(values.dtype)}, not a list of choices: "
            "name the right one with --columns choices=…"
        )
    if keys is not None and (not isinstance(keys.dtype, pl.List) or keys.dtype.inner.is_nested()):
        keys = None
    return texts.cast(pl.List(pl.String)), keys.cast(pl.List(pl.String)) if keys is not None else None


def _kind(dtype: pl.DataType) -> str:
    text = str(dtype)
    return text if len(text) <= 80 else text[:79] + "…"


def _in_any_order(lists: pl.Series) -> pl.Series:
    """Return every list in the order of its texts' hashes, which says nothing about them."""
    ordered = [sorted(row, key=_digest) for row in lists.to_list()]
    return pl.Series(lists.name, ordered, dtype=pl.List(pl.String))


def _digest(text: str | None) -> bytes:
    return blake2b((text or "").encode(), digest_size=8).digest()


def _fields(values: pl.Series) -> tuple[pl.Series | None, pl.Series | None]:
    """Return the lists of texts and of keys inside a column of choices."""
    dtype = values.dtype
    if isinstance(dtype, pl.Struct):
        names = [field.name for field in dtype.fields]
        fields = [next((n for n in wanted if n in names), None) for wanted in (_TEXT_FIELDS, _KEY_FIELDS)]
        texts, keys = (values.struct.field(n) if n is not None else None for n in fields)
        return texts, keys
    if isinstance(dtype, pl.List) and isinstance(dtype.inner, pl.Struct):
        names = [field.name for field in dtype.inner.fields]
        fields = [next((n for n in wanted if n in names), None) for wanted in (_TEXT_FIELDS, _KEY_FIELDS)]
        texts, keys = (
            values.list.eval(pl.element().struct.field(n)) if n is not None else None for n in fields
        )
        return texts, keys
    return values, None


def answered(raw: RawTable, columns: Columns) -> Answered:
    """Return the rows' choices with their answers as text."""
    lists, keys = choice_texts(raw, columns)
    values = raw.frame[columns.one("answer")]
    if values.dtype.is_nested():
        raise InputError(
            f"Column {columns.one('answer')!r} of {raw.where} holds {_kind(values.dtype)}, not one answer: "
            "name another with --columns answer=…"
        )
    names = columns.roles["choices"]
    from_1 = len(names) > 1 and names[0].rstrip().endswith("1")
    table = Answered(label_texts(values).cast(pl.String), lists, keys, from_1)
    # The user says where counting starts: the number before or after the choices then stands for none of them.
    return table.without_beyond(columns.answer_base) if "answer" in columns.explicit else table


def message_text(raw: RawTable, column: str) -> pl.Series:
    """Return a column of responses as text; of a conversation (a list of messages), its last message."""
    values = raw.frame[column]
    return last_message(values) if is_chat(values.dtype) else text(raw, column)

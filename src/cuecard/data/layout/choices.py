"""The choices of a question as one list per row, however the file lays them out."""

from __future__ import annotations

import polars as pl

from cuecard.data.files.raw import RawTable
from cuecard.data.layout.answers import Answered
from cuecard.data.layout.columns import Columns
from cuecard.data.layout.labels import label_texts
from cuecard.data.texts import text
from cuecard.errors import InputError

_TEXT_FIELDS = ("text", "choice", "option", "content")
_KEY_FIELDS = ("label", "key", "id")


def choice_texts(raw: RawTable, columns: Columns) -> tuple[pl.Series, pl.Series | None]:
    """Return each row's choices as a list of texts, and the keys that came with them where they did.

    Accepted: one column of lists, a struct of two lists (`{text: […], label: […]}`), a list of structs, or
    several columns with one choice each. A null among them is a choice the row does not have; it stays here,
    because answers count its place.
    """
    names = columns.roles["choices"]
    if len(names) > 1:
        present = [pl.Series(n, raw.frame[n].cast(pl.String)) for n in names]
        lists = pl.select(pl.concat_list(present)).to_series()
        return lists, None
    values = raw.frame[names[0]]
    if values.dtype == pl.String:
        raise InputError(
            f"Column {names[0]!r} of {raw.where} holds the choices as one text: give a column of lists "
            "or name one column per choice with --columns choices=A+B+C+D."
        )
    if isinstance(values.dtype, pl.Array):
        values = values.arr.to_list()
    texts, keys = _fields(values)
    if texts is None or not isinstance(texts.dtype, pl.List):
        raise InputError(
            f"Column {names[0]!r} of {raw.where} holds {values.dtype}, not a list of choices: "
            "name the right one with --columns choices=…"
        )
    return texts.cast(pl.List(pl.String)), keys.cast(pl.List(pl.String)) if keys is not None else None


def _fields(values: pl.Series) -> tuple[pl.Series | None, pl.Series | None]:
    """Return the lists of texts and of keys inside a column of choices."""
    dtype = values.dtype
    if isinstance(dtype, pl.Struct):
        names = [field.name for field in dtype.fields]
        found = [next((n for n in wanted if n in names), None) for wanted in (_TEXT_FIELDS, _KEY_FIELDS)]
        texts, keys = (values.struct.field(n) if n is not None else None for n in found)
        return texts, keys
    if isinstance(dtype, pl.List) and isinstance(dtype.inner, pl.Struct):
        names = [field.name for field in dtype.inner.fields]
        found = [next((n for n in wanted if n in names), None) for wanted in (_TEXT_FIELDS, _KEY_FIELDS)]
        texts, keys = (
            values.list.eval(pl.element().struct.field(n)) if n is not None else None for n in found
        )
        return texts, keys
    return values, None


def answered(raw: RawTable, columns: Columns) -> Answered:
    """Return the rows' choices with their answers as text."""
    lists, keys = choice_texts(raw, columns)
    answers = label_texts(raw.frame[columns.one("answer")])
    names = columns.roles["choices"]
    from_1 = len(names) > 1 and names[0].rstrip().endswith("1")
    return Answered(answers.cast(pl.String), lists, keys, from_1)


def message_text(raw: RawTable, column: str) -> pl.Series:
    """Return a column of answers as text; of a conversation (a list of messages), its last message."""
    values = raw.frame[column]
    dtype = values.dtype
    if isinstance(dtype, pl.List) and isinstance(dtype.inner, pl.Struct):
        contents, _ = _fields(values)
        if contents is not None:
            return contents.list.last().cast(pl.String).fill_null("")
    return text(raw, column)


def shared_prompt(first: pl.Series, second: pl.Series, marker: str) -> tuple[pl.Series, pl.Series, pl.Series]:
    """Return (prompt, rest of the first, rest of the second) of dialogues that share their beginning.

    The prompt ends with the last marker up to which both texts are the same.
    """
    import re

    ending = f"(?s)^(.*{re.escape(marker)})"
    frame = pl.DataFrame({"a": first, "b": second}).with_columns(
        p=pl.col("a").str.extract(ending).fill_null("")
    )
    differs = ~pl.col("b").str.starts_with(pl.col("p"))
    while frame.select(differs.any()).item():
        shorter = pl.col("p").str.strip_suffix(marker).str.extract(ending).fill_null("")
        frame = frame.with_columns(p=pl.when(differs).then(shorter).otherwise(pl.col("p")))
    rest = [pl.col(c).str.slice(pl.col("p").str.len_chars()).alias(c) for c in ("a", "b")]
    cut = frame.select("p", *rest)
    return cut["p"], cut["a"], cut["b"]

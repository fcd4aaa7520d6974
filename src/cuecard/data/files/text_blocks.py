"""Plain text: questions written as blocks of lines, or one text per line."""

from __future__ import annotations

import re

import polars as pl

from cuecard.data.files.raw import RawTable
from cuecard.errors import InputError

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

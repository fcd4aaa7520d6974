"""Options that stand in one text, such as "['cat', 'dog']" or "(A) cat (B) dog", become a list."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable

import polars as pl

from cuecard.data.layout.texts import is_text_list

#: What is read of a text: what stands before the options, and the options.
Split = tuple[str, list[str]]

_BRACKETED = r"[\(\[]([A-Za-z])[\)\]]"
_BARE = r"([A-Za-z])\s?[\).:]"
_HEADING = re.compile(
    r"\s*\b(?:answer\s+)?(?:options|choices|choose (?:one|from)[^:\n]*)\s*(?:are)?\s*[:\n]\s*$", re.IGNORECASE
)
#: Marks of options, and the symbols they count by: (A), then A. or A: after a comma or at the start of a line, then 1.
_MARKS = (
    (re.compile(rf"(?:^|(?<=\s)){_BRACKETED}\s*(?=\S)"), "ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
    (re.compile(rf"(?:^|(?<=[\n,;]))\s*{_BARE}\s*(?=\S)"), "ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
    (re.compile(r"(?:^|(?<=\n))\s*\(?(\d)[\).:]\s+(?=\S)"), "123456789"),
)
#: Marks within a line, "A. a cat B. a dog C. a cow", are options only from the start of a text, or from three on.
_WITHIN = re.compile(r"(?:^|(?<=\s))([A-Za-z])[\).:]\s+(?=\S)")
_PREFIX = re.compile(rf"^\s*(?:{_BRACKETED}|{_BARE})\s*(?=\S)")
_BULLET = re.compile(r"^\s*[-*•]\s+")
_SIMPLE = r"""^\s*\['[^'"\\]*'(?:, '[^'"\\]*')+\]\s*$"""
_ASKED = re.compile(r"\s*\n\s*(?:the\s+)?answer\s*:?\s*$", re.IGNORECASE)


def split_lettered(text: str) -> Split | None:
    """Return what stands before options marked by letters (or numbers) that count up, and the options.

    >>> split_lettered("What is it? Options: A: a cat, B: a dog")
    ('What is it?', ['a cat', 'a dog'])
    """
    text = _ASKED.sub("", text)
    text = re.sub(r"((?:options|choices)\s*:)[ \t]*(?=[A-Za-z]\s?[\).:])", r"\1\n", text, flags=re.IGNORECASE)
    for pattern, symbols in (*_MARKS, (_WITHIN, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")):
        found = list(pattern.finditer(text))
        starts = [i for i, mark in enumerate(found) if mark[1].upper() == symbols[0]]
        for start in reversed(starts):  # a question ends with its options
            run = [found[start]]
            for mark in found[start + 1 :]:
                if len(run) < len(symbols) and mark[1].upper() == symbols[len(run)]:
                    run.append(mark)
            ends = [*(mark.start() for mark in run[1:]), len(text)]
            options = [
                text[m.end() : end].strip().rstrip(",;").strip() for m, end in zip(run, ends, strict=True)
            ]
            fewest = 3 if pattern is _WITHIN and run[0].start() else 2
            if len(run) >= fewest and all(options):
                return _HEADING.sub("", text[: run[0].start()]).strip(), options
    return None


def split_listed(text: str) -> Split | None:
    """Return the options under a heading, one per line and marked by dashes, and what stands before them."""
    lines = text.strip().split("\n")
    marked = len(lines)
    while marked and _BULLET.match(lines[marked - 1]):
        marked -= 1
    options = [_BULLET.sub("", line).strip() for line in lines[marked:]]
    before = "\n".join(lines[:marked])
    if len(options) < 2 or not _HEADING.search("\n" + before + "\n"):
        return None
    return _HEADING.sub("", before + "\n").strip(), options


def split_options(text: str) -> list[str] | None:
    """Return the options that a text is a list of: JSON, Python, lettered, or one per line; None if it is no list.

    >>> split_options("['cat', 'dog']"), split_options("(a) cat (b) dog"), split_options("cat\\ndog")
    (['cat', 'dog'], ['cat', 'dog'], ['cat', 'dog'])
    """
    text = text.strip()
    if text[:1] in "[{(" and (values := _literal(text)) is not None:
        return values
    lettered = split_lettered(text)
    if lettered is not None and not lettered[0]:
        return lettered[1]
    for separator in ("\n", " | ", "|", "; "):
        parts = [_BULLET.sub("", part).strip() for part in text.split(separator)]
        if len(parts) > 1:
            return [part for part in parts if part]
    return None


def _literal(text: str) -> list[str] | None:
    # numpy writes lists without commas: ['cat' 'dog']
    quoted = re.findall(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"", text) if text[0] == "[" else []
    if len(quoted) > 1 and not re.search(r"['\"]\s*,", text):
        return [one or other for one, other in quoted]
    for parse in (json.loads, ast.literal_eval):
        try:
            values = parse(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
        if isinstance(values, dict):
            values = list(values.values())
        if isinstance(values, list | tuple):
            return [str(v) for v in values] if not any(isinstance(v, dict | list) for v in values) else None
    return None


def inside_question(text: str) -> Split | None:
    """Return the question and its options where a text ends with them."""
    split = split_lettered(text) or split_listed(text)
    return split if split and split[0] else None


def each_distinct(values: pl.Series, parse: Callable[[str], object], dtype: pl.DataType) -> pl.Series:
    """Return what a function makes of every text; it is called once for each different one."""
    distinct = values.drop_nulls().unique(maintain_order=True)
    made = pl.Series("made", [parse(text) for text in distinct], dtype=dtype)
    rows = pl.DataFrame({"text": values}).join(
        pl.DataFrame({"text": distinct, "made": made}), on="text", how="left", maintain_order="left"
    )
    return rows["made"].alias(values.name)


def option_lists(values: pl.Series) -> pl.Series:
    """Return texts that hold options as lists of them; a text that is no list gives null."""
    # Lists as Python writes them, without quotes inside, are split at once; other texts one by one.
    simple = values.str.contains(_SIMPLE).fill_null(False)
    if not simple.any():
        return each_distinct(values, split_options, pl.List(pl.String))
    plain = values.str.strip_chars().str.slice(2).str.strip_suffix("']").str.split("', '")
    rest = pl.select(pl.when(~simple).then(values)).to_series().alias(values.name)
    parsed = each_distinct(rest, split_options, pl.List(pl.String))
    return pl.select(pl.when(simple).then(plain).otherwise(parsed)).to_series().alias(values.name)


def question_and_options(values: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Return questions that end with their options as the questions alone, and the options as lists."""
    kind = pl.Struct({"question": pl.String, "options": pl.List(pl.String)})

    def parse(text: str) -> dict[str, object]:
        question, options = inside_question(text) or (text, [])
        return {"question": question, "options": options}

    split = each_distinct(values, parse, kind)
    return split.struct.field("question").fill_null(""), split.struct.field("options")


def share_read(values: pl.Series, parse: Callable[[str], object], rows: int = 50) -> float:
    """Return the share of the first texts of a column that a function makes something of; 0 if it holds no texts."""
    if values.dtype != pl.String or is_text_list(values.dtype):
        return 0.0
    texts = [text for text in values.head(rows).to_list() if text and text.strip()]
    return sum(bool(parse(text)) for text in texts) / max(len(texts), 1)


def without_letters(lists: pl.Series) -> pl.Series:
    """Return lists of options without letters that count up before them: "(a) cat", "(b) dog" in every list."""
    sample = [row for row in lists.head(200).to_list() if row]
    if not sample or not all(_lettered(row) for row in sample):
        return lists
    if lists.len() > len(sample) and not all(_lettered(row) for row in lists.to_list() if row):
        return lists
    return lists.list.eval(pl.element().str.replace(rf"^\s*(?:{_BRACKETED}|{_BARE})\s*", ""))


def _lettered(options: list[str | None]) -> bool:
    marks = [_PREFIX.match(option or "") for option in options]
    return len(marks) > 1 and all(
        m and ord((m[1] or m[2]).upper()) == ord("A") + i for i, m in enumerate(marks)
    )

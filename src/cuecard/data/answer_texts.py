"""Open answers in the form in which they are compared, and the final answer of a worked solution."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import polars as pl

#: What marks the final answer of a solution: "#### 72" (GSM8K) or "\boxed{72}" (MATH).
FinalMark = Literal["####", "\\boxed"]
#: Share of the solutions that must have a mark for it to be read.
MARKED = 0.5
#: How an empty answer is shown: the question has none.
NO_ANSWER = "no answer"

_NUMBER = r"^[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?$"
#: Texts with one of these are formulas: their punctuation is part of the answer.
_FORMULA = r"[\\^=+*/{}<>_|]"
_LATEX: Mapping[str, str] = {
    r"\\(?:left|right|,|!|;|:|quad|displaystyle)": "",
    r"\\[dt]frac": r"\frac",
    r"\\(?:text|mathrm|textbf|mbox)\{([^{}]*)\}": "${1}",
    r"\^\\circ|\^\{\\circ\}|\\%|\\\$|\$": "",
}


def final_mark(texts: pl.Series) -> FinalMark | None:
    """Return what marks the final answers of solutions, None where most texts have none."""
    marks: tuple[FinalMark, ...] = ("####", "\\boxed")
    filled = texts.drop_nulls()
    for mark in marks:
        if len(filled) and float(filled.str.contains(mark, literal=True).sum()) >= MARKED * len(filled):
            return mark
    return None


def final_answers(texts: pl.Series, mark: FinalMark) -> pl.Series:
    """Return the final answer of every solution; a text without the mark stays as it is.

    >>> final_answers(pl.Series(["It is 8 * 9.\\n#### 72"]), "####").to_list()
    ['72']
    >>> final_answers(pl.Series([r"So $x = \\boxed{\\frac{1}{2}}$."]), "\\\\boxed").to_list()
    ['\\\\frac{1}{2}']
    """
    if mark == "####":
        return texts.str.extract(r"####\s*([^\n]*?)\s*$").fill_null(texts)
    return texts.map_elements(_boxed, return_dtype=pl.String)


def _boxed(text: str) -> str:
    """Return what the last box of a solution holds."""
    start = text.rfind("\\boxed")
    if start < 0:
        return text
    rest = text[start + len("\\boxed") :].lstrip()
    if not rest.startswith("{"):  # \boxed 5
        return rest.split("$")[0].strip() or text
    depth = 0
    for at, character in enumerate(rest):
        depth += (character == "{") - (character == "}")
        if depth == 0:
            return rest[1:at].strip()
    return text


def normal_answers(texts: pl.Series) -> pl.Series:
    """Return answers in the form in which they are compared: as SQuAD does, numbers by their value.

    Case, articles, punctuation and surplus spaces do not count; in formulas, punctuation does.

    >>> normal_answers(pl.Series(["The Eiffel Tower.", "$1,200", "1200.0", "x^2 + 1", "-3"])).to_list()
    ['eiffel tower', '1200', '1200', 'x^2+1', '-3']
    """
    distinct = texts.fill_null("").unique()
    forms = _normal(distinct)
    return (
        pl.DataFrame({"text": texts.fill_null("")})
        .join(pl.DataFrame({"text": distinct, "form": forms}), on="text", how="left", maintain_order="left")[
            "form"
        ]
        .alias(texts.name)
    )


def _normal(texts: pl.Series) -> pl.Series:
    plain = pl.col("text").str.to_lowercase()
    for pattern, instead in _LATEX.items():
        plain = plain.str.replace_all(pattern, instead)
    plain = plain.str.strip_chars()
    bare = plain.str.replace_all(r"[£€¥%]|\.$", "").str.replace_all(r"\s", "")
    number = (
        pl.when(bare.str.contains(_NUMBER) & bare.str.contains(r"\d"))
        .then(bare.str.replace_all(",", ""))
        .cast(pl.Float64, strict=False)
    )
    whole = pl.when((number == number.floor()) & (number.abs() < 1e15)).then(
        number.cast(pl.Int64, strict=False)
    )
    words = (
        plain.str.replace_all(r"\p{P}|\p{S}", "")
        .str.replace_all(r"\b(?:a|an|the)\b", " ")
        .str.replace_all(r"\s+", " ")
        .str.strip_chars()
    )
    formula = plain.str.replace_all(r"\s+", "").str.strip_chars_end(".")
    text = (
        pl.when(plain.str.contains(_FORMULA))
        .then(formula)
        .when(words != "")
        .then(words)
        .otherwise(plain.str.replace_all(r"\s+", " "))
    )
    return (
        pl.DataFrame({"text": texts})
        .select(pl.coalesce(whole.cast(pl.String), number.cast(pl.String), text))
        .to_series()
    )

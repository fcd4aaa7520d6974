"""Which of two responses was preferred: a name, a number or a score becomes a position, or a tie."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import polars as pl

from cuecard.data.layout.answers import ChoicePlaces
from cuecard.data.layout.labels import MISSING, label_texts
from cuecard.data.layout.roles import normal_name
from cuecard.errors import InputError

WinnerRule = Literal["name", "from 0", "from 1", "one-hot", "signed"]

#: In place of a position: no winner was named, both are as good, the value means nothing known.
NONE, TIE, UNKNOWN = -1, -2, -3

_FIRST = ("a", "model_a", "response_a", "assistant_a", "answer_a", "first", "left", "model_1", "response_1")
_SECOND = (
    "b",
    "model_b",
    "response_b",
    "assistant_b",
    "answer_b",
    "second",
    "right",
    "model_2",
    "response_2",
)
#: Columns of HelpSteer2 and HelpSteer3: below 0 the first response is better, above 0 the second, 0 is a tie.
_SIGNED = ("preference_strength", "overall_preference")
_TIES = ("tie", "both", "bothbad", "neither", "draw", "equal", "same")


def winner_rule(
    columns: Sequence[pl.Series], responses: Sequence[str], base: int | None, where: str
) -> WinnerRule:
    """Return how the winners of all splits are to be read, or raise an error if their values leave it open.

    Numbers 1 and 2, and scores between them, name the first and the second response. Where 0 occurs beside 2, or
    0 beside 1 in a column that is no index, only the caller can tell what the numbers mean: `base` is the number
    of the first response. So it is with -1 beside 0 or 1 in a column that is no index: -1, 0 and 1 often mean one
    response, a tie and the other.
    """
    if base is not None:
        return "from 1" if base else "from 0"
    name = columns[0].name
    if normal_name(name) in _SIGNED and all(c.dtype.is_numeric() for c in columns):
        return "signed"
    values = pl.concat([label_texts(c) for c in columns]).drop_nulls().str.strip_chars().unique()
    values = values.filter(~values.is_in(MISSING))
    indexed = responses[0][-1:] == "0" or name.endswith(("_id", "_idx", "index"))
    if indexed or not set(values) <= {"-1", "0", "1"}:
        values = values.filter(values != "-1")
    numbers = values.cast(pl.Float64, strict=False)
    if numbers.null_count():
        return "name"
    sorted_numbers = sorted(numbers.drop_nans().to_list()) or [0.0]
    low, high = sorted_numbers[0], sorted_numbers[-1]
    if 1 <= low <= high <= 2 and high > 1:
        return "from 1"
    counted = indexed or name.endswith("winner")
    if 0 <= low <= high <= 1 and set(numbers.to_list()) == {0.0, 1.0} and counted:
        return "from 0"
    raise InputError(_open_base(name, sorted(numbers.to_list()), responses, where))


def _open_base(column: str, values: list[float], responses: Sequence[str], where: str) -> str:
    shown = ", ".join(f"{v:g}" for v in values[:6]) + (", …" if len(values) > 6 else "")
    first, second = responses
    start = f"Column {column!r} of {where} has the values {shown}, and it is unclear which response each one means"
    if values == [-1, 0, 1]:
        return (
            f"{start}: type --columns winner={column}:0 if 0 is {first!r}, 1 is {second!r} and -1 none, or name "
            "another column with --columns winner=…"
        )
    if values and (values[0] < 0 or values[-1] > 2):
        return f"{start}: name a column that says which one was preferred with --columns winner=…"
    tie = ", 2 a tie" if values and values[-1] > 1 else ""
    options = [f"--columns winner={column}:0 if 0 is {first!r}, 1 is {second!r}{tie}"]
    if values and values[-1] > 1:
        options.append(f"--columns winner={column}:1 if 1 is {first!r}, 2 is {second!r}, 0 a tie")
    else:
        options.append(
            f"--columns responses={second}+{first},winner={column}:0 if 1 is {first!r}, 0 is {second!r}"
        )
    return f"{start}: type {' or '.join(options)}."


def winner_positions(values: pl.Series, rule: WinnerRule, responses: Sequence[str]) -> ChoicePlaces:
    """Return 0 or 1 for the response that won, or one of `NONE`, `TIE` and `UNKNOWN`."""
    if rule == "signed":
        signs = values.cast(pl.Float64).fill_null(float("nan")).to_numpy()
        return np.select([np.isnan(signs), signs < 0, signs > 0], [NONE, 0, 1], TIE).astype(np.int64)
    texts = label_texts(values).str.strip_chars()
    missing = texts.is_in([*MISSING, "-1", "nan", "NaN"]).fill_null(True).to_numpy()
    if rule == "name":
        plain = texts.str.to_lowercase().str.replace_all(r"[\s-]+", "_").fill_null("")
        first, second = (
            [*names, own.lower()] for names, own in zip((_FIRST, _SECOND), responses, strict=True)
        )
        places = [plain.is_in(first).to_numpy(), plain.is_in(second).to_numpy()]
        ties = plain.str.contains(rf"^(?:{'|'.join(_TIES)})(?:$|_)").to_numpy()
    else:
        start = 1 if rule == "from 1" else 0
        score = texts.cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy() - start
        places = [(score >= 0) & (score < 0.5), (score > 0.5) & (score <= 1)]
        ties = (score == 0.5) | (score == (-1 if start else 2))
    return np.select([missing, *places, ties], [NONE, 0, 1, TIE], UNKNOWN).astype(np.int64)


def one_hot_positions(flags: Sequence[pl.Series]) -> ChoicePlaces:
    """Return 0 or 1 for the response whose own column is 1, `TIE` if both are or the third is, otherwise `NONE`."""
    marks = [
        (
            label_texts(flag)
            .str.to_lowercase()
            .replace({"true": "1", "false": "0"})
            .cast(pl.Float64, strict=False)
            .fill_null(0)
            > 0.5
        ).to_numpy()
        for flag in flags
    ]
    both = marks[0] & marks[1]
    return np.select([both, *marks], [TIE, 0, 1, TIE][: len(marks) + 1], NONE).astype(np.int64)

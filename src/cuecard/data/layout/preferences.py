"""Which response was chosen: the one that a column names, or that of the best score or rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import polars as pl

from cuecard.data.layout.answers import ChoicePlaces
from cuecard.data.layout.labels import MISSING, label_texts
from cuecard.data.layout.matching import by_normal_name
from cuecard.data.layout.roles import NAMES, ONE_HOT_WINNERS, normal_name, response_series, series
from cuecard.data.layout.texts import is_chat
from cuecard.data.reading.raw import RawTable
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
        plain = (
            texts.str.to_lowercase().str.strip_chars("[]() .").str.replace_all(r"[\s-]+", "_").fill_null("")
        )
        # Verdicts such as A>B, B>>A and A=B: what stands at the open end won.
        ends = plain.str.replace(r"^(\w+)_?(?:>+_?\w+|<+_?(\w+))$", "${1}|${2}").str.split("|")
        plain = pl.select(
            pl.when(plain.str.contains(r"^\w+?_?[=≈]+_?\w+$") | (plain == "c"))
            .then(pl.lit("tie"))
            .when(plain.str.contains(r"^\w+_?<+_?\w+$"))
            .then(ends.list.last())
            .otherwise(ends.list.first())
        ).to_series()
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


#: Reasons for leaving an example out that are no fault of its row.
TIED, SINGLE = "tie", "only one response"

_LISTS = (
    *("completions", "responses", "candidates", "outputs", "generations", "answers"),
    *("all_generated_responses", "all_responses"),
)
_SCORE_LISTS = (
    "scores",
    "ratings",
    "rewards",
    "overall_scores",
    "score",
    "rating",
    "all_rm_scores",
    "rm_scores",
)
#: Ratings of a response in several aspects, each an object with a `Rating`, as UltraFeedback has them.
_ANNOTATIONS = ("annotations", "ratings")
_RANKS = ("ranks", "rankings", "rank")
_TEXT_FIELDS = ("response", "text", "content", "completion", "answer", "output", "message", "messages")
_SCORES = (
    "overall_score",
    "overall_rating",
    "overall",
    "fine_grained_score",
    "score",
    "rating",
    "reward",
    "helpfulness",
    "quality",
)
_RESPONSES = ("response", "completion", "output", "generation", "messages")
_PROMPTS = ("prompt", "instruction", "question", "query")
_ROW, _TEXT, _SCORE = "_row", "_response", "_score"
_MEAN_RATING = "mean rating"


@dataclass(frozen=True, eq=False)
class _Long:
    """One row per response: the row of the table it belongs to, its text and score, and what else is about it."""

    frame: pl.DataFrame
    used: frozenset[str]
    score: str
    #: Whether the lowest number is the best, as it is of ranks.
    lowest: bool = False


def with_gathered_negatives(raw: RawTable) -> RawTable:
    """Return the table with the columns `negative_1`, `negative_2` … of triplets as one column of lists."""
    names = by_normal_name(raw.frame.columns)
    columns = series(names, "negative") or series(names, "rejected")
    texts = all(raw.frame.schema[c] == pl.String for c in columns)
    if (
        not columns
        or not texts
        or not {"positive", "chosen", "query", "anchor"} & set(names)
        or "negatives" in names
    ):
        return raw
    lists = pl.concat_list(columns).list.drop_nulls().alias("negatives")
    return replace(raw, frame=raw.frame.with_columns(lists).drop(columns))


def ranked_responses(raw: RawTable) -> RawTable:
    """Return the table with columns `chosen` and `rejected` where responses have scores and no winner is named.

    The response with the highest score is chosen and all others are rejected; where several share the highest score,
    none is chosen and the example is dropped as a tie. What a file says about each response, such as its model, becomes
    `chosen_…` and `rejected_…`. Two responses with a rating each get a winner. Other tables stay as they are.
    """
    names = by_normal_name(raw.frame.columns)
    if {"chosen", "rejected"} & set(names):
        return raw
    rated = _rated_pair(raw.frame, names)
    if rated is not None:
        return replace(raw, frame=rated)
    long = _from_lists(raw, names) or _from_rows(raw.frame, names)
    return raw if long is None else _with_chosen(raw, long)


def _rated_pair(frame: pl.DataFrame, names: Mapping[str, str]) -> pl.DataFrame | None:
    """Return the table with the winner of two responses that have a rating each, None where that is not its form."""
    flags = {name for group in ONE_HOT_WINNERS for name in group}
    if not response_series(names) or (flags | set(NAMES["winner"])) & set(names):
        return None
    for stem in _SCORES:
        columns = series(names, stem)
        if len(columns) == 2 and all(frame.schema[c].is_numeric() for c in columns):
            first, second = (pl.col(c).cast(pl.Float64).fill_nan(None) for c in columns)
            winner = (
                pl.when(first > second)
                .then(pl.lit("a"))
                .when(first < second)
                .then(pl.lit("b"))
                .otherwise(pl.when(first == second).then(pl.lit("tie")))
            )
            return frame.with_columns(winner=winner)
    return None


def _from_lists(raw: RawTable, names: Mapping[str, str]) -> _Long | None:
    """Return the responses of a column of lists with their scores, in the same lists or in lists beside them."""
    frame = raw.frame
    for name in _LISTS:
        column = names.get(name)
        dtype = frame.schema[column] if column is not None else None
        if column is None or not isinstance(dtype, pl.List):
            continue
        if isinstance(dtype.inner, pl.Struct):
            fields = by_normal_name(f.name for f in dtype.inner.fields)
            kinds = {f.name: f.dtype for f in dtype.inner.fields}
            text = next((fields[t] for t in _TEXT_FIELDS if t in fields), None)
            numbers = (s for s in (*_SCORES, *_RANKS) if s in fields and kinds[fields[s]].is_numeric())
            kind = next(numbers, None)
            aspects = next((fields[a] for a in _ANNOTATIONS if a in fields), None)
            mean = _mean_rating(aspects, kinds[aspects]) if kind is None and aspects is not None else None
            if text is None or (kind is None and mean is None):
                continue
            long = frame.select(pl.col(column)).with_row_index(_ROW).explode(column).drop_nulls(column)
            long = long.unnest(column)
            if mean is not None:
                long = long.with_columns(mean.alias(_MEAN_RATING))
            score = _MEAN_RATING if kind is None else fields[kind]
            long = long.rename({text: _TEXT, score: _SCORE})
            plain = [c for c in long.columns if c in (_ROW, _TEXT, _SCORE) or not long.schema[c].is_nested()]
            return _Long(long.select(plain), frozenset({column}), score, lowest=kind in _RANKS)
        for beside in (*_SCORE_LISTS, *_RANKS):
            scores = names.get(beside)
            if scores is None or not _is_numbers(frame.schema[scores]):
                continue
            models = names.get("models")
            together = [column, scores, *([models] if models is not None else [])]
            for other in together[1:]:
                unequal = frame[column].list.len().ne_missing(frame[other].list.len())
                if unequal.any():
                    raise InputError(
                        f"R{raw.place(int(unequal.arg_max() or 0))[1:]} has not as many values in column {other!r} as "
                        f"responses in {column!r}: correct the row."
                    )
            long = frame.select(together).with_row_index(_ROW).explode(together)
            long = long.rename({column: _TEXT, scores: _SCORE})
            if models is not None:
                long = long.rename({models: "model"})
            return _Long(long, frozenset(together), scores, lowest=beside in _RANKS)
    return None


def _mean_rating(column: str, dtype: object) -> pl.Expr | None:
    """Return the mean of a response's ratings over all aspects, without those that are no number such as N/A.

    The rating in an aspect that several annotators rated is the mean of theirs.
    """
    ratings = []
    for aspect in dtype.fields if isinstance(dtype, pl.Struct) else ():
        rated = pl.col(column).struct.field(aspect.name)
        kind = aspect.dtype.inner if isinstance(aspect.dtype, pl.List) else aspect.dtype
        fields = by_normal_name(f.name for f in kind.fields) if isinstance(kind, pl.Struct) else {}
        if "rating" not in fields:
            continue
        several = isinstance(aspect.dtype, pl.List)
        one = pl.element() if several else rated
        rating = one.struct.field(fields["rating"]).cast(pl.Float64, strict=False)
        ratings.append(rated.list.eval(rating).list.mean() if several else rating)
    return pl.mean_horizontal(ratings) if ratings else None


def _from_rows(frame: pl.DataFrame, names: Mapping[str, str]) -> _Long | None:
    """Return the responses of a table that has one per row, with a rating, where prompts repeat."""
    prompt = next((names[p] for p in _PROMPTS if p in names), None)
    response = next((names[r] for r in _RESPONSES if r in names), None)
    score = next((names[s] for s in _SCORES if s in names and frame.schema[names[s]].is_numeric()), None)
    if prompt is None or response is None or score is None or response_series(names):
        return None
    if frame.schema[prompt].is_nested() or not frame[prompt].is_duplicated().any():
        return None
    if frame.schema[response] != pl.String and not is_chat(frame.schema[response]):
        return None
    rest = [c for c in frame.columns if c != prompt]
    long = frame.with_row_index(_ROW).select(pl.col(_ROW).min().over(prompt), *rest)
    same = long.group_by(_ROW).agg(pl.exclude(response, score).n_unique() <= 1)
    constant = [c for c in same.columns if c != _ROW and same[c].all()]
    long = long.drop(constant).rename({response: _TEXT, score: _SCORE})
    return _Long(long, frozenset(frame.columns) - {prompt, *constant}, score)


def _is_numbers(dtype: pl.DataType) -> bool:
    return isinstance(dtype, pl.List) and dtype.inner.is_numeric()


def _with_chosen(raw: RawTable, long: _Long) -> RawTable:
    beside = [c for c in long.frame.columns if c not in (_ROW, _TEXT, _SCORE)]
    score = pl.col(_SCORE)
    best = (score.min() if long.lowest else score.max()).over(_ROW)
    ranked = (
        long.frame.filter(pl.col(_SCORE).cast(pl.Float64).is_not_nan() & pl.col(_TEXT).is_not_null())
        .with_columns(_best=score == best)
        .sort(_ROW, "_best", descending=[False, True], maintain_order=True)
        .group_by(_ROW, maintain_order=True)
        .agg(
            pl.col(_TEXT, _SCORE, *beside),
            pl.col("_best").sum().alias("_tops"),
        )
    )
    named = {_TEXT: ("chosen", "rejected")} | {
        c: (f"chosen_{name}", f"rejected_{name}")
        for c, name in [(_SCORE, "rank" if long.lowest else "score"), *((c, c) for c in beside)]
    }
    several = pl.col(_TEXT).list.len() > 1
    wide = ranked.select(
        _ROW,
        "_tops",
        several.alias("_several"),
        *(pl.col(c).list.first().alias(first) for c, (first, _) in named.items()),
        *(pl.col(c).list.slice(1).alias(rest) for c, (_, rest) in named.items()),
    )
    rest = raw.frame.drop(long.used).with_row_index(_ROW)
    frame = rest.join(wide, on=_ROW, how="left", maintain_order="left").drop(_ROW)
    # A row without an entry of its own belongs to the example of an earlier row.
    own = frame["_several"].is_not_null()
    single = own & ~frame["_several"].fill_null(True)
    tied = own & ~single & (frame["_tops"].fill_null(1) > 1)
    dropped = {reason: int(rows.sum()) for reason, rows in ((TIED, tied), (SINGLE, single)) if rows.any()}
    which = "lowest" if long.lowest else "highest"
    note = f"No winner is named: the response with the {which} {long.score!r} is chosen, the others are rejected."
    kept = replace(raw, frame=frame.drop("_several", "_tops"), notes=(*raw.notes, note))
    return kept.keep(own & ~single & ~tied, dropped)

"""The published forms of verdicts: MT-Bench, AlpacaEval, arena battles, RewardBench, and a plain table."""

from __future__ import annotations

import json
from collections.abc import Callable

import polars as pl

from cuecard.data.layout.preferences import NONE, TIE, UNKNOWN, winner_positions
from cuecard.data.layout.texts import is_chat, last_message
from cuecard.errors import InputError
from cuecard.wording import plural

_IDS = ("id", "example_id", "pair_id", "question_id", "uid")
_HUMAN = ("human", "human_winner", "human_preference", "gold", "label", "quality")
_VERDICTS = ("verdict", "preference", "winner", "judgment", "prediction", "choice")
_JUDGES = ("judge", "judge_name", "annotator")
_SCORES = ("score", "reward", "rating")
_FIRST = ("first", "shown_first", "position", "order")
#: What responses are called where a is the better one.
_CHOSEN = (pl.lit("chosen").alias("name_a"), pl.lit("rejected").alias("name_b"))
#: Verdicts as MT-Bench asks a judge to write them.
_BRACKETED = {"[[a]]": "a", "[[b]]": "b", "[[c]]": "tie"}


def recognised(frame: pl.DataFrame, where: str) -> pl.DataFrame:
    """Return the table in the columns of verdicts, or raise an error that names what is missing."""
    columns = {name.lower(): name for name in frame.columns}
    frame = frame.rename({own: lower for lower, own in columns.items() if lower not in frame.columns})
    frame = frame.with_columns(_flat(frame[name]) for name in frame.columns)
    names = set(frame.columns)
    forms: tuple[tuple[frozenset[str], Callable[[pl.DataFrame, str], pl.DataFrame]], ...] = (
        (frozenset({"question_id", "g1_winner", "model_1", "model_2"}), _mt_bench),
        (frozenset({"output_1", "output_2", "preference"}), _alpaca_eval),
        (frozenset({"scores_chosen", "scores_rejected"}), _reward_bench),
        (frozenset({"chosen", "rejected", "results"}), _reward_bench),
    )
    for needed, read in forms:
        if needed <= names:
            return read(frame, where)
    return _plain(frame, where)


def has_ids(frame: pl.DataFrame) -> bool:
    """Return whether the table says which comparison each row is about."""
    return any(name.lower() in _IDS for name in frame.columns)


def _flat(values: pl.Series) -> pl.Series:
    """Return lists and objects as text, but conversations as they are; of scores, the mean; of a judge, the name."""
    dtype = values.dtype
    if not dtype.is_nested() or is_chat(dtype):
        return values
    inner = dtype.inner if isinstance(dtype, pl.List) else None
    if inner is not None and inner.is_numeric() and any(word in values.name for word in _SCORES):
        return values.list.mean()
    if inner == pl.String:
        # MT-Bench names the judge and its prompt; a response in parts is one text.
        return values.list.first() if values.name in _JUDGES else values.list.join("\n")
    texts = [None if value is None else json.dumps(value, default=str) for value in values.to_list()]
    return pl.Series(values.name, texts, dtype=pl.String)


def _mt_bench(frame: pl.DataFrame, where: str) -> pl.DataFrame:
    """Read both games of every comparison: the second showed the responses in the other order."""
    parts = []
    for game, first in (("g1_winner", 1.0), ("g2_winner", 0.0)):
        if game in frame.columns:
            won = frame[game].cast(pl.String).str.to_lowercase()
            preferred = won.replace_strict({"model_1": 1.0, "model_2": 0.0, "tie": 0.5}, default=None)
            turn = pl.col("turn").cast(pl.String) if "turn" in frame.columns else pl.lit("1")
            parts.append(
                frame.select(
                    pl.concat_str(
                        pl.col("question_id", "model_1", "model_2").cast(pl.String), turn, separator="/"
                    ).alias("item"),
                    pl.col("question_id").cast(pl.String).alias("prompt"),
                    pl.col("model_1").alias("model_a"),
                    pl.col("model_2").alias("model_b"),
                    pl.lit(first).alias("first"),
                    *_optional(frame, judge=("judge",)),
                ).with_columns(preferred=preferred)
            )
    del where
    return pl.concat(parts)


def _alpaca_eval(frame: pl.DataFrame, where: str) -> pl.DataFrame:
    """Read 1 for the first output, 2 for the second, and what lies between as by which it is nearer."""
    score = frame["preference"].cast(pl.Float64, strict=False)
    preferred = pl.when(score < 1.5).then(1.0).when(score > 1.5).then(0.0).when(score == 1.5).then(0.5)
    del where
    return frame.select(
        pl.col("instruction").cast(pl.String).alias("item")
        if "instruction" in frame.columns
        else _row_number(),
        pl.lit(1.0).alias("first"),
        *_optional(
            frame,
            prompt=("instruction",),
            text_a=("output_1",),
            text_b=("output_2",),
            model_a=("generator_1",),
            model_b=("generator_2",),
            judge=("annotator",),
            subset=("dataset",),
        ),
    ).with_columns(pl.select(preferred).to_series().alias("preferred"))


def _reward_bench(frame: pl.DataFrame, where: str) -> pl.DataFrame:
    """Read scores of the chosen and the rejected response, or whether the chosen one was preferred."""
    parts = _optional(
        frame,
        item=_IDS,
        prompt=("prompt",),
        text_a=("text_chosen", "chosen"),
        text_b=("text_rejected", "rejected"),
        model_a=("chosen_model",),
        model_b=("rejected_model",),
        score_a=("scores_chosen",),
        score_b=("scores_rejected",),
        subset=("subset",),
        judge=("model", "judge"),
    )
    rows = frame.select(*parts, pl.lit(1.0).alias("human")).with_columns(_CHOSEN)
    if "item" not in rows.columns:
        rows = rows.with_columns(_row_number())
    if {"score_a", "score_b"} <= set(rows.columns):
        numbers = [_numbers(rows[c], where) for c in ("score_a", "score_b")]
        return _by_scores(rows.with_columns(numbers))
    return rows.with_columns(preferred=frame["results"].cast(pl.Float64, strict=False))


def _plain(frame: pl.DataFrame, where: str) -> pl.DataFrame:
    """Read a table with a verdict or two scores per row; responses are a and b, or chosen and rejected."""
    names = frame.columns
    chosen = "chosen" in names or "score_chosen" in names
    pairs = [("chosen", "rejected")] if chosen else [("a", "b"), ("1", "2"), ("0", "1")]
    roles: dict[str, tuple[str, ...]] = {
        "item": _IDS,
        "prompt": ("prompt", "question", "instruction"),
        "subset": ("subset", "category", "source"),
        "judge": _JUDGES,
    }
    for side, place in (("a", 0), ("b", 1)):
        marks = [pair[place] for pair in pairs]
        stems = ("response", "output", "text", "completion", "answer", "conversation", "messages")
        roles[f"text_{side}"] = (*(marks if chosen else ()), *(f"{s}_{m}" for s in stems for m in marks))
        roles[f"model_{side}"] = tuple(n for m in marks for n in (f"model_{m}", f"{m}_model"))
        roles[f"score_{side}"] = tuple(
            n for m in marks for n in (f"score_{m}", f"{m}_score", f"reward_{m}", f"rating_{m}")
        )
    rows = frame.select(_optional(frame, **roles) or _row_number())
    rows = rows.with_columns(_numbers(rows[c], where) for c in ("score_a", "score_b") if c in rows.columns)
    if "item" in rows.columns and "turn" in names and frame["turn"].n_unique() > 1:
        rows = rows.with_columns(prompt=rows["prompt"] if "prompt" in rows.columns else rows["item"])
        rows = rows.with_columns(item=pl.concat_str("item", frame["turn"].cast(pl.String), separator="/"))
    if "item" not in rows.columns:
        same = [c for c in ("prompt", "text_a", "text_b", "model_a", "model_b") if c in rows.columns]
        rows = rows.with_columns(
            pl.concat_str([pl.col(c).fill_null("") for c in same], separator="\x1f").alias("item")
            if same
            else _row_number()
        )
    if chosen:
        rows = rows.with_columns(_CHOSEN)
    both = ("chosen", "rejected") if chosen else ("a", "b")
    shown = next((c for c in _FIRST if c in names), None)
    if shown is not None:
        rows = rows.with_columns(first=_which(frame[shown], both, where))
    elif not chosen and _both_ways_round(rows):
        rows = rows.with_columns(first=pl.lit(1.0))
    human = next((c for c in _HUMAN if c in names), None)
    if chosen and human is None:
        rows = rows.with_columns(human=pl.lit(1.0))
    elif human is not None:
        rows = rows.with_columns(human=_which(frame[human], both, where))
    verdict = next((c for c in _VERDICTS if c in names and c != human), None)
    if verdict is not None:
        return rows.with_columns(preferred=_which(frame[verdict], both, where))
    if {"score_a", "score_b"} <= set(rows.columns):
        return _by_scores(rows)
    raise InputError(
        f"{where} has neither a verdict nor two scores (its columns are {', '.join(map(repr, names[:12]))}): name them "
        "verdict (a, b or tie), or score_a and score_b."
    )


def _both_ways_round(rows: pl.DataFrame) -> bool:
    """Return whether rows of one comparison swap its texts, as files do that show them in both orders, a first."""
    if not {"text_a", "text_b"} <= set(rows.columns):
        return False
    a, b = pl.col("text_a"), pl.col("text_b")
    swapped = (a == b.first().over("item")) & (b == a.first().over("item")) & (a != b)
    return bool(rows.select(swapped.fill_null(False).any()).item())


def _which(values: pl.Series, both: tuple[str, str], where: str) -> pl.Series:
    """Return 1 for the first response, 0 for the second, 0.5 for a tie, missing where nothing is said."""
    if values.dtype.is_numeric():
        numbers = values.cast(pl.Float64)
        distinct = set(numbers.drop_nulls().unique().to_list())
        if 0.0 in distinct and both[0] == "a":
            shown = ", ".join(f"{value:g}" for value in sorted(distinct)[:6])
            raise InputError(
                f"Column {values.name!r} of {where} has the values {shown}, and it is unclear which response 0 means: "
                "write a, b or tie, or 1 and 2 for the first and the second."
            )
        if distinct <= {0.0, 0.5, 1.0}:  # 1: the chosen response wins
            return numbers
        if distinct <= {1.0, 1.5, 2.0}:
            return 2.0 - numbers
        raise InputError(
            f"Column {values.name!r} of {where} has the values {sorted(distinct)[:6]}: expected a, b or tie; or 1, 2."
        )
    if values.dtype == pl.String:
        plain = values.str.strip_chars().str.to_lowercase().replace_strict(_BRACKETED, default=None)
        values = pl.select(pl.coalesce(plain, values)).to_series().alias(values.name)
    places = winner_positions(values.alias("winner"), "name", both)
    unknown = int((places == UNKNOWN).sum())
    if unknown:
        row = int((pl.Series(places) == UNKNOWN).arg_max() or 0)
        raise InputError(
            f"Column {values.name!r} of {where} has the value {values[row]!r} in row {row + 1:,} "
            f"({plural(unknown, 'row')} in all have such values): expected {both[0]}, {both[1]} or tie."
        )
    codes = pl.Series(places)
    return codes.replace_strict({0: 1.0, 1: 0.0, TIE: 0.5, NONE: None}, return_dtype=pl.Float64)


def _by_scores(rows: pl.DataFrame) -> pl.DataFrame:
    a, b = pl.col("score_a"), pl.col("score_b")
    return rows.with_columns(preferred=pl.when(a > b).then(1.0).when(a < b).then(0.0).when(a == b).then(0.5))


def _numbers(values: pl.Series, where: str) -> pl.Series:
    """Return scores as numbers, missing where they are nan."""
    numbers = values.cast(pl.Float64, strict=False)
    if numbers.null_count() > values.null_count():
        raise InputError(
            f"Column {values.name!r} of {where} holds scores that are not numbers: correct them."
        )
    return numbers.fill_nan(None)


def _optional(frame: pl.DataFrame, **roles: tuple[str, ...]) -> list[pl.Series]:
    """Return the columns that are there, by role; a conversation is its last message."""
    kept = []
    for role, names in roles.items():
        name = next((n for n in names if n in frame.columns), None)
        if name is None:
            continue
        values = frame[name]
        if is_chat(values.dtype):
            values = last_message(values)
        kept.append((values if role.startswith("score") else values.cast(pl.String)).alias(role))
    return kept


def _row_number() -> pl.Expr:
    return pl.int_range(pl.len()).cast(pl.String).alias("item")

"""A preference as parts: the prompt, the responses with the preferred one first, and what is known about each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from cuecard.data.instances import COLUMNS
from cuecard.data.layout.answers import digest, message_text
from cuecard.data.layout.columns import Columns
from cuecard.data.layout.pairs import holds_responses, with_passage_texts
from cuecard.data.layout.preferences import UNKNOWN, one_hot_positions, winner_positions
from cuecard.data.layout.roles import normal_name
from cuecard.data.layout.scheme import Scheme
from cuecard.data.layout.texts import (
    Parts,
    Problem,
    chat_prompt,
    earlier_messages,
    is_chat,
    joined_texts,
    last_message,
    shared_prompt,
    text,
)
from cuecard.data.reading.raw import RawTable
from cuecard.errors import InputError

#: The column that says at which place a file shows a response, 0 for the first.
FILE_POSITION = "file_position"

_AFFIXES = (("chosen", "rejected"), ("a", "b"), ("1", "2"), ("0", "1"))


def preference_parts(raw: RawTable, scheme: Scheme) -> Parts:
    """Return prompts and responses of every row, the preferred response first."""
    columns = scheme.columns
    names = columns.response_columns
    notes: tuple[str, ...] = ()
    if scheme.winner is None:
        raw, notes = _one_chosen(raw, names)
    if scheme.winner is None and has_several(raw.frame.schema, names):
        prompt, responses = _several_rejected(raw, columns, names)
        return Parts(
            prompt,
            responses,
            np.zeros(len(prompt), np.int64),
            beside=_beside(raw, columns, responses),
            notes=notes,
        )
    prompt, first, second = _prompt_and_responses(raw, columns, names)
    both = _side_by_side(first, second)
    beside = _beside(raw, columns, both)
    if scheme.winner is None:
        return Parts(prompt, both, np.zeros(len(first), dtype=np.int64), beside=beside, notes=notes)
    flags = [raw.frame[name] for name in columns.roles["winner"]]
    won = one_hot_positions(flags) if len(flags) > 1 else winner_positions(flags[0], scheme.winner, names)
    problems = []
    if (won == UNKNOWN).any():
        rows = pl.Series(won == UNKNOWN)
        value = flags[0][int(rows.arg_max() or 0)]
        problems.append(
            Problem(
                "unknown winner",
                f"has the winner {value!r} in column {flags[0].name!r}; expected {names[0]!r}, {names[1]!r} or a tie",
                rows,
                "correct the row, name another column with --columns winner=…",
            )
        )
    # The preferred response comes first, as in files that name it; where the file shows it is kept beside.
    second_won = pl.Series(won == 1)

    def swapped(lists: pl.Series) -> pl.Series:
        return pl.select(pl.when(second_won).then(lists.list.reverse()).otherwise(lists)).to_series()

    places = pl.Series([[0, 1]], dtype=pl.List(pl.Int32)).new_from_index(0, len(won))
    beside = {name: swapped(values) for name, values in beside.items()}
    if FILE_POSITION not in raw.frame.columns:
        beside[FILE_POSITION] = swapped(places)
    return Parts(prompt, swapped(both), np.where(won < 0, won, 0), tuple(problems), beside)


def _one_chosen(raw: RawTable, names: Sequence[str]) -> tuple[RawTable, tuple[str, ...]]:
    """Return the table with one chosen response per row, and a note where one of several was drawn."""
    frame = with_passage_texts(raw.frame, names)
    chosen = frame[names[0]]
    if not holds_responses(chosen.dtype):
        return replace(raw, frame=frame), ()
    none = chosen.list.drop_nulls().list.len().fill_null(0) == 0
    if none.any():
        raise _no_response(raw, names[0], none, "chosen")
    if (chosen.list.len() == 1).all():
        return replace(raw, frame=frame.with_columns(chosen.list.first())), ()
    inner = chosen.clear().explode().dtype
    drawn = pl.Series(names[0], [min(row, key=digest) for row in chosen.to_list()], dtype=inner)
    note = (
        f"Some rows have several chosen responses in column {names[0]!r}, and not as many rejected ones: one of the "
        "chosen, drawn by a hash of its text, is compared with all rejected ones. In all pairs, chosen and rejected "
        "responses would not be repeated equally often, which gives them away."
    )
    return replace(raw, frame=frame.with_columns(drawn)), (note,)


def _no_response(raw: RawTable, column: str, none: pl.Series, kind: str) -> InputError:
    return InputError(
        f"R{raw.place(int(none.arg_max() or 0))[1:]} has no response in column {column!r}: "
        f"a preference needs at least one {kind} response."
    )


def _side_by_side(first: pl.Series, second: pl.Series) -> pl.Series:
    """Return lists of two: the texts of both columns, row by row."""
    n = len(first)
    turns = np.arange(2 * n).reshape(2, n).T.ravel()
    # Texts of one chunk are gathered as references; those of many chunks would be copied.
    both = pl.concat([first, second.alias(first.name)], rechunk=True)
    return both.gather(turns).reshape((n, 2)).arr.to_list()


def has_several(schema: Mapping[str, pl.DataType], names: Sequence[str]) -> bool:
    """Return whether the second column holds a list of responses such as the first column has one of."""
    first, second = schema[names[0]], schema[names[1]]
    if not isinstance(second, pl.List):
        return False
    return second.inner == first and (first == pl.String or is_chat(first))


def _several_rejected(raw: RawTable, columns: Columns, names: Sequence[str]) -> tuple[pl.Series, pl.Series]:
    """Return prompts, and one chosen with several rejected responses as lists."""
    chosen, rejected = (raw.frame[name] for name in names)
    prompt = pl.repeat("", len(chosen), eager=True, dtype=pl.String)
    if "prompt" in columns:
        prompt = joined_texts([text(raw, name) for name in columns.roles["prompt"]])
    elif is_chat(chosen.dtype):
        prompt = earlier_messages(chosen)
    first = message_text(raw, names[0])
    long = pl.DataFrame({"row": np.arange(len(rejected)), "text": rejected}).explode("text")
    texts = last_message(long["text"]) if is_chat(long.schema["text"]) else long["text"]
    long = long.with_columns(text=texts).drop_nulls("text")
    rest = pl.DataFrame({"row": np.arange(len(first)), "first": first}).join(
        long.group_by("row", maintain_order=True).agg("text"), on="row", how="left", maintain_order="left"
    )
    none = rest["text"].is_null()
    if none.any():
        raise _no_response(raw, names[1], none, "rejected")
    return prompt, rest.select(pl.concat_list("first", "text")).to_series()


def _prompt_and_responses(
    raw: RawTable, columns: Columns, names: tuple[str, ...]
) -> tuple[pl.Series, pl.Series, pl.Series]:
    """Return prompt and responses; without a column of prompts, what both responses begin with is the prompt."""
    chats = all(is_chat(raw.frame[name].dtype) for name in names)
    if chats and "prompt" not in columns:
        return chat_prompt(raw.frame[names[0]], raw.frame[names[1]])
    first, second = (message_text(raw, name) for name in names)
    if "prompt" in columns:
        prompt = joined_texts([text(raw, name) for name in columns.roles["prompt"]])
        return _without_json(prompt, first, second)
    if columns.prompt_ends_with:
        return shared_prompt(first, second, columns.prompt_ends_with)
    return pl.repeat("", len(first), eager=True, dtype=pl.String), first, second


def _without_json(*texts: pl.Series) -> tuple[pl.Series, pl.Series, pl.Series]:
    """Return a prompt and its responses with their turns one per line where all three list them as JSON."""
    listed = [values.str.contains(r'^\s*\[\s*(?:"|null)').to_numpy() for values in texts]
    written = pl.Series(np.logical_and.reduce(listed))
    if not written.any():
        return texts  # type: ignore[return-value]
    turns = [
        values.str.json_decode(pl.List(pl.String)).list.join("\n", ignore_nulls=True)
        for values in (pl.select(pl.when(written).then(values)).to_series() for values in texts)
    ]
    return tuple(pl.select(pl.coalesce(a, b)).to_series() for a, b in zip(turns, texts, strict=True))  # type: ignore[return-value]


def _beside(raw: RawTable, columns: Columns, responses: pl.Series) -> dict[str, pl.Series]:
    """Return what the file says about each response: `model_a` and `model_b` become lists called `model`."""
    names = {normal_name(c): c for c in raw.frame.columns if c not in columns.used}
    lengths = responses.list.len()
    lists: dict[str, pl.Series] = {}
    for name in names:
        for first, second in _AFFIXES:
            for mine, other, stem in (
                (f"{first}_", f"{second}_", name.removeprefix(f"{first}_")),
                (f"_{first}", f"_{second}", name.removesuffix(f"_{first}")),
            ):
                if stem == name or stem in lists or stem in names or stem in COLUMNS:
                    continue
                partner = f"{other}{stem}" if mine.endswith("_") else f"{stem}{other}"
                if partner in names:
                    joined = _joined(raw.frame[names[name]], raw.frame[names[partner]])
                    if joined is not None and (joined.list.len() == lengths).all():
                        lists[stem] = joined
    return lists


def _joined(first: pl.Series, second: pl.Series) -> pl.Series | None:
    several = isinstance(second.dtype, pl.List)
    inner = second.dtype.inner if isinstance(second.dtype, pl.List) else second.dtype
    if first.dtype.is_nested() or inner != first.dtype:
        return None
    frame = pl.DataFrame({"first": first, "second": second})
    rest = pl.col("second") if several else pl.concat_list(pl.col("second"))
    return frame.select(pl.concat_list(pl.concat_list(pl.col("first")), rest)).to_series()

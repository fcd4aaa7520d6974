"""Open answers: which columns hold a question and its answer in words, and what stands in them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import cast

import polars as pl

from cuecard.data.answer_texts import FinalMark, final_answers, final_mark
from cuecard.data.layout.labels import label_texts
from cuecard.data.layout.matching import READ_SHARE, SAMPLE, few_values
from cuecard.data.layout.option_texts import inside_question, option_lists, share_read
from cuecard.data.layout.roles import NAMES, PROMPT_SERIES, TASK_ROLES, Role, normal_name
from cuecard.data.layout.texts import (
    Parts,
    earlier_messages,
    has_speakers,
    is_chat,
    is_text_list,
    joined_texts,
    last_message,
    text,
)
from cuecard.data.reading.raw import RawTable
from cuecard.errors import InputError

Roles = Mapping[Role, tuple[str, ...]]

QUESTIONS = (
    *("question", "problem", "prompt", "query", "user_input", "user_question_or_message", "instruction"),
    *("input", "inputs", "messages", "conversations", "turns"),
)
ANSWERS = (
    *("answer", "final_answer", "short_answer", "short_answers", "gold_answer", "expected_answer"),
    *("expected_output", "reference_answer", "ground_truth", "ground_truths", "multiple_choice_answer"),
    *("answer_value", "answer_text", "answers", "ideal", "solution", "reference", "target_text", "target"),
    *("response", "completion", "output", "possible_answers", "answers_spans"),
)
_CONTEXTS = (
    *(name for name in NAMES["context"] if name not in ("reason", "premise", "startphrase")),
    "code",
    "contexts",
    "reference_contexts",
    "retrieved_contexts",
)
_OPTIONS = frozenset(NAMES["choices"]) - {"answers", "entities"}
#: Fields of objects that hold the text of an answer, and lists of further answers that are right, too.
_FIELDS = ("text", "answer", "value", "spans")
_ALIASES = ("aliases", "answer_aliases", "alias")
_LIKE_ANSWER = re.compile("answer|solution|target|output|response|gold|truth")
_NOT_GOLD = re.compile("actual|predict|generat|meta|source|url|title|alias|evidence|seed|original|_id$")
#: Values of a column that judges what stands beside it.
_VERDICTS = frozenset(
    [
        "true",
        "false",
        "yes",
        "no",
        "correct",
        "incorrect",
        "right",
        "wrong",
        "good",
        "bad",
        "safe",
        "unsafe",
        "pass",
        "fail",
        "0",
        "1",
        "-1",
        "accept",
        "reject",
    ]
)
#: Extra columns of open answers: the parts of the premise where it has two, and all answers that are right.
CONTEXT, QUESTION, ACCEPTED = RESERVED = ("context", "question", "accepted")


def open_roles(said: Roles, names: Mapping[str, str], frame: pl.DataFrame) -> dict[Role, tuple[str, ...]]:
    """Return the roles of a question, its answer and its context by the names of columns; those said come first."""
    roles: dict[Role, tuple[str, ...]] = {
        role: said[role] for role in ("context", "question", "answer", "id") if role in said
    }

    def find(wanted: tuple[str, ...], suits: tuple[str, ...]) -> tuple[str, ...]:
        taken = {column for columns in roles.values() for column in columns}
        return next(
            ((names[n],) for n in wanted if n in names and names[n] not in taken and names[n] in suits), ()
        )

    texts = tuple(c for c, dtype in frame.schema.items() if _is_text(dtype))
    answers = tuple(c for c, dtype in frame.schema.items() if _holds_answers(dtype))
    if "answer" not in roles and (hit := find(ANSWERS, answers)):
        roles["answer"] = hit
    if "question" not in roles:
        series = [tuple(names[n] for n in parts) for parts in PROMPT_SERIES if all(n in names for n in parts)]
        free = [s for s in series if not {*s} & {*roles.get("answer", ())} and all(c in texts for c in s)]
        if hit := free[0] if free else find(QUESTIONS, texts):
            roles["question"] = hit
    if "context" not in roles and (hit := find(_CONTEXTS, texts)):
        roles["context"] = hit
    chats = roles.get("question", ())
    if (
        "answer" not in roles
        and "answer" not in said
        and len(chats) == 1
        and ends_with_answer(frame[chats[0]])
    ):
        roles["answer"] = chats
    return {role: roles[role] for role in (*TASK_ROLES["open"], "id") if role in roles}


def possible_answers(frame: pl.DataFrame) -> list[str]:
    """Return the columns that may hold answers, those first whose name has a part that says so."""
    possible = [
        c
        for c, dtype in frame.schema.items()
        if _holds_answers(dtype)
        and not (dtype.is_numeric() or dtype == pl.Boolean)
        and normal_name(c) not in NAMES["id"]
        and not _NOT_GOLD.search(normal_name(c))
        and frame[c].n_unique() > max(2, frame.height // 10)
    ]

    def doubt(column: str) -> tuple[bool, bool, bool]:
        name = normal_name(column)
        return not _LIKE_ANSWER.search(name), frame.schema[column].is_nested(), "normal" in name

    return sorted(possible, key=doubt)


def shorter_answers(roles: Roles, frame: pl.DataFrame) -> list[str]:
    """Return the columns that may hold answers where those by name are worked solutions without a mark at their end."""
    column = roles["answer"][0]
    if normal_name(column) not in ("solution", "other_solution") or frame.schema[column] != pl.String:
        return []
    solutions = frame[column].head(SAMPLE).drop_nulls()
    used = {c for columns in roles.values() for c in columns}
    if final_mark(solutions) is not None or not len(solutions):
        return []
    length = solutions.str.len_chars().mean()
    return [
        c
        for c in possible_answers(frame)
        if c not in used
        and frame.schema[c] == pl.String
        and not few_values(frame[c])
        and (frame[c].head(SAMPLE).str.len_chars().mean() or 0) < 0.5 * float(str(length))  # type: ignore[operator]
    ]


def reads_as_open(roles: Roles, frame: pl.DataFrame) -> bool:
    """Return whether columns are surely a question and its answer in words: no labels, no verdicts, no options."""
    if not {"question", "answer"} <= roles.keys() or not frame.height:
        return False
    answer = frame[roles["answer"][0]]
    if answer.dtype == pl.Boolean or few_values(answer) or is_lettered(answer):
        return False
    asked = (
        [frame[c] for c in roles["question"] if frame.schema[c] == pl.String] if "question" in roles else []
    )
    if len(asked) == 1 and float((asked[0].fill_null("").str.strip_chars() == "").sum()) > 0.1 * frame.height:
        return False
    used = {column for columns in roles.values() for column in columns}
    others = [c for c in frame.columns if c not in used and frame[c].null_count() < frame.height]
    options = [c for c in others if _OPTIONS & {normal_name(part) for part in c.split(".")}]
    return not options and not any(_judges(frame[c]) for c in others if normal_name(c) != "is_impossible")


def open_notes(roles: Roles, frame: pl.DataFrame) -> tuple[str, ...]:
    """Return what the user is told about open answers."""
    notes = [_open_note(roles)]
    answers = frame[roles["answer"][0]].head(SAMPLE)
    if answers.dtype == pl.String and roles["answer"] != roles.get("question"):
        share = float(answers.str.contains(r"^\s*\(?[A-J]\)?[.:]?\s*$").sum()) / max(len(answers), 1)
        if share >= _LETTERS:
            notes.append(
                f"{share:.0%} of the answers in {answers.name!r} are single letters and read as such; if they name "
                "options, give those rows in a file of their own."
            )
    if "context" not in roles:
        names = {normal_name(c): c for c in frame.columns if frame.schema[c].is_nested()}
        notes += [
            f"Column {names[n]!r} is not a text and is not used, so the place of answers is not tested."
            for n in (*_CONTEXTS, "paragraphs")
            if n in names and names[n] not in roles["answer"] + roles.get("question", ())
        ][:1]
    return tuple(notes)


#: Share of answers that are single letters from which the user is told.
_LETTERS = 0.05


def _open_note(roles: Roles) -> str:
    question = " + ".join((*roles.get("context", ()), *roles.get("question", ())))
    return (
        f"{question!r} is read as the question and {' + '.join(roles['answer'])!r} as its answer in words; if a column "
        "lists options or labels the answers, type --columns with all roles."
    )


def _is_text(dtype: pl.DataType) -> bool:
    return dtype in (pl.String, pl.Categorical) or isinstance(dtype, pl.Enum) or is_text_list(dtype)


def _holds_answers(dtype: pl.DataType) -> bool:
    if isinstance(dtype, pl.Struct):
        return _answer_field(dtype) is not None
    if isinstance(dtype, pl.List):
        inner = cast("pl.DataType", dtype.inner)
        return _answer_field(inner) is not None if isinstance(inner, pl.Struct) else not inner.is_nested()
    return dtype == pl.String or dtype.is_numeric() or dtype == pl.Boolean or isinstance(dtype, pl.Enum)


def _answer_field(dtype: pl.Struct) -> str | None:
    fields = {f.name: f.dtype for f in dtype.fields}
    if {"rank", "model", "rating"} & {*fields}:
        return None  # responses of models
    plain = (pl.String, pl.List(pl.String), pl.Int64, pl.Float64)
    return next((name for name in _FIELDS if fields.get(name) in plain), None)


def ends_with_answer(values: pl.Series) -> bool:
    """Return whether a column holds conversations that end with what an assistant said."""
    if not has_speakers(values.dtype):
        return False
    first = values.head(SAMPLE).drop_nulls().to_list()
    last = [
        next((str(v) for k, v in m[-1].items() if k in ("role", "from")), "") for m in first if len(m) > 1
    ]
    return len(last) == len(first) > 0 and all(who in ("assistant", "gpt", "model", "bot") for who in last)


def with_lettered_answers(raw: RawTable) -> RawTable:
    """Return the table with conversations that end with the letter of an option as their question and its answer."""
    frame = raw.frame
    columns = [c for c, dtype in frame.schema.items() if has_speakers(dtype)]
    if len(columns) != 1 or "answer" in frame.columns or not ends_with_answer(frame[columns[0]]):
        return raw
    first = frame[columns[0]].head(SAMPLE)
    if (
        not is_lettered(last_message(first))
        or share_read(earlier_messages(first), inside_question) < READ_SHARE
    ):
        return raw
    asked, answers = earlier_messages(frame[columns[0]]), last_message(frame[columns[0]])
    return replace(raw, frame=frame.with_columns(asked, answers.alias("answer")))


def is_lettered(values: pl.Series) -> bool:
    """Return whether all answers are letters of options."""
    if values.dtype != pl.String:
        return False
    filled = values.head(SAMPLE).drop_nulls()
    return bool(filled.str.contains(r"^\W*[A-Ja-j]\W*$").all()) if len(filled) else True


def _judges(values: pl.Series) -> bool:
    """Return whether a column says of every row that something is right or wrong."""
    if values.dtype == pl.Boolean:
        return values.n_unique() > 1
    if not (values.dtype == pl.String or values.dtype.is_integer()):
        return False
    seen = {str(v).lower() for v in values.head(SAMPLE).drop_nulls().unique().to_list()[:4]}
    return len(seen) == 2 and seen <= _VERDICTS


def read_answers(raw: RawTable, column: str) -> pl.Series:
    """Return the right answers of every row as a list; empty where there is none, null where it is missing."""
    values = raw.frame[column]
    dtype = values.dtype
    if has_speakers(dtype):
        return _listed(last_message(values))
    if isinstance(dtype, pl.Struct) and (field := _answer_field(dtype)) is not None:
        return _listed(values.struct.field(field))
    if isinstance(dtype, pl.List):
        inner = cast("pl.DataType", dtype.inner)
        if isinstance(inner, pl.Struct):
            field = _answer_field(inner)
            if field is not None:
                return values.list.eval(pl.element().struct.field(field).cast(pl.String))
        elif not inner.is_nested():
            return values.cast(pl.List(pl.String))
    if dtype.is_nested() or dtype == pl.Binary:
        raise InputError(
            f"Column {column!r} of {raw.where} holds {str(dtype)[:80]}, not answers: name another with "
            "--columns answer=…"
        )
    texts = label_texts(values)
    texts = texts if texts.dtype == pl.String else texts.cast(pl.String)
    written = texts.str.contains(r"^\s*\[\s*['\"].*\]\s*$")
    if len(texts) and (written | texts.is_null()).all() and written.any():
        return option_lists(texts)
    answers = _listed(texts)
    parent = column.rpartition(".")[0]
    aliases = next(
        (f"{parent}.{a}" for a in _ALIASES if parent and f"{parent}.{a}" in raw.frame.columns), None
    )
    if aliases is not None and raw.frame.schema[aliases] == pl.List(pl.String):
        more = raw.frame[aliases].fill_null([])
        return pl.select(
            pl.concat_list(pl.lit(answers), pl.lit(more)).list.unique(maintain_order=True)
        ).to_series()
    return answers


def _listed(texts: pl.Series) -> pl.Series:
    """Return one answer as a list of it; an empty text is a missing answer."""
    if texts.dtype == pl.List(pl.String):
        return texts
    whole = texts.cast(pl.String)
    filled = whole.str.strip_chars() != ""
    return pl.select(pl.when(pl.lit(filled)).then(pl.concat_list(pl.lit(whole)))).to_series()


def learn_mark(raws: Mapping[str, RawTable], columns: Mapping[str, str]) -> FinalMark | None:
    """Return what marks final answers in the training rows."""
    first = next(iter(raws))
    return final_mark(read_answers(raws[first].head(SAMPLE), columns[first]).explode().cast(pl.String))


def open_parts(raw: RawTable, roles: Roles, mark: FinalMark | None) -> Parts:
    """Return context and question as the premise, and the first right answer as the hypothesis (null if missing)."""
    sides: dict[str, pl.Series] = {}
    both: tuple[Role, Role] = ("context", "question")
    for role in both:
        if columns := roles.get(role):
            same = columns == roles["answer"]
            sides[role] = joined_texts([_asked(raw, c, before=same) for c in columns])
    answers = read_answers(raw, roles["answer"][0])
    if mark is not None:  # a worked solution is the only answer of its row
        final = final_answers(answers.list.first(), mark)
        answers = pl.select(
            pl.when(pl.lit(final.is_not_null()))
            .then(pl.concat_list(pl.lit(final)))
            .otherwise(pl.lit(answers))
        ).to_series()
    first = answers.list.first()
    empty = answers.is_not_null() & (answers.list.len() == 0)
    hypothesis = pl.select(pl.when(pl.lit(empty)).then(pl.lit("")).otherwise(pl.lit(first))).to_series()
    beside = dict(sides) if len(sides) == 2 else {}
    if (answers.list.n_unique() > 1).any():
        beside[ACCEPTED] = answers
    return Parts(joined_texts(list(sides.values())), hypothesis, beside=beside)


def _asked(raw: RawTable, column: str, *, before: bool) -> pl.Series:
    """Return a column as the text of a question: of one message only what it says, and without an answer at its end."""
    values = raw.frame[column]
    if not is_chat(values.dtype) or not has_speakers(values.dtype):
        return text(raw, column)
    if before:
        return earlier_messages(values)
    return last_message(values) if values.list.len().max() == 1 else text(raw, column)

"""Columns are matched to roles by their names and types, and by their values where names say nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

import polars as pl

from cuecard.data.instances import Task
from cuecard.data.layout.option_texts import inside_question, share_read, split_options
from cuecard.data.layout.roles import (
    CONTEXT_RESPONSE_PAIRS,
    CONTEXT_SERIES,
    LABEL_NAMES,
    NAMES,
    ONE_HOT_WINNERS,
    PAIR_NAMES,
    PROMPT_SERIES,
    RESPONSE_LABELS,
    RESPONSE_PAIRS,
    TASK_ROLES,
    WEAK_LABEL_NAMES,
    Role,
    choice_series,
    normal_name,
    response_series,
    right_and_wrong,
    series,
)
from cuecard.data.layout.texts import is_text_list
from cuecard.errors import InputError

#: Rows that are looked at.
SAMPLE = 2000
#: Labels have at most this many different values.
FEW = 20
#: Texts have on average at least this many characters.
LONG = 12
#: Names that a screen can show.
MOST_NAMES = 30


def few_values(values: pl.Series) -> bool:
    """Return whether a column could be a label: 2 to 20 short values, each for three rows or so."""
    if values.dtype == pl.Boolean:
        return True
    if values.dtype.is_nested() or not (values.dtype == pl.String or values.dtype.is_numeric()):
        return False
    sample = values.head(SAMPLE).drop_nulls()
    if values.dtype.is_float() and not (sample == sample.floor()).all():
        return False
    different = sample.n_unique()
    if not 1 < different <= min(FEW, max(3, len(sample) // 3)):
        return False
    return _length(sample) < 30


def _length(values: pl.Series) -> float:
    lengths = values.cast(pl.String).str.len_chars()
    return float(lengths.sum()) / max(len(lengths), 1)


def is_prose(values: pl.Series) -> bool:
    """Return whether a column holds texts: mostly different, and long enough for a few words."""
    if is_text_list(values.dtype):
        return True
    sample = values.head(SAMPLE).drop_nulls()
    if values.dtype != pl.String or len(sample) == 0 or sample.n_unique() < max(2, len(sample) // 20):
        return False
    return _length(sample) >= LONG and float(sample.str.contains(r"\s|\p{Lo}").sum()) >= 0.5 * len(sample)


def texts_and_labels(frame: pl.DataFrame) -> tuple[list[str], list[str]]:
    """Return the columns that look like texts and those that look like labels, in their order."""
    texts = [name for name in frame.columns if is_prose(frame[name])]
    labels = [name for name in frame.columns if name not in texts and few_values(frame[name])]
    return texts, labels


def looks_headless(frame: pl.DataFrame) -> bool:
    """Return whether the names of columns look like values: texts, numbers, or what stands below them too."""
    names = frame.columns
    if len(names) < 2:
        return False
    prose = sum(len(name) > 30 and name.count(" ") >= 3 for name in names)
    numbers = sum(name.replace(".", "", 1).lstrip("-").isdigit() for name in names)
    repeated = sum(
        frame[name].dtype == pl.String and name in frame[name].head(SAMPLE).to_list() for name in names
    )
    return prose + numbers + repeated >= 1


def preview(frame: pl.DataFrame, rows: int = 2, width: int = 40, columns: int = 8) -> str:
    """Return the first rows in one line, values cut short."""
    shown = frame.select(frame.columns[:columns]).head(rows)
    more = f", … ({frame.width - columns} more)" if frame.width > columns else ""
    lines = []
    for number, row in enumerate(shown.iter_rows(), start=1):
        values = [
            f"{_cut(name, 30)}={_cut(str(v), width)!r}" for name, v in zip(shown.columns, row, strict=True)
        ]
        lines.append(f"row {number}: {', '.join(values)}{more}")
    return "; ".join(lines)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def name_line(names: Sequence[str]) -> str:
    """Return names in a line, long ones cut short and no more than a screen can show."""
    shown = ", ".join(_cut(name, 60) for name in names[:MOST_NAMES])
    return (shown or "none") + (f", … ({len(names) - MOST_NAMES} more)" if len(names) > MOST_NAMES else "")


_UNNAMED = re.compile(r"column_\d+")


def by_normal_name(columns: Iterable[str]) -> dict[str, str]:
    """Return normal name → column; the field of a struct (`question.stem`) is also known by its own name."""
    listed = list(columns)
    names: dict[str, str] = {}
    for column in listed:
        names.setdefault(normal_name(column), column)
    for column in listed:
        if "." in column:
            names.setdefault(normal_name(column.rpartition(".")[2]), column)
    return names


def first_present(candidates: Sequence[str], names: Mapping[str, str]) -> tuple[str, ...]:
    """Return the first candidate the table has; a candidate may be several columns joined by `+`."""
    for candidate in candidates:
        parts = [names.get(normal_name(part)) for part in candidate.split("+")]
        if all(part is not None for part in parts):
            return tuple(part for part in parts if part is not None)
    return ()


def fill(
    task: Task, said: Mapping[Role, tuple[str, ...]], names: Mapping[str, str], frame: pl.DataFrame
) -> dict[Role, tuple[str, ...]]:
    """Return the roles of a task that the table can fill, those the user named first."""
    roles = {r: said[r] for r in (*TASK_ROLES[task], "id") if r in said}
    if task == "pair" and not {"premise", "hypothesis"} <= set(roles):
        _fill_pair(roles, names, frame)
    if task == "choice":
        if "choices" not in roles and any({*both} <= set(names) for both in _NOT_CHOICES):
            return roles  # a pair or a preference, whatever else the table has
        if "choices" not in roles:
            _fill_choices(roles, names, frame)
        if "answer" not in roles and roles.get("choices", ()) in [(name,) for name in flagged_columns(frame)]:
            roles["answer"] = roles["choices"]
    if task == "preference" and not {"chosen", "rejected"} & set(roles):
        _fill_responses(roles, names, frame)
    for role in TASK_ROLES[task]:
        if role in roles or role in ("premise", "hypothesis", "choices", "responses"):
            continue
        if (role in _NOT_BESIDE_RESPONSES and "responses" in roles) or (
            role == "winner" and "responses" not in roles
        ):
            continue
        hit = find(role, names, frame, taken=flat(roles.values()), responses=_is_response_pair(roles))
        if hit:
            roles[role] = hit
    if task == "choice" and "choices" not in roles and "question" in roles and "answer" in roles:
        question = roles["question"]
        if len(question) == 1 and share_read(frame[question[0]], inside_question) >= READ_SHARE:
            roles["choices"] = question
    return {role: roles[role] for role in (*TASK_ROLES[task], "id") if role in roles}


_NOT_CHOICES = (("premise", "hypothesis"), ("chosen", "rejected"))
_NOT_BESIDE_RESPONSES = ("chosen", "rejected")


def guessed_roles(
    task: Task, said: Mapping[Role, tuple[str, ...]], frame: pl.DataFrame
) -> dict[Role, tuple[str, ...]]:
    """Return the roles of columns without names by what they hold: one or two texts, and one label.

    Empty where columns have names, or where there are more texts or labels than that.
    """
    unnamed = [c for c in frame.columns if _UNNAMED.fullmatch(c)]
    if task not in ("pair", "text") or said or len(unnamed) < 2:
        return {}
    texts, labels = texts_and_labels(frame.select(unnamed))
    if len(labels) != 1:
        return {}
    if task == "pair" and len(texts) == 2:
        return {"premise": (texts[0],), "hypothesis": (texts[1],), "label": (labels[0],)}
    return {"text": (texts[0],), "label": (labels[0],)} if task == "text" and len(texts) == 1 else {}


def _fill_pair(roles: dict[Role, tuple[str, ...]], names: Mapping[str, str], frame: pl.DataFrame) -> None:
    """Add premise and hypothesis where columns match, keeping whichever the user named."""
    for first, second in (*CONTEXT_RESPONSE_PAIRS, *PAIR_NAMES, *RESPONSE_PAIRS):
        premise, hypothesis = first_present([first], names), first_present([second], names)
        if not premise or not hypothesis or not all(_is_text(frame.schema[c]) for c in premise + hypothesis):
            continue
        if any(0 < frame.height == frame[c].null_count() for c in premise + hypothesis):
            continue
        if first == "sent1" and series(names, "ending"):
            continue  # two sentences of a story and its endings
        if (first, second) in _JUDGED and few_values(frame[hypothesis[0]]):
            continue  # yes or no: an answer that is a label
        if roles.get("premise", premise) != premise or roles.get("hypothesis", hypothesis) != hypothesis:
            continue
        roles["premise"], roles["hypothesis"] = premise, hypothesis
        return


_JUDGED = frozenset((*RESPONSE_PAIRS, *CONTEXT_RESPONSE_PAIRS))


def _is_response_pair(roles: Mapping[Role, tuple[str, ...]]) -> bool:
    """Return whether premise and hypothesis are a prompt and a response to it."""
    premise, hypothesis = (
        "+".join(normal_name(c) for c in roles.get(r, ())) for r in ("premise", "hypothesis")
    )
    return (premise, hypothesis) in _JUDGED


def _fill_choices(roles: dict[Role, tuple[str, ...]], names: Mapping[str, str], frame: pl.DataFrame) -> None:
    flagged = flagged_columns(frame)
    if flagged and "answer" not in roles:
        roles["choices"] = roles["answer"] = (flagged[0],)
        return
    for name in NAMES["choices"]:
        column = names.get(name)
        several = column is not None and name == "answers" and repeats_itself(frame[column])
        if column is None or several or column in flat(roles.values()):
            continue
        if holds_options(frame.schema[column]) or share_read(frame[column], split_options) >= READ_SHARE:
            roles["choices"] = (column,)
            return
    both = right_and_wrong(names)
    if both and all(_is_text(frame.schema[c]) for c in both) and "answer" not in roles:
        roles["choices"], roles["answer"] = tuple(both), (both[0],)
        return
    columns = choice_series(names)
    if columns and not any(frame.schema[c] == pl.Boolean for c in columns):
        roles["choices"] = tuple(columns)


def _fill_responses(
    roles: dict[Role, tuple[str, ...]], names: Mapping[str, str], frame: pl.DataFrame
) -> None:
    """Add two responses and their winner where columns are called so."""
    if "responses" not in roles:
        columns = response_series(names)
        if not columns or not all(_is_message(frame.schema[c]) for c in columns):
            return
        roles["responses"] = tuple(columns)
    for one_hot in ONE_HOT_WINNERS:
        present = [names[name] for name in one_hot if name in names]
        if "winner" not in roles and set(one_hot[:2]) <= set(names):
            roles["winner"] = tuple(present)


#: Share of the first rows whose texts must be options.
READ_SHARE = 0.8
#: Fields of objects that hold the text of an option, and those that say by 0 and 1 which options are right.
CHOICE_FIELDS = ("text", "choices", "choice", "option", "options", "passage_text", "content", "answer")
_FLAG_FIELDS = ("labels", "label", "is_selected", "is_correct", "correct", "gold", "right", "selected")


def holds_options(dtype: pl.DataType) -> bool:
    """Return whether a column holds lists of options; the answers of SQuAD have the places where they start."""
    if isinstance(dtype, pl.Struct):
        return "answer_start" not in {field.name for field in dtype.fields}
    return isinstance(dtype, pl.List | pl.Array)


def repeats_itself(values: pl.Series) -> bool:
    """Return whether most lists have the same text twice: answers of several people are no options."""
    if not isinstance(values.dtype, pl.List):
        return False
    lists = values.head(SAMPLE).drop_nulls()
    lists = lists.filter(lists.list.len() > 1)
    if isinstance(lists.dtype, pl.List) and isinstance(lists.dtype.inner, pl.Struct):
        first = next((f.name for f in lists.dtype.inner.fields if f.dtype == pl.String), None)
        if first is None:
            return False
        lists = lists.list.eval(pl.element().struct.field(first))
    return bool(len(lists)) and float((lists.list.n_unique() < lists.list.len()).sum()) > 0.5 * len(lists)


def _flag_field(dtype: pl.DataType) -> str | None:
    """Return the field that says of every option whether it is right."""
    lists = isinstance(dtype, pl.Struct)
    inner = dtype if isinstance(dtype, pl.Struct) else dtype.inner if isinstance(dtype, pl.List) else None
    if not isinstance(inner, pl.Struct):
        return None
    kinds = {
        f.name: (f.dtype.inner if isinstance(f.dtype, pl.List) else None) if lists else f.dtype
        for f in inner.fields
    }
    texts = [name for name in CHOICE_FIELDS if kinds.get(name) == pl.String]
    flags = [
        n
        for n in _FLAG_FIELDS
        if (kind := kinds.get(n)) is not None and (kind.is_integer() or kind == pl.Boolean)
    ]
    return flags[0] if texts and flags else None


def flags_of(values: pl.Series) -> pl.Series:
    """Return a list of 0 and 1 for the options of every row, from the objects that hold both."""
    field = _flag_field(values.dtype)
    if field is None:
        raise InputError(
            f"Column {values.name!r} holds no right answers beside its options: name their column with "
            "--columns answer=…"
        )
    if isinstance(values.dtype, pl.Struct):
        flags = values.struct.field(field)
    else:
        flags = values.list.eval(pl.element().struct.field(field))
    return flags.cast(pl.List(pl.Int64))


def flagged_columns(frame: pl.DataFrame) -> list[str]:
    """Return the columns of options that are marked as right or wrong, those with one right option each first."""
    single: dict[str, bool] = {}
    for name, dtype in frame.schema.items():
        if _flag_field(dtype) is not None:
            flags = flags_of(frame[name].head(SAMPLE))
            if flags.explode().drop_nulls().is_in([0, 1]).all():
                single[name] = bool((flags.list.sum() == 1).all())
    return sorted(single, key=lambda name: not single[name])


def find(
    role: Role,
    names: Mapping[str, str],
    frame: pl.DataFrame,
    *,
    taken: frozenset[str],
    responses: bool = False,
) -> tuple[str, ...]:
    """Return the column whose name is the most telling for a role and whose type can hold it.

    `responses` are texts that a label judges: beside them, a topic is no label.
    """
    if role == "prompt":
        for parts in PROMPT_SERIES:
            if all(name in names and names[name] not in taken for name in parts):
                return tuple(names[name] for name in parts)
    fits = {
        "label": _is_label_or_list,
        "answer": _is_label_or_list,
        "winner": _is_label,
        "id": _is_id,
        "chosen": _is_message,
        "rejected": _is_message,
    }
    labels = RESPONSE_LABELS if responses else LABEL_NAMES
    empty: tuple[str, ...] = ()
    for name in labels if role == "label" else NAMES[role]:
        column = names.get(name)
        if column is not None and column not in taken and fits.get(role, _is_text)(frame.schema[column]):
            if _says_nothing(role, frame[column]):
                empty = empty or (column,)  # another may hold them, as `label` beside an empty `answer`
                continue
            return (column,)
    if empty and not (role == "label" and responses):
        return empty
    if role == "label" and not responses:
        for name in WEAK_LABEL_NAMES:
            column = names.get(name)
            if column is not None and column not in taken and few_values(frame[column]):
                return (column,)
    if role == "context":
        for parts in CONTEXT_SERIES:
            if all(name in names for name in parts):
                return tuple(names[name] for name in parts)
        # The parts of an array have no names: the one that is no answer, question or id is what they are about.
        unnamed = [c for c in frame.columns if _UNNAMED.fullmatch(c) and is_text_list(frame.schema[c])]
        return tuple(unnamed) if len(unnamed) == 1 else ()
    return ()


def _says_nothing(role: Role, values: pl.Series) -> bool:
    """Return whether a column is an answer or a label without values, or a prompt that all rows share."""
    if role == "prompt":
        return len(values) > 1 and not values.dtype.is_nested() and values.head(SAMPLE).n_unique() == 1
    return role in ("answer", "label") and 0 < len(values) == values.null_count()


def flat(groups: Iterable[tuple[str, ...]]) -> frozenset[str]:
    """Return the columns of all groups."""
    return frozenset(column for group in groups for column in group)


def _is_text(dtype: pl.DataType) -> bool:
    plain = dtype in (pl.String, pl.Categorical, pl.Null) or isinstance(dtype, pl.Enum)
    return plain or is_text_list(dtype)


def _is_label(dtype: pl.DataType) -> bool:
    plain = _is_text(dtype) and not isinstance(dtype, pl.List | pl.Array)
    return plain or dtype.is_numeric() or dtype == pl.Boolean


def _is_label_or_list(dtype: pl.DataType) -> bool:
    """Return whether a column can hold labels or answers, or lists of several."""
    return _is_label(cast("pl.DataType", dtype.inner) if isinstance(dtype, pl.List) else dtype)


def _is_id(dtype: pl.DataType) -> bool:
    return dtype == pl.String or dtype.is_integer()


def _is_message(dtype: pl.DataType) -> bool:
    return _is_text(dtype) or isinstance(dtype, pl.List)

"""Which choice is the right one: an answer given as key, letter, number or text becomes a position."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data.layout.columns import Columns
from cuecard.data.layout.labels import MISSING, label_texts
from cuecard.data.layout.matching import CHOICE_FIELDS, flags_of
from cuecard.data.layout.option_texts import option_lists, question_and_options, without_letters
from cuecard.data.layout.roles import SEVERAL_ANSWERS, normal_name
from cuecard.data.layout.texts import is_chat, last_message, text
from cuecard.data.reading.raw import RawTable
from cuecard.errors import InputError

AnswerRule = Literal["key", "letter", "from 0", "from 1", "text", "lettered text"]
ChoicePlaces = npt.NDArray[np.int64]

_LETTERS = [chr(ord("A") + i) for i in range(26)]
#: Below this many rows, answers 1…k are taken as counted from 1 only if the choices' columns are too.
_ENOUGH_ROWS = 10


@dataclass(frozen=True, eq=False)
class Answered:
    """The choices of a table's rows and their answers as text, null where no answer is given.

    A null among the choices holds a place that letters and numbers count, but is no choice.
    """

    answers: pl.Series
    choices: pl.Series
    keys: pl.Series | None = None
    numbered_from_1: bool = False
    #: The row that every answer belongs to, where rows may have several; otherwise every row has one.
    rows: ChoicePlaces | None = None

    def __post_init__(self) -> None:
        missing = self.answers.str.strip_chars().is_in([*MISSING, "-1"]).fill_null(True)
        missing |= self.choices.list.len().fill_null(0) == 0
        if missing.any():
            answers = pl.select(pl.when(~missing).then(self.answers)).to_series()
            object.__setattr__(self, "answers", answers)

    def without_beyond(self, base: int | None) -> Answered:
        """Return the rows without the answers one beside the choices: 0 counted from 1, their number from 0."""
        if base is None:
            return self
        beyond = _numbers(self) == (0 if base else _sizes(self.choices))
        answers = pl.select(pl.when(~pl.Series(beyond)).then(self.answers)).to_series()
        return replace(self, answers=answers)

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """Number of choices of every row."""
        return _sizes(self.present)

    @cached_property
    def present(self) -> pl.Series:
        """The choices of every row without the places that hold none."""
        return self.choices.list.drop_nulls()

    def positions(self, rule: AnswerRule) -> ChoicePlaces:
        """Return where in `present` the right choice of every row stands; -1 where the rule finds none."""
        places = _sizes(self.choices)
        places_read = _RULES[rule](self)
        places_read = np.where((places_read >= 0) & (places_read < places), places_read, -1)
        if (places == self.counts).all():
            return places_read
        frame = pl.DataFrame({"choices": self.choices, "at": places_read})
        before = pl.col("choices").list.head(pl.col("at").clip(0)).list.drop_nulls().list.len()
        chosen = pl.col("choices").list.get(pl.col("at").clip(0), null_on_oob=True)
        placed = (pl.col("at") >= 0) & chosen.is_not_null()
        return frame.select(pl.when(placed).then(before.cast(pl.Int64)).otherwise(-1)).to_series().to_numpy()


def _sizes(lists: pl.Series) -> ChoicePlaces:
    return lists.list.len().fill_null(0).cast(pl.Int64).to_numpy()


def choose_rule(tables: Sequence[Answered], base: int | None = None) -> AnswerRule:
    """Return how answers are to be read: the first rule that places every answer, otherwise the best one.

    Rules in their order: the keys that came with the choices, letters, numbers from 0, numbers from 1, the
    choice's own text. So numbers from 1 need evidence: no 0 anywhere and an answer as large as the number of
    choices, and besides ten rows or choices in columns that are numbered from 1. `base` settles it.
    """
    n_answers = sum(t.answers.len() - t.answers.null_count() for t in tables)
    best: tuple[int, AnswerRule] = (-1, "from 0")
    for rule in _allowed(tables, base, n_answers):
        placed = sum(
            int(((t.positions(rule) >= 0) & t.answers.is_not_null().to_numpy()).sum()) for t in tables
        )
        if placed == n_answers:
            return rule
        if placed > best[0] and (rule != "from 1" or base == 1):
            best = (placed, rule)
    return best[1]


def open_base(tables: Sequence[Answered]) -> bool:
    """Return whether answers are numbers that run from 0 up to the number of choices: more values than choices.

    Either 0 or the last of them then means something else, such as a tie, and nothing tells which.
    """
    numbers = [_numbers(t) for t in tables]
    zero = any(bool((n == 0).any()) for n in numbers)
    last = any(bool(((n == _sizes(t.choices)) & (n > 1)).any()) for n, t in zip(numbers, tables, strict=True))
    return zero and last


def fits_both_bases(tables: Sequence[Answered]) -> bool:
    """Return whether ten answers or more are numbers that name a choice from 0 as well as from 1."""
    read = [
        (t.positions("from 0"), t.positions("from 1"), t.answers.is_not_null().to_numpy()) for t in tables
    ]
    enough = sum(int(present.sum()) for *_, present in read) >= _ENOUGH_ROWS
    return enough and all(((a >= 0) & (b >= 0))[present].all() for a, b, present in read)


def _allowed(tables: Sequence[Answered], base: int | None, answered: int) -> list[AnswerRule]:
    rules: list[AnswerRule] = ["key"] if all(t.keys is not None for t in tables) else []
    if base is not None:
        return [*rules, "from 1" if base else "from 0"]
    rules += ["letter", "from 0"]
    if answered >= _ENOUGH_ROWS or all(t.numbered_from_1 for t in tables):
        rules.append("from 1")
    return [*rules, "text", "lettered text"]


def _numbers(table: Answered) -> ChoicePlaces:
    whole = table.answers.str.strip_chars().cast(pl.Float64, strict=False)
    exact = pl.select(pl.when(whole == whole.floor()).then(whole)).to_series()
    return exact.cast(pl.Int64, strict=False).fill_null(-1).to_numpy()


def _from_0(table: Answered) -> ChoicePlaces:
    return _numbers(table)


def _from_1(table: Answered) -> ChoicePlaces:
    return _numbers(table) - 1


def _letter(table: Answered) -> ChoicePlaces:
    return _letter_places(table.answers.str.strip_chars(" ()[].:*"))


def _lettered_text(table: Answered) -> ChoicePlaces:
    """Return the places of answers that repeat their letter and the option: "(B) a dog"."""
    return _letter_places(table.answers.str.extract(r"^\s*[\(\[]?([A-Za-z])\s?[\)\].:]"))


def _letter_places(letters: pl.Series) -> ChoicePlaces:
    letters = letters.str.to_uppercase()
    return (
        letters.replace_strict(_LETTERS, list(range(26)), default=-1, return_dtype=pl.Int64)
        .fill_null(-1)
        .to_numpy()
    )


def _key(table: Answered) -> ChoicePlaces:
    return (
        _first_match(table.keys, table.answers) if table.keys is not None else np.full(len(table.answers), -1)
    )


def _text(table: Answered) -> ChoicePlaces:
    return _first_match(table.choices, table.answers)


def _first_match(lists: pl.Series, wanted: pl.Series) -> ChoicePlaces:
    """Return where in its row's list each wanted value first stands, -1 where it does not."""
    hits = (
        pl.DataFrame({"item": lists, "wanted": wanted})
        .with_row_index("row")
        .with_columns(at=pl.int_ranges(0, pl.col("item").list.len().fill_null(0)))
        .filter(pl.col("item").list.len() > 0)
        .explode("item", "at")
        .filter(pl.col("item") == pl.col("wanted"))
        .unique("row", keep="first", maintain_order=True)
    )
    positions = np.full(len(wanted), -1, dtype=np.int64)
    positions[hits["row"].to_numpy()] = hits["at"].to_numpy()
    return positions


_RULES: dict[AnswerRule, Callable[[Answered], ChoicePlaces]] = {
    "key": _key,
    "letter": _letter,
    "from 0": _from_0,
    "from 1": _from_1,
    "text": _text,
    "lettered text": _lettered_text,
}


_KEY_FIELDS = ("label", "key", "id")


def choice_texts(raw: RawTable, columns: Columns) -> tuple[pl.Series, pl.Series | None]:
    """Return each row's choices as a list of texts, and the keys that came with them where they did.

    Accepted: one column of lists, a struct of two lists (`{text: […], label: […]}`), a list of structs, one text
    that lists them, the question where it ends with its options, or several columns with one choice each (or a list
    of right or wrong ones, where one of the columns is the right answer). A null among them is a choice the row does
    not have; it stays here, because answers count its place. Where one of the columns is the right answer, the file
    has no order of choices, and they are put in one that their texts decide.
    """
    names = columns.roles["choices"]
    if len(names) > 1:
        nested = [n for n in names if raw.frame[n].dtype.is_nested()]
        lists_of_texts = all(raw.frame[n].dtype == pl.List(pl.String) for n in nested)
        if nested and lists_of_texts and columns.roles["answer"][0] in names:
            each = [pl.col(n) if n in nested else pl.concat_list(n) for n in names]
            several = raw.frame.select(pl.concat_list(e.fill_null([]) for e in each)).to_series()
            return _in_any_order(several.list.drop_nulls()), None
        if nested:
            raise InputError(
                f"Column {nested[0]!r} of {raw.where} holds {_kind(raw.frame[nested[0]].dtype)}, not the text of one "
                "choice: name the columns of the choices with --columns choices=A+B+C+D."
            )
        present = [pl.Series(n, raw.frame[n].cast(pl.String)) for n in names]
        lists = pl.select(pl.concat_list(present)).to_series()
        return _in_any_order(lists) if columns.roles["answer"][0] in names else lists, None
    values = raw.frame[names[0]]
    if names == columns.roles.get("question"):
        return question_and_options(text(raw, names[0]))[1], None
    if values.dtype == pl.String:
        values = option_lists(values)
        unread = values.is_null() & raw.frame[names[0]].is_not_null()
        if unread.all():
            raise InputError(
                f"Column {names[0]!r} of {raw.where} holds the choices as one text in no known form: give lists, or "
                "texts such as \"['cat', 'dog']\", or name one column per choice with --columns choices=A+B+C+D."
            )
    if isinstance(values.dtype, pl.Array):
        values = values.arr.to_list()
    texts, keys = _fields(values)
    if texts is None or not isinstance(texts.dtype, pl.List) or texts.dtype.inner.is_nested():
        raise InputError(
            f"Column {names[0]!r} of {raw.where} holds {_kind(values.dtype)}, not a list of choices: "
            "name the right one with --columns choices=…"
        )
    if keys is not None and (not isinstance(keys.dtype, pl.List) or keys.dtype.inner.is_nested()):
        keys = None
    plain = without_letters(texts.cast(pl.List(pl.String)))
    return plain, keys.cast(pl.List(pl.String)) if keys is not None else None


def _with_lists(raw: RawTable, names: Sequence[str]) -> RawTable:
    """Return the table with the answers of a column that has several per text, "a cat; a dog", as lists."""
    several = [n for n in names if normal_name(n) in SEVERAL_ANSWERS and raw.frame.schema[n] == pl.String]
    lists = [
        pl.select(pl.coalesce(option_lists(raw.frame[n]), pl.concat_list(raw.frame[n]))).to_series().alias(n)
        for n in several
    ]
    return replace(raw, frame=raw.frame.with_columns(lists))


def _kind(dtype: pl.DataType) -> str:
    text = str(dtype)
    return text if len(text) <= 80 else text[:79] + "…"


def _in_any_order(lists: pl.Series) -> pl.Series:
    """Return every list in the order of its texts' hashes, which says nothing about them."""
    ordered = [sorted(row, key=digest) for row in lists.to_list()]
    return pl.Series(lists.name, ordered, dtype=pl.List(pl.String))


def digest(value: object) -> bytes:
    """Return a hash by which texts (or conversations) are put in an order that says nothing about them."""
    return blake2b(str(value or "").encode(), digest_size=8).digest()


def _fields(values: pl.Series) -> tuple[pl.Series | None, pl.Series | None]:
    """Return the lists of texts and of keys inside a column of choices."""
    dtype = values.dtype
    if isinstance(dtype, pl.Struct):
        fields = _named_fields(dtype)
        texts, keys = (values.struct.field(n) if n is not None else None for n in fields)
        return texts, keys
    if isinstance(dtype, pl.List) and isinstance(dtype.inner, pl.Struct):
        fields = _named_fields(dtype.inner)
        texts, keys = (
            values.list.eval(pl.element().struct.field(n)) if n is not None else None for n in fields
        )
        return texts, keys
    return values, None


def _named_fields(dtype: pl.Struct) -> list[str | None]:
    names = [field.name for field in dtype.fields]
    return [next((n for n in wanted if n in names), None) for wanted in (CHOICE_FIELDS, _KEY_FIELDS)]


#: Several letters in one text: "A, C".
_SEVERAL = r"^\s*\(?[A-Za-z]\)?(?:\s*(?:,|;|/|&|\band\b)\s*\(?[A-Za-z]\)?)+\s*$"


def answered(raw: RawTable, columns: Columns) -> Answered:
    """Return the rows' choices with their answers as text; a list of answers is one answer after another."""
    names, column = columns.roles["choices"], columns.one("answer")
    if column in names and names != (column,):
        raw = _with_lists(raw, names)
    lists, keys = choice_texts(raw, columns)
    values = raw.frame[column]
    from_1 = len(names) > 1 and names[0].rstrip().endswith("1")
    if names == (column,):
        values = flags_of(values)
    if isinstance(values.dtype, pl.List) and not values.dtype.inner.is_nested():
        values = _places_of_flags(values, lists)
    elif values.dtype.is_nested():
        raise InputError(
            f"Column {column!r} of {raw.where} holds {_kind(values.dtype)}, not one answer: "
            "name another with --columns answer=…"
        )
    else:
        values = _several_answers(label_texts(values), lists)
    table = (
        Answered(values, lists, keys, from_1) if values.dtype == pl.String else _exploded(values, lists, keys)
    )
    # The user says where counting starts: the number before or after the choices then stands for none of them.
    return table.without_beyond(columns.answer_base) if "answer" in columns.explicit else table


def _several_answers(values: pl.Series, lists: pl.Series) -> pl.Series:
    """Return texts such as "A, C" or "['A', 'C']" as lists where there are any, unless an option reads so."""
    values = values.cast(pl.String)
    is_list = values.str.contains(r"^\s*\[\s*['\"\d]").fill_null(False)
    several = (
        (values.str.contains(_SEVERAL) | _counts_up(values, lists)) & ~lists.list.contains(values)
    ).fill_null(False)
    if not (is_list | several).any():
        return values
    parsed = option_lists(pl.select(pl.when(is_list).then(values)).to_series())
    letters = values.str.replace(r"\band\b", "").str.extract_all(r"[A-Za-z]")
    return pl.select(
        pl.when(is_list).then(parsed).when(several).then(letters).otherwise(pl.concat_list(values))
    ).to_series()


def _counts_up(values: pl.Series, lists: pl.Series) -> pl.Series:
    """Return which texts are letters of options one after another: "ACD" where there are four or more."""
    letters = values.str.strip_chars().str.split("")
    last = pl.Series(_letter_places(letters.list.last()))
    ordered = (letters.list.unique().list.sort().list.join("") == values.str.strip_chars()) & (
        last < lists.list.len()
    )
    return values.str.contains(r"^\s*[A-Z]{2,}\s*$") & ordered


def _places_of_flags(values: pl.Series, lists: pl.Series) -> pl.Series:
    """Return lists of a 0 or 1 per choice as the places of the 1s; other lists as they are, as texts."""
    inner = values.dtype.inner if isinstance(values.dtype, pl.List) else None
    assert inner is not None
    same = (values.list.len() == lists.list.len()).fill_null(True).all()
    if (inner == pl.Boolean or inner.is_numeric()) and same:
        flags = values.cast(pl.List(pl.Float64))
        if flags.explode().drop_nulls().is_in([0.0, 1.0]).all():
            places = pl.arg_where(pl.element() == 1)
            return flags.list.eval(places).cast(pl.List(pl.String))
    return values.cast(pl.List(pl.String))


def _exploded(answers: pl.Series, lists: pl.Series, keys: pl.Series | None) -> Answered:
    none = pl.Series([[None]], dtype=answers.dtype)
    padded = pl.select(pl.when(answers.list.len() > 0).then(answers).otherwise(none)).to_series()
    rows = pl.DataFrame({"answers": padded}).with_row_index("row").explode("answers")
    at = rows["row"]
    return Answered(
        rows["answers"], lists.gather(at), keys.gather(at) if keys is not None else None, rows=at.to_numpy()
    )


def one_right(table: Answered, positions: ChoicePlaces) -> tuple[pl.Series, ChoicePlaces, pl.Series, bool]:
    """Return every row's choices, the place of the right one (-1 for none), which rows give an answer, and a mark.

    Where a row has several right choices, one of them, drawn by a hash of its text, stays beside the wrong ones; the
    mark says whether there is such a row.
    """
    given = table.answers.is_not_null()
    if table.rows is None:
        return table.present, positions, given, False
    starts = np.flatnonzero(np.diff(table.rows, prepend=-1))
    places = np.maximum.reduceat(positions, starts) if len(starts) else positions
    given = pl.Series(np.logical_or.reduceat(given.to_numpy(), starts)) if len(starts) else given
    present = table.present.gather(starts)
    frame = pl.DataFrame({"row": table.rows, "at": positions}).filter(pl.col("at") >= 0).unique()
    several = frame.group_by("row").agg(pl.col("at").sort()).filter(pl.col("at").list.len() > 1).sort("row")
    if not several.height:
        return present, places, given, False
    rows = several["row"].to_numpy()
    lists = present.gather(rows).to_list()
    for row, right, texts in zip(rows.tolist(), several["at"].to_list(), lists, strict=True):
        drawn = min(right, key=lambda at: digest(texts[at]))
        places[row] = sum(at < drawn and at not in right for at in range(len(texts)))
        texts[:] = [text for at, text in enumerate(texts) if at == drawn or at not in right]
    new = pl.DataFrame({"row": rows, "new": pl.Series(lists, dtype=present.dtype)})
    joined = pl.DataFrame({"row": np.arange(len(present)), "old": present}).join(
        new, on="row", how="left", maintain_order="left"
    )
    return joined.select(pl.coalesce("new", "old")).to_series(), places, given, True


def message_text(raw: RawTable, column: str) -> pl.Series:
    """Return a column of responses as text; of a conversation (a list of messages), its last message."""
    values = raw.frame[column]
    return last_message(values) if is_chat(values.dtype) else text(raw, column)

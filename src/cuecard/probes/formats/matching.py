"""Raw answers from any source matched to the test examples, decoded and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from string import ascii_uppercase
from typing import Literal, TypeVar

import numpy as np
import polars as pl

from cuecard.data import Instances
from cuecard.data.examples import Examples
from cuecard.data.layout.answers import Answered, choose_rule
from cuecard.errors import InputError
from cuecard.probes.examples import UNANSWERED
from cuecard.probes.formats.answer_parsing import parsed_answer
from cuecard.stats.arrays import Bools, Floats, Ints
from cuecard.wording import listed, plural


def decode(
    answers: pl.Series,
    gold: pl.Series | None,
    examples: Examples,
    labels: Mapping[str, str | None],
    *,
    where: str,
    free: bool = False,
    called: str = "prediction",
) -> Ints:
    """Return the code of every answer, one per test example; null is -1, an unknown answer an error.

    Where answers are codes of the source's own (0, 1, 2), its right answers `gold` tell what they mean. `free` answers
    may be sentences: what clearly names one possible answer is that answer, any other -1, unless none names any.
    `called` is what an error calls an answer.
    """
    texts = answers.cast(pl.String).str.strip_chars()
    right = None if gold is None else gold.cast(pl.String).str.strip_chars()
    if examples.instances.task == "choice":
        codes, unknown = _positions(texts, right, examples)
    else:
        codes, unknown = _label_codes(texts, right, examples, _names(examples, labels))
    if unknown.any():
        read = _named(texts, unknown, examples) if free else {}
        if not read and (not free or unknown.sum() == texts.is_not_null().sum()):
            raise _unknown(texts.filter(unknown), examples, where, called)
        codes[list(read)] = list(read.values())
    return codes


def _label_codes(
    texts: pl.Series, right: pl.Series | None, examples: Examples, names: Mapping[str, int]
) -> tuple[Ints, pl.Series]:
    """Return the code of the label that every answer names, -1 where there is none, and which are unknown."""
    codes = texts.str.to_lowercase().replace_strict(names, default=None, return_dtype=pl.Int64)
    unknown = codes.is_null() & texts.is_not_null()
    if unknown.any() and right is not None:
        by_gold = texts.replace_strict(_learned_codes(right, examples), default=None, return_dtype=pl.Int64)
        still_unknown = by_gold.is_null() & texts.is_not_null()
        if still_unknown.sum() < unknown.sum():
            codes, unknown = by_gold, still_unknown
    known = codes.fill_null(UNANSWERED).to_numpy().astype(np.int64)
    if unknown.any() and examples.instances.task == "preference":
        picked = Answered(texts, examples.choices).positions("text").astype(np.int64)
        known = np.where(picked >= 0, picked, known)
        unknown = pl.Series(known < 0) & texts.is_not_null()
    return known, unknown


def _names(examples: Examples, labels: Mapping[str, str | None]) -> dict[str, int]:
    """Return what each label is called: its name, and the raw values that the user gave names to."""
    names = {name.lower(): code for code, name in enumerate(examples.instances.labels)}
    renamed = {
        raw.lower(): names[name.lower()] for raw, name in labels.items() if name and name.lower() in names
    }
    return {**renamed, **names}


def _learned_codes(gold: pl.Series, examples: Examples) -> dict[str, int]:
    """Return the label each code of the source means: that of all examples it is the right answer of."""
    seen = pl.DataFrame({"code": gold, "label": examples.gold}).drop_nulls().unique()
    clear = seen.filter(~pl.col("code").is_duplicated() & ~pl.col("label").is_duplicated())
    return dict(clear.iter_rows())


def _named(texts: pl.Series, unknown: pl.Series, examples: Examples) -> dict[int, int]:
    """Return the answer that sentences name, by their place: only those that clearly name one."""
    choice = examples.instances.task == "choice"
    read = {}
    for place in unknown.arg_true().to_list():
        choices = examples.choices[place].to_list() if choice else []
        possible = list(ascii_uppercase[: len(choices)]) if choice else list(examples.instances.labels)
        named = parsed_answer(texts[place], possible, choices)
        if named is not None:
            read[int(place)] = possible.index(named)
    return read


def _positions(texts: pl.Series, right: pl.Series | None, examples: Examples) -> tuple[Ints, pl.Series]:
    """Return the position of the choice that every answer names, below 0 where none, and which are unknown."""
    tables = [Answered(texts, examples.choices)]
    if right is not None:
        # Right answers cover all positions even where a model never picks the first or the last.
        tables.append(Answered(right, examples.choices))
    # Without the right answers beside them, numbers are positions from 0: where a model leaves a position out, its
    # answers do not tell from where they count.
    values = texts.drop_nulls()
    base = 0 if right is None and len(values) and values.str.contains(r"^\d+$").all() else None
    positions = tables[0].positions(choose_rule(tables, base=base))
    if base == 0 and (positions < 0).any():
        # Choices may be numbers themselves.
        by_text = tables[0].positions("text")
        positions = by_text if (by_text >= 0).all() else positions
    # In data, -1 says that there is no answer; a model that gives none has a row without a prediction.
    answered = tables[0].answers.is_not_null() | (texts == "-1").fill_null(False)
    return positions.astype(np.int64), pl.Series(positions < 0) & answered


def _unknown(unknown: pl.Series, examples: Examples, where: str, called: str) -> InputError:
    shown = listed([repr(value) for value in unknown.unique(maintain_order=True).head(3).to_list()])
    if examples.instances.task == "choice":
        what = "none of the example's choices: give the position from 0, the letter or the text of a choice"
    else:
        label_names = ", ".join(examples.instances.labels)
        numbers = unknown.cast(pl.Int64, strict=False).null_count() == 0
        hint = "; say what numbers mean with --labels 0=NAME,1=NAME" if numbers else ""
        what = f"no label of the data ({label_names}){hint}"
    return InputError(
        f"{where}: {plural(len(unknown), called)} such as {shown} {'is' if len(unknown) == 1 else 'are'} {what}."
    )


#: How far probabilities may be from summing to one: those written with two digits are.
SUM_TOLERANCE = 0.02


@dataclass(frozen=True, eq=False)
class RawPredictions:
    """Raw answers as a source holds them.

    `answers` are texts; null is an error, or an answer that could not be read if `may_be_unanswered`, as in logs,
    where a text that names one possible answer stands for it.
    Rows are matched by `ids`, otherwise by `rows` (numbers of rows of the test file, from 0), otherwise by order.
    `gold` are the right answers as the source knows them: they check the match, and tell what codes mean.
    """

    model: str
    source: str
    answers: pl.Series | None
    ids: pl.Series | None = None
    rows: Ints | None = None
    gold: pl.Series | None = None
    probabilities: Floats | None = None
    probability_kind: Literal["probability", "score"] = "probability"
    may_be_unanswered: bool = False
    notes: tuple[str, ...] = ()
    read_as: str = ""
    """Which column was taken for what, for the user to see."""
    prompt: str = ""
    """Name of the prompt that a language model was asked with; such answers may be about a part of the test split."""
    partial_input: str = ""
    """What the model was shown of the input, where that is not all of it."""
    order: int = 0
    """Number of the order in which options were shown; 0 is the published one."""
    shown: Ints | None = None
    """Row by row, the position in the data of what stood in each place; below 0 where nothing did."""
    unasked: Bools | None = None
    """Rows of examples that were not asked."""

    def about(self, ids: pl.Series) -> RawPredictions:
        """Return the answers to some of the examples; rows must have ids."""
        assert self.ids is not None
        kept = self.ids.cast(pl.String).is_in(ids.cast(pl.String).implode())
        return replace(
            self,
            ids=self.ids.filter(kept),
            answers=None if self.answers is None else self.answers.filter(kept),
            gold=None if self.gold is None else self.gold.filter(kept),
            probabilities=_rows_of(self.probabilities, kept),
            shown=_rows_of(self.shown, kept),
            unasked=_rows_of(self.unasked, kept),
        )

    @property
    def height(self) -> int:
        """How many rows there are."""
        if self.answers is not None:
            return len(self.answers)
        assert self.probabilities is not None
        return len(self.probabilities)


A = TypeVar("A", Floats, Ints, Bools)


def _rows_of(values: A | None, kept: pl.Series) -> A | None:
    return None if values is None else values[kept.to_numpy()]


def align(
    raw: RawPredictions, data: Instances, examples: Examples, labels: Mapping[str, str | None]
) -> tuple[Ints, Floats | None, tuple[str, ...], Ints]:
    """Return answers to the test examples, their probabilities, notes and rows, or say what does not fit."""
    order = rows_in_order(raw, data, examples)
    notes = [*raw.notes, *_left_over(raw, examples)]
    probabilities = None
    if raw.probabilities is not None:
        probabilities = _checked_probabilities(raw, raw.probabilities, examples, order)
    gold = raw.gold.gather(order) if raw.gold is not None else None
    if raw.answers is None:
        assert probabilities is not None
        answers = np.argmax(np.nan_to_num(probabilities, nan=-np.inf), axis=1).astype(np.int64)
    else:
        texts = raw.answers.gather(order)
        if not raw.may_be_unanswered and texts.null_count():
            row = int(order[int(texts.is_null().arg_max() or 0)])
            raise InputError(
                f"{raw.source}: row {row + 1:,} has no prediction "
                f"({texts.null_count():,} of {plural(len(texts), 'row')} in all); give every example one."
            )
        answers = decode(texts, gold, examples, labels, where=raw.source, free=raw.may_be_unanswered)
    if gold is not None:
        right = decode(gold, gold, examples, labels, where=raw.source, called="right answer")
        _check_gold(raw, right, examples)
    asked = np.ones(len(answers), dtype=np.bool_) if raw.unasked is None else ~raw.unasked[order]
    unread = int((answers[asked] == UNANSWERED).sum())
    if unread:
        notes.append(
            f"{plural(unread, 'answer')} of {len(answers):,} could not be parsed and count as wrong."
        )
    return answers, None if raw.probability_kind == "score" else probabilities, tuple(notes), order


def rows_in_order(raw: RawPredictions, data: Instances, examples: Examples) -> Ints:
    """Return for every test example the row of the source that is about it."""
    if raw.ids is not None:
        return _by_id(raw, raw.ids.cast(pl.String), data, examples)
    if raw.rows is not None:
        numbered = pl.Series(raw.rows + 1).cast(pl.String)
        if _row_numbers(data, examples):
            return _by_id(raw, numbered, data, examples)
        if np.array_equal(np.sort(raw.rows), np.arange(len(examples))):
            return np.argsort(raw.rows, kind="stable").astype(np.int64)
    elif raw.height == len(examples):
        return np.arange(len(examples), dtype=np.int64)
    elif _row_numbers(data, examples) and raw.height == len(examples) + _dropped(data):
        # The file is about all rows of the test file, those without a label included.
        numbered = pl.Series(np.arange(1, raw.height + 1)).cast(pl.String)
        return _by_id(raw, numbered, data, examples)
    raise _wrong_length(raw, examples)


def _by_id(raw: RawPredictions, ids: pl.Series, data: Instances, examples: Examples) -> Ints:
    if ids.null_count():
        row = int(ids.is_null().arg_max() or 0)
        raise InputError(f"{raw.source}: row {row + 1:,} has no id; give every row one.")
    if ids.n_unique() < len(ids):
        twice = ids.filter(ids.is_duplicated())
        raise InputError(
            f"{raw.source}: {plural(twice.n_unique(), 'id')} occur in several rows (such as {_some(twice)}); "
            "keep one prediction per example, or name the models in a column `model`."
        )
    wanted, present = examples.ids.cast(pl.String), set(ids.to_list())
    missing = wanted.filter(~wanted.is_in(present))
    unknown = ids.filter(~ids.is_in(wanted.implode()))
    if len(unknown) > (_dropped(data) if not len(missing) else 0):
        raise InputError(
            f"{raw.source}: {len(unknown):,} of {plural(len(ids), 'id')} are not in the test split of "
            f"{data.name} (such as {_some(unknown)}; the split has {_some(wanted)}); "
            "give predictions for this split, name the id column with --prediction-columns id=NAME, or leave the "
            "others out with --surplus-ids."
        )
    if len(missing):
        why = f". {' '.join(raw.notes)} Give" if raw.notes else "; give"
        raise InputError(
            f"{raw.source}: no prediction for {len(missing):,} of {plural(len(wanted), 'test example')} "
            f"(such as {_some(missing)}){why} every example one."
        )
    at = dict(zip(ids.to_list(), range(len(ids)), strict=True))
    return np.fromiter((at[name] for name in wanted.to_list()), dtype=np.int64, count=len(wanted))


def _row_numbers(data: Instances, examples: Examples) -> bool:
    """Return whether examples are called by the number of their row, because no column has ids."""
    if "id" in data.report.recognised:
        return False
    numbers = examples.ids.cast(pl.Int64, strict=False)
    if numbers.null_count() or not (numbers.diff().drop_nulls() > 0).all():
        return False
    return bool(numbers[0] >= 1 and numbers[-1] <= len(examples) + _dropped(data))


def _dropped(data: Instances) -> int:
    return sum(data.report.dropped.values())


def _left_over(raw: RawPredictions, examples: Examples) -> list[str]:
    extra = raw.height - len(examples)
    return [f"{plural(extra, 'prediction')} about rows that were left out are not used."] if extra > 0 else []


def _wrong_length(raw: RawPredictions, examples: Examples) -> InputError:
    return InputError(
        f"{raw.source}: {plural(raw.height, 'prediction')} for {plural(len(examples), 'test example')}; "
        "without ids they are matched by row, so give one per example, in the order of the test file, or a column `id`."
    )


def _checked_probabilities(raw: RawPredictions, values: Floats, examples: Examples, order: Ints) -> Floats:
    """Return the probabilities by test example: none is missing or negative, and every row sums to one."""
    # How many answers are possible is known by example, so the rows are put in that order first.
    values = values[order]
    possible = np.ones_like(values, dtype=np.bool_)
    if examples.instances.grouped:
        possible = np.arange(values.shape[1])[None, :] < examples.sizes[:, None]
    broken: Bools = np.any(~np.isfinite(values) & possible, axis=1)
    if broken.any():
        row = _first_row(broken, order)
        raise InputError(
            f"{raw.source}: row {row + 1:,} has a {raw.probability_kind} that is missing or not a number "
            f"({plural(int(broken.sum()), 'row')} in all); give every answer one."
        )
    if raw.probability_kind == "score":
        return np.where(possible, values, np.nan)
    filled = np.where(possible, values, 0.0)
    negative: Bools = np.any(filled < 0, axis=1)
    if negative.any():
        row = _first_row(negative, order)
        lowest = filled[np.flatnonzero(order == row)[0]].min()
        raise InputError(
            f"{raw.source}: row {row + 1:,} has the negative probability {lowest:.4g} "
            f"({plural(int(negative.sum()), 'row')} in all); "
            "give probabilities from 0 to 1, or call the columns score_… if they are not."
        )
    with np.errstate(over="ignore"):
        totals = filled.sum(axis=1)
    outside: Bools = np.abs(totals - 1) > SUM_TOLERANCE
    if outside.any():
        row = _first_row(outside, order)
        total = totals[np.flatnonzero(order == row)[0]]
        raise InputError(
            f"{raw.source}: the probabilities of row {row + 1:,} sum to {total:.4g} "
            f"({plural(int(outside.sum()), 'row')} in all do not sum to 1); "
            "give probabilities, or call the columns score_… if they are not."
        )
    return np.asarray(filled)


def _first_row(faulty: Bools, order: Ints) -> int:
    """Return the first row of the source that is at fault, given which test examples are."""
    return int(order[faulty].min())


def _check_gold(raw: RawPredictions, gold: Ints, examples: Examples) -> None:
    """Raise if the right answers that a source states are not those of the examples they were matched to."""
    differ = (gold != UNANSWERED) & (gold != examples.gold)
    if not differ.any():
        return
    where = int(differ.argmax())
    names = examples.answer_names
    raise InputError(
        f"{raw.source}: its right answers differ from the data for {int(differ.sum()):,} of "
        f"{plural(len(gold), 'test example')} (first example {examples.ids[where]!r}: {names[gold[where]]!r} there, "
        f"{names[examples.gold[where]]!r} here), so its rows are in another order or about other data; "
        "give ids, or predictions for this split."
    )


def _some(values: pl.Series) -> str:
    shown = values.unique(maintain_order=True).head(3).to_list()
    return ", ".join(repr(value) for value in shown)

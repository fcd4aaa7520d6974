"""Answers as models write them become codes: label names, letters, numbers or the text of a choice."""

from __future__ import annotations

from collections.abc import Mapping
from string import ascii_uppercase

import numpy as np
import polars as pl

from cuecard.data.examples import Examples
from cuecard.data.layout.answers import Answered, choose_rule
from cuecard.errors import InputError
from cuecard.probes.examples import UNANSWERED
from cuecard.probes.formats.answer_parsing import parsed_answer
from cuecard.stats.arrays import Ints
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
    if examples.instances.task == "choice":
        return _positions(texts, gold, examples, where, free=free, called=called)
    names = _names(examples, labels)
    folded = texts.str.to_lowercase()
    codes = folded.replace_strict(names, default=None, return_dtype=pl.Int64)
    unknown = codes.is_null() & texts.is_not_null()
    if unknown.any() and gold is not None:
        learned = _learned_codes(gold.cast(pl.String).str.strip_chars(), examples)
        by_gold = texts.replace_strict(learned, default=None, return_dtype=pl.Int64)
        still_unknown = by_gold.is_null() & texts.is_not_null()
        if still_unknown.sum() < unknown.sum():
            codes, unknown = by_gold, still_unknown
    if unknown.any() and examples.instances.task == "preference":
        picked = _text_positions(texts, examples)
        codes = pl.Series(np.where(picked >= 0, picked, codes.fill_null(UNANSWERED).to_numpy()))
        unknown = (codes < 0) & texts.is_not_null()
    if unknown.any():
        read = _named(texts, unknown, examples) if free else {}
        if not read and (not free or unknown.sum() == texts.is_not_null().sum()):
            raise _unknown(texts.filter(unknown), examples, where, called)
        codes = pl.Series([read.get(i, code) for i, code in enumerate(codes.to_list())], dtype=pl.Int64)
    return codes.fill_null(UNANSWERED).to_numpy().astype(np.int64)


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


def _positions(
    texts: pl.Series, gold: pl.Series | None, examples: Examples, where: str, *, free: bool, called: str
) -> Ints:
    tables = [Answered(texts, examples.choices)]
    if gold is not None:
        # Right answers cover all positions even where a model never picks the first or the last.
        tables.append(Answered(gold.cast(pl.String).str.strip_chars(), examples.choices))
    # Without the right answers beside them, numbers are positions from 0: where a model leaves a position out, its
    # answers do not tell from where they count.
    base = 0 if gold is None and _are_numbers(texts) else None
    positions = tables[0].positions(choose_rule(tables, base=base))
    if base == 0 and (positions < 0).any():
        # Choices may be numbers themselves.
        by_text = tables[0].positions("text")
        positions = by_text if (by_text >= 0).all() else positions
    # In data, -1 says that there is no answer; a model that gives none has a row without a prediction.
    answered = tables[0].answers.is_not_null() | (texts.str.strip_chars() == "-1").fill_null(False)
    lost = pl.Series(positions < 0) & answered
    if lost.any():
        read = _named(texts, lost, examples) if free else {}
        if not read and (not free or lost.sum() == texts.is_not_null().sum()):
            raise _unknown(texts.filter(lost), examples, where, called)
        positions = np.array([read.get(i, int(position)) for i, position in enumerate(positions)])
    return positions.astype(np.int64)


def _are_numbers(texts: pl.Series) -> bool:
    values = texts.drop_nulls()
    return len(values) > 0 and values.str.contains(r"^\d+$").all()


def _text_positions(texts: pl.Series, examples: Examples) -> Ints:
    return Answered(texts, examples.choices).positions("text").astype(np.int64)


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

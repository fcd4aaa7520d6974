"""Layouts set aside are never read wrong, and mutated ones are right or refused with a line that works."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any

import pytest
from catalogue import LAYOUTS, Layout, Row, noun
from held_out import HELD_OUT
from test_catalogue import outcome

from cuecard.data import Instances, load, parse_columns
from cuecard.errors import CueCardError

_OPTION = re.compile(r"(--columns|--labels|--header) ('[^']*'|\S+)")


def typed(message: str) -> Iterator[dict[str, Any]]:
    """Yield what each option of a message says; options of one line belong together."""
    for line in re.split(r"; | or type | or (?=--)", message):
        options: dict[str, Any] = {}
        for name, value in _OPTION.findall(line):
            text = shlex.split(value.rstrip(".,;:"))[0]
            options[name[2:]] = parse_columns(text) if name == "--columns" and "…" not in text else text
        if options and "…" not in str(options):
            yield options


def same(data: Instances, layout: Layout) -> bool:
    """Return whether a layout is read as its task with the right answers; pairs have no side, and a prompt may lack."""
    if data.task != layout.task:
        return False
    found = outcome(data)
    if data.task == "pair":
        return {*found} == {*layout.first} or bool(layout.options)
    return (not layout.first or found[1:] == layout.first[1:]) and bool(
        found[0] or not layout.first or not layout.first[0]
    )


def verdict(rows: list[Row], layout: Layout) -> str:
    """Return what becomes of rows: right, noted, refused (with a line that works), unhelpful or wrong."""
    try:
        data = load(rows)
    except CueCardError as error:
        for options in typed(str(error)):
            try:
                return "refused" if same(load(rows, **options), layout) else "wrong"
            except CueCardError:
                continue
        return "unhelpful"
    if not same(data, layout):
        left_out = any("are not used" in note for note in data.report.notes)
        return "noted" if left_out and outcome(data)[2:] == layout.first[2:] else "wrong"
    if outcome(data) == layout.first or data.task == "pair":
        return "right"
    # A text is left out, or a prompt is read from the responses.
    return "noted" if data.report.notes else "wrong"


@pytest.mark.parametrize("layout", HELD_OUT, ids=lambda layout: layout.name)
def test_a_layout_set_aside_is_never_read_wrong(layout: Layout):
    try:
        data = load(layout.table)
    except CueCardError:
        return
    assert data.task == layout.task
    left_out = any("not used" in note for note in data.report.notes)
    assert outcome(data) == layout.first or (left_out and outcome(data)[1:] == layout.first[1:])


def mutations() -> Iterator[tuple[str, Layout, list[Row]]]:
    """Yield layouts with a column renamed, with other spelling and order, and with further columns."""
    for layout in LAYOUTS:
        if (
            "task" in layout.options
        ):  # the error states two readings, of which only the user knows the right one
            continue
        rows = layout.table
        for column in rows[0]:
            yield (
                f"{layout.name}: {column}",
                layout,
                [{"col_x" if k == column else k: v for k, v in row.items()} for row in rows],
            )
        yield (
            f"{layout.name}: upper case",
            layout,
            [{k.upper(): v for k, v in reversed(row.items())} for row in rows],
        )
        yield (
            f"{layout.name}: spaces",
            layout,
            [{k.replace("_", " ").title(): v for k, v in row.items()} for row in rows],
        )
        yield (
            f"{layout.name}: further columns",
            layout,
            [
                {
                    "source": ("web", "book")[i % 2],
                    **row,
                    "notes": f"A remark of {noun(i + 3)} here.",
                    "grade": i % 3,
                }
                for i, row in enumerate(rows)
            ],
        )


#: The right answers that are left are right, too; no line can name what nobody knows: a coding, the rank of responses.
KNOWN = {
    "TruthfulQA generation: best_answer": "wrong",
    "TruthfulQA as CSV: Best Answer": "wrong",
    "HelpSteer3: overall_preference": "unhelpful",
    "Nectar: answers": "unhelpful",
    "LMSYS battles: winner_model_a": "unhelpful",
    "LMSYS battles: winner_model_b": "unhelpful",
    "MultiRC: question": "wrong",  # the error asks which of three texts are the pair
    "Ragas: reference": "wrong",  # the answer of a model is the only one that a name tells
    "LiveBench: turns": "unhelpful",
    "CRUXEval: input": "unhelpful",
}


def test_mutated_layouts_are_right_or_refused_with_a_line_that_works():
    found = {name: verdict(rows, layout) for name, layout, rows in mutations()}
    assert len(found) > 700
    assert {name: v for name, v in found.items() if v in ("wrong", "unhelpful")} == KNOWN


#: What recognises a group of layouts, and what it returns where it is not there.
RECOGNISERS = {
    "options marked as right": ("matching.flagged_columns", lambda frame: []),
    "options in one text": ("matching.split_options", lambda text: None),
    "options inside the question": ("matching.inside_question", lambda text: None),
    "right and wrong columns": ("matching.right_and_wrong", lambda names: []),
    "series of options": ("matching.choice_series", lambda names: []),
    "series of responses": ("matching.response_series", lambda names: []),
    "prompt and response": ("matching.RESPONSE_PAIRS", ()),
    "lists of labels": ("matching._is_label_or_list", lambda dtype: not dtype.is_nested()),
    "texts without a name": ("columns.unused_texts", lambda frame, used: []),
}


@pytest.mark.parametrize("name", RECOGNISERS)
def test_without_one_of_the_recognisers_no_layout_is_read_wrong(name, monkeypatch):
    where, instead = RECOGNISERS[name]
    monkeypatch.setattr(f"cuecard.data.layout.{where}", instead)
    wrong = []
    for layout in LAYOUTS:
        try:
            data = load(layout.table, **layout.options)
        except CueCardError:
            continue
        if not same(data, layout):
            wrong.append((layout.name, data.task, outcome(data), dict(data.report.recognised)))
    assert not wrong

"""A result that could not be written, compared or shown costs its own section and no other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl
import pytest

from cuecard.analysis import Finding, Measure, Result
from cuecard.audits import Overview
from cuecard.card import load_card, save_card
from cuecard.data import TASKS
from cuecard.run import audit
from small_sets import pair_instances

DATA = pair_instances([("train", f"p{i}", f"h{i % 3}", "yes" if i % 2 else "no") for i in range(40)])


@dataclass(frozen=True)
class Plugin:
    make: Callable[[], object]
    name: ClassVar[str] = "plugin"
    title: ClassVar[str] = "Plug-in"
    tasks: ClassVar[frozenset[str]] = frozenset(TASKS)

    def run(self, data):
        return self.make()


class Second(Plugin):
    name: ClassVar[str] = "second"


def about(**columns: list[object]) -> Result:
    return Result({}, examples=pl.DataFrame(columns))


UNUSABLE = {
    "no result": (lambda: None, "run returned NoneType, not a Result"),
    "summary": (lambda: Result({"n": np.int64(3)}), "its summary holds what JSON cannot hold"),
    "settled": (lambda: Result({}, settled={"k": np.float32(1)}), "what JSON cannot hold"),
    "text for a measure": (lambda: Result({}, measures=["x"]), "the measure 'x' is not a Measure"),
    "foreign measure": (lambda: Result({}, measures=[Measure("cues.x", 1.0)]), "'cues.x' is not a Measure"),
    "array": (lambda: Result({}, measures=[Measure("plugin.x", np.ones(1))]), "which is not a number"),
    "path": (lambda: Result({}, tables={"../../x": pl.DataFrame()}), "a table cannot be named '../../x'"),
    "own table": (lambda: Result({}, tables={"examples": pl.DataFrame()}), "cannot be named 'examples'"),
    "objects": (lambda: Result({}, tables={"t": pl.DataFrame({"a": [object()]})}), "that parquet can hold"),
    "no keys": (lambda: about(a=[1]), "not keyed by example_id and split"),
    "numbers as keys": (lambda: about(example_id=[1], split=["train"]), "not keyed by example_id and split"),
    "twice": (lambda: about(example_id=["0", "0"], split=["train"] * 2), "has an example twice"),
    "column": (
        lambda: about(example_id=["0"], split=["train"], label=["a"]),
        "a column 'label' about examples",
    ),
    "severity": (
        lambda: Result({}, findings=[Finding("plugin", "grave", "t", "x")]),
        "severity of a finding",
    ),
    "foreign finding": (lambda: Result({}, findings=[Finding("cues", "low", "t", "x")]), "the finding 't'"),
}


@pytest.mark.parametrize("case", UNUSABLE)
def test_an_unusable_result_fails_its_section_and_the_card_is_written(case, tmp_path):
    make, reason = UNUSABLE[case]
    card = audit(DATA, audits=[Overview(), Plugin(make)])
    assert (card["plugin"].status, card["overview"].status) == ("failed", "done")
    assert reason in card["plugin"].reason
    assert not card["plugin"].measures
    save_card(card, tmp_path / "card")
    assert load_card(tmp_path / "card")["overview"].status == "done"
    assert [path.name for path in tmp_path.iterdir()] == ["card"]


def test_a_table_that_an_earlier_section_has_fails_the_later_section():
    first, second = (
        lambda n=n: Result({"n": n}, tables={"shared": pl.DataFrame({"n": [n]})}) for n in (1, 2)
    )
    card = audit(DATA, audits=[Plugin(first), Second(second)])
    assert card["plugin"].table["n"].to_list() == [1]
    assert card["second"].status == "failed"
    assert "another section has a table named 'shared'" in card["second"].reason
    assert card["second"].summary == {}


def test_a_usable_result_is_on_the_card_as_it_is():
    result = Result({"a": [1]}, measures=[Measure("plugin.x", 0.5)], tables={"t": pl.DataFrame({"a": [1]})})
    section = audit(DATA, audits=[Plugin(lambda: result)])["plugin"]
    assert (section.status, section.summary, section.tables) == ("done", {"a": [1]}, ["t"])
    assert section.measures == [Measure("plugin.x", 0.5)]

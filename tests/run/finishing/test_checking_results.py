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


#: A share of two splits that lies outside of both.
POOLED = {"feature": ["nobody"], "held_share": [0.939], "adjusted_share": [0.991], "again_at_chance": [1.0]}

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
    "outside": (
        lambda: Result({}, measures=[Measure("plugin.x", 0.9, 0.5, 0.6)]),
        "contradicts itself: plugin.x is 0.9, outside of its interval 0.5 to 0.6",
    ),
    "outside in a table": (
        lambda: Result(
            {}, tables={"t": pl.DataFrame({"x": [0.5, 0.9], "x_low": [0.4, 0.4], "x_high": [0.6, 0.6]})}
        ),
        "x of the table t is 0.9, outside",
    ),
    "outside in a summary": (
        lambda: Result({"models": [{"value": 0.1, "low": 0.2, "high": 0.3}]}),
        "value of models of the summary is 0.1, outside",
    ),
    "two values": (
        lambda: Result({}, measures=[Measure("plugin.x", 0.9), Measure("plugin.x", 0.8)]),
        "plugin.x is stated twice: 0.9 and 0.8",
    ),
    "pooled": (
        lambda: Result({}, tables={"t": pl.DataFrame(POOLED)}),
        "nobody in the table t has 0.939, which is not between 0.991 and 1.0",
    ),
    "verdict": (
        lambda: Result({}, findings=[Finding("plugin", "low", "t", "Not significant (q = 0.042).", key="k")]),
        "plugin/k says 'Not significant (q = 0.042)'",
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

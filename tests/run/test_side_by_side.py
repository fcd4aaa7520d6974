"""Analyses that may run at the same time do; what they return and its order do not depend on it."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

import cuecard as cc
from cuecard.data.demo import demo_nli
from cuecard.errors import UsageError
from cuecard.run import running as room
from cuecard.run.running import side_by_side
from pace import PATIENCE


@dataclass(frozen=True)
class Named:
    name: str
    parallel: bool = False


@pytest.fixture
def two_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "pl", SimpleNamespace(thread_pool_size=lambda: 2))


def test_those_that_may_run_at_the_same_time_do(two_threads: None) -> None:
    both = threading.Barrier(2, timeout=PATIENCE)

    def run(one: Any) -> str:
        both.wait()  # would time out if one ran after the other
        return one.name.upper()

    analyses: list[Any] = [Named("a", parallel=True), Named("b", parallel=True)]
    assert side_by_side(analyses, run) == ["A", "B"]


def test_the_others_follow_one_by_one_in_the_thread_of_the_caller(two_threads: None) -> None:
    ran: list[tuple[str, bool]] = []

    def run(one: Any) -> str:
        ran.append((one.name, threading.current_thread() is threading.main_thread()))
        return str(one.name)

    analyses: list[Any] = [Named("a"), Named("b", parallel=True), Named("c"), Named("d", parallel=True)]
    assert side_by_side(analyses, run) == ["a", "b", "c", "d"]
    assert {name for name, in_main in ran[:2] if not in_main} == {"b", "d"}
    assert ran[2:] == [("a", True), ("c", True)]


def test_an_error_of_one_is_the_error_of_the_run(two_threads: None) -> None:
    def run(one: Any) -> str:
        raise UsageError(f"{one.name} is wrong")

    analyses: list[Any] = [Named("a", parallel=True), Named("b", parallel=True)]
    with pytest.raises(UsageError, match="is wrong"):
        side_by_side(analyses, run)


def test_a_card_is_the_same_whether_audits_run_at_the_same_time_or_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cards = []
    for threads in (1, 2):
        monkeypatch.setattr(room, "pl", SimpleNamespace(thread_pool_size=lambda threads=threads: threads))
        card = cc.audit(demo_nli(400, seed=3).instances)
        cards.append(card.model_dump(mode="json", exclude={"provenance"}))
    assert cards[0] == cards[1]

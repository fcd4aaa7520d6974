from __future__ import annotations

import threading

import polars as pl
import pytest

from cuecard.data.demo import demo_nli
from cuecard.data.parallel import on_threads, started
from cuecard.features import Words
from cuecard.features.units import begin_units


@pytest.mark.parametrize("threads", [1, 2])
def test_what_was_started_is_computed_once_on_a_thread_of_its_own_if_there_are_several(monkeypatch, threads):
    monkeypatch.setattr(pl, "thread_pool_size", lambda: threads)
    begun = []
    result = started(lambda: begun.append(threading.current_thread()) or 7)
    assert result() == 7
    assert len(begun) == 1
    assert (begun[0] is threading.current_thread()) == (threads == 1)


def test_an_error_of_what_was_started_is_raised_where_its_result_is_needed(monkeypatch):
    monkeypatch.setattr(pl, "thread_pool_size", lambda: 2)
    waiting = started(lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        waiting()


@pytest.mark.parametrize("threads", [1, 2])
def test_units_that_were_begun_are_those_that_are_found_without(monkeypatch, threads):
    monkeypatch.setattr(pl, "thread_pool_size", lambda: threads)
    data, again = demo_nli(300, seed=3).instances, demo_nli(300, seed=3).instances
    begin_units([Words()], data, "both")
    for scope in ("hypothesis", "premise"):
        assert data.units(scope).tolist() == again.units(scope).tolist()


def test_results_of_parts_keep_their_order():
    assert on_threads(lambda part: part * part, 4) == [0, 1, 4, 9]

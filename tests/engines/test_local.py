from __future__ import annotations

import threading
from dataclasses import dataclass

import pytest

from cuecard.engines import map_reduce
from cuecard.errors import InputError


@dataclass(frozen=True)
class Seen:
    parts: tuple[int, ...]

    def merge(self, other: Seen) -> Seen:
        return Seen(self.parts + other.parts)


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_summaries_merge_in_the_order_of_the_parts_whatever_the_workers(workers):
    assert map_reduce(range(20), lambda part: Seen((part,)), workers=workers).parts == tuple(range(20))


def test_only_a_few_parts_are_held_at_a_time():
    alive, most, lock = 0, 0, threading.Lock()

    def parts():
        nonlocal alive, most
        for i in range(30):
            with lock:
                alive += 1
                most = max(most, alive)
            yield i

    def summarise(part):
        nonlocal alive
        with lock:
            alive -= 1
        return Seen((part,))

    map_reduce(parts(), summarise, workers=2)
    assert most <= 4


def test_an_error_in_a_part_reaches_the_caller():
    with pytest.raises(ZeroDivisionError):
        map_reduce([1, 0], lambda part: Seen((1 // part,)))


def test_no_parts_is_an_input_error():
    with pytest.raises(InputError, match="no rows"):
        map_reduce([], lambda part: Seen((part,)))

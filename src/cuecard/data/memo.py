"""What was derived from a dataset, kept with it: made once, and dropped with it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock, RLock
from typing import TypeVar, cast

T = TypeVar("T")


class Memo:
    """Values by key, each made once, however many threads ask; beyond `most`, the one unused for longest is dropped.

    Values of different keys may be made at the same time.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._values: OrderedDict[Hashable, object] = OrderedDict()
        self._lock = Lock()
        self._being_made: dict[Hashable, RLock] = {}

    def __contains__(self, key: Hashable) -> bool:
        return key in self._values

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the value of a key, made now if it is not there."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return cast(T, self._values[key])
            own_lock = self._being_made.setdefault(key, RLock())
        with own_lock:
            with self._lock:
                if key in self._values:
                    return cast(T, self._values[key])
            value = make()
            with self._lock:
                self._values[key] = value
                self._being_made.pop(key, None)
                while len(self._values) > self.most:
                    self._values.popitem(last=False)
            return value

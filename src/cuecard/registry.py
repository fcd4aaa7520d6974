"""Named things that users choose by name: built in by decorator, added by other packages' entry points."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from difflib import get_close_matches
from importlib.metadata import entry_points
from typing import Generic, TypeVar

from cuecard.errors import UsageError

T = TypeVar("T")


def unknown_name(kind: str, name: str, known: list[str]) -> UsageError:
    """Return the error for a name nobody registered: the nearest ones, then the full list."""
    near = get_close_matches(name, known, n=3, cutoff=0.5)
    hint = f" Did you mean {' or '.join(repr(n) for n in near)}?" if near else ""
    return UsageError(f"Unknown {kind} {name!r}.{hint} Known: {', '.join(sorted(known))}.")


class Registry(Generic[T]):
    """A mapping from names to things of one kind, in the order they were registered.

    Things from other packages come through the entry-point group ``cuecard.<plural>``; they are loaded at the
    first look-up, and one whose name is taken is known as ``package/name``.
    """

    def __init__(self, kind: str, *, group: str) -> None:
        self.kind = kind
        self.group = group
        self._items: dict[str, T] = {}
        self._plugins_loaded = False

    def register(self, name: str) -> Callable[[T], T]:
        """Return a decorator that registers the decorated thing under a name."""

        def add(item: T) -> T:
            self.add(name, item)
            return item

        return add

    def add(self, name: str, item: T) -> None:
        """Register a thing under a name that is not taken."""
        if name in self._items:
            raise UsageError(f"A {self.kind} named {name!r} is already registered.")
        self._items[name] = item

    def get(self, name: str) -> T:
        """Return the thing of that name, or raise an error that lists the nearest ones."""
        self._load_plugins()
        if name not in self._items:
            raise unknown_name(self.kind, name, list(self._items))
        return self._items[name]

    def names(self) -> list[str]:
        """Return all names, built-in ones first."""
        self._load_plugins()
        return list(self._items)

    def __iter__(self) -> Iterator[T]:
        self._load_plugins()
        return iter(self._items.values())

    def _load_plugins(self) -> None:
        if self._plugins_loaded:
            return
        self._plugins_loaded = True
        for entry in entry_points(group=self.group):
            item: T = entry.load()
            package = entry.dist.name if entry.dist is not None else "plugin"
            name = entry.name if entry.name not in self._items else f"{package}/{entry.name}"
            self._items.setdefault(name, item)

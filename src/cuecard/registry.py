"""Named things that users choose by name: built in by decorator, added by other packages' entry points."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import entry_points
from threading import RLock
from typing import Any, Generic, NamedTuple, TypeVar

from cuecard.errors import UsageError

T = TypeVar("T")


def unknown_name(kind: str, name: str, names: list[str]) -> UsageError:
    """Return the error for an unknown name: the nearest names, then all of them."""
    near = get_close_matches(name, names, n=3, cutoff=0.5)
    hint = f" Did you mean {' or '.join(repr(n) for n in near)}?" if near else ""
    known = f"Known: {', '.join(sorted(names))}." if names else "None is known."
    return UsageError(f"Unknown {kind} {name!r}.{hint} {known}")


def lacking(*members: str) -> Callable[[Any], str]:
    """Return a check for classes: what it returns is empty, or says which of the members a class lacks."""

    def check(item: Any) -> str:
        if not isinstance(item, type):
            return "it is not a class"
        missing = [member for member in members if not hasattr(item, member)]
        return f"the class {item.__name__} has no {' and no '.join(missing)}" if missing else ""

    return check


class _Place(NamedTuple):
    """Where something is defined that has not been imported."""

    module: str
    attribute: str


class Registry(Generic[T]):
    """A mapping from names to things of one kind, in the order they were registered.

    Things from other packages come through the entry-point group ``cuecard.<plural>``; they are loaded at the
    first look-up, and one whose name is taken is known as ``package/name``. One that cannot be loaded is listed
    in `broken` and does not keep the others from working. `check` returns what is wrong with a thing, or "".
    """

    def __init__(self, kind: str, *, group: str, check: Callable[[Any], str] | None = None) -> None:
        self.kind = kind
        self.group = group
        self._check = check
        self._items: dict[str, T | _Place] = {}
        self._broken: dict[str, str] = {}
        self._aliases: dict[str, str] = {}
        self._plugins_loaded = False
        self._loading = RLock()

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
        if wrong := self._check(item) if self._check else "":
            raise UsageError(f"{name!r} cannot be registered as a {self.kind}: {wrong}.")
        self._items[name] = item

    def declare(self, name: str, place: str) -> None:
        """Register a thing that is imported when it is first used, from a place such as "package.module:Name"."""
        if name in self._items:
            raise UsageError(f"A {self.kind} named {name!r} is already registered.")
        self._items[name] = _Place(*place.split(":"))

    def alias(self, old: str, name: str) -> None:
        """Let an earlier name be used for a registered thing; it is not listed."""
        self._aliases[old] = name

    def get(self, name: str) -> T:
        """Return the thing of that name, or raise an error that lists the nearest ones."""
        self._load_plugins()
        name = self._aliases.get(name, name)
        if name in self._broken:
            raise UsageError(f"The {self.kind} {name!r} cannot be used: {self._broken[name]}.")
        if name not in self._items:
            raise unknown_name(self.kind, name, list(self._items))
        return self._imported(name)

    def names(self) -> list[str]:
        """Return all names, built-in ones first."""
        self._load_plugins()
        return list(self._items)

    @property
    def broken(self) -> dict[str, str]:
        """Names of other packages' things that cannot be used, with the package and the reason."""
        self._load_plugins()
        return dict(self._broken)

    def __iter__(self) -> Iterator[T]:
        return iter([self._imported(name) for name in self.names()])

    def _imported(self, name: str) -> T:
        item = self._items[name]
        if isinstance(item, _Place):
            item = self._items[name] = getattr(import_module(item.module), item.attribute)
        return item

    def _load_plugins(self) -> None:
        with (
            self._loading
        ):  # another thread waits for all of them; a plug-in that asks while it loads does not
            if self._plugins_loaded:
                return
            self._plugins_loaded = True
            self._load_entry_points()

    def _load_entry_points(self) -> None:
        for entry in entry_points(group=self.group):
            package = entry.dist.name if entry.dist is not None else "plugin"
            try:
                item: T = entry.load()
            except Exception as error:  # whatever another package does when it is imported
                wrong = f"{type(error).__name__}: {error}"
            else:
                wrong = self._check(item) if self._check else ""
            taken = entry.name in self._items or entry.name in self._broken
            name = f"{package}/{entry.name}" if taken else entry.name
            if wrong:
                self._broken[name] = f"the package {package} is broken ({wrong})"
            else:
                self._items.setdefault(name, item)

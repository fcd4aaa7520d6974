"""What audits in parts have learned: where it is kept, until when, and what may be used again."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path

from cuecard.analysis import Analysis
from cuecard.cache import cache_folder, code_key, content_key
from cuecard.data import Scan
from cuecard.engines import Store
from cuecard.engines.memory import allow_open_files
from cuecard.errors import InputError
from cuecard.writing import locked

#: What is said where an audit in parts is interrupted and what it has learned is kept.
CONTINUES = "interrupted; the same command continues after the parts that are done."
#: Stores of audits that are done whose cards are not written yet; None where nobody writes them.
_waiting: ContextVar[list[Store] | None] = ContextVar("_waiting", default=None)


@contextmanager
def kept_until_written() -> Iterator[None]:
    """Keep what audits in the body learn of parts until it is done with their cards, so that nothing is lost."""
    stores: list[Store] = []
    token = _waiting.set(stores)
    try:
        yield
    except KeyboardInterrupt as stopped:
        raise KeyboardInterrupt(CONTINUES if stores else str(stopped)) from None
    finally:
        _waiting.reset(token)
    for store in stores:
        with suppress(InputError), locked(store.folder, patience=0):  # another run that uses it removes it
            store.remove()


@contextmanager
def store_of(scanned: Scan, selected: Sequence[Analysis], seed: int, *, cache: bool) -> Iterator[Store]:
    """Yield the place for summaries: in the cache, where an interrupted run finds them, until the audit is done."""
    audits = [one for one in selected if sees_all(one)]
    allow_open_files()
    # The key has no code of families that a user or another package has written.
    place = None if not cache or any(map(_has_foreign_code, audits)) else _kept(scanned, audits, seed)
    if place is None:
        with tempfile.TemporaryDirectory(prefix="cuecard-") as folder:
            yield Store(Path(folder))
        return
    with locked(place):
        store = Store.at(place)
        try:
            yield store
        except KeyboardInterrupt:
            raise KeyboardInterrupt(CONTINUES) from None
        waiting = _waiting.get()
        if waiting is None:
            store.remove()
        else:
            waiting.append(store)


def _has_foreign_code(audit: Analysis) -> bool:
    """Return whether code that is not of this package counts features."""
    families = audit.families() if hasattr(audit, "families") else ()
    return any(not isinstance(name, str) for name in getattr(audit, "features", None) or ()) or any(
        not type(family).__module__.startswith("cuecard.") for family in families
    )


def _kept(scanned: Scan, audits: Sequence[Analysis], seed: int) -> Path | None:
    """Return the folder of the cache for these files and audits, None where it cannot be made."""
    key = content_key(
        {
            "files": scanned.stamps(),
            "reading": repr((scanned.rows, scanned.wishes, scanned.header, scanned.labels, scanned.report)),
            "audits": [repr(one) for one in audits],
            "seed": seed,
            "code": code_key(),
        }
    )
    place = cache_folder() / "stream" / key
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return place


def sees_all(audit: Analysis) -> bool:
    """Return whether an audit sees all examples of a dataset in pieces, with the options it has."""
    return hasattr(audit, "run_stream") and bool(getattr(audit, "in_parts", True))

"""How much memory a run may take, where it runs, and where arrays are that do not fit in memory."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from cuecard.cache import cache_folder, code_key, content_key
from cuecard.data import Instances, Source
from cuecard.data.loading import DatasetSpec
from cuecard.data.space import MEMORY, Engine, Space, allow_open_files, bytes_of, free_memory
from cuecard.errors import InputError, UsageError
from cuecard.registry import unknown_name
from cuecard.run.running import Data, Progress, ensure_loaded
from cuecard.wording import plural
from cuecard.writing import locked

EngineName = Literal["local", "ray"]
ENGINES: tuple[EngineName, ...] = get_args(EngineName)
#: What is said where a run is interrupted and what it has learned is kept.
CONTINUES = "interrupted; the same command continues after the chunks that are done."
#: Folders of runs that are done whose results are not written yet; None where nobody writes them.
_waiting: ContextVar[list[Path] | None] = ContextVar("_waiting", default=None)


@dataclass(frozen=True)
class Budget:
    """The memory that a run may take, and where it runs."""

    memory: int
    engine: EngineName
    address: str | None = None

    def connected(self) -> Engine:
        """Return what does functions of chunks: this machine, or a cluster."""
        if self.engine == "local":
            return Engine()
        from cuecard.engines.on_ray import OnRay
        from cuecard.engines.ray_cluster import connect

        return OnRay(connect(self.address))


def budget_of(memory: str | int | None, engine: str = "local", address: str | None = None) -> Budget:
    """Return the memory that a run may take: what the user allows, or half of what is free."""
    if engine not in ENGINES:
        raise unknown_name("engine", engine, list(ENGINES))
    if address is not None and not address.strip():
        raise UsageError("--address is empty: name HOST:PORT of a Ray cluster, or leave it out.")
    if address is not None and engine != "ray":
        raise UsageError("--address is that of a Ray cluster: add --engine ray.")
    return Budget(free_memory() // 2 if memory is None else bytes_of(memory), engine, address)


def spec_of(data: Data, test: Source | None) -> DatasetSpec | None:
    """Return what is to be read; None for what is read already, or is no file."""
    if isinstance(data, str | Path):
        return DatasetSpec(data, test)
    return data if isinstance(data, DatasetSpec) else None


@contextmanager
def opened(
    data: Data,
    test: Source | None,
    budget: Budget,
    *,
    settings: Sequence[object] = (),
    seed: int = 0,
    cache: bool = True,
    progress: Progress | None = None,
) -> Iterator[tuple[Instances, str]]:
    """Yield a dataset, read now if it was not, and where and in how many chunks it was read, as the card says it."""
    spec = spec_of(data, test)
    if budget.engine != "local" and (spec is None or not spec.is_files):
        raise UsageError(
            f"--engine {budget.engine} reads files and folders: write the dataset to files first."
        )
    if spec is None:
        dataset = ensure_loaded(data, test)
        with dataset.space.large_arrays_on_disk():
            yield dataset, ""
        return
    with space_of(spec, budget, settings=settings, seed=seed, cache=cache, progress=progress) as space:
        shown = progress is not None and space.folder is None and data is spec
        with progress("Reading") if shown and progress else nullcontext():
            dataset = spec(space)
        yield dataset, read_in_parts(spec, space)


@contextmanager
def space_of(
    spec: DatasetSpec,
    budget: Budget,
    *,
    settings: Sequence[object] = (),
    seed: int = 0,
    cache: bool = True,
    progress: Progress | None = None,
) -> Iterator[Space]:
    """Yield where the arrays of a dataset are: in memory where it fits, otherwise in the cache until the run is done.

    An interrupted run finds there what it has read. `settings` are those of the analyses.
    """
    if budget.engine == "local" and spec.fits(budget.memory):
        yield MEMORY
        return
    engine = budget.connected()
    allow_open_files()
    rows = spec.chunk_rows(budget.memory)
    with _folder(spec, rows, settings, seed, cache=cache) as folder:
        space = Space(folder, rows, engine, progress, seed)
        with space.large_arrays_on_disk():
            yield space


@contextmanager
def kept_until_written() -> Iterator[None]:
    """Keep what runs in the body have read until it is done with their results, so that nothing is lost."""
    folders: list[Path] = []
    token = _waiting.set(folders)
    try:
        yield
    except KeyboardInterrupt as stopped:
        raise KeyboardInterrupt(CONTINUES if folders else str(stopped)) from None
    finally:
        _waiting.reset(token)
    for folder in folders:
        with suppress(InputError), locked(folder, patience=0):  # another run that uses it removes it
            _remove(folder)


def read_in_parts(spec: DatasetSpec, space: Space) -> str:
    """Return where a dataset was read, and in how many chunks, as the card says it; nothing where it was in memory."""
    if space.folder is None:
        return ""
    return f"{space.engine.name}, in {plural(len(spec.file_chunks(space.rows).chunks), 'chunk')}"


@contextmanager
def _folder(
    spec: DatasetSpec, rows: int, settings: Sequence[object], seed: int, *, cache: bool
) -> Iterator[Path]:
    place = _kept(spec, rows, settings, seed) if cache else None
    if place is None:
        with tempfile.TemporaryDirectory(prefix="cuecard-") as folder:
            yield Path(folder)
        return
    with locked(place):
        try:
            yield place
        except KeyboardInterrupt:
            raise KeyboardInterrupt(CONTINUES) from None
        waiting = _waiting.get()
        if waiting is None:
            _remove(place)
        else:
            waiting.append(place)


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def _kept(spec: DatasetSpec, rows: int, settings: Sequence[object], seed: int) -> Path | None:
    """Return the folder of the cache for these files and settings, None where it cannot be made."""
    key = content_key(
        {
            "files": spec.file_chunks(rows).stamps(),
            "reading": repr((rows, [str(source) for source in spec.sources], spec.options)),
            "settings": [repr(one) for one in settings],
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

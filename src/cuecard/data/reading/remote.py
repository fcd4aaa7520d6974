"""Datasets elsewhere: saved by Hugging Face, on its Hub, and in object storage."""

from __future__ import annotations

import glob
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any

import polars as pl

from cuecard.cache import cache_folder, content_key
from cuecard.data.presets import Preset
from cuecard.data.reading.formats import check_schema, class_names, guarded, reason, shown
from cuecard.data.reading.raw import RawTable
from cuecard.errors import InputError, MissingExtraError, UsageError
from cuecard.writing import locked, write_whole


def is_saved_dataset(folder: Path) -> bool:
    """Return whether a folder was written by `save_to_disk`."""
    return (folder / "dataset_dict.json").is_file() or (folder / "state.json").is_file()


def saved_splits(folder: Path) -> dict[str, Path]:
    """Return the folders of a saved dataset by the name of their split; a single dataset is `train`."""
    listing = folder / "dataset_dict.json"
    if not listing.is_file():
        return {"train": folder}
    names = _json(listing).get("splits")
    if not isinstance(names, list) or not names or not all(_is_name(name) for name in names):
        raise InputError(f"{shown(listing)} lists no splits: save the dataset again.")
    absent = [name for name in names if not (folder / name).is_dir()]
    if absent:
        raise InputError(f"{shown(folder)} has no folder of the split {absent[0]!r}: save the dataset again.")
    return {name: folder / name for name in names}


def saved_files(folder: Path) -> list[Path]:
    """Return the Arrow files of a saved dataset in their order."""
    state = folder / "state.json"
    if not state.is_file():
        raise InputError(
            f"{shown(folder)} is not a saved dataset (it has no state.json): save the dataset again."
        )
    parts = _json(state).get("_data_files")
    names = [part.get("filename") if isinstance(part, dict) else None for part in parts or ()]
    if not isinstance(parts, list) or not names or not all(_is_name(name) for name in names):
        raise InputError(f"{shown(state)} lists no Arrow files: save the dataset again.")
    return [folder / str(name) for name in names]


def _is_name(name: object) -> bool:
    """Return whether a value is the name of something inside the folder it is listed in."""
    return isinstance(name, str) and name not in ("", ".", "..") and not set(name) & {"/", "\\", "\0"}


def read_saved(folder: Path) -> RawTable:
    """Return the rows of a saved dataset with the names of its classes."""
    where = shown(folder)
    frames = [frame for path in saved_files(folder) for frame in arrow_frames(path)]
    frame = guarded(
        lambda: pl.concat(frames, how="vertical_relaxed", rechunk=True), where, "save the dataset again"
    )
    return RawTable(frame, (where,), (frame.height,), class_names=saved_class_names(folder))


def saved_class_names(folder: Path) -> dict[str, tuple[str, ...]]:
    """Return column → class names of a saved dataset."""
    info = folder / "dataset_info.json"
    try:
        return class_names(info.read_text("utf-8")) if info.is_file() else {}
    except (OSError, UnicodeDecodeError):
        return {}


def arrow_frames(path: Path, columns: list[str] | None = None) -> Iterator[pl.DataFrame]:
    """Yield the record batches of an Arrow file, which may be in stream or in file format, as tables.

    Every batch is validated whole before it is converted: offsets that lead outside their buffers would end the
    process, not raise.
    """
    import pyarrow as pa

    def opened() -> Any:
        source = pa.memory_map(str(path))
        if source.read(6) == b"ARROW1":
            source.seek(0)
            file = pa.ipc.open_file(source)
            return iter(map(file.get_batch, range(file.num_record_batches)))
        source.seek(0)
        return iter(pa.ipc.open_stream(source))

    def converted() -> pl.DataFrame | None:
        batch = next(batches, None)
        if batch is None:
            return None
        batch.validate(full=True)
        table = pa.Table.from_batches([batch])
        check_schema(table.schema, where)
        return pl.DataFrame(table.select(columns) if columns else table)

    where, remedy = f"The Arrow file {shown(path)}", "save the dataset again"
    batches = guarded(opened, where, remedy)
    while (frame := guarded(converted, where, remedy)) is not None:
        yield frame


def read_hub(source: str) -> RawTable:
    """Return the rows of `hf:NAME[/CONFIG]:SPLIT`, through the optional package `datasets`."""
    try:
        import datasets
    except ModuleNotFoundError:
        raise MissingExtraError("datasets", "hf", "Reading from the Hugging Face Hub") from None
    readings, split = hub_readings(source)
    reasons = []
    for name, config in readings:
        try:
            data = datasets.load_dataset(name, config, split=split)
        except Exception as error:
            # The package and its transport raise many kinds of errors; all mean the dataset cannot be had.
            reasons.append((str(error).splitlines() or [type(error).__name__])[0])
            continue
        return from_dataset(data, source)
    raise InputError(f"{source} cannot be read ({reasons[0]}): check its name, configuration and split.")


def from_dataset(data: Any, where: str) -> RawTable:
    """Return the rows of a `datasets.Dataset` that is in memory."""
    frame = guarded(lambda: pl.DataFrame(data.with_format("arrow")[:]), where)
    classes = {name: tuple(f.names) for name, f in data.features.items() if hasattr(f, "names")}
    return RawTable(frame, (where,), (frame.height,), class_names=classes)


def hub_readings(source: str) -> tuple[list[tuple[str, str | None]], str]:
    """Return the (name, configuration) that `hf:…:SPLIT` may mean, likelier first, and the split.

    `a/b` is the dataset b of owner a or, for datasets older than owners, the configuration b of a.
    """
    path, colon, split = source.removeprefix("hf:").rpartition(":")
    parts = path.split("/")
    if not colon or not split or not all(parts) or len(parts) > 3:
        raise UsageError(
            f"{source!r} is not a dataset on the Hub: write hf:NAME:SPLIT or hf:NAME/CONFIG:SPLIT."
        )
    if len(parts) == 3:
        return [("/".join(parts[:2]), parts[2])], split
    if len(parts) == 2:
        return [(path, None), (parts[0], parts[1])], split
    return [(path, None)], split


def preset_sources(preset: Preset) -> dict[str, str]:
    """Return split → `hf:` name of a preset, or raise an error that says how to give a copy on disk."""
    if preset.hf is None:
        where = f" (get it from {preset.url})" if preset.url else ""
        raise UsageError(
            f"The preset {preset.name!r} is not on the Hub{where}: give a copy as preset:{preset.name}@PATH."
        )
    config = f"/{preset.config}" if preset.config else ""
    return {split: f"hf:{preset.hf}{config}:{theirs}" for split, theirs in preset.splits.items()}


def _json(path: Path) -> Mapping[str, Any]:
    try:
        described = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        described = None
    if not isinstance(described, dict):
        raise InputError(f"{shown(path)} is not valid JSON: save the dataset again.")
    return described


#: A password before the host, or among the options.
_SECRET = re.compile(r"://[^/?@]*:[^/?@]+@|[?&][a-z_]*(secret|key|token|password)[a-z_]*=", re.IGNORECASE)
#: Bytes that are fetched at a time.
_BLOCK = 16_000_000


def fetched_path(source: str | Path) -> Path:
    """Return the path of what an address names, which is fetched if the cache does not have it.

    The path of a folder, a file or a glob in the cache ends as the address does. Objects are kept by their sizes and
    times, so that a changed one is fetched again.
    """
    address, _, options = str(source).partition("?")
    if _SECRET.search(str(source)):
        raise InputError(
            "The address holds a password or a key, which the card would show: set it in the environment "
            "(AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY for s3) and leave it out of the address."
        )
    folder, pattern = _divided(address.rstrip("/"))
    try:
        system, place = _file_system(f"{folder}?{options}" if options else folder)
        if not pattern and _is_file(system, place):
            place, _, pattern = place.rpartition("/")
        objects = list(_objects(system, place, pattern))
    except (OSError, ValueError, NotImplementedError) as error:  # Arrow's errors are these
        raise InputError(
            f"{shown(source)} cannot be read ({reason(error)}): check the address, and that the credentials are set "
            "(AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY for s3)."
        ) from None
    if not objects:
        raise InputError(f"No object matches {shown(source)}; check the address.")
    listed = [(name, size, str(time)) for name, size, time in objects]
    key = content_key({"address": str(source), "objects": listed})
    kept = cache_folder() / "objects" / key / PurePosixPath(place).name
    kept.mkdir(parents=True, exist_ok=True)
    with locked(kept):
        for name, size, _ in objects:
            _fetch(system, f"{place}/{name}", kept / name, size)
    return kept / pattern if pattern else kept


def _divided(address: str) -> tuple[str, str]:
    """Return an address up to its first part with a star or brackets, and the rest, which is a pattern."""
    if not glob.has_magic(address):
        return address, ""
    folder, slash, _ = re.split(r"[*\[]", address, maxsplit=1)[0].rpartition("/")
    return folder, address[len(folder) + len(slash) :]


def _file_system(address: str) -> tuple[Any, str]:
    from pyarrow import fs

    system, place = fs.FileSystem.from_uri(address)
    return system, place


def _is_file(system: Any, place: str) -> bool:
    from pyarrow import fs

    return bool(system.get_file_info(place).type == fs.FileType.File)


def _objects(system: Any, place: str, pattern: str) -> Iterator[tuple[str, int, Any]]:
    """Yield name, size and time of the objects of a folder that a pattern names, sorted; all without a pattern."""
    from pyarrow import fs

    if pattern and not glob.has_magic(pattern):
        infos = [system.get_file_info(f"{place}/{pattern}")]
    else:
        infos = system.get_file_info(fs.FileSelector(place, recursive=True))
    for info in sorted(infos, key=lambda info: info.path):
        name = info.path.removeprefix(f"{place}/")
        if info.type != fs.FileType.File or _leaves(name):
            continue
        if not pattern or _matches(name.split("/"), pattern.split("/")):
            yield name, info.size, info.mtime


def _matches(name: Sequence[str], pattern: Sequence[str]) -> bool:
    """Return whether a pattern names a file as on disk: a star stands for no slash, two for any folders or none."""
    if not pattern or not name:
        return not pattern and not name
    if pattern[0] == "**":
        return len(pattern) == 1 or any(_matches(name[i:], pattern[1:]) for i in range(len(name)))
    return fnmatchcase(name[0], pattern[0]) and _matches(name[1:], pattern[1:])


def _leaves(name: str) -> bool:
    """Return whether a name would leave the folder that it is written to."""
    return name.startswith("/") or ".." in PurePosixPath(name).parts


def _fetch(system: Any, place: str, file: Path, size: int) -> None:
    if file.is_file() and file.stat().st_size == size:
        return

    def write(staged: Path) -> None:
        with staged.open("wb") as opened:
            for block in _blocks(system, place, size):
                opened.write(block)

    file.parent.mkdir(parents=True, exist_ok=True)
    write_whole(file, write)


def _blocks(system: Any, place: str, size: int) -> Iterator[bytes]:
    """Yield the content of an object; what stops it is an error about the object, not about the disk."""
    n = 0
    try:
        with system.open_input_stream(place) as stream:
            while block := stream.read(_BLOCK):
                n += len(block)
                yield block
    except OSError as error:
        raise InputError(f"{shown(place)} cannot be fetched ({reason(error)}): try again later.") from None
    if n != size:
        raise InputError(f"{shown(place)} changed while it was fetched: try again.")

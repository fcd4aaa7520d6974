"""Hugging Face datasets: folders written by `save_to_disk`, and names on the Hub."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from cuecard.data.files.guard import check_schema, guarded
from cuecard.data.files.metadata import class_names
from cuecard.data.files.paths import shown
from cuecard.data.files.raw import RawTable
from cuecard.data.presets import Preset
from cuecard.errors import InputError, MissingExtraError, UsageError


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


def _is_name(name: Any) -> bool:
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

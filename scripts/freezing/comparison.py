"""What differs between two folders of frozen cards: paths in JSON, columns of tables, other files."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import polars as pl

Json: TypeAlias = "dict[str, Json] | list[Json] | str | float | bool | None"
#: What may differ between two runs: when, by which versions, and how long.
PROVENANCE = {"provenance", "created", "versions", "seconds"}
SHOWN = 60


@dataclass(frozen=True)
class Difference:
    """A place that differs and how; `size` is the relative difference of numbers, infinite for anything else."""

    place: str
    text: str
    size: float = math.inf


def compare_folders(before: Path, after: Path) -> list[Difference]:
    """Return all that differs between the files of two folders; files of the same bytes are equal."""
    names = sorted({file.relative_to(root).as_posix() for root in (before, after) for file in _files(root)})
    return [difference for name in names for difference in _compare_files(name, before / name, after / name)]


def _files(folder: Path) -> Iterator[Path]:
    """Return the files of a card that are compared: a report is a drawing of the card."""
    return (file for file in folder.rglob("*") if file.is_file() and file.suffix != ".html")


def _compare_files(name: str, before: Path, after: Path) -> Iterator[Difference]:
    if not before.exists() or not after.exists():
        yield Difference(name, "only in the second" if after.exists() else "only in the first")
    elif before.read_bytes() == after.read_bytes():
        return
    elif name.endswith(".json"):
        documents = [json.loads(file.read_text(encoding="utf-8")) for file in (before, after)]
        for difference in _compare_json("", *documents):
            yield Difference(f"{name}:{difference.place}", difference.text, difference.size)
    elif name.endswith(".parquet"):
        yield from _compare_tables(name, pl.read_parquet(before), pl.read_parquet(after))
    else:
        yield Difference(name, "other bytes")


def _compare_json(path: str, before: Json, after: Json) -> Iterator[Difference]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys([*before, *after]):
            if key in PROVENANCE:
                continue
            place = f"{path}.{key}".lstrip(".")
            if key in before and key in after:
                yield from _compare_json(place, before[key], after[key])
            else:
                yield Difference(place, "only in the second" if key in after else "only in the first")
    elif isinstance(before, list) and isinstance(after, list):
        if len(before) != len(after):
            yield Difference(path, f"{len(before)} items, now {len(after)}")
        for i, (one, other) in enumerate(zip(before, after, strict=False)):
            yield from _compare_json(f"{path}[{i}]", one, other)
    elif _is_number(before) and _is_number(after):
        size = _relative(float(str(before)), float(str(after)))
        if size or type(before) is not type(after):
            yield Difference(path, f"{before!r}, now {after!r}", size)
    elif before != after or type(before) is not type(after):
        yield Difference(path, f"{_short(before)}, now {_short(after)}")


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _relative(before: float, after: float) -> float:
    """Return the difference of two numbers, of those above 1 as a share of them."""
    if before == after or (math.isnan(before) and math.isnan(after)):
        return 0.0
    size = abs(before - after) / max(1.0, abs(before), abs(after))
    return size if math.isfinite(size) else math.inf


def _short(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def _compare_tables(name: str, before: pl.DataFrame, after: pl.DataFrame) -> Iterator[Difference]:
    """Return the columns of a table that differ; the way the file stores them is not compared."""
    if before.columns != after.columns:
        added = [column for column in after.columns if column not in before.columns]
        removed = [column for column in before.columns if column not in after.columns]
        yield Difference(
            name, f"columns added: {added}, removed: {removed}" if added or removed else "other order"
        )
    if before.height != after.height:
        yield Difference(name, f"{before.height} rows, now {after.height}")
        return
    for column in before.columns:
        if column in after.columns:
            yield from _compare_columns(f"{name}:{column}", before[column], after[column])


def _compare_columns(place: str, before: pl.Series, after: pl.Series) -> Iterator[Difference]:
    if before.dtype != after.dtype:
        yield Difference(place, f"{before.dtype}, now {after.dtype}")
    values = before.to_list(), after.to_list()
    differing = [(a, b) for a, b in zip(*values, strict=True) if not _same(a, b)]
    if not differing:
        return
    sizes = [_relative(a, b) if _both_numbers(a, b) else math.inf for a, b in differing]
    worst = max(range(len(sizes)), key=sizes.__getitem__)
    first, second = (_short(json.loads(json.dumps(value, default=str))) for value in differing[worst])
    yield Difference(
        place, f"{len(differing)} of {len(before)} rows, such as {first}, now {second}", sizes[worst]
    )


def _same(before: object, after: object) -> bool:
    """Return whether two values are equal; a missing number is equal to another."""
    return before == after or (before != before and after != after)


def _both_numbers(before: object, after: object) -> bool:
    return isinstance(before, float) and isinstance(after, float)

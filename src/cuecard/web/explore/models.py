"""What the models that were probed on a dataset do with its cues, from all cards of that dataset."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from cuecard.card.files import TABLES_FOLDER
from cuecard.web.explore.stored import stored_table
from cuecard.web.explore.tables import MOST_ROWS, Query, table_page
from cuecard.web.library import Entry
from cuecard.wording import RELIANCE

#: Tables that hold one row per model and cue with its verdict, and per answer what models predict with a cue.
VERDICTS, ANSWERS = "reliance", "distribution_shares"
#: Columns of examples: whether a model's prediction is right, and the prediction.
RIGHT, PREDICTION = "right ", "prediction "
_ORDER = tuple(RELIANCE)
_PER_CUE = frozenset({"model", "family", "feature"})


def of_cue(entry: Entry, entries: list[Entry], family: str, feature: str) -> dict[str, list[dict[str, Any]]]:
    """Return what models do with a cue: rows of the first tables of probes, and what they answer, by card."""
    same = (("family", "=", family), ("feature", "=", feature))
    rows: dict[str, list[dict[str, Any]]] = {"models": [], "answers": []}
    for other, name, file in _tables(entry, entries):
        kind = "answers" if name == ANSWERS else "models" if name in other.first_tables else None
        if kind is None or not set(stored_table(file).names) >= _PER_CUE:
            continue
        page = table_page(file, Query(where=same, limit=100))
        rows[kind] += [{"card": other.id, "test": name, **row} for row in page.rows]
    rows["answers"] = [row for row in rows["answers"] if row.get("predicted_share") is not None]
    return {kind: _once(each, "model", "test", "answer") for kind, each in rows.items()}


def biased(entry: Entry, entries: list[Entry]) -> dict[str, Any]:
    """Return which model is biased by which cue: a row for each, the strongest first, and a count per model."""
    rows: list[dict[str, Any]] = []
    for other, name, file in _tables(entry, entries):
        if name != VERDICTS or not set(stored_table(file).names) >= _PER_CUE | {"verdict"}:
            continue
        page = table_page(file, Query(limit=MOST_ROWS))
        rows += [
            {"card": other.id, **row, "said": RELIANCE.get(row["verdict"], row["verdict"])}
            for row in page.rows
        ]
    rows = _once(rows, "model", "family", "feature")
    rows.sort(key=lambda row: (_rank(row["verdict"]), -abs(row.get("difference") or 0.0)))
    counts: dict[tuple[str, str], Counter[str]] = {}
    for row in rows:
        counts.setdefault((row["card"], row["model"]), Counter())[row["verdict"]] += 1
    models: list[dict[str, Any]] = [
        {"card": card, "model": model, "cues": sum(count.values()), "verdicts": dict(count)}
        for (card, model), count in counts.items()
    ]
    models.sort(key=lambda one: [-one["verdicts"].get(name, 0) for name in _ORDER[:2]])
    return {"models": models, "rows": rows}


def _once(rows: list[dict[str, Any]], *names: str) -> list[dict[str, Any]]:
    """Return the rows without those that an earlier one, of a newer card, replaces."""
    kept: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        kept.setdefault(tuple(row.get(name) for name in names), row)
    return list(kept.values())


def answered(entry: Entry, entries: list[Entry]) -> dict[str, Entry]:
    """Return the models that answered the examples of a card, each with the card whose examples say so.

    Cards of the same files have the same examples in the same order: models that were probed later count for all.
    """
    cards: dict[str, Entry] = {}
    for other in [entry, *entries]:
        file = other.folder / TABLES_FOLDER / "examples.parquet"
        if other.fingerprint == entry.fingerprint and file.is_file():
            for name in _names(file, file.stat().st_mtime_ns):
                if name.startswith(RIGHT):
                    cards.setdefault(name.removeprefix(RIGHT), other)
    return cards


@lru_cache(maxsize=256)
def _names(file: Path, _: int) -> list[str]:
    """Return the columns of a parquet file, none of a damaged one, read once as long as it is the same."""
    try:
        return list(pq.read_schema(file).names)
    except (OSError, pa.ArrowException):
        return []


def _rank(verdict: str) -> int:
    return _ORDER.index(verdict) if verdict in _ORDER else len(_ORDER)


def _tables(entry: Entry, entries: list[Entry]) -> Iterator[tuple[Entry, str, Path]]:
    """Give the tables of all cards of the same dataset, the newest first."""
    for other in sorted(entries, key=lambda one: one.created, reverse=True):
        if other.fingerprint == entry.fingerprint or other.name == entry.name:
            for file in sorted((other.folder / TABLES_FOLDER).glob("*.parquet")):
                yield other, file.stem, file

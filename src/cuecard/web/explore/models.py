"""What the models that were probed on a dataset do with its cues, from all cards of that dataset."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cuecard.card.files import TABLES_FOLDER
from cuecard.probes.tests.reliance import VERDICTS as _ORDER
from cuecard.report.sections.probes.reliance import WORDS
from cuecard.web.explore.stored import stored_table
from cuecard.web.explore.tables import MOST_ROWS, Query, table_page
from cuecard.web.library import Entry

#: Tables that hold one row per model and cue with its verdict, and per answer what models predict with a cue.
VERDICTS, ANSWERS = "reliance", "distribution_shares"
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
    return rows


def biased(entry: Entry, entries: list[Entry]) -> dict[str, Any]:
    """Return which model is biased by which cue: a row for each, the strongest first, and a count per model."""
    rows: list[dict[str, Any]] = []
    for other, name, file in _tables(entry, entries):
        if name != VERDICTS or not set(stored_table(file).names) >= _PER_CUE | {"verdict"}:
            continue
        page = table_page(file, Query(limit=MOST_ROWS))
        rows += [
            {"card": other.id, **row, "said": WORDS.get(row["verdict"], row["verdict"])} for row in page.rows
        ]
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


def _rank(verdict: str) -> int:
    return _ORDER.index(verdict) if verdict in _ORDER else len(_ORDER)


def _tables(entry: Entry, entries: list[Entry]) -> Iterator[tuple[Entry, str, Path]]:
    """Give the tables of all cards of the same dataset."""
    for other in entries:
        if other.fingerprint == entry.fingerprint or other.name == entry.name:
            for file in sorted((other.folder / TABLES_FOLDER).glob("*.parquet")):
                yield other, file.stem, file

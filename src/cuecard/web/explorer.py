"""What pages ask of a card: tables, a cue in depth, examples with texts, and what models do with cues."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import polars as pl

from cuecard.card.files import TABLES_FOLDER
from cuecard.errors import InputError
from cuecard.registry import unknown_name
from cuecard.report.findings import highlight
from cuecard.web.library import Entry, Library
from cuecard.web.requests.bodies import Json
from cuecard.web.requests.places import inside, own_file
from cuecard.web.tables import (
    CHARTS,
    CUE_ROWS,
    EXAMPLES,
    MOST_ROWS,
    PAGE,
    TEXTS,
    ExampleTexts,
    Page,
    Query,
    Row,
    Value,
    columns_of,
    prepared_folder,
    rows_at,
    rows_of,
    stored_table,
    table_page,
    texts_of,
)
from cuecard.wording import RELIANCE

#: Tables that hold one row per model and cue with its verdict, and per answer what models predict with a cue.
VERDICTS, ANSWERS = "reliance", "distribution_shares"
#: Columns of examples: whether a model's prediction is right, and the prediction.
RIGHT, PREDICTION = "right ", "prediction "
_ORDER = tuple(RELIANCE)
_PER_CUE = frozenset({"model", "family", "feature"})


def of_cue(root: Path, entry: Entry, entries: list[Entry], family: str, feature: str) -> dict[str, list[Row]]:
    """Return what models do with a cue: rows of the first tables of probes, and what they answer, by card."""
    same = (("family", "=", family), ("feature", "=", feature))
    rows: dict[str, list[Row]] = {"models": [], "answers": []}
    for other, name, file in _tables(root, entry, entries):
        kind = "answers" if name == ANSWERS else "models" if name in other.first_tables else None
        if kind is None or not set(columns_of(file)) >= _PER_CUE:
            continue
        page = table_page(file, Query(where=same, limit=100))
        rows[kind] += [{"card": other.id, "test": name, **row} for row in page.rows]
    rows["answers"] = [row for row in rows["answers"] if row.get("predicted_share") is not None]
    return {kind: _once(each, "model", "test", "answer") for kind, each in rows.items()}


def biased(root: Path, entry: Entry, entries: list[Entry]) -> Json:
    """Return which model is biased by which cue: a row for each, the strongest first, and a count per model."""
    rows: list[Row] = []
    for other, name, file in _tables(root, entry, entries):
        if name != VERDICTS or not set(columns_of(file)) >= _PER_CUE | {"verdict"}:
            continue
        page = table_page(file, Query(limit=MOST_ROWS))
        rows += [
            {"card": other.id, **row, "said": RELIANCE.get(verdict := str(row["verdict"]), verdict)}
            for row in page.rows
        ]
    rows = _once(rows, "model", "family", "feature")
    rows.sort(key=lambda row: (_rank(str(row["verdict"])), -_size(row.get("difference"))))
    counts: dict[tuple[str, str], Counter[str]] = {}
    for row in rows:
        counts.setdefault((str(row["card"]), str(row["model"])), Counter())[str(row["verdict"])] += 1
    ranked = sorted(counts.items(), key=lambda one: [-one[1][name] for name in _ORDER[:2]])
    models = [
        {"card": card, "model": model, "cues": count.total(), "verdicts": dict(count)}
        for (card, model), count in ranked
    ]
    return {"models": models, "rows": rows}


def _once(rows: list[Row], *names: str) -> list[Row]:
    """Return the rows without those that an earlier one, of a newer card, replaces."""
    kept: dict[tuple[str, ...], Row] = {}
    for row in rows:
        kept.setdefault(tuple(str(row.get(name)) for name in names), row)
    return list(kept.values())


def answered(root: Path, entry: Entry, entries: list[Entry]) -> dict[str, Entry]:
    """Return the models that answered the examples of a card, each with the card whose examples say so.

    Cards of the same files have the same examples in the same order: models that were probed later count for all.
    """
    cards: dict[str, Entry] = {}
    for other in [entry, *entries]:
        file = other.folder / TABLES_FOLDER / "examples.parquet"
        if other.fingerprint == entry.fingerprint and own_file(root, file):
            for name in columns_of(file):
                if name.startswith(RIGHT):
                    cards.setdefault(name.removeprefix(RIGHT), other)
    return cards


def _size(value: Value) -> float:
    return abs(value) if isinstance(value, int | float) else 0.0


def _rank(verdict: str) -> int:
    return _ORDER.index(verdict) if verdict in _ORDER else len(_ORDER)


def _tables(root: Path, entry: Entry, entries: list[Entry]) -> Iterator[tuple[Entry, str, Path]]:
    """Give the tables of all cards of the same dataset, the newest first."""
    for other in sorted(entries, key=lambda one: one.created, reverse=True):
        if other.fingerprint == entry.fingerprint or other.name == entry.name:
            yield from ((other, file.stem, file) for file in table_files(root, other))


def table_files(root: Path, entry: Entry) -> list[Path]:
    """Return the tables of a card that lie below the root."""
    folder = entry.folder / TABLES_FOLDER
    files = sorted(folder.glob("*.parquet"))
    if inside(root, str(folder)) is not None:  # as nearly always, no link leads out of it
        return files
    return [file for file in files if own_file(root, file)]


NOT_PREPARED = "The pages of this card are being prepared."
#: Families whose features are words of the text, which examples mark.
WORDY = frozenset({"word", "bigram", "trigram", "4-gram"})


class Explorer:
    """Reads the files of the library's cards; holds none of them in memory."""

    def __init__(self, root: Path, library: Library) -> None:
        self.root, self.library = root, library

    def prepared(self, entry: Entry) -> Path | None:
        """Return where a card's pages are, None while they are not prepared."""
        folder = prepared_folder(self.root, entry.key)
        return folder if (folder / PAGE).is_file() else None

    def page(self, entry: Entry) -> dict[str, Any]:
        """Return what the page of a card says."""
        folder = self._folder(entry)
        return document(folder / PAGE)

    def chart(self, entry: Entry, name: str) -> str:
        """Return the specification of a chart as JSON; KeyError if there is none of that name."""
        folder = self._folder(entry) / CHARTS
        names = {file.stem for file in folder.glob("*.json")}
        if name not in names:
            raise KeyError(name)
        return (folder / f"{name}.json").read_text(encoding="utf-8")

    def tables(self, entry: Entry) -> list[str]:
        """Return the names of a card's tables."""
        return [file.stem for file in table_files(self.root, entry)]

    def table(self, entry: Entry, name: str, query: Query) -> Page:
        """Return a page of one of the card's tables."""
        if name not in self.tables(entry):
            raise unknown_name("table", name, self.tables(entry))
        return table_page(entry.folder / TABLES_FOLDER / f"{name}.parquet", query, self._stored(entry, name))

    def cue(self, entry: Entry, family: str, feature: str) -> Json:
        """Return everything the card says about one cue."""
        same = (("family", "=", family), ("feature", "=", feature))
        matches = self.table(entry, "cues", Query(where=same, limit=1))
        if not matches.rows:
            raise KeyError(feature)
        tables = self.tables(entry)
        labels = (
            self.table(entry, "associations", Query(where=same, sort="z", limit=100)).rows
            if "associations" in tables
            else []
        )
        row = matches.rows[0]
        group = (
            self.table(
                entry,
                "redundancy",
                Query(where=(("group", "=", str(row.get("group"))),), sort="jaccard", limit=20),
            ).rows
            if "redundancy" in tables and row.get("group")
            else []
        )
        return {
            "cue": row,
            "labels": labels,
            "together": [one for one in group if (one["family"], one["feature"]) != (family, feature)],
            **of_cue(self.root, entry, self.library.entries(), family, feature),
        }

    def examples(
        self,
        entry: Entry,
        query: Query,
        *,
        cue: tuple[str, str] | None = None,
        same: int | None = None,
    ) -> Page:
        """Return a page of examples with their texts, filtered by columns of the card's table and by a cue.

        `right MODEL` is a column of all cards of a dataset on which the model was probed. `same` is the row of an
        example whose neighbours in the pair graph are wanted: those that share a text with it.
        """
        folder = self._folder(entry)
        if "examples" not in self.tables(entry):
            raise InputError("This card has no table of examples.")
        extra: Row = {}
        words: Sequence[str] = ()
        if cue is not None:
            numbers, total = self._cue_rows(folder, *cue)
            query = replace(query, numbers=tuple(numbers))
            extra = {"with_cue": total, "listed": len(numbers)}
            words = [cue[1]] if cue[0] in WORDY else ()
        has_texts = (folder / TEXTS).is_file()
        if same is not None and has_texts:
            texts = texts_of(folder / TEXTS)
            numbers, total = texts.sharing(same)
            query = replace(query, numbers=tuple(numbers))
            [example] = texts.at([same])
            extra = {"shared": example.example_id, "sharing": total, "listed": len(numbers)}
        query, models = self._by_models(entry, query)
        page = table_page(self._examples(entry), query, self._stored(entry, "examples"))
        if has_texts:
            examples = texts_of(folder / TEXTS).at(page.numbers)
            rows = [row | _marked(example, words) for row, example in zip(page.rows, examples, strict=True)]
            page = replace(page, rows=rows)
        for model, source in models.items():
            answers = rows_at(source, page.numbers)
            names = f"{PREDICTION}{model}", f"{RIGHT}{model}"
            rows = [
                row | {name: one[name] for name in names} for row, one in zip(page.rows, answers, strict=True)
            ]
            page = replace(page, rows=rows)
        return replace(page, extra=extra)

    def models(self, entry: Entry) -> list[str]:
        """Return the models whose predictions examples can be filtered by."""
        return sorted(answered(self.root, entry, self.library.entries()))

    def _by_models(self, entry: Entry, query: Query) -> tuple[Query, dict[str, Path]]:
        """Return a query whose filters by models of other cards read those, and where these models' answers are."""
        own, cards = self._examples(entry), answered(self.root, entry, self.library.entries())
        sources: dict[str, Path] = {}
        where, beside = [], []
        for condition in query.where:
            model = condition[0].removeprefix(RIGHT)
            if condition[0] in columns_of(own) or not condition[0].startswith(RIGHT) or model not in cards:
                where.append(condition)
                continue
            sources[model] = self._examples(cards[model])
            if rows_of(sources[model]) != rows_of(own):
                raise InputError(f"The examples of {cards[model].place} are not those of this card.")
            beside.append((sources[model], condition))
        return replace(query, where=tuple(where), beside=tuple(beside)), sources

    def _stored(self, entry: Entry, name: str) -> Path | None:
        """Return where the rows of a large table are stored by position, None while pages are not prepared."""
        folder = self.prepared(entry)
        return stored_table(folder, name) if folder is not None else None

    def _examples(self, entry: Entry) -> Path:
        """Return where the examples of a card are, with their labels where these were prepared."""
        folder = self.prepared(entry)
        if folder is not None and (folder / EXAMPLES).is_file():
            return folder / EXAMPLES
        return entry.folder / TABLES_FOLDER / "examples.parquet"

    def _cue_rows(self, folder: Path, family: str, feature: str) -> tuple[list[int], int]:
        file = folder / CUE_ROWS
        if not file.is_file():
            raise InputError(
                "The examples of cues are not indexed: the data files of this card are not at hand."
            )
        hit = (
            pl.scan_parquet(file)
            .filter((pl.col("family") == family) & (pl.col("feature") == feature))
            .collect()
        )
        if hit.is_empty():
            raise InputError("This feature is not among the strongest cues, whose examples are indexed.")
        return hit["rows"][0].to_list(), int(hit["total"][0])

    def _folder(self, entry: Entry) -> Path:
        folder = self.prepared(entry)
        if folder is None:
            raise InputError(NOT_PREPARED)
        return folder


@lru_cache(maxsize=16)
def document(file: Path) -> dict[str, Any]:
    """Return a prepared page, read once."""
    page: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return page


def _marked(example: ExampleTexts, words: Sequence[str]) -> Row:
    """Return the texts of an example in pieces, the words of a cue marked."""
    return {
        "premise": [asdict(piece) for piece in highlight(example.premise or "", ())],
        "texts": [[asdict(piece) for piece in highlight(text or "", words)] for text in example.texts],
    }

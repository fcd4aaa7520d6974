"""What the explorer asks of a card: its tables, one cue in depth, and its examples with their texts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import polars as pl

from cuecard.card.files import TABLES_FOLDER
from cuecard.errors import InputError
from cuecard.registry import unknown_name
from cuecard.report.texts import highlight
from cuecard.web.explore.models import PREDICTION, RIGHT, answered, of_cue
from cuecard.web.explore.places import CHARTS, CUE_ROWS, EXAMPLES, PAGE, prepared_folder, table_folder
from cuecard.web.explore.stored import LARGE, rows_of, stored_table
from cuecard.web.explore.tables import Page, Query, Source, table_page
from cuecard.web.explore.texts import TEXTS, texts_of
from cuecard.web.library import Entry, Library

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
        return _document(folder / PAGE)

    def chart(self, entry: Entry, name: str) -> str:
        """Return the specification of a chart as JSON; KeyError if there is none of that name."""
        folder = self._folder(entry) / CHARTS
        names = {file.stem for file in folder.glob("*.json")}
        if name not in names:
            raise KeyError(name)
        return (folder / f"{name}.json").read_text(encoding="utf-8")

    def tables(self, entry: Entry) -> list[str]:
        """Return the names of a card's tables."""
        return sorted(file.stem for file in (entry.folder / TABLES_FOLDER).glob("*.parquet"))

    def table(self, entry: Entry, name: str, query: Query) -> Page:
        """Return a page of one of the card's tables."""
        if name not in self.tables(entry):
            raise unknown_name("table", name, self.tables(entry))
        return _page_of(self._source(entry, name), query)

    def cue(self, entry: Entry, family: str, feature: str) -> dict[str, Any]:
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
            **of_cue(entry, self.library.entries(), family, feature),
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
        if EXAMPLES not in self.tables(entry):
            raise InputError("This card has no table of examples.")
        extra: dict[str, Any] = {}
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
            extra = {"shared": texts.at(same)["example_id"], "sharing": total, "listed": len(numbers)}
        query, models = self._by_models(entry, query)
        file, prepared = self._examples(entry)
        page = table_page(file, query, prepared)
        if has_texts:
            texts = texts_of(folder / TEXTS)
            rows = [{**row, **_marked(texts.at(row["row"]), words)} for row in page.rows]
            page = replace(page, rows=rows)
        for model, source in models.items():
            answers = stored_table(*source).rows([row["row"] for row in page.rows])
            names = f"{PREDICTION}{model}", f"{RIGHT}{model}"
            rows = [
                row | {name: one[name] for name in names} for row, one in zip(page.rows, answers, strict=True)
            ]
            page = replace(page, rows=rows)
        return replace(page, extra=extra)

    def models(self, entry: Entry) -> list[str]:
        """Return the models whose predictions examples can be filtered by."""
        return sorted(answered(entry, self.library.entries()))

    def _by_models(self, entry: Entry, query: Query) -> tuple[Query, dict[str, Source]]:
        """Return a query whose filters by models of other cards read those, and where these models' answers are."""
        own, cards = stored_table(*self._examples(entry)), answered(entry, self.library.entries())
        sources: dict[str, Source] = {}
        where, beside = [], []
        for condition in query.where:
            model = condition[0].removeprefix(RIGHT)
            if condition[0] in own.names or not condition[0].startswith(RIGHT) or model not in cards:
                where.append(condition)
                continue
            sources[model] = self._examples(cards[model])
            if stored_table(*sources[model]).height != own.height:
                raise InputError(f"The examples of {cards[model].place} are not those of this card.")
            beside.append((sources[model], condition))
        return replace(query, where=tuple(where), beside=tuple(beside)), sources

    def _examples(self, entry: Entry) -> Source:
        """Return where the examples of a card are."""
        return self._source(entry, EXAMPLES)

    def _source(self, entry: Entry, name: str) -> Source:
        """Return where a table of a card is; a large one that is not prepared would be read whole for every page."""
        folder = self.prepared(entry)
        file = entry.folder / TABLES_FOLDER / f"{name}.parquet"
        if folder is not None:
            return file, table_folder(folder, name)
        if rows_of(file) > LARGE:
            raise InputError(f"{NOT_PREPARED} The table {name} is large: ask again when they are.")
        return file, None

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


def _page_of(source: Source, query: Query) -> Page:
    file, prepared = source
    return table_page(file, query, prepared)


@lru_cache(maxsize=16)
def _document(file: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return document


def _marked(example: dict[str, Any], words: Sequence[str]) -> dict[str, Any]:
    """Return the texts of an example in pieces, the words of a cue marked."""
    return {
        "premise": [asdict(piece) for piece in highlight(example["premise"] or "", ())],
        "texts": [[asdict(piece) for piece in highlight(text or "", words)] for text in example["texts"]],
    }

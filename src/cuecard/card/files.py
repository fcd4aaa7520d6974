"""A card on disk: `card.json` and `tables/*.parquet`, written whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
from pydantic import ValidationError

from cuecard.card.card import SCHEMA_VERSION, Card
from cuecard.card.migration import READABLE, migrated
from cuecard.errors import InputError
from cuecard.writing import Write, write_together

CARD_FILE = "card.json"
TABLES_FOLDER = "tables"


def save_card(card: Card, folder: str | Path) -> Path:
    """Write the card and its tables into a folder and return the path of `card.json`.

    Everything is written beside the folder's old content first and then moved into place file by file,
    `card.json` last; a run that fails or is interrupted puts the old files back. Tables that only the old card
    had are removed, and files that are not a card's stay.
    """
    folder = Path(folder)
    files: dict[str, Write] = {_table_file(name): table.write_parquet for name, table in card.tables.items()}
    text = card.model_dump_json(indent=2) + "\n"
    files[CARD_FILE] = lambda file: file.write_text(text, encoding="utf-8")
    write_together(folder, files, stale=_listed_tables(folder / CARD_FILE))
    return folder / CARD_FILE


def _listed_tables(file: Path) -> list[str]:
    """Return the table files that an earlier card names; none if there is no card that can be read."""
    try:
        sections = json.loads(file.read_bytes())["sections"]
        names = {str(name) for section in sections.values() for name in section["tables"]} | {"examples"}
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return []
    # A name with a path in it would reach outside the folder.
    return [_table_file(name) for name in sorted(names) if Path(name).name == name]


def _table_names(card: Card) -> list[str]:
    return sorted({name for section in card.sections.values() for name in section.tables} | {"examples"})


def _table_file(name: str) -> str:
    return f"{TABLES_FOLDER}/{name}.parquet"


def load_card(path: str | Path) -> Card:
    """Return the card saved in a folder (or the `card.json` itself), with its tables."""
    path = Path(path)
    file = path / CARD_FILE if path.is_dir() else path
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(
            f"{file}: there is no card; write one with `cuecard audit DATA --out {path}`."
        ) from None
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InputError(f"{file}: this is not a card ({error}).") from None
    version = document.get("cuecard") if isinstance(document, dict) else None
    if version in READABLE:
        document = migrated(document)
    elif version != SCHEMA_VERSION:
        raise InputError(
            f"{file}: this is not a card of schema {SCHEMA_VERSION} (found {version!r}); audit the data again."
        )
    try:
        card = Card.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InputError(
            f"{file}: the card is damaged at {where} ({first['msg']}); audit the data again."
        ) from None
    paths = {name: file.parent / _table_file(name) for name in _table_names(card)}
    if missing := [path for path in paths.values() if not path.exists()]:
        raise InputError(f"{missing[0]}: the card's table is missing; audit the data again.")
    card.attach({name: _table(path) for name, path in paths.items()})
    return card


def _table(path: Path) -> pl.DataFrame:
    try:
        return pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{path}: the table cannot be read ({error}); audit the data again.") from None

"""A card on disk: `card.json` and `tables/*.parquet`, written whole or not at all."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path

import polars as pl
from pydantic import ValidationError

from cuecard.card.card import SCHEMA_VERSION, Card
from cuecard.errors import InputError

CARD_FILE = "card.json"
TABLES_FOLDER = "tables"


def save_card(card: Card, folder: str | Path) -> Path:
    """Write the card and its tables into a folder and return the path of `card.json`.

    Everything is written beside the folder's old content first and then moved into place, so an interrupted
    run leaves the old card as it was.
    """
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=".writing-", dir=folder))
    except OSError as error:
        raise InputError(f"{folder}: cannot write there ({error.strerror}); choose another --out.") from None
    try:
        tables = staging / TABLES_FOLDER
        tables.mkdir()
        for name, table in card.tables.items():
            table.write_parquet(tables / f"{name}.parquet")
        (staging / CARD_FILE).write_text(card.model_dump_json(indent=2) + "\n", encoding="utf-8")
        if (folder / TABLES_FOLDER).exists():
            (folder / TABLES_FOLDER).rename(staging / "previous")
        tables.rename(folder / TABLES_FOLDER)
        os.replace(staging / CARD_FILE, folder / CARD_FILE)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return folder / CARD_FILE


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
    found = document.get("cuecard") if isinstance(document, dict) else None
    if found != SCHEMA_VERSION:
        raise InputError(
            f"{file}: this is not a card of schema {SCHEMA_VERSION} (found {found!r}); audit the data again."
        )
    try:
        card = Card.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InputError(
            f"{file}: the card is damaged at {where} ({first['msg']}); audit the data again."
        ) from None
    names = {name for section in card.sections.values() for name in section.tables} | {"examples"}
    card.attach({name: _table(file.parent, name) for name in sorted(names) if _exists(file.parent, name)})
    return card


def _exists(folder: Path, name: str) -> bool:
    return (folder / TABLES_FOLDER / f"{name}.parquet").exists()


def _table(folder: Path, name: str) -> pl.DataFrame:
    path = folder / TABLES_FOLDER / f"{name}.parquet"
    try:
        return pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{path}: the table cannot be read ({error}); audit the data again.") from None

"""A card on disk (`card.json`, `tables/*.parquet`, `report.html`), all or nothing; the audit in a folder beside it."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from functools import wraps
from pathlib import Path, PurePosixPath
from typing import Concatenate, ParamSpec, TypeVar, cast

import polars as pl

from cuecard.card.card import SCHEMA_VERSION, Card
from cuecard.data.reading.formats import check_regular, guarded, reason
from cuecard.documents import checked, parse_json
from cuecard.errors import CueCardError, InputError, printable
from cuecard.writing import Staged, Write, recover, staged_folder, write_together

CARD_FILE = "card.json"
_REMEDY = "audit the data again"
REPORT_FILE = "report.html"
TABLES_FOLDER = "tables"
#: What a card's folder can hold, as patterns: nothing else there is written or removed.
CARD_FILES = (CARD_FILE, REPORT_FILE, f"{TABLES_FOLDER}/*")
#: What every report says at its beginning.
_GENERATOR = b'<meta name="generator" content="CueCard">'
#: Folders are searched for cards this deep, and for at most this many.
_DEPTH, _MOST_CARDS = 4, 5_000
#: A folder that is written again while it is read is read again, this many times.
_READS = 3


def save_card(card: Card, folder: str | Path) -> Path:
    """Write the card and its tables into a folder and return the path of `card.json`.

    The folder then holds all files of this card, or, if the run fails, is interrupted or killed, all of the old one.
    Tables and the report that only the old card had are removed, and files that are not a card's stay.
    """
    with staged_card(card, Path(folder)):
        pass
    return Path(folder) / CARD_FILE


def staged_card(
    card: Card,
    folder: Path,
    report: str | Callable[[], str] | None = None,
    *,
    subfolder: str = ".",
    beside: Mapping[str, Write] | None = None,
    stale: Iterable[str] = (),
    last: Staged | None = None,
) -> AbstractContextManager[None]:
    """Have the card, its tables and its report written; they take their places after the body, unless that raises.

    `card.json` holds a hash of every table and of the report, so that a reader can tell that they belong together.

    Args:
        card: the card.
        folder: what is exchanged as a whole.
        report: the page beside the card, or a function that returns it, called once the tables are written.
        subfolder: where in the folder the card belongs.
        beside: further files of the folder.
        stale: files that an earlier run wrote beside its card there, which go with that card.
        last: a file elsewhere that takes its place with the card, or not at all.
    """
    hashes: dict[str, str] = {}

    def hashed(name: str, write: Write) -> Write:
        def write_and_hash(file: Path) -> None:
            write(file)
            hashes[name] = _hash(file)

        return write_and_hash

    def write_document(file: Path) -> None:
        written = card.model_copy(update={"provenance": card.provenance.model_copy(update={"files": hashes})})
        file.write_text(written.model_dump_json(indent=2) + "\n", encoding="utf-8")

    files: dict[str, Write] = {_table_file(name): table.write_parquet for name, table in card.tables.items()}
    if report is not None:
        files[REPORT_FILE] = lambda file: file.write_text(
            report if isinstance(report, str) else report(), encoding="utf-8", errors="replace", newline="\n"
        )
    writers = {name: hashed(name, write) for name, write in files.items()} | {CARD_FILE: write_document}
    writers = {_posix(subfolder, name): write for name, write in writers.items()} | dict(beside or {})

    def of_earlier(folder: Path) -> list[str]:
        names = [_posix(subfolder, name) for name in _of_earlier_card(folder / subfolder)]
        return [*names, *(stale if names else ())]

    return staged_folder(folder, writers, stale=of_earlier, last=last)


def _posix(*parts: str) -> str:
    return PurePosixPath(*parts).as_posix()


def save_report(folder: Path, report: str) -> Path:
    """Write a report beside the card that it was drawn from, put its hash on the card, and return its path."""

    def write_report(file: Path) -> None:
        file.write_text(report, encoding="utf-8", errors="replace", newline="\n")

    files: dict[str, Write] = {REPORT_FILE: write_report}
    document = json.loads((folder / CARD_FILE).read_text(encoding="utf-8"))
    written = document["provenance"].setdefault("files", {})
    written[REPORT_FILE] = hashlib.sha256(report.encode(errors="replace")).hexdigest()
    text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    files[CARD_FILE] = lambda file: file.write_text(text, encoding="utf-8")
    write_together(folder, files)
    return folder / REPORT_FILE


def _hash(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _of_earlier_card(folder: Path) -> list[str]:
    """Return the files that an earlier card names, and its report; none if there is no card that can be read."""
    if not (folder / CARD_FILE).is_file():  # to open a pipe is to wait for who writes to it
        return []
    try:
        sections = json.loads((folder / CARD_FILE).read_bytes())["sections"]
        names = {str(name) for section in sections.values() for name in section["tables"]} | {"examples"}
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return []
    # A name with a path in it would reach outside the folder.
    tables = [_table_file(name) for name in sorted(names) if Path(name).name == name]
    return [CARD_FILE, *tables, *([REPORT_FILE] if _is_report(folder / REPORT_FILE) else [])]


def _is_report(file: Path) -> bool:
    """Return whether a file is a report, and not a page of the user's with the same name."""
    if not file.is_file():
        return False
    try:
        with file.open("rb") as opened:
            return _GENERATOR in opened.read(4096)
    except OSError:
        return False


def _table_names(card: Card) -> list[str]:
    return sorted({name for section in card.sections.values() for name in section.tables} | {"examples"})


def _table_file(name: str) -> str:
    return f"{TABLES_FOLDER}/{name}.parquet"


def load_card(path: str | Path) -> Card:
    """Return the card saved in a folder (or the `card.json` itself), with its tables."""
    path = Path(path)
    file = path / CARD_FILE if path.is_dir() else path
    for folder in file.absolute().parents[:2]:  # a card may be written with the folder around it
        recover(folder)
    for attempt in range(_READS):
        raw = _read(file, path)
        try:
            return _with_tables(card_without_tables(raw, file), file)
        except InputError:
            # Another run may have replaced the folder in between: then its new content is what to read.
            if attempt == _READS - 1 or _read(file, path) == raw:
                raise
    raise AssertionError("unreachable")


def card_folders(place: str | Path) -> list[Path]:
    """Return the folders of the cards at or below a place, in the order of their names; an error if there is none."""
    place = Path(place)
    if place.is_file():
        if place.name != CARD_FILE:
            raise InputError(
                f"{place} is not a card: give the folder that `cuecard audit DATA --out FOLDER` wrote, or "
                f"its {CARD_FILE}."
            )
        return [place.parent]
    folders = [file.parent for file in card_files(place)]
    if not folders:
        folder = "FOLDER" if place.resolve() == Path.cwd() else place
        raise InputError(f"{place}: there is no card; write one with `cuecard audit DATA --out {folder}`.")
    return folders


def card_files(root: Path) -> Iterator[Path]:
    """Give the cards below a folder, without following links out of it or looking into hidden folders."""
    n = 0
    for folder, folders, files in os.walk(root):
        depth = len(Path(folder).relative_to(root).parts)
        folders[:] = sorted(f for f in folders if not f.startswith(".")) if depth < _DEPTH else []
        if CARD_FILE in files:
            n += 1
            yield Path(folder) / CARD_FILE
        if n >= _MOST_CARDS:
            return


def _read(file: Path, path: Path) -> bytes:
    check_regular(file)
    try:
        return file.read_bytes()
    except FileNotFoundError:
        raise InputError(
            f"{file}: there is no card; write one with `cuecard audit DATA --out {path}`."
        ) from None
    except OSError as error:
        raise InputError(
            f"{file}: the card cannot be read ({error.strerror}); check the path and its permissions."
        ) from None


def card_without_tables(raw: bytes, file: Path) -> Card:
    """Return the card of the content of a `card.json`; its tables stay on disk."""
    document = parse_json(raw, f"{file}: this is not a card; it", _REMEDY)
    version = document.get("cuecard") if isinstance(document, dict) else None
    if version != SCHEMA_VERSION:
        raise InputError(
            f"{file}: this is not a card of schema {SCHEMA_VERSION} (found {printable(repr(version), 60)}); {_REMEDY}."
        )
    card: Card = checked(Card, document, f"{file}: the card is damaged", _REMEDY)
    card._read_from = str(file)
    return card


def _with_tables(card: Card, file: Path) -> Card:
    """Return the card with the tables beside it, or raise if one is missing or belongs to another card."""
    tables = {}
    for name in _table_names(card):
        path = file.parent / _table_file(name)
        if Path(name).name != name or "\0" in name or not path.is_file():
            raise InputError(f"{path}: the card's table is missing; audit the data again.")
        written = card.provenance.files.get(_table_file(name))
        if written is not None and _hash(path) != written:
            raise InputError(
                f"{path}: the table does not belong to the card beside it, or was changed after it was written; "
                "audit the data again."
            )
        tables[name] = _table(path)
    card.attach(tables)
    return card


def stale_report(folder: Path, card: Card) -> Path | None:
    """Return the report beside a card if it is not the one that was written with it."""
    file = folder / REPORT_FILE
    written = card.provenance.files.get(REPORT_FILE)
    return file if written is not None and file.is_file() and _hash(file) != written else None


def _table(path: Path) -> pl.DataFrame:
    return guarded(lambda: pl.read_parquet(path), f"{path}: the table", _REMEDY)


P = ParamSpec("P")
R = TypeVar("R")


def of_readable_card(show: Callable[Concatenate[Card, P], R]) -> Callable[Concatenate[Card, P], R]:
    """Return a function of a card that raises an `InputError` where a card from a file cannot be shown.

    Summaries and tables have no declared shape, because plug-ins also write them. What fails on a card that was made
    in this process is a bug and keeps its traceback.
    """

    @wraps(show)
    def shown(card: Card, *args: P.args, **options: P.kwargs) -> R:
        try:
            return show(card, *args, **options)
        except (CueCardError, OSError):
            raise
        except BaseException as error:
            foreign = isinstance(error, Exception) or type(error).__name__ == "PanicException"
            if not foreign or not card.read_from:
                raise
            said = f"{type(error).__name__}: {reason(error)}"
            raise InputError(
                f"{card.read_from}: the card cannot be shown ({said}); it is damaged or was edited: audit the data "
                "again."
            ) from error

    return cast(Callable[Concatenate[Card, P], R], shown)


def card_schema() -> dict[str, object]:
    """Return the JSON Schema that every `card.json` obeys."""
    schema = Card.model_json_schema(mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "CueCard card"}


def schema_text() -> str:
    """Return the schema as it is published in the documentation."""
    return json.dumps(card_schema(), indent=2, ensure_ascii=False) + "\n"


#: Folders beside a card that are looked into, and the size of a card that is read.
_MOST_FOLDERS, _MOST_BYTES = 200, 20_000_000


def audit_beside(card: Card, folder: Path) -> Card | None:
    """Return the audit of the data of a card that is in a folder beside `folder`, without its tables; or None.

    Of several, it is the one with the most analyses that ran, and of these the first by name.
    """
    first = next(iter(card.sections.values()), None)
    if first is None or first.about != "models":
        return None
    folder = folder.absolute()
    audits = [
        found
        for file in _cards_in(folder.parent)
        if file.parent != folder and (found := _audit(file, card.dataset.fingerprint)) is not None
    ]
    return max(audits, key=_analyses, default=None)


def _cards_in(place: Path) -> list[Path]:
    """Return the cards in the folders of a place, which links do not lead out of."""
    try:
        with os.scandir(place) as entries:
            names = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []
    files = [place / name / CARD_FILE for name in names[:_MOST_FOLDERS] if not name.startswith(".")]
    return [file for file in files if file.is_file() and not file.is_symlink()]


def _audit(file: Path, fingerprint: str) -> Card | None:
    """Return a card if it is an audit of these data; one that cannot be read is none."""
    try:
        if file.stat().st_size > _MOST_BYTES:
            return None
        raw = file.read_bytes()
        card = card_without_tables(raw, file) if fingerprint.encode() in raw else None
    except (OSError, CueCardError):
        return None
    if card is None or card.dataset.fingerprint != fingerprint:
        return None
    first = next(iter(card.sections.values()), None)
    return card if first is not None and first.about == "data" else None


def _analyses(card: Card) -> int:
    return sum(section.status == "done" for section in card.sections.values())

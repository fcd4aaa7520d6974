"""The cards below the root: what is there, what each says, deleting and taking back."""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cuecard import wording
from cuecard.analysis import SEVERITIES, Measure
from cuecard.card.card import Card, largest_shortcut
from cuecard.card.files import CARD_FILE, card_files, card_without_tables
from cuecard.errors import InputError, UsageError
from cuecard.report.verdict import verdict
from cuecard.web.requests.bodies import Json
from cuecard.web.requests.places import own_file
from cuecard.web.state import AppSettings, State


@dataclass(frozen=True)
class Entry:
    """A card in the library, with what its row shows."""

    id: str
    folder: Path
    place: str  # relative to the root
    name: str
    task: str
    about: str
    examples: int
    created: str
    headline: str
    severities: dict[str, int]
    main: Measure | None
    measures: dict[str, Measure]
    first_tables: frozenset[str]  # what the sections show first
    fingerprint: str
    command: str
    key: str  # hash of the card's content, by which its pages are prepared

    def json(self) -> Json:
        """Return the entry as the API shows it."""
        main = self.main
        return {
            "id": self.id,
            "place": self.place,
            "name": self.name,
            "task": self.task,
            "about": self.about,
            "examples": self.examples,
            "created": self.created,
            "headline": self.headline,
            "severities": self.severities,
            "main": None
            if main is None
            else {
                "label": main.label or main.name,
                "value": main.value,
                "chance": main.chance,
                "shown": wording.in_unit(main.value, main.unit),
                "chance_shown": wording.in_unit(main.chance, main.unit),
            },
            "fingerprint": self.fingerprint,
        }


class Library:
    """All cards below a folder, read again only where a file has changed."""

    def __init__(self, settings: AppSettings, state: State) -> None:
        self.settings, self.state = settings, state
        self._lock = threading.Lock()
        self._read: dict[Path, tuple[tuple[int, int, int], Entry | None]] = {}
        self._entries: dict[str, Entry] = {}

    def refresh(self) -> dict[str, Entry]:
        """Look at the folder again and return the cards by id."""
        with self._lock:
            entries, seen = {}, {}
            for file in card_files(self.settings.root):
                mark = _mark(file)
                if mark is None:
                    continue
                earlier = self._read.get(file)
                entry = earlier[1] if earlier is not None and earlier[0] == mark else self._entry(file)
                seen[file] = (mark, entry)
                if entry is not None:
                    entries[entry.id] = entry
            self._read, self._entries = seen, entries
            return entries

    def entries(self) -> list[Entry]:
        """Return the cards as they were seen last."""
        return list((self._entries or self.refresh()).values())

    def get(self, card_id: str) -> Entry:
        """Return a card of the library; KeyError if there is none."""
        entry = self._entries.get(card_id)
        return entry if entry is not None and self._is_as_read(entry) else self.refresh()[card_id]

    def card(self, card_id: str) -> Card:
        """Return the card itself, without its tables: they stay on disk."""
        file = self.get(card_id).folder / CARD_FILE
        return card_without_tables(file.read_bytes(), file)

    def id_of(self, folder: Path) -> str:
        """Return the id of the card in a folder, the same at every start."""
        place = os.path.relpath(folder, self.settings.root)
        return hashlib.sha256(place.encode("utf-8", "surrogateescape")).hexdigest()[:12]

    def search(
        self, text: str = "", *, sort: str = "created", descending: bool = True, task: str = ""
    ) -> list[Entry]:
        """Return the cards whose name, place or headline has every word, sorted by a column or by any measure."""
        words = text.lower().split()
        chosen = [
            entry
            for entry in self.refresh().values()
            if all(
                word in f"{entry.name} {entry.place} {entry.headline} {entry.task}".lower() for word in words
            )
            and task in ("", entry.task)
        ]
        return _sorted(chosen, sort, descending)

    def measure_names(self) -> list[tuple[str, str]]:
        """Return name and label of all measures that a card of the library has."""
        labels = {name: m.label or name for entry in self.entries() for name, m in entry.measures.items()}
        return sorted(labels.items())

    def delete(self, card_id: str) -> Entry:
        """Move a card's folder to the trash."""
        entry = self.get(card_id)
        if entry.folder == self.settings.root:
            raise UsageError("This card is the folder of the app itself: delete it outside the app.")
        self.settings.trash.mkdir(parents=True, exist_ok=True)
        place = self.settings.trash / card_id
        if place.exists():  # an earlier card of the same place, which this one replaces
            shutil.rmtree(place)
        self.state.add_deleted(
            card_id, entry.name, entry.place
        )  # first: what is in the trash can be taken back
        shutil.move(entry.folder, place)
        self.refresh()
        return entry

    def deleted(self) -> list[Mapping[str, object]]:
        """Return the cards in the trash, the newest first."""
        return [one for one in self.state.deleted() if (self.settings.trash / str(one["id"])).is_dir()]

    def undelete(self, card_id: str) -> Entry:
        """Move a card from the trash back to where it was."""
        places = {one["id"]: str(one["place"]) for one in self.deleted()}
        place = places[card_id]
        folder = self.settings.root / place
        if folder.exists():
            raise FileExistsError(place)
        folder.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(self.settings.trash / card_id, folder)
        self.state.forget_deleted(card_id)
        return self.refresh()[card_id]

    def _is_as_read(self, entry: Entry) -> bool:
        """Return whether a card was not replaced since it was read, as the command line may do."""
        file = entry.folder / CARD_FILE
        return file in self._read and self._read[file][0] == _mark(file)

    def _entry(self, file: Path) -> Entry | None:
        if not own_file(self.settings.root, file):
            return None
        try:
            raw = file.read_bytes()
            card = card_without_tables(raw, file)
        except (OSError, InputError):
            return None
        first = next(iter(card.sections.values()), None)
        return Entry(
            id=self.id_of(file.parent),
            folder=file.parent,
            place=os.path.relpath(file.parent, self.settings.root),
            name=card.dataset.name,
            task=card.dataset.task,
            about=first.about if first else "data",
            examples=sum(split.examples for split in card.dataset.splits.values()),
            created=card.provenance.created,
            headline=verdict(card).headline,
            severities={s: sum(f.severity == s for f in card.findings) for s in SEVERITIES},
            main=largest_shortcut(card),
            measures={m.name: m for m in card.all_measures() if m.value is not None},
            first_tables=frozenset(name for one in card.sections.values() for name in one.tables[:1]),
            fingerprint=card.dataset.fingerprint,
            command=card.provenance.command,
            key=hashlib.sha256(raw).hexdigest()[:24],
        )


def _mark(file: Path) -> tuple[int, int, int] | None:
    """Return what changes when a file is replaced, None where there is none."""
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _sorted(entries: Sequence[Entry], sort: str, descending: bool) -> list[Entry]:
    """Return the entries by a column or a measure; those that lack the value come last."""
    columns = ("created", "name", "task", "examples", "headline", "place")
    if sort in columns:
        return sorted(entries, key=lambda entry: getattr(entry, sort), reverse=descending)
    if sort == "severity":
        return sorted(
            entries, key=lambda entry: [entry.severities[s] for s in SEVERITIES[:3]], reverse=descending
        )
    with_value = [entry for entry in entries if sort in entry.measures]
    without = [entry for entry in entries if sort not in entry.measures]
    return (
        sorted(with_value, key=lambda entry: entry.measures[sort].value or 0.0, reverse=descending) + without
    )

"""What the app is started with, and what it remembers: jobs, uploads and deleted cards, in one SQLite file."""

from __future__ import annotations

import ipaddress
import json
import secrets
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

#: Folder below the root that holds what is the app's own: its database, uploads, prepared cards, the trash.
OWN_FOLDER = ".cuecard"

GIB = 1 << 30


@dataclass(frozen=True)
class Limits:
    """What one request or one job may cost."""

    upload_bytes: int = 2 * GIB
    upload_seconds: float = 1800.0
    upload_rows: int = 50_000_000
    body_bytes: int = 1 << 20
    job_seconds: float = 6 * 3600.0
    queued_jobs: int = 50


@dataclass(frozen=True)
class AppSettings:
    """How the app was started."""

    root: Path
    host: str = "127.0.0.1"
    port: int = 8477
    workers: int = 2
    token: str | None = None
    limits: Limits = field(default_factory=Limits)
    endpoints: tuple[str, ...] = ()  # that may be asked
    key_variables: tuple[str, ...] = ("OPENAI_API_KEY",)  # that may be read for them

    @property
    def own(self) -> Path:
        """The app's own folder."""
        return self.root / OWN_FOLDER

    @property
    def uploads(self) -> Path:
        """Where uploaded files are kept, under names of ours."""
        return self.own / "uploads"

    @property
    def runs(self) -> Path:
        """Where new cards are written."""
        return self.root / "cards"

    @property
    def weights(self) -> Path:
        """Where the weighted rows of remedies are written, called as their cards."""
        return self.root / "weights"

    @property
    def worksheets(self) -> Path:
        """Where the worksheets of plans are written."""
        return self.root / "worksheets"

    @property
    def predictions(self) -> Path:
        """Where answers of language models are written."""
        return self.root / "predictions"

    @property
    def prepared(self) -> Path:
        """Where cards are kept in the form that pages read."""
        return self.own / "prepared"

    @property
    def trash(self) -> Path:
        """Where deleted cards wait, so that deleting can be undone."""
        return self.own / "trash"

    @property
    def jobs(self) -> Path:
        """Where running jobs write their progress and their errors."""
        return self.own / "jobs"

    def allowed_hosts(self) -> frozenset[str]:
        """Return the values of the `Host` header under which this app may be reached, each with its port."""
        names = {self.host}
        if is_loopback(self.host):
            names |= {"127.0.0.1", "localhost", "[::1]"}
        return frozenset(f"{_in_url(name)}:{self.port}" for name in names)


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach the address.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


Status = Literal["queued", "running", "done", "failed", "cancelled"]
ENDED: frozenset[Status] = frozenset({"done", "failed", "cancelled"})

_SCHEMA = """
CREATE TABLE IF NOT EXISTS jobs (
  id TEXT PRIMARY KEY, kind TEXT NOT NULL, title TEXT NOT NULL, arguments TEXT NOT NULL, command TEXT NOT NULL,
  out TEXT NOT NULL, status TEXT NOT NULL, reason TEXT NOT NULL DEFAULT '', attempts INTEGER NOT NULL DEFAULT 0,
  pid INTEGER, created REAL NOT NULL, started REAL, ended REAL, fingerprint TEXT NOT NULL DEFAULT ''
);
CREATE INDEX IF NOT EXISTS jobs_by_status ON jobs (status, created);
CREATE TABLE IF NOT EXISTS uploads (
  id TEXT PRIMARY KEY, name TEXT NOT NULL, file TEXT NOT NULL, bytes INTEGER NOT NULL, created REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS deleted (
  id TEXT PRIMARY KEY, name TEXT NOT NULL, place TEXT NOT NULL, deleted REAL NOT NULL
);
"""


@dataclass(frozen=True)
class Job:
    """A command that runs, ran or waits: an audit, a probe, a remedy, or preparing a card for its pages."""

    id: str
    kind: str
    title: str
    arguments: tuple[str, ...]
    command: str  # what a user would type for the same
    out: str  # folder or file it writes
    status: Status
    reason: str
    attempts: int
    pid: int | None
    created: float
    started: float | None
    ended: float | None
    fingerprint: str = ""  # of the command and the files it reads: the same work is not done twice


@dataclass(frozen=True)
class Upload:
    """A file that a user sent: `file` is our name of it, `name` the user's, which is only shown."""

    id: str
    name: str
    file: str
    bytes: int
    created: float


class State:
    """The database; every call opens its own connection, so that it is safe in threads and after a restart.

    Jobs are in the order in which they came, whatever the clock says meanwhile.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        file.parent.mkdir(parents=True, exist_ok=True)
        with self._open() as db:
            db.execute("PRAGMA journal_mode=WAL")
            db.executescript(_SCHEMA)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self.file, timeout=10.0)) as db:
            db.row_factory = sqlite3.Row
            with db:
                yield db

    # Jobs

    def add_job(
        self, kind: str, title: str, arguments: Sequence[str], command: str, out: Path, fingerprint: str = ""
    ) -> Job:
        """Put a job at the end of the queue."""
        job_id = secrets.token_hex(8)
        with self._open() as db:
            db.execute(
                "INSERT INTO jobs (id, kind, title, arguments, command, out, status, created, fingerprint) "
                "VALUES (?, ?, ?, ?, ?, ?, 'queued', ?, ?)",
                (
                    job_id,
                    kind,
                    title,
                    json.dumps(list(arguments)),
                    command,
                    str(out),
                    time.time(),
                    fingerprint,
                ),
            )
        return self.job(job_id)

    def job(self, job_id: str) -> Job:
        """Return a job; KeyError if there is none."""
        with self._open() as db:
            row = db.execute("SELECT * FROM jobs WHERE id = ?", (job_id,)).fetchone()
        if row is None:
            raise KeyError(job_id)
        return _job(row)

    def jobs(self, *statuses: Status, limit: int = 100) -> list[Job]:
        """Return the newest jobs of these states, or of all."""
        where = f"WHERE status IN ({','.join('?' * len(statuses))})" if statuses else ""
        with self._open() as db:
            rows = db.execute(
                f"SELECT * FROM jobs {where} ORDER BY rowid DESC LIMIT ?", (*statuses, limit)
            ).fetchall()
        return [_job(row) for row in rows]

    def same_job(self, fingerprint: str) -> Job | None:
        """Return the newest job of the same work that waits, runs or is done."""
        with self._open() as db:
            row = db.execute(
                "SELECT * FROM jobs WHERE fingerprint = ? AND status IN ('queued', 'running', 'done') "
                "ORDER BY rowid DESC LIMIT 1",
                (fingerprint,),
            ).fetchone()
        return None if row is None else _job(row)

    def next_job(self) -> Job | None:
        """Take the oldest waiting job: it is running from now on."""
        with self._open() as db:
            row = db.execute(
                "UPDATE jobs SET status = 'running', started = ?, attempts = attempts + 1 WHERE id = "
                "(SELECT id FROM jobs WHERE status = 'queued' ORDER BY rowid LIMIT 1) RETURNING *",
                (time.time(),),
            ).fetchone()
        return None if row is None else _job(row)

    def set_pid(self, job_id: str, pid: int) -> None:
        """Remember the process of a running job."""
        with self._open() as db:
            db.execute("UPDATE jobs SET pid = ? WHERE id = ?", (pid, job_id))

    def end_job(self, job_id: str, status: Status, reason: str = "") -> bool:
        """Say how a job ended; False if it had ended already."""
        with self._open() as db:
            changed = db.execute(
                "UPDATE jobs SET status = ?, reason = ?, ended = ?, pid = NULL "
                "WHERE id = ? AND status IN ('queued', 'running')",
                (status, reason, time.time(), job_id),
            ).rowcount
        return bool(changed)

    def requeue(self, job_id: str) -> None:
        """Let a job that a stop of the server ended run again."""
        with self._open() as db:
            db.execute("UPDATE jobs SET status = 'queued', pid = NULL WHERE id = ?", (job_id,))

    # Uploads

    def add_upload(self, name: str, file: str, size: int) -> Upload:
        """Remember an uploaded file."""
        upload = Upload(secrets.token_hex(8), name, file, size, time.time())
        with self._open() as db:
            db.execute(
                "INSERT INTO uploads VALUES (?, ?, ?, ?, ?)",
                (upload.id, upload.name, upload.file, upload.bytes, upload.created),
            )
        return upload

    def upload(self, upload_id: str) -> Upload:
        """Return an upload; KeyError if there is none."""
        with self._open() as db:
            row = db.execute("SELECT * FROM uploads WHERE id = ?", (upload_id,)).fetchone()
        if row is None:
            raise KeyError(upload_id)
        return Upload(**dict(row))

    def upload_names(self) -> dict[str, str]:
        """Return the user's names of all uploads by where they are."""
        with self._open() as db:
            return {
                row["file"]: row["name"] for row in db.execute("SELECT file, name FROM uploads").fetchall()
            }

    def upload_files(self) -> list[str]:
        """Return where all uploads are."""
        with self._open() as db:
            return [str(row["file"]) for row in db.execute("SELECT file FROM uploads").fetchall()]

    # Deleted cards

    def add_deleted(self, card_id: str, name: str, place: str) -> None:
        """Remember where a deleted card came from."""
        with self._open() as db:
            db.execute(
                "INSERT OR REPLACE INTO deleted VALUES (?, ?, ?, ?)", (card_id, name, place, time.time())
            )

    def deleted(self) -> list[Mapping[str, object]]:
        """Return the cards in the trash, the newest first."""
        with self._open() as db:
            return [dict(row) for row in db.execute("SELECT * FROM deleted ORDER BY deleted DESC").fetchall()]

    def forget_deleted(self, card_id: str) -> None:
        """Forget a deleted card."""
        with self._open() as db:
            db.execute("DELETE FROM deleted WHERE id = ?", (card_id,))


def _job(row: sqlite3.Row) -> Job:
    values = dict(row)
    values["arguments"] = tuple(json.loads(values["arguments"]))
    return Job(**values)

"""Where the app keeps its files, what it listens on, and its limits."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from pathlib import Path

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

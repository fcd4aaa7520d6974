"""The audits, by name: built-in ones and those of other packages (entry points `cuecard.audits`)."""

from __future__ import annotations

from cuecard.analysis import Analysis
from cuecard.registry import Registry, lacking

AUDITS: Registry[type[Analysis]] = Registry(
    "audit", group="cuecard.audits", check=lacking("name", "title", "tasks", "run", "__dataclass_fields__")
)

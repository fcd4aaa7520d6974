"""The probes, by name: built-in ones and those of other packages (entry points `cuecard.probes`)."""

from __future__ import annotations

from cuecard.analysis import Analysis
from cuecard.registry import Registry, lacking

PROBES: Registry[type[Analysis]] = Registry(
    "probe", group="cuecard.probes", check=lacking("name", "title", "tasks", "run", "__dataclass_fields__")
)

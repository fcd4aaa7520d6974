"""The remedies, by name: built-in ones and those of other packages (entry points `cuecard.remedies`)."""

from __future__ import annotations

from cuecard.analysis import Analysis
from cuecard.registry import Registry

REMEDIES: Registry[type[Analysis]] = Registry("remedy", group="cuecard.remedies")

"""CueCard finds what gives the answer away.

>>> import cuecard as cc
>>> data = cc.load("train.parquet", test="test.parquet")  # doctest: +SKIP
>>> card = cc.audit(data)  # doctest: +SKIP
>>> card.findings, card["cues"].table  # doctest: +SKIP
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from cuecard._version import __version__

if TYPE_CHECKING:
    from cuecard.card import Card, audit, compare, load_card, probe, save_card
    from cuecard.data import Instances, load, scan
    from cuecard.errors import CueCardError
    from cuecard.probes import read_predictions
    from cuecard.report import render_html, write_report
    from cuecard.stats import artifact_z, cueness
    from cuecard.stats.permutation import permutation_test

#: Public names and the module each comes from. They are imported at first use, so that `import cuecard` and
#: `cuecard --help` are quick.
_PUBLIC = {
    "Card": "cuecard.card",
    "CueCardError": "cuecard.errors",
    "Instances": "cuecard.data",
    "artifact_z": "cuecard.stats",
    "audit": "cuecard.card",
    "compare": "cuecard.card",
    "cueness": "cuecard.stats",
    "load": "cuecard.data",
    "load_card": "cuecard.card",
    "permutation_test": "cuecard.stats.permutation",
    "probe": "cuecard.card",
    "read_predictions": "cuecard.probes",
    "render_html": "cuecard.report",
    "save_card": "cuecard.card",
    "scan": "cuecard.data",
    "write_report": "cuecard.report",
}

__all__ = [
    "Card",
    "CueCardError",
    "Instances",
    "__version__",
    "artifact_z",
    "audit",
    "compare",
    "cueness",
    "load",
    "load_card",
    "permutation_test",
    "probe",
    "read_predictions",
    "render_html",
    "save_card",
    "scan",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'cuecard' has no attribute {name!r}")
    value = getattr(import_module(_PUBLIC[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)

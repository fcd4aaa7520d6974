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
    from cuecard.card import Card, compare, load_card, save_card
    from cuecard.data import Instances, load, scan
    from cuecard.errors import CueCardError
    from cuecard.probes import read_predictions
    from cuecard.remedies import leakage_neutral_weights
    from cuecard.report import render_html, write_report
    from cuecard.run import Debiased, audit, debias, probe, train
    from cuecard.stats import artifact_z, cueness, peco, token_relevance_agreement
    from cuecard.stats.entropy_balancing import entropy_balance
    from cuecard.stats.models.permutation import permutation_test

#: Public names and the module each comes from. They are imported at first use, so that `import cuecard` and
#: `cuecard --help` are quick.
_PUBLIC = {
    "Card": "cuecard.card",
    "CueCardError": "cuecard.errors",
    "Debiased": "cuecard.run",
    "Instances": "cuecard.data",
    "artifact_z": "cuecard.stats",
    "audit": "cuecard.run",
    "compare": "cuecard.card",
    "cueness": "cuecard.stats",
    "debias": "cuecard.run",
    "entropy_balance": "cuecard.stats.entropy_balancing",
    "leakage_neutral_weights": "cuecard.stats.neutral_weights",
    "load": "cuecard.data",
    "load_card": "cuecard.card",
    "peco": "cuecard.stats",
    "permutation_test": "cuecard.stats.models.permutation",
    "probe": "cuecard.run",
    "read_predictions": "cuecard.probes",
    "render_html": "cuecard.report",
    "save_card": "cuecard.card",
    "scan": "cuecard.data",
    "token_relevance_agreement": "cuecard.stats",
    "train": "cuecard.run",
    "write_report": "cuecard.report",
}

__all__ = [
    "Card",
    "CueCardError",
    "Debiased",
    "Instances",
    "__version__",
    "artifact_z",
    "audit",
    "compare",
    "cueness",
    "debias",
    "entropy_balance",
    "leakage_neutral_weights",
    "load",
    "load_card",
    "peco",
    "permutation_test",
    "probe",
    "read_predictions",
    "render_html",
    "save_card",
    "scan",
    "token_relevance_agreement",
    "train",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'cuecard' has no attribute {name!r}")
    if _PUBLIC[name] in ("cuecard.card", "cuecard.run"):
        _show_cards_in_notebooks()
    value = getattr(import_module(_PUBLIC[name]), name)
    globals()[name] = value
    return value


def _show_cards_in_notebooks() -> None:
    from cuecard.card.card import NOTEBOOK_VIEW

    def view(card: Card) -> str:
        from cuecard.report import notebook_html

        return notebook_html(card)

    NOTEBOOK_VIEW[:] = [view]


def __dir__() -> list[str]:
    return sorted(__all__)

"""What can be done? Weights that take the shortcuts out of a dataset, and sets without them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuecard._lazy import lazy_names
from cuecard.analysis import Analysis
from cuecard.registry import Registry

if TYPE_CHECKING:
    from cuecard.remedies.correction import Corrected, Correction
    from cuecard.remedies.lexical_weights import LexicalWeights
    from cuecard.remedies.neutral_weights import NeutralWeights
    from cuecard.remedies.stress_sets import StressSet, stress_set, write_stress_set
    from cuecard.stats.neutral_weights import LeakageNeutralWeights, leakage_neutral_weights

#: The remedies, by name: built-in ones and those of other packages (entry points `cuecard.remedies`).
REMEDIES: Registry[type[Analysis]] = Registry("remedy", group="cuecard.remedies")
#: The method's name on the command line and the remedy behind it.
REMEDIES.declare("lexical", "cuecard.remedies.lexical_weights:LexicalWeights")
REMEDIES.declare("neutral", "cuecard.remedies.neutral_weights:NeutralWeights")
REMEDIES.alias("leakage", "neutral")

__all__ = [
    "REMEDIES",
    "Corrected",
    "Correction",
    "LeakageNeutralWeights",
    "LexicalWeights",
    "NeutralWeights",
    "StressSet",
    "leakage_neutral_weights",
    "stress_set",
    "write_stress_set",
]

__getattr__ = lazy_names(__name__)

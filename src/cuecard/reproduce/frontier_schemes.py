"""Names of debiased trainings and corrections that the frontier compares: "upweight", "constraint", "words+expert"."""

from __future__ import annotations

from dataclasses import dataclass

from cuecard.errors import UsageError
from cuecard.models.debiasing.methods import METHODS
from cuecard.registry import unknown_name

PLAIN, ENSEMBLE = "plain", "ensemble"
#: Weights to train with, and the mean of all seeds' plain models.
BASES = (PLAIN, "words", "paper", ENSEMBLE, *METHODS)
#: Correction → method, which of the listed words it knows, and which it is tuned on.
CORRECTIONS = {
    "constraint": ("constraint", "all", "all"),
    "constraint-bands": ("constraint", "all and next", "all and next"),
    "constraint-tuned-on-half": ("constraint", "all", "half"),
    "constraint-half": ("constraint", "half", "half"),
    "expert": ("expert", "all", "all"),
    "expert-half": ("expert", "half", "half"),
    "expert-hypothesis": ("hypothesis", "all", "all"),
}
DEFAULT = (
    PLAIN,
    "words",
    "product-of-experts",
    "confidence",
    "upweight",
    "last-layer",
    "erase",
    *CORRECTIONS,
    "words+constraint",
    "ensemble",
    "ensemble+constraint",
)


@dataclass(frozen=True)
class Scheme:
    """How predictions come about: how a model is trained, and what is done to its probabilities afterwards."""

    name: str
    base: str
    correction: str | None = None

    @classmethod
    def of(cls, name: str) -> Scheme:
        """Return the scheme of a name; a correction alone is one of plain training."""
        base, plus, correction = name.partition("+")
        if not plus and base in CORRECTIONS:
            base, correction = PLAIN, base
        if base not in BASES:
            raise unknown_name("debiasing method", base, [*BASES, *CORRECTIONS])
        if correction and correction not in CORRECTIONS:
            raise unknown_name("correction", correction, list(CORRECTIONS))
        if plus and not correction:
            raise UsageError(f"{name!r} names no correction: write {base}+constraint.")
        return cls(name, base, correction or None)

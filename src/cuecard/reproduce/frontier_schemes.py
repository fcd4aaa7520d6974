"""Names of debiased trainings and corrections that the frontier compares: "upweight", "constraint", "words+expert"."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from cuecard.errors import UsageError
from cuecard.models.bias_experts import PAIR_GRAPH, check_cues
from cuecard.models.debiasing import METHODS, Debias
from cuecard.registry import unknown_name

PLAIN, ENSEMBLE, NEUTRAL = "plain", "ensemble", "neutral"
#: Weights to train with (balanced words, the paper's, leakage-neutral), and the mean of all seeds' plain models.
BASES = (PLAIN, "words", "paper", NEUTRAL, ENSEMBLE, *METHODS)
#: What an expert reads if it is the model itself, with the premises of other examples. It knows no words.
OTHER_PREMISES = "other-premises"
#: Between a method and what its expert reads; before the strength of a correction.
READS, AT = ":", "@"


@dataclass(frozen=True)
class FrontierCorrection:
    """A correction of probabilities.

    Attributes:
        method: of `Correction`.
        knows: which of the listed words it knows: "all", "half" or "all and next".
        tuned_on: which words its strength is tuned on, or "answers": what the expert it reads predicts.
        reads: cues of a bias expert instead of listed words, or "other-premises". The groups of a constraint are then
            the answers that the expert predicts, against the others.
        strength: instead of one that is tuned.
    """

    method: Literal["constraint", "expert"]
    knows: str = "all"
    tuned_on: str = "all"
    reads: str | None = None
    strength: float | None = None

    @classmethod
    def of(cls, name: str) -> FrontierCorrection:
        """Return the correction of a name, such as "constraint", "expert-length" or "expert-hypothesis@0.5"."""
        kind, at, number = name.partition(AT)
        if kind in CORRECTIONS:
            correction = CORRECTIONS[kind]
        else:
            method, dash, cues = kind.partition("-")
            if not dash or method not in ("constraint", "expert"):
                raise unknown_name("correction", kind, list(CORRECTIONS))
            if kind == f"expert-{OTHER_PREMISES}":
                # It knows no words, so that half of them are enough to tune on, and the others are a test.
                correction = cls("expert", reads=OTHER_PREMISES, tuned_on="half")
            else:
                check_cues(cues)
                own = method == "constraint" or PAIR_GRAPH in cues
                correction = cls(method, reads=cues, tuned_on="answers" if own else "all")  # type: ignore[arg-type]
        if not at:
            return correction
        try:
            strength = float(number)
        except ValueError:
            strength = -1.0
        if not 0 <= strength < float("inf"):
            raise UsageError(f"The strength of {name!r} is not a number of at least 0: write {kind}{AT}0.5.")
        return replace(correction, strength=strength)


CORRECTIONS = {
    "constraint": FrontierCorrection("constraint"),
    "constraint-bands": FrontierCorrection("constraint", "all and next", "all and next"),
    "constraint-tuned-on-half": FrontierCorrection("constraint", "all", "half"),
    "constraint-half": FrontierCorrection("constraint", "half", "half"),
    "expert": FrontierCorrection("expert"),
    "expert-half": FrontierCorrection("expert", "half", "half"),
}
DEFAULT = (
    PLAIN,
    "words",
    "product-of-experts",
    "learned-mixin",
    "confidence",
    "group-robust",
    "upweight",
    "last-layer",
    "erase",
    *CORRECTIONS,
    "expert-hypothesis",
    "words+constraint",
    ENSEMBLE,
    f"{ENSEMBLE}+constraint",
)


@dataclass(frozen=True)
class Scheme:
    """How predictions come about: how a model is trained, and what is done to its probabilities afterwards."""

    name: str
    base: str
    corrections: tuple[str, ...] = ()

    @classmethod
    def of(cls, name: str) -> Scheme:
        """Return the scheme of a name; corrections alone are those of plain training."""
        base, *corrections = name.split("+")
        method, reads, cues = base.partition(READS)
        if method not in BASES:
            if not _is_correction(base):
                raise unknown_name("debiasing method", base, [*BASES, *CORRECTIONS])
            base, corrections = PLAIN, [base, *corrections]
        elif reads:
            Debias(method, expert=cues)
        if "" in corrections:
            raise UsageError(f"{name!r} names no correction: write {base}+constraint.")
        for correction in corrections:
            FrontierCorrection.of(correction)
        return cls(name, base, tuple(corrections))

    @property
    def debias(self) -> Debias | None:
        """How the model is kept from using cues, if it is."""
        method, _, cues = self.base.partition(READS)
        if method not in METHODS:
            return None
        return Debias(method, expert=cues) if cues else Debias(method)

    @property
    def reads_other_premises(self) -> bool:
        """Whether a correction needs what the model answers with other premises."""
        return any(FrontierCorrection.of(name).reads == OTHER_PREMISES for name in self.corrections)

    @property
    def about_graph(self) -> bool:
        """Whether it corrects for the pair graph."""
        return PAIR_GRAPH in self.name or self.base == NEUTRAL


def _is_correction(name: str) -> bool:
    kind = name.partition(AT)[0]
    return kind in CORRECTIONS or kind.startswith(("constraint-", "expert-"))

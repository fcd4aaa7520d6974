"""What can be planted, how strongly, and the ground truth that is returned beside the data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from cuecard.data.instances import Instances
from cuecard.errors import UsageError

Kind = Literal["word", "bigram", "negation", "length", "pair_graph", "position"]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Cue:
    """A feature to plant: it occurs in `share` of the instances, and P(label | feature) is `strength`.

    With `strength=None` the feature occurs as often but says nothing about the label.
    """

    kind: Kind
    label: str
    strength: float | None
    share: float
    text: str = ""

    def silent(self) -> Cue:
        """Return the same feature without its association with the label."""
        return replace(self, strength=None)


@dataclass(frozen=True)
class PlantedCue:
    """The truth about one planted cue, in the words of the audits."""

    kind: Kind
    family: str
    feature: str
    label: str
    strength: float  # P(label | feature) in the generating process
    share: float  # expected share of instances that have the feature
    sentence: str


@dataclass(frozen=True, eq=False)
class Demo:
    """Generated instances with what was planted in them.

    `present[kind]` says for every row whether the feature is there, also for features that are silent.
    """

    instances: Instances
    truth: tuple[PlantedCue, ...]
    clean: bool
    present: Mapping[Kind, Bools] = field(repr=False)

    def planted(self, kind: Kind) -> PlantedCue:
        """Return the truth about the cue of this kind."""
        for cue in self.truth:
            if cue.kind == kind:
                return cue
        raise UsageError(f"No {kind} cue is planted here; planted are: {', '.join(c.kind for c in self.truth)}.")


NLI_CUES: tuple[Cue, ...] = (
    Cue("word", "entailment", 0.8, 0.06, "indeed"),
    Cue("bigram", "neutral", 0.75, 0.06, "again today"),
    Cue("negation", "contradiction", 0.8, 0.1),
    Cue("length", "neutral", 0.7, 0.15),
    Cue("pair_graph", "entailment", 0.6, 0.15),
)
CHOICE_CUES: tuple[Cue, ...] = (
    Cue("word", "right", 0.6, 0.06, "indeed"),
    Cue("bigram", "right", 0.6, 0.06, "again today"),
    Cue("negation", "wrong", 0.95, 0.1),
    Cue("length", "right", 0.5, 0.08),
    Cue("pair_graph", "right", 0.5, 0.04),
    Cue("position", "right", 0.4, 0.25, "2"),
)

_FEATURE = {"negation": "negation", "length": "longest", "pair_graph": "s2_freq"}
_SENTENCES: dict[Kind, str] = {
    "word": 'The word "{feature}" goes with {label}',
    "bigram": 'The words "{feature}" next to each other go with {label}, though neither does alone',
    "negation": 'A negation ("no", "not") goes with {label}',
    "length": "The longest texts go with {label}",
    "pair_graph": "A sentence that occurs in several pairs goes with {label}",
    "position": "The choice at position {feature}, counted from 0, goes with {label}",
}


def complete(cues: Iterable[Cue] | None, defaults: tuple[Cue, ...], labels: tuple[str, ...]) -> dict[Kind, Cue]:
    """Return a cue of every kind the task knows: those asked for, and the others silent."""
    table: dict[Kind, Cue] = {cue.kind: cue.silent() for cue in defaults}
    for cue in cues or ():
        if cue.kind not in table:
            raise UsageError(f"A {cue.kind} cue does not fit this task; it knows {', '.join(table)}.")
        if cue.label not in labels:
            raise UsageError(f"The {cue.kind} cue names the label {cue.label!r}; labels are {', '.join(labels)}.")
        if not (0 < cue.share < 1 and (cue.strength is None or 0 <= cue.strength <= 1)):
            raise UsageError(f"Share and strength of the {cue.kind} cue must be probabilities.")
        default = table[cue.kind]
        table[cue.kind] = replace(cue, text=cue.text or default.text)
    return table


def joint(cue: Cue, labels: tuple[str, ...], prior: Floats) -> Floats:
    """Return P(feature, label) for every label: the cue's own share, the rest in proportion to the prior."""
    if cue.strength is None:
        return cue.share * prior
    mine = np.array([label == cue.label for label in labels])
    others = np.where(mine, 0.0, prior)
    return cue.share * np.where(mine, cue.strength, (1 - cue.strength) * others / others.sum())


def conditional(cue: Cue, target: Floats, available: Floats) -> Floats:
    """Return P(feature | label, row is available), so that P(feature, label) over all rows is the target."""
    probability: Floats = target / available
    if probability.max() > 1:
        raise UsageError(
            f"The {cue.kind} cue cannot be that common: with strength {cue.strength} its share can be at most "
            f"{cue.share / probability.max():.3g}."
        )
    return probability


def truth(cues: Iterable[Cue]) -> tuple[PlantedCue, ...]:
    """Return the ground truth about the cues that say something."""
    found = []
    for cue in cues:
        if cue.strength is None:
            continue
        feature = _FEATURE.get(cue.kind, cue.text)
        sentence = _SENTENCES[cue.kind].format(feature=feature, label=cue.label)
        sentence += f" in {cue.strength:.0%} of the {cue.share:.0%} of instances that have it."
        found.append(PlantedCue(cue.kind, cue.kind, feature, cue.label, cue.strength, cue.share, sentence))
    return tuple(found)

"""The schemes of the frontier: how a model is trained, debiased or corrected, and tested with other premises."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

import numpy as np
import polars as pl

from cuecard.data import Instances
from cuecard.errors import UsageError
from cuecard.models.bias_experts import (
    PAIR_GRAPH,
    BiasExpert,
    check_cues,
    expert_log_probabilities,
    fit_expert,
)
from cuecard.models.debiasing import METHODS, Debias
from cuecard.models.text_model import partial_condition
from cuecard.probes import check_test
from cuecard.registry import unknown_name
from cuecard.remedies.correction import ListedCues, cue_groups
from cuecard.remedies.tuning import Part, tune
from cuecard.stats.arrays import Floats
from cuecard.stats.correction import CueGroups

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
        knows: which words it knows: "all" that are listed, "half" of them, "all and next", or also "bigrams".
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
    "constraint-sets": FrontierCorrection("constraint", "all, next and bigrams", "all, next and bigrams"),
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


#: Standard deviations from zero within which both tests must be on dev.
MARGIN = 0.5
Made = TypeVar("Made")


@dataclass(frozen=True, eq=False)
class FrontierCorrector:
    """Corrects probabilities by strengths that are tuned on dev; cues and experts are read once.

    `parts` are the dev split, the test split and the other datasets, each as the test split beside the training set.
    """

    parts: Sequence[Instances]
    listed: ListedCues
    next: ListedCues
    bigrams: ListedCues
    _kept: dict[Any, Any] = field(default_factory=dict, repr=False)

    def corrected(
        self, probabilities: Sequence[Floats], corrections: Sequence[str], bias: Sequence[Floats] = ()
    ) -> tuple[list[str], list[Floats]]:
        """Return the strengths, and the probabilities of all parts after all corrections, one after another.

        `bias` has log-probabilities of all parts from the model itself, for corrections that read other premises.
        """
        strengths, now = [], list(probabilities)
        for name in corrections:
            correction = FrontierCorrection.of(name)
            parts = [self._part(at, values, correction, bias) for at, values in enumerate(now)]
            own = correction.tuned_on in (correction.knows, "answers") and correction.reads is None
            other = None if own else self._groups(0, correction, tuned=True)
            fixed = None
            if correction.strength is not None:
                # Every list of words has a multiplier for each of the two tests.
                n = 1 if correction.method == "expert" else 2 * len(parts[0].bands)
                fixed = (correction.strength,) * n
            tuned = tune(parts[0], "gap", margin=MARGIN, judged_by=other, fixed=fixed)
            strengths.append(" ".join(f"{s:g}" for s in tuned.strengths))
            now = [tuned.apply(part) for part in parts]
        return strengths, now

    def _part(self, at: int, values: Floats, correction: FrontierCorrection, bias: Sequence[Floats]) -> Part:
        expert = None
        if correction.method == "expert":
            expert = bias[at] if correction.reads == OTHER_PREMISES else self._expert(at, correction)
        return Part(values, check_test(self.parts[at]).gold, self._groups(at, correction), expert)

    def _groups(
        self, at: int, correction: FrontierCorrection, *, tuned: bool = False
    ) -> tuple[CueGroups, ...]:
        """Return the groups that the correction knows, or those that it is tuned on."""
        of_answers = correction.tuned_on == "answers" if tuned else correction.method == "constraint"
        if correction.reads is not None and of_answers:
            expert = self._expert(at, correction)
            predicted = expert == expert.max(axis=1, keepdims=True)
            return (CueGroups(predicted, ~predicted),)
        which = correction.tuned_on if tuned else correction.knows

        def make() -> tuple[CueGroups, ...]:
            # Only dev has to have both groups: strengths are tuned there.
            return tuple(
                cue_groups(words.cue_set(self.parts[at]), both=not at) for words in self._words(which)
            )

        return self._once(("groups", at, which), make)

    def _words(self, which: str) -> list[ListedCues]:
        """Return lists of words, each of which has multipliers of its own."""
        return {
            "all": [self.listed],
            "half": [self.listed.only(slice(None, None, 2))],
            "all and next": [self.listed, self.next],
            "all, next and bigrams": [self.listed, self.next, self.bigrams],
        }[which]

    def _expert(self, at: int, correction: FrontierCorrection) -> Floats:
        def make() -> Floats:
            data = self.parts[at]
            test = check_test(data).instances
            if correction.reads is not None:
                # Of questions, the part of the input that must not suffice is the choices.
                cues = partial_condition(data) if correction.reads == "hypothesis" else correction.reads
                return BiasExpert(cues).log_probabilities(data.train, test)
            train_rows, test_rows = self._words(correction.knows)[0].rows(data)
            return expert_log_probabilities(fit_expert(train_rows, data.train), test_rows, test)

        return self._once(("expert", at, correction.reads, correction.knows), make)

    def _once(self, key: Any, make: Callable[[], Made]) -> Made:
        if key not in self._kept:
            self._kept[key] = make()
        value: Made = self._kept[key]
        return value


def beside_train(train: Instances, other: Instances) -> Instances:
    """Return the training set with another dataset as its test split."""
    shared = [name for name in train.table.columns if name in other.table.columns]
    dtype = train.table["split"].dtype
    first = train.table.select(shared).with_columns(pl.lit("train").cast(dtype).alias("split"))
    second = other.table.select(shared).with_columns(pl.lit("test").cast(dtype).alias("split"))
    return replace(train, table=pl.concat([first, second], how="vertical_relaxed"))


#: Premises that every hypothesis is read with; with two, the mean is noisier, and corrections cost more.
DRAWS = 4


def with_other_premises(part: Instances, seed: int) -> Instances:
    """Return the examples, each with the premise of another one drawn at random; of questions, with another question.

    Every premise is used once.
    """
    if part.task == "text":
        raise UsageError("Other premises only apply to pairs and questions; this dataset holds single texts.")
    premises = part.table["premise"].gather(part.first_rows[:-1])
    circle = np.random.default_rng(seed).permutation(len(premises))
    source = np.empty(len(premises), np.int64)
    source[circle] = np.roll(circle, 1)  # the next one in a random circle: nobody keeps its own
    table = part.table.with_columns(premise=premises.gather(source[part.example_codes]))
    return replace(part, table=table)


def drawn_parts(parts: Sequence[Instances]) -> list[Instances]:
    """Return all parts with the premises of every draw, draw after draw."""
    return [with_other_premises(part, seed) for seed in range(DRAWS) for part in parts]


def own_bias(outputs: Sequence[Floats], parts: int) -> list[Floats]:
    """Return per part the log of the mean probabilities over the draws, less its mean over the first part (dev).

    `outputs` are those of `drawn_parts`. The mean of dev is taken out, so that dividing by it favours no answer as
    such: with another premise, entailment is rare.
    """
    logs = [np.log(np.maximum(np.mean(outputs[at::parts], axis=0), 1e-12)) for at in range(parts)]
    possible = np.isfinite(logs[0])
    level = np.where(possible, logs[0], 0.0).sum(axis=0) / np.maximum(possible.sum(axis=0), 1)
    return [values - level[: values.shape[1]] for values in logs]

"""Corrections of the frontier: strengths are tuned on dev, and applied to the test split and to other datasets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import polars as pl

from cuecard.data import Instances
from cuecard.models.bias_experts import BiasExpert, expert_log_probabilities, fit_expert
from cuecard.models.text_model import partial_condition
from cuecard.probes import check_test
from cuecard.remedies.correction import ListedCues, cue_groups
from cuecard.remedies.tuning import Part, tune
from cuecard.reproduce.frontier_schemes import OTHER_PREMISES, FrontierCorrection
from cuecard.stats.arrays import Floats
from cuecard.stats.correction import CueGroups

#: Standard deviations below zero that both tests must have on dev.
MARGIN = 1.0
Made = TypeVar("Made")


@dataclass(frozen=True, eq=False)
class FrontierCorrector:
    """Corrects probabilities by strengths that are tuned on dev; cues and experts are read once.

    `parts` are the dev split, the test split and the other datasets, each as the test split beside the training set.
    """

    parts: Sequence[Instances]
    listed: ListedCues
    next: ListedCues
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
        if which == "half":
            return [self.listed.only(slice(None, None, 2))]
        return [self.listed, self.next] if which == "all and next" else [self.listed]

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

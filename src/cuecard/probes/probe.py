"""The contract of a probe: a question about models, asked with their predictions and the cues of the data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol, runtime_checkable

from cuecard.analysis import Result
from cuecard.data import Instances, Task
from cuecard.probes.cue_set import CueSet
from cuecard.probes.predictions import Predictions
from cuecard.registry import Registry


@runtime_checkable
class Probe(Protocol):
    """A question about what models do with cues that can be asked by name.

    Implementations are frozen dataclasses: their fields are the parameters, written to the card as they are.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    tasks: ClassVar[frozenset[Task]]

    def run(self, data: Instances, predictions: Sequence[Predictions], cues: CueSet) -> Result:
        """Answer the question for these models on the test split of this dataset."""
        ...


PROBES: Registry[type[Probe]] = Registry("probe", group="cuecard.probes")

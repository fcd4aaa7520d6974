"""The examples that predictions are about: their ids, their right answers and what a model may answer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data import Instances
from cuecard.errors import InputError

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

#: Stands where a model gave no answer that can be read; it is counted, and never right.
UNANSWERED = -1


@dataclass(frozen=True, eq=False)
class TestExamples:
    """The test examples of a dataset in order.

    An answer is the code of a label, or for `choice` and `preference` the position of the choice picked.
    """

    __test__ = False  # not a test class, whatever its name begins with

    instances: Instances

    @cached_property
    def first_rows(self) -> Ints:
        """The first instance of every example, and the number of instances at the end."""
        codes = self.instances.example_codes
        starts = np.flatnonzero(np.diff(codes, prepend=-1))
        return np.append(starts, len(codes)).astype(np.int64)

    @property
    def sizes(self) -> Ints:
        """How many instances every example has."""
        return np.diff(self.first_rows)

    @cached_property
    def ids(self) -> pl.Series:
        """The id of every example."""
        return self.instances.table["example_id"].gather(self.first_rows[:-1])

    @cached_property
    def right_rows(self) -> Ints:
        """The instance of every example that is the right one (the instance itself, for pairs and texts)."""
        if not self.instances.grouped:
            return self.first_rows[:-1]
        return np.flatnonzero(self.instances.label_codes == 0).astype(np.int64)

    @cached_property
    def gold(self) -> Ints:
        """The right answer of every example."""
        if not self.instances.grouped:
            return self.instances.label_codes.astype(np.int64)
        return self.right_rows - self.first_rows[:-1]

    @property
    def answer_names(self) -> tuple[str, ...]:
        """What a model can answer: the labels, the two answers of a preference, or positions from 0."""
        if self.instances.task == "choice":
            return tuple(str(i) for i in range(int(self.sizes.max(initial=0))))
        return self.instances.labels

    @cached_property
    def choices(self) -> pl.Series:
        """The texts of every example's choices, as lists."""
        table = self.instances.table.select("hypothesis", example=self.instances.example_codes)
        return table.group_by("example", maintain_order=True).agg("hypothesis")["hypothesis"]

    @cached_property
    def premises(self) -> list[str]:
        """The premise (question, prompt) of every example."""
        texts: list[str] = self.instances.table["premise"].gather(self.first_rows[:-1]).to_list()
        return texts

    def __len__(self) -> int:
        return len(self.first_rows) - 1


def check_test(data: Instances) -> TestExamples:
    """Return the test examples, or raise if there is no test split to probe a model on."""
    if data.test is None or not len(data.test):
        raise InputError(
            f"{data.name} has no test split, and a model is probed on one: give it with --test, "
            "or draw one with --holdout 0.2."
        )
    return TestExamples(data.test)

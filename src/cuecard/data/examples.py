"""The examples of a dataset: where the rows of each begin, which answer is right, and how much each counts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl

from cuecard.data.instances import Instances, first_rows, taken
from cuecard.data.units import UnitScope, divided_templates
from cuecard.errors import InputError
from cuecard.stats.arrays import Bools, Floats, Ints, follows


@dataclass(frozen=True, eq=False)
class Examples:
    """The examples of some instances, in order: a pair or text is one row, a question a run of competing rows.

    An answer is the place of a label in `labels`, or for `choice` and `preference` the place of a row in its example.

    Attributes:
        instances: the rows.
        weights: how much every example counts; None where all count the same.
        known_labels: the labels a model can answer, where those are not the labels of the instances.
        chosen: numbers of the examples of the instances that these are; None for all.
    """

    instances: Instances
    weights: Floats | None = None
    known_labels: tuple[str, ...] | None = None
    chosen: Ints | None = None

    @classmethod
    def of_rows(cls, instances: Instances, row_weights: Floats | None) -> Examples:
        """Return the examples, each with the weight of its right row."""
        whole = cls(instances)
        return whole if row_weights is None else replace(whole, weights=row_weights[whole.right_rows])

    def __len__(self) -> int:
        return len(self.first_rows) - 1

    def take(self, chosen: Ints) -> Examples:
        """Return some of the examples, in that order."""
        numbers = chosen if self.chosen is None else self.chosen[chosen]
        return replace(self, weights=self.weight(chosen), chosen=numbers)

    @property
    def grouped(self) -> bool:
        """Whether the rows of an example compete with each other."""
        return self.instances.grouped

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that answers are numbered by."""
        return self.instances.labels if self.known_labels is None else self.known_labels

    # Rows.

    @cached_property
    def first_rows(self) -> Ints:
        """The first row of every example among the rows of these examples, and the number of rows at the end."""
        whole = self.instances.first_rows
        if self.chosen is None:
            return whole
        sizes = np.diff(whole)[self.chosen]
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    @cached_property
    def row_numbers(self) -> Ints:
        """The numbers of the rows of these examples among the instances."""
        if self.chosen is None:
            return np.arange(len(self.instances), dtype=np.int64)
        return Examples(self.instances).rows(self.chosen)

    @property
    def sizes(self) -> Ints:
        """How many rows every example has."""
        return np.diff(self.first_rows)

    def rows(self, examples: Ints) -> Ints:
        """Return the rows of some of these examples, in their order."""
        if not self.grouped:
            return examples
        sizes = self.sizes[examples]
        first = np.repeat(self.first_rows[examples] - np.cumsum(sizes) + sizes, sizes)
        return np.asarray(first + np.arange(sizes.sum()))

    # Answers.

    @cached_property
    def gold(self) -> Ints:
        """The right answer of every example; -1 where its label is not among `labels`, so that no answer is right."""
        if self.chosen is not None:
            return replace(self, weights=None, chosen=None).gold[self.chosen]
        if self.grouped:
            return self.instances.space.stored(self.right_rows - self.first_rows[:-1])
        codes = self.instances.label_codes
        if self.known_labels is None:
            return codes.astype(np.int64, copy=False)
        place = {label: i for i, label in enumerate(self.known_labels)}
        return np.array([place.get(label, -1) for label in self.instances.labels], dtype=np.int64)[codes]

    @cached_property
    def right_rows(self) -> Ints:
        """The row of every example that is the right one (the row itself, for pairs and texts)."""
        if not self.grouped or self.chosen is not None:
            return self.first_rows[:-1] + (self.gold if self.grouped else 0)
        right = np.flatnonzero(self.instances.label_codes == 0).astype(np.int64)
        if not np.array_equal(self.instances.example_codes[right], np.arange(len(self))):
            raise InputError(
                f"Every example of {self.instances.task} data needs exactly one {self.instances.labels[0]!r} row."
            )
        return self.instances.space.stored(right)

    @cached_property
    def options(self) -> Ints:
        """How many answers each example has: its rows, or the labels."""
        if self.grouped:
            return self.instances.space.stored(self.sizes)
        return np.broadcast_to(np.int64(len(self.labels)), len(self))

    @property
    def answer_names(self) -> tuple[str, ...]:
        """What a model can answer: the labels, the two answers of a preference, or positions from 0."""
        if self.instances.task == "choice":
            return tuple(str(i) for i in range(int(self.sizes.max(initial=0))))
        return self.labels

    # Weights.

    @cached_property
    def example_weights(self) -> Floats:
        """How much every example counts: its weight, or 1."""
        return np.ones(len(self)) if self.weights is None else self.weights

    def units(self, scope: UnitScope, which: Ints | slice = slice(None)) -> Ints:
        """Return the unit of independence of some examples: copies of what `scope` names share a number."""
        return self._of_first_rows(self.instances.units(scope), which)

    def _of_first_rows(self, values: Ints, which: Ints | slice) -> Ints:
        """Return the values of the first rows of some examples; those of rows that follow each other are no copy."""
        if self.grouped or self.chosen is not None:
            return values[self.row_numbers[self.first_rows[:-1][which]]]
        if isinstance(which, slice):
            return values[which]
        return taken(values, which) if follows(which) else values[which]

    def units_and_templates(
        self, scope: UnitScope, which: Ints | slice = slice(None)
    ) -> tuple[Ints, Ints | None]:
        """Return the units of some examples, a template's sentences apart, and which of them are of one template."""
        near = self.units(scope, which)
        if self.grouped or (scope != "hypothesis" and scope != "premise"):
            return near, None
        closest = self._of_first_rows(self.instances.closest_units(scope), which)
        return divided_templates(near, closest)

    def weight(self, which: Ints | slice = slice(None)) -> Floats | None:
        """Return the weights of some examples; None where all count the same."""
        return None if self.weights is None else self.weights[which]

    def label_sums(self, which: Ints) -> Floats | Ints:
        """Return how many of some examples have each label, or how much weight."""
        gold = taken(self.gold, which) if follows(which) else self.gold[which]
        return np.bincount(gold, weights=self.weight(which), minlength=len(self.labels))

    # What the table says about them.

    def of_first_rows(self, column: str) -> pl.Series:
        """Return a column's value in the first row of every example."""
        return self.instances.table[column].gather(self.row_numbers[self.first_rows[:-1]])

    @cached_property
    def ids(self) -> pl.Series:
        """The id of every example."""
        return self.of_first_rows("example_id")

    @cached_property
    def splits(self) -> pl.Series:
        """The split of every example."""
        return self.of_first_rows("split").cast(pl.String)

    def in_split(self, name: str) -> Bools:
        """Return which examples belong to a split."""
        mask = self.instances.in_splits(name)
        if self.grouped or self.chosen is not None:
            mask = mask[self.row_numbers[self.first_rows[:-1]]]
        return mask

    def of_split(self, name: str) -> Ints:
        """Return the numbers of the examples of a split."""
        mask = self.in_split(name)
        first, n = int(mask.argmax()) if len(mask) else 0, int(np.count_nonzero(mask))
        if mask[first : first + n].all():  # the examples of a split stand together
            return np.arange(first, first + n, dtype=np.int64)
        return np.flatnonzero(mask)

    @cached_property
    def premises(self) -> list[str]:
        """The premise (question, prompt) of every example."""
        texts: list[str] = self.of_first_rows("premise").to_list()
        return texts

    @cached_property
    def choices(self) -> pl.Series:
        """The texts of every example's choices, as lists."""
        rows = self.instances.table["hypothesis"].gather(self.row_numbers)
        table = pl.DataFrame({"hypothesis": rows, "example": np.repeat(np.arange(len(self)), self.sizes)})
        return table.group_by("example", maintain_order=True).agg("hypothesis")["hypothesis"]


__all__ = ["Bools", "Examples", "Floats", "Ints", "first_rows"]

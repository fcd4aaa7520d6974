"""Test examples that are copies of each other are one observation of a model: it is asked about them once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cuecard.data import Instances
from cuecard.data.examples import Examples
from cuecard.probes.examples import check_test, only_test
from cuecard.probes.predictions import Predictions
from cuecard.stats.arrays import Ints
from cuecard.wording import percent, plural

#: Copies stay while they add at most this much to the variance of a mean, Σm² / n − 1 for examples that occur m times.
TOLERATED = 0.1


def distinct_examples(examples: Examples) -> tuple[Ints, Ints]:
    """Return the first of all examples with the same texts and the same right answer, and how many each stands for.

    Near copies count as copies, unless their right answers differ, as in contrast sets. Where the data names a column
    of clusters, copies are still those of the texts.
    """
    instances = replace(examples.instances, cluster=None)
    first = examples.row_numbers[examples.first_rows[:-1]]
    unit = instances.units("example")[first]
    right = examples.gold
    if examples.grouped:
        # The place of the right choice may differ between copies, its text does not.
        right = instances.units("hypothesis")[examples.row_numbers[examples.right_rows]]
    _, kept, times = np.unique(np.column_stack([unit, right]), axis=0, return_index=True, return_counts=True)
    order = np.argsort(kept)
    return kept[order], times[order]


def counted_once(
    data: Instances, predictions: Sequence[Predictions]
) -> tuple[Instances, list[Predictions], str]:
    """Return data and predictions with one test example of all that are copies, and a note where that leaves any out.

    A model answers copies alike, so that tests and intervals which take examples as independent would be certain of
    what is one answer, seen often.
    """
    examples = check_test(data)
    kept, times = distinct_examples(examples)
    n = len(examples)
    if (times**2).sum() <= (1 + TOLERATED) * n:
        return data, list(predictions), ""
    note = (
        f"{plural(n, 'test example')} are {plural(len(kept), 'distinct one')}; copies with the same right answer count "
        f"once, which leaves out {percent(1 - len(kept) / n)}."
    )
    return only_test(data, examples, kept), [model.only(kept) for model in predictions], note

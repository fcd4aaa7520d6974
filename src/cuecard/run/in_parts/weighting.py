"""Weights of a dataset that is gone through in pieces, because it does not fit in memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from cuecard.analysis import Analysis, Result
from cuecard.card.card import Card
from cuecard.data import Scan
from cuecard.data.loading import Unread
from cuecard.engines import Stream
from cuecard.errors import UsageError
from cuecard.run.finishing import check_labels
from cuecard.run.in_parts.auditing import (
    LEAST_MEMORY,
    Budget,
    does_not_fit,
    engine_of,
    scan_within,
)
from cuecard.run.in_parts.keeping import sees_all, store_of
from cuecard.run.running import Progress, answer, card_of, require_done
from cuecard.stats.arrays import Floats
from cuecard.wording import listed


@dataclass(frozen=True, eq=False)
class WeightedScan:
    """A dataset in pieces with the weights of its training examples, and the card about them."""

    scan: Scan
    weights: Floats
    card: Card


def goes_in_parts(unread: Unread, remedy: Analysis, budget: Budget) -> bool:
    """Return whether a remedy goes through a dataset in pieces; raise if it must and cannot."""
    if not does_not_fit(unread, [remedy], budget):
        return False
    if not sees_all(remedy) and budget.chosen:
        options = listed(list(getattr(remedy, "in_memory_only", ())))
        raise UsageError(
            f"{remedy.title}{f' with {options}' if options else ''} need the whole dataset in memory: allow more "
            f"with --memory{', or leave the option out' if options else ''}."
        )
    return sees_all(remedy)


@contextmanager
def weighted_scan(
    scan: Scan, remedy: Any, budget: Budget, *, progress: Progress | None = None, command: str = ""
) -> Iterator[WeightedScan]:
    """Yield the weights of all training examples; what was learned for them is kept until the body is done.

    A run that was interrupted continues with the pieces that are not done.
    """
    seed = int(getattr(remedy, "seed", 0))
    with store_of(scan, [remedy], seed, cache=True) as store:
        yield _weighted(
            Stream(scan, store, budget.mapping, seed, progress), remedy, budget, progress, command
        )


def _weighted(
    stream: Stream, remedy: Any, budget: Budget, progress: Progress | None, command: str
) -> WeightedScan:
    data = stream.without_units
    check_labels(data)
    made: list[Floats] = []

    def run() -> Result:
        each = remedy.choice_bytes if data.grouped else remedy.row_bytes
        most = max(budget.memory, LEAST_MEMORY) // each
        result, weights = remedy.run_stream(stream, most)
        made.append(weights)
        return result  # type: ignore[no-any-return]

    told = answer(remedy, data, run=run, progress=progress)
    require_done(told.section)
    sample, notes = stream.sample, []
    if fitted_on := told.section.summary.get("fitted_on"):
        notes.append(
            f"The weights are estimated on {fitted_on:,} random training examples and applied to all."
        )
    if sample.n_examples < data.n_examples:
        told.section.sampled = {"train": sample.train.n_examples}
        notes.append(_note(sample.train.n_examples))
    card = card_of(data, [told], rows=sample, command=command, notes=notes)
    card.provenance.engine = engine_of(stream.scan, budget)
    return WeightedScan(stream.scan, made[0], card)


def weights_in_parts(
    unread: Unread, remedy: Analysis, budget: Budget, *, progress: Progress | None = None, command: str = ""
) -> WeightedScan:
    """Return the weights of a dataset that is gone through in pieces."""
    with weighted_scan(
        scan_within(unread, budget), remedy, budget, progress=progress, command=command
    ) as weighted:
        return weighted


def _note(sampled: int) -> str:
    return (
        "The dataset does not fit in the memory that is allowed. Weights, effective sample size and the balance of the "
        "chosen features are about all training examples; strongest words, random n-grams and the repeated cue audit "
        f"are about a random sample of {sampled:,} training examples, and so is the table of examples. Balance "
        "on held-out examples is not measured."
    )

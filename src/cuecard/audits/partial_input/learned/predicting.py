"""Predictions of several models in one pass over the examples: the features of an example are made once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from cuecard.audits.partial_input.baselines.guessing import Guesses, guess_labels, guess_rows
from cuecard.data.examples import Examples
from cuecard.models.linear.features_on_request import Features
from cuecard.models.linear.input_features import AT_A_TIME
from cuecard.models.linear.scorer import Parts, Scorer, parts_of
from cuecard.stats.arrays import Floats, Ints, chunks


@dataclass(frozen=True, eq=False)
class Ask:
    """What one model is asked: `which` examples of a part, by their places in it, and `write` takes its guesses."""

    scorer: Future[Scorer]
    which: Callable[[slice], Ints]
    write: Callable[[slice, Guesses], None]


def predict(
    pool: ThreadPoolExecutor, matrix: Features, examples: Examples, among: Ints, asks: Sequence[Ask]
) -> None:
    """Have models guess the examples `among`, some at a time, beside each other."""
    for ask in asks:
        ask.scorer.result()

    def one(some: slice) -> None:
        _predict(matrix, examples, among[some], some, asks)

    for done in [pool.submit(one, some) for some in chunks(len(among), AT_A_TIME)]:
        done.result()


def _predict(matrix: Features, examples: Examples, part: Ints, some: slice, asks: Sequence[Ask]) -> None:
    chosen = [(ask, ask.which(some)) for ask in asks]
    if not any(len(places) for _, places in chosen):
        return
    parts = parts_of(matrix, examples.rows(part))
    ends = np.cumsum(examples.options[part]) if examples.grouped else None
    for ask, places in chosen:
        if len(places):
            ask.write(some, _guesses(ask.scorer.result(), parts, examples, part, places, ends))


def _guesses(
    scorer: Scorer, parts: Parts, examples: Examples, part: Ints, places: Ints, ends: Ints | None
) -> Guesses:
    """Return the guesses of a model for the examples at some places of a part."""
    asked = part[places]
    gold = examples.gold[asked]
    if ends is None:
        probabilities = scorer.model.probabilities(scorer.margins(parts, places))
        return guess_labels(_all_classes(probabilities, len(examples.instances.labels)), gold)
    sizes = examples.options[asked]
    # The rows of these examples among those of the part.
    rows = np.repeat(ends[places] - np.cumsum(sizes), sizes) + np.arange(sizes.sum())
    margins = scorer.margins(parts, rows)
    chances = scorer.model.probabilities(margins, groups=np.repeat(np.arange(len(asked)), sizes))
    return guess_rows(margins, gold, sizes, chances)


def _all_classes(probabilities: Floats, k: int) -> Floats:
    """Return a column for every label; one that training lacked has probability 0."""
    return np.pad(probabilities, ((0, 0), (0, k - probabilities.shape[1])))

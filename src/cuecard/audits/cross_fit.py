"""Guesses for examples a learner has not seen: trained on train and scored on test, or fold by fold."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from cuecard.audits.guessing import Examples, Floats, Guesses, Ints, guess_labels, guess_rows
from cuecard.models import LinearModel


@dataclass(frozen=True, eq=False)
class Trainer:
    """Fits the learner on some examples and guesses others; fits run side by side on all cores.

    At most `max_train` examples are learned from, drawn by the seed. The result of a fit depends on its
    examples and the seed alone, never on how many run at once.
    """

    examples: Examples
    pool: ThreadPoolExecutor
    strength: float = 1.0
    max_train: int | None = None
    seed: int = 0

    def guess(self, matrix: sparse.csr_matrix, learn: Ints, guess: Ints) -> Guesses:
        """Return the guesses for the examples `guess` of a model that learned from the examples `learn`."""
        if self.max_train is not None and len(learn) > self.max_train:
            drawn = np.random.default_rng(self.seed).permutation(len(learn))[: self.max_train]
            learn = learn[np.sort(drawn)]
        model = LinearModel(strength=self.strength, seed=self.seed)
        examples = self.examples
        if not examples.data.grouped:
            model.fit(matrix[learn], examples.gold[learn])
            return guess_labels(
                _all_classes(model.predict_proba(matrix[guess]), len(examples.data.labels)), examples.gold[guess]
            )
        rows, groups = examples.rows(learn), np.repeat(np.arange(len(learn)), examples.options[learn])
        right = (examples.data.label_codes[rows] == 0).astype(np.int64)
        model.fit(matrix[rows], right, groups=groups)
        held_out, sizes = matrix[examples.rows(guess)], examples.options[guess]
        probability = model.predict_proba(held_out, groups=np.repeat(np.arange(len(guess)), sizes))
        return guess_rows(model.decision_function(held_out), examples.gold[guess], sizes, probability)

    def later(self, matrix: sparse.csr_matrix, learn: Ints, guess: Ints) -> Future[Guesses]:
        """Return the same guesses as a promise; the work is done beside the caller's."""
        return self.pool.submit(self.guess, matrix, learn, guess)

    def cross_fit(self, matrix: sparse.csr_matrix, among: Ints, fold: Ints) -> Callable[[], Guesses]:
        """Return a function that gives every example of `among` its guess by a model of the other folds."""
        parts = [among[fold == f] for f in np.unique(fold)]
        promised = [
            self.later(matrix, among[fold != f], part) for f, part in zip(np.unique(fold), parts, strict=True)
        ]
        order = np.argsort(np.concatenate(parts), kind="stable")
        return lambda: joined([promise.result() for promise in promised]).take(order)


@contextmanager
def trainer(
    examples: Examples, *, strength: float = 1.0, max_train: int | None = None, seed: int = 0
) -> Iterator[Trainer]:
    """Give a trainer with as many workers as there are cores, and let them go afterwards."""
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        yield Trainer(examples, pool, strength, max_train, seed)


def joined(parts: Iterable[Guesses]) -> Guesses:
    """Return the guesses of several parts one after the other."""
    parts = list(parts)
    probabilities = [part.probability for part in parts if part.probability is not None]
    return Guesses(
        np.concatenate([part.score for part in parts]),
        np.concatenate([part.named for part in parts]),
        np.concatenate([part.options for part in parts]),
        np.concatenate([part.label for part in parts]),
        np.concatenate(probabilities) if len(probabilities) == len(parts) else None,
    )


def _all_classes(probabilities: Floats, k: int) -> Floats:
    """Return a column for every label; one that training lacked has probability 0."""
    return np.pad(probabilities, ((0, 0), (0, k - probabilities.shape[1])))

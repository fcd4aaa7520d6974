"""Guesses for examples a learner has not seen: trained on train and scored on test, or fold by fold."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cuecard.audits.partial_input.baselines.guessing import Guesses, guess_labels, guess_rows
from cuecard.data.examples import Examples
from cuecard.data.units import UnitScope
from cuecard.models import LinearModel
from cuecard.models.linear.kept_rows import AT_A_TIME, Features, FiguredInstances
from cuecard.stats.arrays import Floats, Ints, chunks
from cuecard.stats.scores.cross_fit_intervals import cross_fit_inflation

Codes = npt.NDArray[np.integer[Any]]
#: Duality gaps per example to stop at. With many examples, what is left at the larger one changes no figure.
EXACT, GOOD_ENOUGH, FEW = 1e-6, 1e-3, 10_000
#: Fits that run at once where texts stay on disk.
MOST_FITS = 4


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Guesses for examples the model has not seen, and those among which the test counts its hits.

    Where there is a test split they are the same. A cross-fit uses every example to learn from and to guess,
    so its hits are not independent: what chance has put into one fold, the models of the others have learned,
    and the count of hits varies more than a binomial one. The test then counts the hits of models that learned
    from earlier folds only. Given the past, these are independent of the answers where input and answer are,
    so their number has exactly the distribution that is tested.
    """

    examples: Ints
    guesses: Guesses
    tested_examples: Ints
    tested: Guesses
    #: The fold of every guess, and of every tested one: nil where one model made all.
    fold: Codes
    tested_fold: Codes

    @property
    def inflation(self) -> float:
        """How much more the mean of the guesses varies than that of as many independent examples."""
        folds = len(np.unique(self.fold))
        return cross_fit_inflation(folds) if folds > 1 else 1.0

    def weighted(self, examples: Examples, scope: UnitScope | None = None) -> Evaluation:
        """Return the same guesses, counted by the weights of their examples and in units of independence."""

        def counted(guesses: Guesses, which: Ints) -> Guesses:
            guesses = guesses.weighted(examples.weight(which))
            if scope is not None:
                guesses = guesses.in_units(*examples.units_and_templates(scope, which))
            return guesses.on_disk(scratch_of(examples))

        return replace(
            self,
            guesses=counted(self.guesses, self.examples),
            tested=counted(self.tested, self.tested_examples),
        )


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

    def guess(self, matrix: Features, learn: Ints, guess: Ints) -> Guesses:
        """Return the guesses for the examples `guess` of a model that learned from the examples `learn`."""
        return self._guessed(matrix, learn, guess).on_disk(scratch_of(self.examples))

    def _guessed(self, matrix: Features, learn: Ints, guess: Ints) -> Guesses:
        if self.max_train is not None and len(learn) > self.max_train:
            drawn = np.random.default_rng(self.seed).permutation(len(learn))[: self.max_train]
            learn = learn[np.sort(drawn)]
        tolerance = EXACT if len(learn) <= FEW else GOOD_ENOUGH
        model = LinearModel(strength=self.strength, tolerance=tolerance, seed=self.seed)
        examples = self.examples
        if not examples.instances.grouped:
            model.fit(matrix[learn], examples.gold[learn], sample_weight=examples.weight(learn))
            probability = model.probabilities(self._margins(model, matrix, guess))
            return guess_labels(
                _all_classes(probability, len(examples.instances.labels)), examples.gold[guess]
            )
        rows, groups = examples.rows(learn), np.repeat(np.arange(len(learn)), examples.options[learn])
        right = (examples.instances.label_codes[rows] == 0).astype(np.int64)
        each = examples.weight(learn)
        weight = None if each is None else each[groups]
        model.fit(matrix[rows], right, groups=groups, sample_weight=weight)
        margins, sizes = self._margins(model, matrix, guess), examples.options[guess]
        probability = model.probabilities(margins, groups=np.repeat(np.arange(len(guess)), sizes))
        return guess_rows(margins, examples.gold[guess], sizes, probability)

    def _margins(self, model: LinearModel, matrix: Features, guess: Ints) -> Floats:
        """Return the margins of the rows of some examples, made of a bounded number at a time."""
        some = [guess[part] for part in chunks(len(guess), AT_A_TIME)] or [guess]
        parts = [model.decision_function(matrix[self.examples.rows(part)]) for part in some]
        return np.concatenate(parts)

    def later(self, matrix: Features, learn: Ints, guess: Ints) -> Future[Guesses]:
        """Return the same guesses as a promise; the work is done beside the caller's."""
        return self.pool.submit(self.guess, matrix, learn, guess)

    def held_out(self, matrix: Features, learn: Ints, guess: Ints) -> Callable[[], Evaluation]:
        """Return a function that gives the guesses for `guess` of a model of `learn`."""
        promise = self.later(matrix, learn, guess)

        def collect() -> Evaluation:
            guesses = promise.result()
            one = np.zeros(len(guess), dtype=np.int64)
            return Evaluation(guess, guesses, guess, guesses, one, one)

        return collect

    def cross_fit(
        self, matrix: Features, among: Ints, fold: Codes, *, forward: bool = True
    ) -> Callable[[], Evaluation]:
        """Return a function that gives every example of `among` its guess by a model of the other folds.

        With `forward` also, for the exact test, guesses of models of earlier folds only: the first for the
        second fold, two for the next two, and so on; the last fold's come from the cross-fit itself.
        """
        names, scratch = np.unique(fold), scratch_of(self.examples)
        parts = [among[fold == f] for f in names]
        crossed = [self.later(matrix, among[fold != f], part) for f, part in zip(names, parts, strict=True)]
        ahead = []
        for first, last in doubling(len(names) - 1) if forward else []:
            next_ones = np.concatenate(parts[first:last])
            ahead.append((next_ones, self.later(matrix, np.concatenate(parts[:first]), next_ones)))
        order = np.argsort(np.concatenate(parts), kind="stable")

        def collect() -> Evaluation:
            guesses = [promise.result() for promise in crossed]
            everything = joined_guesses(guesses).take(order).on_disk(scratch)
            if not forward:
                return Evaluation(among, everything, among, everything, fold, fold)
            tested = [*((which, promise.result()) for which, promise in ahead), (parts[-1], guesses[-1])]
            examples, results = zip(*tested, strict=True)
            chain = np.concatenate(examples)
            in_chain = fold[np.searchsorted(among, chain)]
            in_turn = joined_guesses(results).on_disk(scratch)
            return Evaluation(among, everything, chain, in_turn, fold, in_chain)

        return collect

    def limited(self, most: int) -> Trainer:
        """Return the same trainer that learns from fewer examples, for inputs with few features."""
        return replace(self, max_train=min(most, self.max_train or most))


@contextmanager
def trainer(
    examples: Examples, *, strength: float = 1.0, max_train: int | None = None, seed: int = 0
) -> Iterator[Trainer]:
    """Give a trainer with as many workers as there are cores, and let them go afterwards.

    Where texts stay on disk every fit makes features of its own, so that fewer run at once.
    """
    workers = os.cpu_count() or 1
    if isinstance(examples.instances, FiguredInstances):
        workers = min(workers, MOST_FITS)
    with ThreadPoolExecutor(workers) as pool:
        yield Trainer(examples, pool, strength, max_train, seed)


def scratch_of(examples: Examples) -> Path | None:
    """Return the folder for numbers of every example, where texts stay on disk and so do these."""
    instances = examples.instances
    return instances.scratch if isinstance(instances, FiguredInstances) else None


def doubling(end: int) -> list[tuple[int, int]]:
    """Return ranges that follow each other up to `end`, each as long as all before it: (1, 2), (2, 4), (4, 8) …"""
    ranges, first = [], 1
    while first < end:
        ranges.append((first, min(2 * first, end)))
        first *= 2
    return ranges


def joined_guesses(parts: Iterable[Guesses]) -> Guesses:
    """Return the guesses of several parts one after the other."""
    parts = list(parts)
    probabilities = [part.probability for part in parts if part.probability is not None]
    return Guesses(
        np.concatenate([part.score for part in parts]),
        np.concatenate([part.named for part in parts]),
        np.concatenate([part.options for part in parts]),
        np.concatenate([part.answer for part in parts]),
        np.concatenate(probabilities) if len(probabilities) == len(parts) else None,
        table=_joined_tables([part.table for part in parts]),
    )


def _joined_tables(tables: list[Floats | None]) -> Floats | None:
    present = [table for table in tables if table is not None]
    if not present or len(present) < len(tables):
        return None
    width = max(table.shape[1] for table in present)
    return np.concatenate(
        [np.pad(t, ((0, 0), (0, width - t.shape[1])), constant_values=np.nan) for t in present]
    )


def _all_classes(probabilities: Floats, k: int) -> Floats:
    """Return a column for every label; one that training lacked has probability 0."""
    return np.pad(probabilities, ((0, 0), (0, k - probabilities.shape[1])))

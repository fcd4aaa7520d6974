"""Guesses for examples a learner has not seen: trained on train and scored on test, or fold by fold."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from cuecard.audits.partial_input.folds import Ask, Draws, Members, predict, shuffled, similar_examples
from cuecard.audits.partial_input.guesses import Guesses, blank_guesses
from cuecard.audits.partial_input.judging import interval
from cuecard.data.examples import Examples
from cuecard.data.space import Space
from cuecard.data.units import UnitScope, divided_templates
from cuecard.models import LinearModel
from cuecard.models.linear.input_features import AT_A_TIME
from cuecard.models.linear.learner import Features, Scorer
from cuecard.stats.arrays import Codes, Floats, Ints, Threads, chunks, counted
from cuecard.stats.scores.cross_fit_intervals import cross_fit_inflation

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
    #: The model of every fold, by its name.
    models: Sequence[tuple[int, Future[Scorer]]] = ()

    @property
    def inflation(self) -> float:
        """How much more the mean of the guesses varies than that of as many independent examples."""
        folds = int(np.count_nonzero(counted(self.fold)))
        return cross_fit_inflation(folds) if folds > 1 else 1.0

    def weighted(self, examples: Examples, scope: UnitScope | None = None) -> Evaluation:
        """Return the same guesses, counted by the weights of their examples and in units of independence."""
        guesses = _counted(self.guesses, examples, self.examples, scope)
        if self.tested is self.guesses:
            return replace(self, guesses=guesses, tested=guesses)
        return replace(
            self, guesses=guesses, tested=_counted(self.tested, examples, self.tested_examples, scope)
        )


def _counted(guesses: Guesses, examples: Examples, which: Ints, scope: UnitScope | None) -> Guesses:
    guesses = guesses.weighted(examples.weight(which))
    if scope is None:
        return guesses
    similar = similar_examples(examples, scope, which)
    if similar is not None:
        return guesses.in_units(guesses.space.stored(similar))
    if examples.grouped:
        return guesses.in_units(*examples.units_and_templates(scope, which))
    units, template = guesses.space.gathered(examples.instances.units(scope), which), None
    if scope == "hypothesis" or scope == "premise":
        closest = guesses.space.gathered(examples.instances.closest_units(scope), which)
        units, template = divided_templates(units, closest)
    kept = None if template is None else guesses.space.stored(template)
    return guesses.in_units(guesses.space.stored(units), kept)


@dataclass(frozen=True, eq=False)
class Trainer:
    """Fits the learner on some examples and guesses others; fits run side by side on all cores.

    At most `max_train` examples are learned from, drawn by the seed. The result of a fit depends on its
    examples and the seed alone, never on how many run at once.
    """

    examples: Examples
    pool: Threads
    draws: Draws
    strength: float = 1.0
    max_train: int | None = None
    seed: int = 0

    def fitted(self, matrix: Features, learn: Ints | Members) -> Future[Scorer]:
        """Return the promise of a model that learned from some examples; the work is done beside the caller's."""
        return self.pool.submit(self._fit, matrix, learn)

    def _fit(self, matrix: Features, learn: Ints | Members) -> Scorer:
        n = len(learn)
        if self.max_train is not None and n > self.max_train:
            chosen = learn[self.draws.places(n, self.max_train)]
        else:
            chosen = learn if isinstance(learn, np.ndarray) else learn[np.arange(n)]
        examples, space = self.examples, self.examples.instances.space
        tolerance = EXACT if len(chosen) <= FEW else GOOD_ENOUGH
        model = LinearModel(strength=self.strength, tolerance=tolerance, seed=self.seed)
        weight = examples.weight(chosen)
        if not examples.grouped:
            gold = examples.gold[chosen]
            return Scorer.fitted(model, matrix[chosen], gold, sample_weight=weight, space=space)
        rows, groups = examples.rows(chosen), np.repeat(np.arange(len(chosen)), examples.options[chosen])
        right = (examples.instances.label_codes[rows] == 0).astype(np.int64)
        weight = None if weight is None else weight[groups]
        return Scorer.fitted(model, matrix[rows], right, groups=groups, sample_weight=weight, space=space)

    def blank(self, which: Ints, *, probability: bool = True) -> Guesses:
        """Return guesses for some examples that are to be written."""
        examples, space = self.examples, self.examples.instances.space
        options: int | Ints = len(examples.instances.labels)
        if examples.grouped:
            options = space.gathered(examples.options, which)
        return blank_guesses(len(which), options, space, probability=probability)

    def predict(self, matrix: Features, among: Ints, asks: list[Ask]) -> None:
        """Have models guess examples, all of them in one pass."""
        predict(self.pool, matrix, self.examples, among, asks)

    def held_out(self, matrix: Features, learn: Ints, guess: Ints) -> Callable[[], Evaluation]:
        """Return a function that gives the guesses for `guess` of a model of `learn`."""
        promise = self.fitted(matrix, learn)

        def collect() -> Evaluation:
            guesses = self.blank(guess)
            self.predict(matrix, guess, [Ask(promise, everything, guesses.put)])
            one = np.broadcast_to(np.int64(0), len(guess))
            return Evaluation(guess, guesses, guess, guesses, one, one, [(0, promise)])

        return collect

    def cross_fit(
        self, matrix: Features, among: Ints, fold: Codes, *, forward: bool = True
    ) -> Callable[[], Evaluation]:
        """Return a function that gives every example of `among` its guess by a model of the other folds.

        With `forward` also, for the exact test, guesses of models of earlier folds only: the first for the
        second fold, two for the next two, and so on; the last fold's come from the cross-fit itself.
        """
        names = np.flatnonzero(counted(fold)).tolist()
        crossed = [
            self.fitted(matrix, Members(among, fold, [[other for other in names if other != name]]))
            for name in names
        ]
        ahead = {
            (first, last): self.fitted(matrix, Members(among, fold, [[name] for name in names[:first]]))
            for first, last in (doubling(len(names) - 1) if forward else [])
        }

        def collect() -> Evaluation:
            guesses = self.blank(among)
            asks = [
                _of_fold(promise, fold, name, _scattered(guesses, fold, name))
                for name, promise in zip(names, crossed, strict=True)
            ]
            if not forward:
                self.predict(matrix, among, asks)
                return Evaluation(among, guesses, among, guesses, fold, fold)
            chain = _Chain(among, fold, names[1:], self.examples.instances.space)
            tested = self.blank(chain.examples, probability=False)
            later = [
                _of_fold(promise, fold, name, chain.writer(tested, name))
                for (first, last), promise in ahead.items()
                for name in names[first:last]
            ]
            asks[-1] = replace(asks[-1], write=_both(asks[-1].write, chain.writer(tested, names[-1])))
            self.predict(matrix, among, asks + later)
            models = list(zip(names, crossed, strict=True))
            return Evaluation(among, guesses, chain.examples, tested, fold, chain.fold, models)

        return collect

    def limited(self, most: int) -> Trainer:
        """Return the same trainer that learns from fewer examples, for inputs with few features."""
        return replace(self, max_train=min(most, self.max_train or most))


def everything(some: slice) -> Ints:
    """Return the places of all examples of a part."""
    return np.arange(some.stop - some.start)


Write = Callable[[slice, Guesses], None]


def _of_fold(promise: Future[Scorer], fold: Codes, name: int, write: Write) -> Ask:
    return Ask(promise, lambda some: np.flatnonzero(fold[some] == name), write)


def _scattered(guesses: Guesses, fold: Codes, name: int) -> Write:
    """Return the function that writes the guesses of one fold where its examples are."""
    return lambda some, part: guesses.put(some.start + np.flatnonzero(fold[some] == name), part)


def _both(one: Write, other: Write) -> Write:
    def write(some: slice, part: Guesses) -> None:
        one(some, part)
        other(some, part)

    return write


class _Chain:
    """The examples of some folds, fold after fold, and where those of every part of all examples are among them."""

    def __init__(self, among: Ints, fold: Codes, names: list[int], space: Space) -> None:
        sizes = counted(fold)[names]
        self._first = dict(zip(names, (np.cumsum(sizes) - sizes).tolist(), strict=True))
        self._before: dict[tuple[int, int], int] = {}
        n = int(sizes.sum())
        self.examples: Ints = space.array(np.int64, n)
        self.fold: Codes = space.array(fold.dtype, n)
        ends = dict(self._first)
        for chunk in chunks(len(fold), AT_A_TIME):
            for name in names:
                own = chunk.start + np.flatnonzero(fold[chunk] == name)
                start, ends[name] = ends[name], ends[name] + len(own)
                self._before[chunk.start, name] = start
                self.examples[start : ends[name]], self.fold[start : ends[name]] = among[own], name

    def writer(self, guesses: Guesses, name: int) -> Write:
        """Return the function that writes the guesses of one fold."""

        def write(some: slice, part: Guesses) -> None:
            start = self._before[some.start, name]
            guesses.put(slice(start, start + len(part)), part)

        return write


@contextmanager
def trainer(
    examples: Examples, *, strength: float = 1.0, max_train: int | None = None, seed: int = 0
) -> Iterator[Trainer]:
    """Give a trainer with as many workers as there are cores, and let them go afterwards.

    Where texts stay on disk every fit makes features of its own, so that fewer run at once.
    """
    workers = os.cpu_count() or 1
    if examples.instances.space.folder is not None:
        workers = min(workers, MOST_FITS)
    draws = Draws(seed, len(examples) if max_train is None else max_train)
    with Threads(workers) as pool:
        try:
            yield Trainer(examples, pool, draws, strength, max_train, seed)
        except BaseException:
            pool.shutdown(cancel_futures=True)  # what waits is not begun
            raise


def doubling(end: int) -> list[tuple[int, int]]:
    """Return ranges that follow each other up to `end`, each as long as all before it: (1, 2), (2, 4), (4, 8) …"""
    ranges, first = [], 1
    while first < end:
        ranges.append((first, min(2 * first, end)))
        first *= 2
    return ranges


SMALLEST = 50
POINTS = 6
#: Small samples differ; this many are drawn below the size at which one is enough.
REPEATS = 3
ONE_IS_ENOUGH = 5_000
LARGEST = 30_000


@dataclass(frozen=True, eq=False)
class _Point:
    size: int
    repeat: int


def curve(
    fit: Trainer, matrix: Features, learn: Ints | Members, guess: Ints, chance: float
) -> Callable[[], pl.DataFrame]:
    """Return a function that gives the table: one row per training size and draw, with accuracy and interval."""
    generator, n = np.random.default_rng(fit.seed), len(learn)
    points = [
        _Point(size, repeat)
        for size in sizes(min(n, LARGEST))
        for repeat in range(REPEATS if size < min(ONE_IS_ENOUGH, n) else 1)
    ]
    promised = [
        fit.fitted(matrix, learn[np.sort(shuffled(generator, n)[: point.size]).astype(np.int64)])
        for point in points
    ]

    def collect() -> pl.DataFrame:
        space, weight = fit.examples.instances.space, fit.examples.weight(guess)
        scores: list[Floats] = [space.array(np.float64, len(guess)) for _ in points]
        fit.predict(
            matrix,
            guess,
            [Ask(one, everything, _scores_to(score)) for one, score in zip(promised, scores, strict=True)],
        )
        rows = [
            (
                p.size,
                p.repeat,
                float(np.average(score, weights=weight)),
                *interval(score, weight),
                chance,
                len(guess),
            )
            for p, score in zip(points, scores, strict=True)
        ]
        return pl.DataFrame(
            rows, schema=["train_examples", "draw", "accuracy", "low", "high", "chance", "n"], orient="row"
        )

    return collect


def _scores_to(scores: Floats) -> Callable[[slice, Guesses], None]:
    def write(some: slice, part: Guesses) -> None:
        scores[some] = part.score

    return write


def sizes(most: int) -> list[int]:
    """Return training sizes that grow by about the same factor, from a few dozen to all."""
    if most <= SMALLEST:
        return [most]
    return sorted({round(size) for size in np.geomspace(SMALLEST, most, POINTS)})

"""Which examples are predicted by models that saw none of their texts, and the predictions of such models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from threading import Lock
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from cuecard.analysis import Skip
from cuecard.audits.partial_input.guesses import Guesses, guess_labels, guess_rows
from cuecard.data import Instances
from cuecard.data.examples import Examples
from cuecard.data.space import MEMORY, Space
from cuecard.data.splits import TextSide, join_sentences, join_units, number_groups
from cuecard.data.units import UnitScope
from cuecard.features.units import similar_rows
from cuecard.models.linear.input_features import AT_A_TIME
from cuecard.models.linear.learner import Features, Parts, Scorer, parts_of
from cuecard.stats.arrays import Bools, Codes, Floats, Ints, Threads, chunks, counted
from cuecard.text import encode
from cuecard.text.similarity import DistinctTexts, similar_groups

Grouping = Literal["sentence", "premise", "example"]

#: A group that holds more of the examples than this leaves too little to learn from.
LARGEST_GROUP = 0.5
#: Groups of similar texts hold at most this part of the examples, or this many where those are fewer.
LARGEST_SIMILAR, SMALLEST_LIMIT = 20, 10
#: Of more examples than this, similar texts are not compared.
MOST_COMPARED = 500_000
_GOLDEN = 0.6180339887498949


@dataclass(frozen=True, eq=False)
class Folds:
    """The fold of every example, and what was kept together to make them: the number of its group.

    `connected` are the groups without those of similar texts, which keep folds apart and may still be independent.
    """

    fold: npt.NDArray[np.int16]
    grouping: Grouping
    largest_group: float
    groups: Ints
    connected: Ints
    note: str = ""

    @property
    def count(self) -> int:
        """How many folds have examples."""
        return int(np.count_nonzero(np.bincount(self.fold)))


def example_groups(data: Instances, grouping: Grouping) -> Ints:
    """Return a group number per example; what shares a group must never be split.

    Near copies of a text stay together as well, or the nearest of them where all tie most examples into one group, as
    the sentences of a template do; and examples of similar texts, as far as these groups stay small: they may be edits
    of one source, which no threshold of similarity tells from other texts. A column of clusters says what belongs
    together: its values are never split. Questions whose similar answers count once in tests are grouped as they are
    counted: any choice in common would tie most of them together, and leave no room for the versions of one question.
    """
    return _with_similar(data, connected_groups(data, grouping), grouping)


def connected_groups(data: Instances, grouping: Grouping) -> Ints:
    """Return groups of examples that share a sentence or copies of one, whatever else is similar."""
    space = data.space
    groups = space.array(np.int64, data.n_examples)
    for chunk in chunks(len(groups)):
        groups[chunk] = np.arange(chunk.start, chunk.stop)
    if grouping == "example":
        return groups
    if data.cluster is not None:
        return _cluster_groups(data, groups)
    if (similar := _similar_questions(data)) is not None:
        return similar
    sides: tuple[TextSide, ...] = ("premise",) if grouping == "premise" else ("premise", "hypothesis")
    scopes: tuple[UnitScope, ...] = sides
    if data.grouped and grouping == "sentence":
        scopes = (*scopes, "choices")
    join_sentences(data, sides, groups, space)
    for closest in (False, True):
        with_copies = space.array(np.int64, groups.shape)
        with_copies[:] = groups
        for scope in scopes:
            _join_copies(data, scope, with_copies, closest=closest)
        number_groups(with_copies)
        if _largest_share(with_copies) <= LARGEST_GROUP:
            return with_copies
    number_groups(groups)
    return groups


def _cluster_groups(data: Instances, groups: Ints) -> Ints:
    """Return groups of examples of one cluster, with those that share a sentence unless that ties half of them."""
    join_units(data.units("hypothesis"), None, data.example_codes, groups)
    with_sentences = data.space.array(np.int64, groups.shape)
    with_sentences[:] = groups
    join_sentences(data, get_args(TextSide), with_sentences, data.space)
    for leader in (with_sentences, groups):
        number_groups(leader)
    return with_sentences if _largest_share(with_sentences) <= LARGEST_GROUP else groups


def _similar_questions(data: Instances) -> Ints | None:
    """Return groups of questions whose similar answers count once in tests, if there are any."""
    if not data.grouped or similar_rows(encode(data), "hypothesis") is None:
        return None
    every = np.arange(data.n_examples)
    similar = similar_examples(Examples.of_rows(data, None), "choices", every)
    return similar if similar is not None and _largest_share(similar) <= LARGEST_GROUP else None


def observations(data: Instances, connected: Ints) -> Ints:
    """Return groups of examples that are one observation: connected ones, and similar ones where their labels agree."""
    similar = []
    if data.cluster is None and not data.grouped:
        similar = [similar_rows(encode(data), side) for side in get_args(TextSide)]
    leader: Ints | None = None
    for codes in similar:
        if codes is not None:
            leader = np.unique(connected, return_index=True)[1][connected] if leader is None else leader
            join_units(codes, None, data.example_codes[: len(codes)], leader)
    if leader is None:
        return connected
    number_groups(leader)
    return leader


def _with_similar(data: Instances, groups: Ints, grouping: Grouping) -> Ints:
    """Return groups in which the most similar texts are together, as far as a group stays small."""
    told = grouping == "example" or data.cluster is not None or _similar_questions(data) is not None
    if told or data.n_examples > MOST_COMPARED:
        return groups
    texts, codes = encode(data), data.example_codes
    members = []
    for side in get_args(TextSide):
        tokens = texts.premise if side == "premise" else texts.hypothesis
        rows = np.sort(np.unique(data.units(side), return_index=True)[1])
        rows = rows[tokens.lengths[rows] > 0]
        members.append(DistinctTexts(tokens.gather(rows), groups[codes[rows]]))
    largest = max(SMALLEST_LIMIT, data.n_examples // LARGEST_SIMILAR)
    return similar_groups(members, groups, largest=largest, most=int(LARGEST_GROUP * data.n_examples))[groups]


def _join_copies(data: Instances, scope: UnitScope, groups: Ints, *, closest: bool) -> None:
    """Join the groups of examples with copies of a text; an empty one connects nothing."""
    if scope != "premise" and scope != "hypothesis":
        join_units(data.units(scope), None, data.example_codes, groups)
        return
    units = data.closest_units(scope) if closest else data.units(scope)
    join_units(units, data.blank(scope), data.example_codes, groups)


def similar_examples(examples: Examples, scope: UnitScope, which: Ints) -> Ints | None:
    """Return codes that training examples of similar texts share, where labels of such texts agree; None otherwise.

    Edits of one source are no copies of each other, and no more than one observation. Questions go by the similarity of
    their right choices: any choice in common would tie most of them together. `which` are the examples to return codes
    of; of test examples, none are known.
    """
    data = examples.instances
    codes = similar_rows(encode(data), "hypothesis" if scope == "choices" else scope)
    if codes is not None and data.grouped:
        train = np.arange(int(np.count_nonzero(examples.right_rows < len(codes))))
        leader = train.copy()
        for units in (codes[examples.right_rows[train]], examples.units("choices", train)):
            join_units(units, None, train, leader)
        number_groups(leader)
        codes = leader
    return None if codes is None or not len(which) or int(which[-1]) >= len(codes) else codes[which]


def make_folds(
    data: Instances, strata: Codes, *, folds: int = 5, grouping: Grouping = "sentence", seed: int = 0
) -> Folds:
    """Return folds in which examples that share a sentence, however indirectly, stay together.

    Where common sentences tie more than half of the examples into one group (answers such as "yes" do), only
    those that share their premise are kept together; where one premise does the same, every example stands alone.
    `note` says so. `strata` (the labels) are spread
    evenly: without that, a label that is rarer than usual among the examples to be guessed is commoner among
    those learned from, which pushes the score of a blind guess below chance.
    """
    connected = connected_groups(data, grouping)
    groups = _with_similar(data, connected, grouping)
    largest = _largest_share(groups)
    note = ""
    if grouping == "sentence" and largest > LARGEST_GROUP and data.cluster is None:
        what = "question" if data.grouped else "premise"
        note = (
            f"Shared sentences connect {100 * largest:.0f} % of the examples, too many for one fold. Therefore only "
            f"examples with the same {what} stay in one fold."
        )
        grouping = "premise"
        connected = connected_groups(data, grouping)
        groups = _with_similar(data, connected, grouping)
        largest = _largest_share(groups)
        if largest > LARGEST_GROUP:
            note = (
                f"{100 * largest:.0f} % of the examples have the same {what}, too many for one fold. Therefore the "
                "folds are random, and a sentence can occur both in training and in scored examples."
            )
            grouping = "example"
            connected = groups = connected_groups(data, grouping)
            largest = _largest_share(groups)
    fold = assign(groups, strata, folds=folds, seed=seed, space=data.space)
    grouped = Folds(fold, grouping, largest, groups, connected, note)
    if grouped.count < 2:
        raise Skip(
            f"needs at least two groups of training examples with a different {grouping} for cross-validation; all "
            f"{len(groups):,} examples are in one group"
        )
    return grouped


def assign(
    groups: Ints, strata: Codes, *, folds: int, seed: int = 0, space: Space = MEMORY
) -> npt.NDArray[np.int16]:
    """Return a fold per example such that groups stay whole, folds are of similar size, strata are spread.

    Large groups go first, each to the fold with most room. The others are sorted by what strata they hold and
    dealt out in proportion to the room that is left, by a low-discrepancy sequence: any run of similar groups
    is spread over all folds. Numbers of every group are kept in files where there is a space for them.
    """
    generator = np.random.default_rng(seed)
    n, n_groups = len(groups), int(groups.max(initial=-1)) + 1
    sizes = np.bincount(groups, minlength=n_groups).astype(np.int32)
    room = np.full(folds, n / folds)
    fold_of_group = np.full(n_groups, -1, dtype=np.int16)
    large = np.flatnonzero(sizes > max(n / (20 * folds), 1))
    for group in large[np.argsort(-sizes[large], kind="stable")]:
        fold_of_group[group] = int(np.argmax(room))
        room[fold_of_group[group]] -= sizes[group]
    if len(large) < n_groups:
        order = _small_groups(groups, strata, sizes, fold_of_group < 0, generator, space)
        share = np.maximum(room, 0)
        bounds = np.cumsum(share / share.sum() if share.sum() else np.full(folds, 1 / folds))[:-1]
        start = generator.random()
        for chunk in chunks(len(order)):
            place = (start + _GOLDEN * np.arange(chunk.start, chunk.stop)) % 1
            fold_of_group[order[chunk]] = np.searchsorted(bounds, place, side="right")
    fold = space.array(np.int16, n)
    for chunk in chunks(n):
        fold[chunk] = fold_of_group[groups[chunk]]
    return fold


def _small_groups(
    groups: Ints,
    strata: Codes,
    sizes: npt.NDArray[np.int32],
    small: Bools,
    generator: np.random.Generator,
    space: Space,
) -> Ints:
    """Return groups in the order of their sizes and of the strata they hold, otherwise in random order."""
    # A random number per stratum makes the sum of a group's numbers tell what strata it holds.
    numbers, contents = generator.random(int(strata.max()) + 1), np.zeros(len(sizes))
    for chunk in chunks(len(groups)):
        np.add.at(contents, groups[chunk], numbers[strata[chunk]])
    rows = np.flatnonzero(small)
    drawn, held, negative = (space.array(kind, rows.shape) for kind in (np.float64, np.float64, np.int32))
    generator.random(out=drawn)
    for chunk in chunks(len(rows)):
        held[chunk], negative[chunk] = contents[rows[chunk]].round(9), -sizes[rows[chunk]]
    del contents
    return np.asarray(rows[np.lexsort((drawn, held, negative))])


def _largest_share(groups: Ints) -> float:
    return float(np.bincount(groups).max() / len(groups)) if len(groups) else 0.0


@dataclass(frozen=True, eq=False)
class Ask:
    """What one model is asked: `which` examples of a part, by their places in it, and `write` takes its guesses."""

    scorer: Future[Scorer]
    which: Callable[[slice], Ints]
    write: Callable[[slice, Guesses], None]


def predict(pool: Threads, matrix: Features, examples: Examples, among: Ints, asks: Sequence[Ask]) -> None:
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


@dataclass(frozen=True, eq=False)
class Members:
    """The examples of some folds: all of one run in their order, then those of the next run."""

    among: Ints
    fold: Codes
    runs: Sequence[Sequence[int]]

    def __len__(self) -> int:
        return sum(self._sizes)

    @property
    def _sizes(self) -> list[int]:
        sizes = counted(self.fold)
        return [int(sizes[list(run)].sum()) for run in self.runs]

    def __getitem__(self, places: Ints) -> Ints:
        """Return the examples at some rising places."""
        found, before = [], 0
        for run, size in zip(self.runs, self._sizes, strict=True):
            first, last = np.searchsorted(places, (before, before + size))
            found.append(self._of_run(run, places[first:last] - before))
            before += size
        return np.concatenate(found)

    def _of_run(self, run: Sequence[int], places: Ints) -> Ints:
        wanted, found, before, done = in_folds(self.fold, run), [self.among[:0]], 0, 0
        for chunk in chunks(len(self.fold)):
            own = np.flatnonzero(wanted[self.fold[chunk]])
            last = int(np.searchsorted(places, before + len(own)))
            found.append(self.among[chunk][own[places[done:last] - before]])
            before, done = before + len(own), last
            if done == len(places):
                break
        return np.concatenate(found)


def in_folds(fold: Codes, chosen: Sequence[int]) -> Bools:
    """Return for every number of a fold whether it is among the chosen ones."""
    wanted = np.zeros(int(fold.max(initial=0)) + 1, dtype=np.bool_)
    wanted[list(chosen)] = True
    return wanted


@dataclass(frozen=True, eq=False)
class Draws:
    """Random places among n, of which the first ones are the same however many are drawn."""

    seed: int
    most: int
    _kept: dict[int, Ints] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def places(self, n: int, number: int) -> Ints:
        """Return some of the numbers from 0 to n - 1, at most `most`, in rising order."""
        with self._lock:
            if n not in self._kept:
                self._kept[n] = shuffled(np.random.default_rng(self.seed), n)[: self.most].astype(np.int64)
        return np.sort(self._kept[n][:number])


def shuffled(generator: np.random.Generator, n: int) -> Codes:
    """Return the numbers from 0 to n - 1 as `Generator.permutation` does, in half of the memory."""
    numbers: Codes = np.arange(n, dtype=np.uint32 if n < 1 << 32 else np.int64)
    generator.shuffle(numbers)
    return numbers

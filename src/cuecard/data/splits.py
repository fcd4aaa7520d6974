"""Splits: what test examples repeat of the training set, which examples are connected, and holding out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data.fingerprint import Hashes, made_distinct, mixed
from cuecard.data.instances import Instances
from cuecard.data.row_numbers import row_table, side_keys
from cuecard.data.space import MEMORY, Space
from cuecard.data.units.buckets import Buckets, bucket_bits
from cuecard.errors import UsageError
from cuecard.stats import _native
from cuecard.stats.arrays import Bools, Ints, chunks

TextSide = Literal["premise", "hypothesis"]
#: Rows whose sentences are divided by hash at a time.
AT_A_TIME = 1 << 20

_SENTENCE = np.dtype([("key", np.uint64), ("example", np.int64)])


def join_sentences(data: Instances, sides: Sequence[TextSide], leader: Ints, space: Space = MEMORY) -> None:
    """Join examples that share a sentence: those of a group follow its first one in `leader`.

    Sentences are the same up to case and punctuation, on either side; empty texts connect nothing. Where arrays are
    on disk, memory holds the sentences of one file by hash at a time.
    """
    sentences = _sentences(data, sides)
    with space.place() as place:
        if place is None or not bucket_bits(len(data) * len(sides)):
            for keys, examples in _at_once(sentences):
                _join_equal(keys, examples, leader)
            return
        buckets = Buckets(place / "sentences", _SENTENCE, len(data) * len(sides))
        for keys, examples in sentences:
            records = np.empty(len(keys), dtype=_SENTENCE)
            records["key"], records["example"] = keys, examples
            buckets.add(keys, records)
        for records in buckets:
            keys, examples = (np.ascontiguousarray(records[name]) for name in ("key", "example"))
            _join_equal(keys, examples, leader)


def join_units(units: Ints, blank: Bools | None, examples: Ints, leader: Ints) -> None:
    """Join examples whose rows share a unit; rows that are blank join nothing."""
    first = np.full(int(units.max(initial=-1)) + 1, -1, dtype=np.int64)
    for rows in chunks(len(units)):
        unit, example = units[rows], examples[rows].astype(np.int64, copy=False)
        if blank is not None:
            unit, example = unit[~blank[rows]], example[~blank[rows]]
        new = first[unit] < 0
        first[unit[new][::-1]] = example[new][::-1]  # of equal places, the last one written stays
        _native.join_pairs(example, first[unit], leader)


def number_groups(leader: Ints) -> None:
    """Replace the leader of every example by the number of its group, 0, 1, 2, … in order of first occurrence."""
    _native.number_units(leader)


def _sentences(data: Instances, sides: Sequence[TextSide]) -> Iterator[tuple[Hashes, Ints]]:
    """Yield hashes of sentences with the examples that have them, some rows at a time."""
    for of_side, there in (side_keys(data, side) for side in sides):
        for start in range(0, len(data), AT_A_TIME):
            rows = slice(start, start + AT_A_TIME)
            yield of_side[rows][there[rows]], data.example_codes[rows][there[rows]]


def _at_once(parts: Iterator[tuple[Hashes, Ints]]) -> Iterator[tuple[Hashes, Ints]]:
    pairs = list(parts)
    if pairs:
        yield np.concatenate([keys for keys, _ in pairs]), np.concatenate([rows for _, rows in pairs])


def _join_equal(keys: Hashes, examples: Ints, leader: Ints) -> None:
    """Join the examples of equal keys."""
    _native.join_pairs(examples, examples[_native.first_places(np.ascontiguousarray(keys))], leader)


#: A share that misses the wanted one by more than this gets a note.
_TOLERANCE = 0.01


def hold_out(data: Instances, share: float, *, seed: int = 0) -> Instances:
    """Return the instances with about `share` of the training examples moved to a test split.

    Examples that share a sentence, directly or through others, stay together: the graph of examples and their
    sentences falls into components, and whole components are drawn. Sentences are the same up to case and
    punctuation; empty texts connect nothing.
    """
    if not 0 < share < 1:
        raise UsageError(f"--holdout takes a share between 0 and 1, such as 0.2, not {share}.")
    train = data.train
    component = sentence_components(train)
    sizes = np.bincount(component)
    drawn = _draw(sizes, share * train.n_examples, np.random.default_rng(seed))
    moved = drawn[component][train.example_codes]
    reached = float(sizes[drawn].sum() / max(train.n_examples, 1))
    largest = float(sizes.max() / max(train.n_examples, 1))
    if not moved.any() or moved.all():
        raise UsageError(
            f"No held-out split of {share:.0%} can be drawn from {train.n_examples:,} examples: "
            f"{largest:.0%} of them are connected by shared sentences. Give a test file, or leave --holdout out."
        )
    notes = list(data.report.notes)
    if abs(reached - share) > _TOLERANCE:
        notes.append(
            f"The held-out test split has {reached:.1%} of the examples, not {share:.1%}: "
            f"{largest:.1%} of them are connected by shared sentences and cannot be split."
        )
    mask = pl.Series(moved)
    rest = data.table.filter(pl.col("split") != "train")
    test = train.table.filter(mask).with_columns(split=pl.lit("test", dtype=pl.String))
    table = pl.concat([train.table.filter(~mask), rest, test])
    return replace(data, table=table, report=replace(data.report, notes=tuple(notes)))


def sentence_components(data: Instances) -> npt.NDArray[np.int64]:
    """Return a component number for every example; examples connected by shared sentences have the same one."""
    groups = np.arange(data.n_examples, dtype=np.int64)
    join_sentences(data, ("premise", "hypothesis"), groups)
    number_groups(groups)
    return groups


def _draw(sizes: npt.NDArray[np.int64], wanted: float, rng: np.random.Generator) -> npt.NDArray[np.bool_]:
    """Return which components to take, at random, so that their sizes add up to what is wanted or less."""
    drawn = np.zeros(len(sizes), dtype=np.bool_)
    left = round(wanted)
    order = rng.permutation(len(sizes))
    while True:
        order = order[sizes[order] <= left]
        if len(order) == 0 or left <= 0:
            return drawn
        # All before the first that does not fit; at least one fits, so every round makes progress.
        taken = order[np.cumsum(sizes[order]) <= left]
        drawn[taken] = True
        left -= int(sizes[taken].sum())
        order = order[len(taken) :]


def train_subset(data: Instances, size: int | None, seed: int) -> tuple[Instances, npt.NDArray[np.bool_]]:
    """Return the data with `size` training examples drawn by the seed, and which training rows were kept.

    Other splits stay as they are; without a size, or with one that is no smaller, so does train.
    """
    train = data.train
    if size is not None and size < 2:
        raise UsageError(f"--subset needs at least 2 training examples, not {size}.")
    if size is None or size >= train.n_examples:
        return data, np.ones(len(train), dtype=np.bool_)
    drawn = np.zeros(train.n_examples, dtype=np.bool_)
    drawn[np.random.default_rng(seed).permutation(train.n_examples)[:size]] = True
    kept = np.asarray(drawn[train.example_codes])
    rows = (data.table["split"].cast(pl.String) != "train").to_numpy().copy()
    rows[~rows] = kept
    return data.rows(rows), kept


_FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)


@dataclass(frozen=True, eq=False)
class TrainOverlap:
    """What of every test example also occurs in the training set.

    `pair` is the whole input (for a question all its choices, in any order), `premise` the premise as a premise,
    `hypothesis` the hypothesis as a hypothesis, `sentence` either text in either place. A question counts as soon as
    one of its choices does.
    """

    pair: Bools
    premise: Bools
    hypothesis: Bools
    sentence: Bools

    def __len__(self) -> int:
        return len(self.pair)

    def counts(self) -> dict[str, int]:
        """Return how many test examples overlap in each way, and how many there are."""
        kinds = {name: getattr(self, name) for name in ("pair", "hypothesis", "premise", "sentence")}
        return {name: int(mask.sum()) for name, mask in kinds.items()} | {"test_examples": len(self)}


def train_overlap(data: Instances) -> TrainOverlap:
    """Return what of every test example also occurs in the training set."""
    rows = row_table(data)
    train, test = ((rows["split"] == name).to_numpy() for name in ("train", "test"))
    premise, hypothesis, has_premise, has_hypothesis = (
        rows[name].to_numpy()
        for name in ("premise_key", "hypothesis_key", "premise_filled", "hypothesis_filled")
    )
    if not data.labelled:  # the hypothesis is the answer: that answers are shared is no overlap
        hypothesis, has_hypothesis = np.zeros_like(hypothesis), np.zeros_like(has_hypothesis)
    of_test = np.flatnonzero(test)
    _, example = np.unique(data.example_codes[of_test], return_inverse=True)
    n = int(example.max(initial=-1)) + 1

    def any_row(rows: Bools) -> Bools:
        hit = np.zeros(n, dtype=np.bool_)
        hit[example[rows]] = True
        return hit

    def in_train(column: Hashes) -> Iterator[Hashes]:
        for start in range(0, len(column), AT_A_TIME):
            own = slice(start, start + AT_A_TIME)
            yield column[own][train[own]]

    as_premise, as_hypothesis = in_train(premise), in_train(hypothesis)
    premises, hypotheses = premise[of_test], hypothesis[of_test]
    filled_premise, filled_hypothesis = has_premise[of_test], has_hypothesis[of_test]
    # Keys of the test set are looked up: those of the training set may be too many for memory.
    both = _occurring([premises, hypotheses], as_premise), _occurring([premises, hypotheses], as_hypothesis)
    known_premise, known_hypothesis = filled_premise & both[0][0], filled_hypothesis & both[1][1]
    known_sentence = (filled_premise & (both[0][0] | both[1][0])) | (
        filled_hypothesis & (both[0][1] | both[1][1])
    )
    return TrainOverlap(
        pair=_known_inputs(data, premise, hypothesis, train, test)
        & any_row(filled_premise | filled_hypothesis),
        premise=any_row(known_premise),
        hypothesis=any_row(known_hypothesis),
        sentence=any_row(known_sentence),
    )


def near_copies_of_train(data: Instances) -> dict[str, int]:
    """Return how many test examples are copies or near copies of a training example, and how many with its answer.

    A pair is one if both of its texts are; a question, if its premise and all of its choices are.
    """
    train, test = (data.in_splits(name) for name in ("train", "test"))
    units, filled = data.units("example"), ~(data.blank("premise") & data.blank("hypothesis"))
    if data.grouped:
        first = data.first_rows[:-1]
        train, test, units = train[first], test[first], units[first]
        filled = np.logical_or.reduceat(filled, first)
    near = _with_unit_of(train, units, np.flatnonzero(test & filled))
    if data.grouped:  # the right choice is the same
        answers = data.units("choice")[np.flatnonzero(data.label_codes == 0)]
        answered = int(np.isin(answers[near], answers[train]).sum())
    else:
        labels = data.label_codes
        answered = sum(
            len(_with_unit_of(train & (labels == label), units, near[labels[near] == label]))
            for label in range(len(data.labels))
        )
    return {"near": len(near), "near_answered": answered}


def _with_unit_of(which: Bools, units: Ints, rows: Ints) -> Ints:
    """Return those of some rows that share their unit with one of the rows in `which`."""
    occurs = np.zeros(int(units.max(initial=-1)) + 1, dtype=np.bool_)
    for chunk in chunks(len(units)):
        occurs[units[chunk][which[chunk]]] = True
    return rows[occurs[units[rows]]]


def _occurring(wanted: list[Hashes], parts: Iterator[Hashes]) -> list[Bools]:
    """Return which of the wanted keys, in several arrays, occur in any of the parts."""
    keys = np.unique(np.concatenate(wanted))
    hit = np.zeros(len(keys), dtype=np.bool_)
    for part in parts if len(keys) else ():
        place = np.minimum(np.searchsorted(keys, part), len(keys) - 1)
        hit[place[keys[place] == part]] = True
    return [hit[np.searchsorted(keys, each)] for each in wanted]


def _known_inputs(data: Instances, premise: Hashes, hypothesis: Hashes, train: Bools, test: Bools) -> Bools:
    """Return which test examples have the premise and the hypotheses of a training example."""
    keys, first = example_keys(data, premise, hypothesis), data.first_rows[:-1]
    tested = keys[test[first]]
    wanted = np.unique(tested)
    known = np.zeros(len(wanted), dtype=np.bool_)
    for chunk in chunks(len(keys) if len(wanted) else 0, AT_A_TIME):
        learned = keys[chunk][train[first[chunk]]]
        place = np.minimum(np.searchsorted(wanted, learned), len(wanted) - 1)
        known[place[wanted[place] == learned]] = True
    return known[np.searchsorted(wanted, tested)]


def example_keys(data: Instances, premise: Hashes | None, hypothesis: Hashes) -> Hashes:
    """Return a number for every example that those of the same premise and hypotheses, in any order, share.

    Without `premise`, those of the same hypotheses share it.
    """
    starts = data.first_rows[:-1]
    first, second = (data.space.array(np.uint64, len(starts)) for _ in range(2))
    for chunk in chunks(len(starts), AT_A_TIME):
        begins = data.first_rows[chunk.start : chunk.stop + 1]
        rows = hypothesis[begins[0] : begins[-1]]
        of_premise = np.zeros(len(begins) - 1, np.uint64) if premise is None else premise[begins[:-1]]
        for keys, step in ((first, _FIRST), (second, _SECOND)):
            sums = np.add.reduceat(mixed(rows * step), begins[:-1] - begins[0])
            keys[chunk] = mixed(sums + mixed(of_premise ^ step))
    made_distinct(first, second)
    return first

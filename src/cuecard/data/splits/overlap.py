"""Which test examples repeat the training set: the one definition that every audit uses.

Texts are the same up to case and punctuation (`normalised`); empty texts are in no overlap.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cuecard.data.fingerprint import Hashes, mixed, told_apart
from cuecard.data.instances import Instances
from cuecard.data.row_numbers import row_table
from cuecard.stats.arrays import Bools, chunks

#: Keys that are looked up at a time.
AT_A_TIME = 1 << 20
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
    for some in chunks(len(keys) if len(wanted) else 0, AT_A_TIME):
        learned = keys[some][train[first[some]]]
        place = np.minimum(np.searchsorted(wanted, learned), len(wanted) - 1)
        known[place[wanted[place] == learned]] = True
    return known[np.searchsorted(wanted, tested)]


def example_keys(data: Instances, premise: Hashes | None, hypothesis: Hashes) -> Hashes:
    """Return a number for every example that those of the same premise and hypotheses, in any order, share.

    Without `premise`, those of the same hypotheses share it.
    """
    starts = data.first_rows[:-1]
    first, second = (data.space.array(np.uint64, len(starts)) for _ in range(2))
    for some in chunks(len(starts), AT_A_TIME):
        begins = data.first_rows[some.start : some.stop + 1]
        rows = hypothesis[begins[0] : begins[-1]]
        of_premise = np.zeros(len(begins) - 1, np.uint64) if premise is None else premise[begins[:-1]]
        for keys, step in ((first, _FIRST), (second, _SECOND)):
            sums = np.add.reduceat(mixed(rows * step), begins[:-1] - begins[0])
            keys[some] = mixed(sums + mixed(of_premise ^ step))
    told_apart(first, second)
    return first

"""Which test examples repeat the training set: the one definition that every audit uses.

Texts are the same up to case and punctuation (`normalised`); empty texts are in no overlap. Texts and examples that
share a hash are compared themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from cuecard.data.exact import Inputs, exact_hashes
from cuecard.data.fingerprint import Hashes, text_hashes
from cuecard.data.instances import Instances
from cuecard.data.splits.sentences import normalised
from cuecard.data.survey import NumberedInstances, row_table
from cuecard.stats.arrays import Bools, Ints

#: Keys that are looked up at a time.
AT_A_TIME = 1 << 20


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


def text_keys(texts: pl.Series) -> tuple[Hashes, Bools]:
    """Return a number for every text that equal ones share, up to case and punctuation, and whether it is not empty."""
    plain = normalised(texts)
    return exact_hashes(text_hashes(plain), plain), (plain != "").to_numpy()


def side_keys(data: Instances, *sides: Literal["premise", "hypothesis"]) -> tuple[Hashes, Bools]:
    """Return the keys of the texts of each side, and whether they are not empty, also where texts are on disk."""
    if not isinstance(data, NumberedInstances):
        return text_keys(pl.concat([data.table[side] for side in sides]))
    rows = row_table(data)
    columns = [[rows[f"{side}_{name}"].to_numpy() for side in sides] for name in ("key", "filled")]
    keys, filled = (each[0] if len(sides) == 1 else np.concatenate(each) for each in columns)
    return keys, filled


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
    inputs = Inputs(data.first_rows, hypothesis, premise)
    tested = list(_keys_of(data, inputs, test))
    if not tested:
        return np.zeros(0, dtype=np.bool_)
    keys, examples = (np.concatenate(each) for each in zip(*tested, strict=True))
    codes = inputs.told_apart(keys, examples)
    _, one = np.unique(codes, return_index=True)
    one = one[np.argsort(keys[one], kind="stable")]
    known = np.zeros(len(one), dtype=np.bool_)
    # Inputs that share a key are looked up one after another; hardly ever there are any.
    begins = np.flatnonzero(np.diff(keys[one], prepend=~keys[one][:1]))
    sizes = np.diff(begins, append=len(one))
    for variant in range(int(sizes.max(initial=0))):
        some = begins[sizes > variant] + variant
        wanted = keys[one[some]]
        for seen, others in _keys_of(data, inputs, train):
            place = np.minimum(np.searchsorted(wanted, seen), len(wanted) - 1)
            shared = np.flatnonzero(wanted[place] == seen)
            place = place[shared]
            known[some[place[inputs.same(examples[one[some[place]]], others[shared])]]] = True
    return known[np.argsort(codes[one])][codes]


def _keys_of(data: Instances, inputs: Inputs, rows: Bools) -> Iterator[tuple[Hashes, Ints]]:
    """Yield keys of the examples that are among some rows, in parts, and their numbers."""
    first, premise, hypothesis = inputs.first, inputs.premise, inputs.hypothesis
    assert premise is not None
    for start in range(0, len(first) - 1, AT_A_TIME):
        begins = first[start : start + AT_A_TIME + 1]
        own = slice(int(begins[0]), int(begins[-1]))
        among = np.flatnonzero(rows[begins[:-1]])
        keys = whole_keys(data.example_codes[own], premise[own], hypothesis[own])
        yield keys[among], among + start


def whole_keys(examples: Ints, premise: Hashes, hypothesis: Hashes) -> Hashes:
    """Return a number for every example that those of the same premise and hypotheses, in any order, share."""
    starts = np.flatnonzero(np.diff(examples, prepend=-1))
    if not len(starts):
        return np.zeros(0, dtype=np.uint64)
    mixed = hypothesis * np.uint64(0x9E3779B97F4A7C15) ^ (hypothesis >> np.uint64(29))
    return premise[starts] * np.uint64(31) + np.add.reduceat(mixed, starts)

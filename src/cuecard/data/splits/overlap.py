"""Which test examples repeat the training set: the one definition that every audit uses.

Texts are the same up to case and punctuation (`normalised`); empty texts are in no overlap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data.fingerprint import text_hashes
from cuecard.data.instances import Instances
from cuecard.data.splits.sentences import normalised
from cuecard.data.survey import NumberedInstances, row_table
from cuecard.stats.arrays import Bools


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


def text_keys(texts: pl.Series) -> tuple[npt.NDArray[np.uint64], Bools]:
    """Return a number for every text that equal ones share, up to case and punctuation, and whether it is not empty."""
    plain = normalised(texts)
    return text_hashes(plain), (plain != "").to_numpy()


def side_keys(
    data: Instances, side: Literal["premise", "hypothesis"]
) -> tuple[npt.NDArray[np.uint64], Bools]:
    """Return the keys of the texts of one side, and whether they are not empty, also where texts are on disk."""
    if not isinstance(data, NumberedInstances):
        return text_keys(data.table[side])
    rows = row_table(data)
    return rows[f"{side}_key"].to_numpy(), rows[f"{side}_filled"].to_numpy()


def train_overlap(data: Instances) -> TrainOverlap:
    """Return what of every test example also occurs in the training set."""
    rows = row_table(data)
    split = rows["split"].cast(pl.String)
    train, test = ((split == name).to_numpy() for name in ("train", "test"))
    premise, hypothesis, has_premise, has_hypothesis = (
        rows[name].to_numpy()
        for name in ("premise_key", "hypothesis_key", "premise_filled", "hypothesis_filled")
    )
    seen_premises, seen_hypotheses = (np.unique(keys[train]) for keys in (premise, hypothesis))
    sentences = np.union1d(seen_premises, seen_hypotheses)
    _, example = np.unique(data.example_codes[test], return_inverse=True)
    n = int(example.max(initial=-1)) + 1

    def any_row(rows: Bools) -> Bools:
        hit = np.zeros(n, dtype=np.bool_)
        hit[example[rows]] = True
        return hit

    known_premise = has_premise & np.isin(premise, seen_premises)
    known_hypothesis = has_hypothesis & np.isin(hypothesis, seen_hypotheses)
    known_sentence = (has_premise & np.isin(premise, sentences)) | (
        has_hypothesis & np.isin(hypothesis, sentences)
    )
    whole = whole_keys(data.example_codes, premise, hypothesis)
    first = np.flatnonzero(np.diff(data.example_codes, prepend=-1))
    keys_of_train, keys_of_test = (whole[rows[first]] for rows in (train, test))
    filled = any_row((has_premise | has_hypothesis)[test])
    return TrainOverlap(
        pair=np.isin(keys_of_test, keys_of_train) & filled,
        premise=any_row(known_premise[test]),
        hypothesis=any_row(known_hypothesis[test]),
        sentence=any_row(known_sentence[test]),
    )


def whole_keys(
    examples: npt.NDArray[np.int64], premise: npt.NDArray[np.uint64], hypothesis: npt.NDArray[np.uint64]
) -> npt.NDArray[np.uint64]:
    """Return a number for every example that those of the same premise and hypotheses, in any order, share."""
    starts = np.flatnonzero(np.diff(examples, prepend=-1))
    if not len(starts):
        return np.zeros(0, dtype=np.uint64)
    mixed = hypothesis * np.uint64(0x9E3779B97F4A7C15) ^ (hypothesis >> np.uint64(29))
    return premise[starts] * np.uint64(31) + np.add.reduceat(mixed, starts)

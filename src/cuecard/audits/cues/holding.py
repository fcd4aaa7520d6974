"""Does a cue of train hold in test? Without a test split: in both halves of train?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import sparse

from cuecard.data import Instances
from cuecard.stats._arrays import divided
from cuecard.stats.arrays import Bools, Floats
from cuecard.stats.cues.replication import OUTCOMES, replication
from cuecard.stats.units.codes import first_of_code

HOLDS, VANISHES, REVERSES, OPEN = OUTCOMES
#: Columns of `held_shares`.
COLUMNS = ("outcome", "again_n", "again_share", "held_share", "held_low", "held_high", "coverage")


@dataclass(frozen=True, eq=False)
class SampleShares:
    """Instances of each cue's label among the instances that have the cue, in a part of the data.

    Where an example has several instances, only examples whose instances differ in the cue are counted.
    """

    k: Floats
    n: Floats
    chance: Floats
    examples: Floats


def held_shares(
    cues: pl.DataFrame,
    matrix: sparse.csc_matrix,
    sample: Instances,
    units: npt.NDArray[np.int64],
) -> pl.DataFrame:
    """Return what a second sample says about every cue: one row per cue, in the order of the columns of `matrix`.

    `again_n` and `again_share` are of the test split, each copy of a text counted once; they are missing without one.
    `outcome` is what that says about the share of train; without a test split, what either half of train says about the
    other. `held_share`, `held_low` and `held_high` are of train (corrected for selection) and test together.
    `coverage` is the share of examples the cue concerns: of train, or of test where it is smaller. `units` are those of
    the texts, or for grouped tasks of the questions.
    """
    in_train = (sample.table["split"] == "train").to_numpy()
    first = _first_copies(units, in_train)
    if sample.grouped:  # a question counts with all its choices, or not at all
        starts = sample.first_rows
        first = first[starts[:-1]][sample.example_codes]
    label = cues["label"].replace_strict(
        {name: i for i, name in enumerate(sample.labels)}, return_dtype=pl.Int64
    )
    codes = label.to_numpy()
    train = sample_shares(matrix, sample, codes, in_train)
    coverage = train.examples / max(sample.train.n_examples, 1)
    share, n = cues["adjusted_share"].to_numpy(), cues["effective_n"].to_numpy()
    chance = cues["chance"].to_numpy()
    if (~in_train).any():
        again = sample_shares(matrix, sample, codes, ~in_train & first)
        # Test has label shares of its own: a share is compared with what chance gives there.
        shift = again.chance - chance if sample.grouped else _test_prior(sample, in_train)[codes] - chance
        shift = np.nan_to_num(shift)
        held = replication(np.clip(share + shift, 0.0, 1.0), n, again.k, again.n, chance + shift)
        outcome, low, high = held.outcome, held.low - shift, held.high - shift
        both = held.share - shift
        again_n, again_share = again.n, divided(again.k, again.n)
        tested = (~in_train & first)[sample.first_rows[:-1]].sum()
        coverage = np.minimum(coverage, again.examples / max(int(tested), 1))
    else:
        outcome = _between_halves(matrix, sample, codes, units, first)
        both, low, high = (
            cues[name].to_numpy() for name in ("adjusted_share", "adjusted_low", "adjusted_high")
        )
        again_n = again_share = np.full(cues.height, np.nan)
    return pl.DataFrame(
        {
            "outcome": [OUTCOMES[code] for code in outcome],
            "again_n": again_n,
            "again_share": again_share,
            "held_share": np.clip(both, 0.0, 1.0),
            "held_low": np.clip(low, 0.0, 1.0),
            "held_high": np.clip(high, 0.0, 1.0),
            "coverage": coverage,
        },
        schema_overrides={"outcome": pl.String},
    ).with_columns(pl.col("again_n", "again_share").fill_nan(None))


def sample_shares(
    matrix: sparse.csc_matrix, sample: Instances, label: npt.NDArray[np.int64], rows: Bools
) -> SampleShares:
    """Return how often each cue has its label among some rows; `label` is a code per cue."""
    present = matrix.tocsr()[rows].astype(np.float64)
    codes = sample.label_codes[rows]
    if not sample.grouped:
        n = np.asarray(present.sum(axis=0)).ravel()
        by_label = np.vstack(
            [np.asarray(present[codes == code].sum(axis=0)).ravel() for code in range(len(sample.labels))]
        )
        k = by_label[label, np.arange(len(label))] if len(label) else np.zeros(0)
        return SampleShares(k, n, np.full(len(label), np.nan), n)
    # An example whose instances all have the cue, or none, says nothing of it.
    _, example = np.unique(sample.example_codes[rows], return_inverse=True)
    size = np.bincount(example).astype(np.float64)
    member = sparse.csr_matrix((np.ones(len(example)), (example, np.arange(len(example)))))
    having = (member @ present).tocsc()
    right = (member @ present.multiply((codes == 0)[:, None]).tocsr()).tocsc()
    differs = having.copy()
    differs.data = (having.data < size[having.indices]).astype(np.float64)
    counted = having.multiply(differs)
    n = np.asarray(counted.sum(axis=0)).ravel()
    hits = np.asarray(right.multiply(differs).sum(axis=0)).ravel()
    expected = np.asarray(sparse.diags(1.0 / size).dot(counted).sum(axis=0)).ravel()
    is_right = label == 0
    chance = divided(np.where(is_right, expected, n - expected), n)
    examples = np.asarray(differs.sum(axis=0)).ravel()
    return SampleShares(np.where(is_right, hits, n - hits), n, chance, examples)


def concerned(matrix: sparse.csc_matrix, sample: Instances, rows: Bools) -> sparse.csr_matrix:
    """Return which examples among some rows (rows) each cue (columns) concerns: those that have it, or differ in it."""
    present = matrix.tocsr()[rows].astype(np.float64)
    if not sample.grouped:
        return present
    _, example = np.unique(sample.example_codes[rows], return_inverse=True)
    member = sparse.csr_matrix((np.ones(len(example)), (example, np.arange(len(example)))))
    having = (member @ present).tocsr()
    size = np.repeat(np.bincount(example), np.diff(having.indptr))
    having.data = (having.data < size).astype(np.float64)
    return having


def _first_copies(units: npt.NDArray[np.int64], in_train: Bools) -> Bools:
    """Return which rows are the first of their unit in their split."""
    first = np.zeros(len(units), dtype=np.bool_)
    for rows in (in_train, ~in_train):
        first[rows] = first_of_code(units[rows])
    return first


def _test_prior(sample: Instances, in_train: Bools) -> Floats:
    counts = np.bincount(sample.label_codes[~in_train], minlength=len(sample.labels)).astype(np.float64)
    prior: Floats = counts / counts.sum()
    return prior


def _between_halves(
    matrix: sparse.csc_matrix,
    sample: Instances,
    label: npt.NDArray[np.int64],
    units: npt.NDArray[np.int64],
    first: Bools,
) -> npt.NDArray[np.int8]:
    """Return the worse of what each half of train says about the other half's share; units are never divided."""
    rng = np.random.default_rng(0)
    of_examples = units[sample.first_rows[:-1]] if sample.grouped else units
    in_first = rng.random(int(of_examples.max(initial=-1)) + 1) < 0.5
    in_first = in_first[of_examples][sample.example_codes] if sample.grouped else in_first[units]
    one, two = (sample_shares(matrix, sample, label, first & part) for part in (in_first, ~in_first))
    prior = np.bincount(sample.label_codes, minlength=len(sample.labels)) / max(len(sample.label_codes), 1)
    outcomes = []
    for here, there in ((one, two), (two, one)):
        chance = np.where(np.isnan(there.chance), prior[label], there.chance)
        share = np.where(here.n > 0, divided(here.k, here.n), chance)
        outcomes.append(replication(share, here.n, there.k, there.n, chance).outcome)
    rank = np.array([1, 2, 3, 0], dtype=np.int8)  # open, holds, vanishes, reverses: from mild to grave
    worse = np.maximum(rank[outcomes[0]], rank[outcomes[1]])
    back = np.array([3, 0, 1, 2], dtype=np.int8)
    return back[worse]

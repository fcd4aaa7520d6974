"""Which examples partial input gives away: solved, and at a confidence at which it is rarely wrong."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from cuecard.data import Instances
from cuecard.stats.arrays import Bools, Floats

#: Examples are compared with others of about the same confidence: smallest size and largest number of the classes.
CLASS_SIZE, CLASSES = 50, 10
#: What columns of the table of examples begin with: whether a partial input names the answer, and how sure it is.
SOLVED, CONFIDENCE = "solved_", "confidence_"


def solvers_of(examples: pl.DataFrame) -> list[str]:
    """Return the partial inputs that a table of examples has the outcomes of, such as "hypothesis_only"."""
    return [name.removeprefix(SOLVED) for name in examples.columns if name.startswith(SOLVED)]


def given_away(solved: Floats, confidence: Floats, chance: float) -> Bools:
    """Return which examples a solver answers correctly because it can tell, not by luck.

    A solver without any information solves its share of examples, too. So an example counts if it is solved, and the
    *other* examples of about the same confidence are solved often: at least half of the way from chance to always. An
    example's own outcome has no part in that estimate.

    Args:
        solved: 1 where the solver names the right answer, 0 where not, a fraction where answers tie.
        confidence: probability that the solver gives to its answer.
        chance: accuracy of a guess.

    >>> import numpy as np
    >>> sure = np.r_[np.full(100, 0.9), np.full(100, 0.5)]
    >>> right = np.r_[np.ones(95), np.zeros(5), np.tile([1.0, 0.0], 50)]
    >>> given_away(right, sure, 0.5).sum()
    np.int64(95)
    """
    n = len(solved)
    classes = max(1, min(CLASSES, n // CLASS_SIZE))
    edges = np.unique(np.quantile(confidence, np.arange(1, classes) / classes)) if n else np.empty(0)
    group = np.searchsorted(edges, confidence, side="right")
    total, size = np.bincount(group, weights=solved), np.bincount(group)
    others = (total[group] - solved) / np.maximum(size[group] - 1, 1)
    return np.asarray((solved >= 1) & (others >= chance + (1 - chance) / 2))


def easy_examples(data: Instances, scored: pl.DataFrame, solvers: Sequence[str]) -> Bools:
    """Return which scored examples some solver gives away, split by split.

    A solver whose confidence is not in the table counts by its answers alone.
    """
    easy = np.zeros(scored.height, dtype=np.bool_)
    splits = scored["split"].cast(pl.String)
    for split in splits.unique():
        here = (splits == split).to_numpy()
        part = scored.filter(pl.Series(here))
        chance = _chance(data, part["example_id"])
        for name in solvers:
            solved = part[f"{SOLVED}{name}"].cast(pl.Float64).to_numpy()
            column = f"{CONFIDENCE}{name}"
            if column in part.columns and part[column].null_count() == 0:
                easy[here] |= given_away(solved, part[column].to_numpy(), chance)
            else:
                easy[here] |= solved >= 1
    return easy


def _chance(data: Instances, ids: pl.Series) -> float:
    """Return what a guess scores on some examples: the commonest label's share, or one over the number of choices."""
    table = data.table.filter(pl.col("example_id").is_in(ids.implode()))
    if data.grouped:
        sizes = table.group_by("example_id", "split").len()["len"].to_numpy()
        return float((1 / sizes).mean())
    counts = table["label"].cast(pl.String).value_counts()["count"].to_numpy()
    return float(counts.max() / counts.sum())

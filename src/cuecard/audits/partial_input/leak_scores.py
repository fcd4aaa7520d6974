"""How much each example gives its answer away, and which examples most."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from cuecard.analysis import Summary
from cuecard.audits.partial_input.guesses import Guesses
from cuecard.audits.partial_input.judging import pointwise_information
from cuecard.data import Instances
from cuecard.data.examples import Examples
from cuecard.stats.arrays import Bools, Floats, Ints, chunks
from cuecard.stats.weighted import weighted_quantiles

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


HISTOGRAM_BINS = 20
#: Weights are added up as whole multiples of this part: sums of floating-point numbers depend on their order.
_PART = 2.0**-32


@dataclass(frozen=True, eq=False)
class Scored:
    """The guesses for some examples, by rising number, and what a model that sees nothing gives the right ones."""

    examples: Ints
    guesses: Guesses
    null: Floats

    def take(self, which: Ints) -> tuple[Ints, Scored]:
        """Return what is known of some examples, by rising number, and their places among these."""
        place = np.searchsorted(self.examples, which)
        there = np.flatnonzero(place < len(self.examples))
        there = there[self.examples[place[there]] == which[there]]
        own = place[there]
        return there, Scored(which[there], self.guesses.take(own), self.null[own])

    def parts(self) -> Iterator[tuple[Ints, Floats]]:
        """Yield some examples at a time, with the probabilities of their right answers."""
        if self.guesses.probability is not None:
            for chunk in chunks(len(self.examples)):
                yield self.examples[chunk], self.guesses.probability[chunk]


def leak_table(
    examples: Examples, scored: Mapping[str, Sequence[Scored]], primary: str, which: Ints | None = None
) -> pl.DataFrame:
    """Return one row per scored example: `leak_score`, `pvi` (bits), and how every partial input did on it.

    `leak_<name>` is the probability of the right answer from another partial input; `solved_<name>` is 1 where
    that input was enough to find the right answer, 0 where not, and a fraction where answers tied;
    `confidence_<name>` is the probability it gave its own answer. `which` are the examples to be told about, all by
    default.
    """
    which = np.arange(len(examples)) if which is None else which
    columns: dict[str, Floats] = {}
    for name, parts in scored.items():
        leak, solved, information, confidence = (np.full(len(which), np.nan) for _ in range(4))
        for whole in parts:
            at, part = whole.take(which)
            if part.guesses.probability is not None:
                leak[at] = part.guesses.probability
                information[at] = pointwise_information(part.guesses, part.null)
            if part.guesses.table is not None and len(at):
                confidence[at] = np.nanmax(part.guesses.table, axis=1)
            solved[at] = part.guesses.score
        if name == primary:
            columns = {"leak_score": leak, "pvi": information, **columns}
        else:
            columns[f"leak_{name}"] = leak
        columns[f"{SOLVED}{name}"] = solved
        if any(part.guesses.table is not None for part in parts):
            columns[f"{CONFIDENCE}{name}"] = confidence
    rows = examples.instances.table.select("example_id", "split")
    table = rows.select(pl.all().gather(examples.first_rows[which])).with_columns(
        pl.col("split").cast(pl.String),
        **{name: pl.Series(values).fill_nan(None) for name, values in columns.items()},
    )
    return table.filter(pl.any_horizontal(pl.col(list(columns)).is_not_null()))


def leak_histogram(examples: Examples, scored: Sequence[Scored]) -> pl.DataFrame:
    """Return how many examples of every split and label, or their weight, have a leak score in each of some bins."""
    counts = [_counts(examples, *part) for whole in scored for part in whole.parts()]
    total = pl.concat(counts).group_by("split", "label", "bin").agg(pl.col("count").sum())
    weighted = examples.weights is not None
    return total.sort("split", "label", "bin").select(
        "split",
        "label",
        low=pl.col("bin") / HISTOGRAM_BINS,
        high=(pl.col("bin") + 1) / HISTOGRAM_BINS,
        count=pl.col("count") * _PART if weighted else pl.col("count"),
    )


def _counts(examples: Examples, which: Ints, leak: Floats) -> pl.DataFrame:
    which, leak = which[np.isfinite(leak)], leak[np.isfinite(leak)]
    weight = examples.weight(which)
    if examples.instances.grouped:
        labels = pl.Series("label", ["all"], dtype=pl.String).new_from_index(0, len(which))
    else:
        labels = pl.Series(examples.instances.labels, dtype=pl.String).gather(examples.gold[which])
    frame = pl.DataFrame(
        {
            "split": examples.instances.table["split"].gather(examples.first_rows[which]).cast(pl.String),
            "label": labels,
            "bin": np.minimum((leak * HISTOGRAM_BINS).astype(np.int64), HISTOGRAM_BINS - 1),
            "count": np.ones(len(which), np.int64)
            if weight is None
            else np.rint(weight / _PART).astype(np.int64),
        }
    )
    return frame.group_by("split", "label", "bin").agg(pl.col("count").sum())


def most_leaking(examples: Examples, scored: Sequence[Scored], shown: int) -> pl.DataFrame:
    """Return the examples whose right answer partial input makes most likely, with their texts.

    For grouped tasks the text is that of the right answer, the label what stands against it.
    """
    which, leak = np.empty(0, dtype=np.int64), np.empty(0)
    for whole in scored:
        for some, values in whole.parts():
            which, leak = np.append(which, some), np.append(leak, values)
            order = np.lexsort((which, -leak))[:shown]
            which, leak = which[order], leak[order]
    information = np.empty(len(which))
    order = np.argsort(which)
    for whole in scored:
        at, part = whole.take(which[order])
        information[order[at]] = pointwise_information(part.guesses, part.null)
    return examples.instances.table[examples.right_rows[which]].select(
        "example_id",
        pl.col("split").cast(pl.String),
        pl.Series("leak_score", leak),
        pl.Series("pvi", information),
        pl.col("label").cast(pl.String),
        "premise",
        "hypothesis",
    )


def leak_summary(guesses: Guesses) -> Summary:
    """Return how likely the right answers are from the primary partial input."""
    scores = guesses.probability
    assert scores is not None  # a learner gives probabilities
    weight = guesses.weight
    median = np.median(scores) if weight is None else weighted_quantiles(scores, weight, [0.5])[0]
    return {
        "mean": guesses.mean(scores),
        "median": float(median),
        "share_above_half": guesses.mean(scores > 0.5),
        "examples": len(scores),
    }


def examples_of(examples: Examples, rows: Ints | None) -> Ints | None:
    """Return the examples that some rows of the whole dataset belong to."""
    if rows is None:
        return None
    own, data = np.sort(rows), examples.instances
    if data.row_numbers is not None:
        place = np.searchsorted(data.row_numbers, own)
        there = np.flatnonzero(place < len(data))
        own = place[there[data.row_numbers[place[there]] == own[there]]]
    return np.unique(data.example_codes[own])

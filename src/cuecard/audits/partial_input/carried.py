"""What carries the score of the model of partial input: the share of its held-out log score by word."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import polars as pl

from cuecard.analysis import Summary
from cuecard.audits.partial_input.cross_fit import Evaluation
from cuecard.audits.partial_input.guesses import Guesses, gold_of
from cuecard.audits.partial_input.rules import InputFeatures, null_shares
from cuecard.data import Task
from cuecard.data.examples import Examples
from cuecard.models.linear.input_features import InputRows
from cuecard.models.linear.learner import Scorer
from cuecard.models.linear.ngram_features import HashColumns, hash_rows
from cuecard.stats.arrays import Codes, Floats, Ints
from cuecard.stats.scores.additive_shares import Shares, path_weights, score_shares
from cuecard.stats.scores.cross_fit_intervals import mean_interval
from cuecard.text import Tokens

#: The input whose model is explained.
EXPLAINED: dict[Task, str] = {"pair": "hypothesis_only", "text": "full"}
#: Of more examples than this, a random sample is explained.
MOST_EXPLAINED = 50_000
#: Features that are listed, and that have an interval.
LISTED, WITH_INTERVAL = 8, 40
#: A feature is listed if at least this many scored instances have it: of fewer, an interval says little.
FEWEST_INSTANCES = 20
LENGTH = "length"
SCHEMA = {
    "family": pl.String,
    "feature": pl.String,
    "label": pl.String,
    "instances": pl.Int64,
    "bits": pl.Float64,
    "share": pl.Float64,
    "share_low": pl.Float64,
    "share_high": pl.Float64,
    "listed": pl.Boolean,
}


@dataclass(frozen=True, eq=False)
class Carried:
    """What carries a model's held-out log score: one row per feature, the largest share first.

    `bits` is the log score per example above that of a model that sees nothing. `base` is the share of what no feature
    carries: the mean margins of the model against the shares of labels. It and the shares of the table add up to 1.
    `share`, `low` and `high` are of the features that are listed, together: the largest shares, of features in enough
    instances, whose interval excludes 0.
    """

    input: str
    table: pl.DataFrame
    bits: float
    base: float
    examples: int
    share: float
    low: float
    high: float

    def as_json(self) -> Summary:
        """Return the score and the features that carry most of it, as they are written on the card."""
        return {
            "input": self.input,
            "bits": self.bits,
            "base": self.base,
            "examples": self.examples,
            "share": self.share,
            "low": self.low,
            "high": self.high,
            "features": self.table.height,
            "listed": self.table.filter("listed").to_dicts(),
        }


def explained_input(task: Task) -> str:
    """Return the input whose model is explained."""
    return EXPLAINED.get(task, "choices_only")


def words_of_columns(tokens: Tokens, slots: Ints, ngrams: int, keys: Ints | None = None) -> Ints:
    """Return the word that every column of n-grams counts for: the rarest of its words in these texts.

    -1 for n-grams that no text has. Where n-grams share a column, a shorter one goes before a longer one.
    """
    frequency = np.bincount(tokens.ids, minlength=tokens.n_types)
    column = HashColumns(slots.astype(np.int32), np.ones(len(slots))).numbers
    word = np.full(len(slots), -1, dtype=np.int64)
    ends = np.repeat(tokens.offsets[1:], tokens.lengths) - tokens.offsets[0]
    for length in range(ngrams, 0, -1):
        first = np.flatnonzero(np.arange(len(tokens.ids)) + length <= ends)
        windows = tokens.ids[first[:, None] + np.arange(length)]
        texts = Tokens(windows.ravel(), np.arange(len(first) + 1) * length, tokens.vocabulary)
        hashed = hash_rows([texts], ngrams=length, keys=keys)
        place = column[hashed.slots[hashed.starts + length - 1]]
        rarest = np.take_along_axis(windows, frequency[windows].argmin(axis=1)[:, None], axis=1)[:, 0]
        word[place[place >= 0]] = rarest[place >= 0]
    return word


@dataclass(frozen=True, eq=False)
class _Terms:
    """What features add to the log scores of some examples: values, each of an `owner` and of a `group` of features.

    `mean` is what a group adds to the margins of the mean example, groups × answers, and `slopes` are those of the
    examples in each margin; both are zero for choices, where what all choices have cancels.
    """

    places: Ints
    owner: Ints
    group: Ints
    value: Floats
    mean: Floats
    slopes: Floats

    def by_group(self, weight: Floats) -> Floats:
        """Return the sum over the examples of what every group adds beyond the mean example."""
        sums = np.bincount(self.group, self.value * weight[self.owner], len(self.mean))
        return np.asarray(sums - self.mean @ (weight @ self.slopes))

    def of_examples(self, groups: Ints) -> Floats:
        """Return what some groups add to every example's score: examples × groups."""
        column = np.full(len(self.mean), -1)
        column[groups] = np.arange(len(groups))
        listed = np.flatnonzero(column[self.group] >= 0)
        cells = self.owner[listed] * len(groups) + column[self.group[listed]]
        sums = np.bincount(cells, self.value[listed], len(self.slopes) * len(groups))
        return np.asarray(sums.reshape(-1, len(groups)) - self.slopes @ self.mean[groups].T)


@dataclass(frozen=True, eq=False)
class _Explained:
    """The examples whose scores are explained: their guesses, gains in bits, and slopes of these in every margin."""

    examples: Examples
    source: InputFeatures
    chosen: Ints
    fold: Codes
    guesses: Guesses
    gains: Floats
    slopes: Floats
    inflation: float

    @classmethod
    def of(
        cls, examples: Examples, source: InputFeatures, done: Evaluation, train: Ints, seed: int
    ) -> Self | None:
        """Return the examples, a sample of very many; None where guesses have no probabilities."""
        which = np.arange(len(done.examples))
        if len(which) > MOST_EXPLAINED:
            which = np.sort(np.random.default_rng(seed).choice(len(which), MOST_EXPLAINED, replace=False))
        chosen, guesses = done.examples[which], done.guesses.take(which)
        if guesses.table is None or guesses.probability is None:
            return None
        start = np.zeros(1) if examples.grouped else np.log(null_shares(examples, train))
        gold = gold_of(examples, chosen)
        null = 1 / guesses.options if examples.grouped else np.exp(start)[gold]
        with np.errstate(divide="ignore"):
            gains = np.log2(guesses.probability / null)
            slopes = path_weights(start, np.log(guesses.table), gold) / np.log(2)
        return cls(examples, source, chosen, done.fold[which], guesses, gains, slopes, done.inflation)

    @property
    def weight(self) -> Floats:
        """How much every example counts."""
        weight = self.guesses.weight
        return np.ones(len(self.chosen)) if weight is None else weight

    def shares(self, parts: Floats) -> Shares:
        """Return the share of the sum of all gains that each column of parts makes up."""
        units, weights = self.guesses.unit, self.guesses.weight
        return score_shares(parts, self.gains, units=units, weights=weights, inflation=self.inflation)

    def surely_above(self) -> bool:
        """Return whether the interval of the mean gain lies above 0: not where a right answer had no chance."""
        if not np.isfinite(self.gains).all():
            return False
        units, weights = self.guesses.unit, self.guesses.weight
        return mean_interval(self.gains, units=units, weights=weights, inflation=self.inflation)[1] > 0

    def terms(self, fold: int, scorer: Scorer, group: Ints) -> _Terms:
        """Return what the features of the model of one fold add; `group` says which group each of them is of."""
        places = np.flatnonzero(self.fold == fold)
        examples, slopes = self.chosen[places], self.slopes[places]
        sizes = self.examples.options[examples] if self.examples.grouped else np.ones(len(places), np.int64)
        owner = np.repeat(np.arange(len(places)), sizes)
        of_rows = slopes
        if self.examples.grouped:  # a margin and a slope for each row
            of_rows = slopes[np.arange(slopes.shape[1]) < sizes[:, None]][:, None]
        features = self.source.matrix[self.examples.rows(examples)]
        row = np.repeat(np.arange(features.shape[0]), np.diff(features.indptr))
        met = np.flatnonzero((scorer.place[features.indices] >= 0) & (group[features.indices] >= 0))
        row, column, value = row[met], features.indices[met], features.data[met]
        added, mean = np.zeros(len(met)), np.zeros((int(group.max()) + 1, of_rows.shape[1]))
        of_mean = self.weight[places] / self.weight[places].sum()
        for answer in range(of_rows.shape[1]):
            margins = value * scorer.weights[scorer.place[column], answer]
            added += margins * of_rows[row, answer]
            mean[:, answer] = np.bincount(group[column], margins * of_mean[owner[row]], len(mean))
        slopes = np.zeros((len(places), 1)) if self.examples.grouped else of_rows
        return _Terms(places, owner[row], group[column], added, mean, slopes)


def carried(
    rows: InputRows,
    examples: Examples,
    source: InputFeatures,
    done: Evaluation,
    train: Ints,
    *,
    seed: int = 0,
) -> Carried | None:
    """Return what carries the held-out log score of an input's models; None where it is not surely above 0.

    An n-gram counts for its rarest word, and all figures of length for the length. Of pairs and texts a feature is
    compared with its mean over the examples: what all have carries nothing.
    """
    scorers = [(name, model.result()) for name, model in done.models]
    explained = _Explained.of(examples, source, done, train, seed)
    if explained is None or source.slots is None or not explained.surely_above():
        return None
    answers = 1 if examples.grouped else explained.slopes.shape[1]
    if any(scorer.weights.shape[1] != answers for _, scorer in scorers):
        return None  # a label that the model has never seen has no margin
    tokens = rows.take(examples.rows(explained.chosen)).tokens("hypothesis")
    group = np.full(source.matrix.shape[1], tokens.n_types, dtype=np.int64)
    group[: len(source.slots)] = words_of_columns(tokens, source.slots, source.ngrams, rows.keys)
    weight, present = explained.weight, np.unique(explained.fold)
    terms = [explained.terms(name, scorer, group) for name, scorer in scorers if name in present]
    total = np.sum([part.by_group(weight[part.places]) for part in terms], axis=0)
    lean = np.sum([part.mean * weight[part.places].sum() for part in terms], axis=0)
    order = np.argsort(-total, kind="stable")
    order = order[total[order] != 0]
    columns = np.zeros((len(weight), min(len(order), WITH_INTERVAL)))
    for part in terms:
        columns[part.places] = part.of_examples(order[: columns.shape[1]])
    return _listed(explained, tokens, order, total / (weight * explained.gains).sum(), lean, columns)


def _listed(
    explained: _Explained, tokens: Tokens, order: Ints, share: Floats, lean: Floats, columns: Floats
) -> Carried:
    """Return the table of groups in their order, the `columns` with intervals, and the listed ones together."""
    shares, instances, bits = explained.shares(columns), _having(tokens, order), explained.gains
    enough = instances[: columns.shape[1]] >= FEWEST_INSTANCES
    listed = np.flatnonzero((shares.low > 0) & enough)[:LISTED]
    together = explained.shares(columns[:, listed].sum(axis=1, keepdims=True))
    mean, missing = explained.guesses.mean(bits), np.full(len(order) - columns.shape[1], np.nan)
    length = order == tokens.n_types
    names = tokens.vocabulary.gather(np.minimum(order, tokens.n_types - 1))
    table = pl.DataFrame(
        {
            "family": np.where(length, LENGTH, "word"),
            "feature": np.where(length, LENGTH, names.to_numpy()),
            "label": _labels(lean[order], explained.examples),
            "instances": instances,
            "bits": share[order] * mean,
            "share": share[order],
            "share_low": np.concatenate([shares.low, missing]),
            "share_high": np.concatenate([shares.high, missing]),
            "listed": np.isin(np.arange(len(order)), listed),
        },
        schema=SCHEMA,
    ).with_columns(
        pl.col("share_low", "share_high").fill_nan(None),
        label=pl.when(pl.col("family") != LENGTH).then("label"),
    )
    ends = (float(end[0]) for end in (together.value, together.low, together.high))
    return Carried(explained.source.name, table, mean, 1 - float(share.sum()), len(columns), *ends)


def _labels(lean: Floats, examples: Examples) -> list[str]:
    """Return the label that each feature speaks for, by what it adds to the margins of the mean example."""
    labels = examples.instances.labels
    if examples.grouped:
        return [labels[0] if margin > 0 else labels[1] for margin in lean[:, 0]]
    return [labels[i] for i in lean.argmax(axis=1)]


def _having(tokens: Tokens, words: Ints) -> Ints:
    """Return how many texts have each word; all have a length."""
    row = np.repeat(np.arange(len(tokens)), tokens.lengths)
    pairs = np.unique(row * np.int64(tokens.n_types) + tokens.ids)
    counts = np.bincount(pairs % tokens.n_types, minlength=tokens.n_types)
    return np.append(counts, len(tokens))[words]

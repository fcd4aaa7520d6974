"""Words that predict a label on one slice and not, or not the same one, on the rest of the training set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.special import log_ndtr

from cuecard.analysis import Finding, Summary, severity_of
from cuecard.audits.cues.statistics import LN10, NullTest, Sums, independent, within_examples
from cuecard.audits.partial_input.slices import codes_of, names_of
from cuecard.data import Task
from cuecard.features import CueCounts, count_cues
from cuecard.features.family import FeatureCounts, Presence
from cuecard.features.units import TEXTS, train_units
from cuecard.features.words import Words
from cuecard.stats import log_q_values, state_probability, wilson
from cuecard.stats.arrays import Floats, Ints, chunks, counted, divided
from cuecard.text import Encoded, Tokens, presence, presence_counts
from cuecard.wording import listed, percent

#: A word that fewer training rows contain is not tested.
FEWEST_ROWS = 5
#: Rows of the table, and words named in findings.
MOST_ROWS, MOST_FINDINGS = 500, 3
#: Standard errors from which the rest of the rows is taken to have some of what a slice has.
SHOWN = 1.0
#: A share must surely differ from chance by this, as that of a cue must.
NOTABLE_GAIN = 0.10


@dataclass(frozen=True, eq=False)
class _Cells:
    """Words in slices as a feature family: feature i is the word `words[i]` in the slice `slices[i]`."""

    tokens: Tokens
    words: Ints
    slices: Ints

    name: ClassVar[str] = Words.name
    description: ClassVar[str] = "a word occurs in a slice"
    phrase: ClassVar[str] = Words.phrase
    languages: ClassVar[frozenset[str] | None] = None

    def presence(self, data: Encoded) -> Presence:
        """Return which instances contain which words, those of every slice apart."""
        return Presence(self.tokens.vocabulary, *presence(self.tokens))

    def counts(self, data: Encoded, classes: npt.NDArray[np.int32], n_classes: int) -> FeatureCounts:
        """Return how many instances of every class contain each word of each slice."""
        counts = presence_counts(self.tokens, classes, n_classes)
        return FeatureCounts(self.tokens.vocabulary.gather, counts, self.tokens.ids, self.tokens.offsets)

    @classmethod
    def of(cls, data: Encoded, slices: Ints) -> _Cells:
        """Return the words of every slice; all that are too rare to be tested are one, the last of each slice."""
        tokens = data.scoped
        common = np.flatnonzero(counted(tokens.ids, tokens.n_types) >= FEWEST_ROWS)
        word = np.full(tokens.n_types, len(common), dtype=np.int64)
        word[common] = np.arange(len(common))
        n_words = len(common) + 1
        occurs = np.zeros((int(slices.max()) + 1) * n_words, dtype=np.bool_)
        for chunk in chunks(len(tokens)):
            occurs[_keys(tokens, slices, word, n_words, chunk)] = True
        cells = np.flatnonzero(occurs)
        number = np.cumsum(occurs, dtype=np.int32) - np.int32(1)
        ids = data.instances.space.array(np.int32, len(tokens.ids))
        for chunk in chunks(len(tokens)):
            where = slice(tokens.offsets[chunk.start], tokens.offsets[chunk.stop])
            ids[where] = number[_keys(tokens, slices, word, n_words, chunk)]
        names = pl.Series(np.arange(len(cells))).cast(pl.String)
        return cls(
            Tokens(ids, tokens.offsets, names), np.append(common, -1)[cells % n_words], cells // n_words
        )


def _keys(tokens: Tokens, slices: Ints, word: Ints, n_words: int, rows: slice) -> Ints:
    """Return slice × word of every token of some rows as one number."""
    part = tokens.rows(rows.start, rows.stop)
    keys: Ints = np.repeat(slices[rows] * n_words, part.lengths) + word[part.ids]
    return keys


def words_by_slice(data: Encoded, columns: Sequence[pl.Series], *, fewest: int) -> pl.DataFrame:
    """Return the words that predict a label in a slice and differ from the rest, the most significant first.

    `data` are training instances, and `columns` the slices of their examples. The p-value is that of the exact test of
    the cue audit within the slice, where copies count once; the label's share must differ from that in all other rows
    with the word (p ≤ .05), as it is and above chance. Where these other rows may show the same, the p-value of the
    difference counts if it is larger. So a word that does the same everywhere, and a slice that has other labels, are
    none. The false discovery rate is held over all words, slices and labels.
    """
    parts = [part for column in columns for part in _of_column(data, column, fewest)]
    if not parts:
        return pl.DataFrame(schema={"q_value": pl.Float64})
    table = pl.concat(parts)
    least = table["least_log_p"].to_numpy()
    log_q = log_q_values(table["log10_p"].to_numpy() * LN10, least_log_p=least)
    table = table.with_columns(q_value=pl.Series(np.exp(log_q)), p_value=10.0 ** pl.col("log10_p"))
    return table.drop("least_log_p").sort("q_value", "log10_p", maintain_order=True).head(MOST_ROWS)


def _of_column(data: Encoded, column: pl.Series, fewest: int) -> list[pl.DataFrame]:
    instances = data.instances
    slices = codes_of(column).astype(np.int64) + 1  # 0 where there is no value
    sizes = np.bincount(slices, minlength=len(names_of(column)) + 1)
    if instances.grouped:
        slices = slices[instances.example_codes]
    family = _Cells.of(data, slices)
    counts = count_cues(data, [family], minimum=1)
    if not counts.features.height:
        return []
    features = counts.features.select(pl.exclude("family"), family=pl.lit(family.name))
    cell = features["feature"].cast(pl.Int64).to_numpy()
    train = features.select(f"train_{label}" for label in counts.labels).to_numpy()
    if counts.within is None:
        null = _independent(data, family, counts, features, slices, train)
    else:
        null = within_examples(counts.within, features, train)
    word, of_slice = family.words[cell], family.slices[cell]
    tested = (word >= 0) & (of_slice > 0) & (sizes[of_slice] >= fewest) & (sizes[of_slice] < sizes.sum())
    texts, names = features[TEXTS].to_numpy(), ["", *names_of(column)]
    # Right and wrong choices are one test, seen from both sides.
    labels = counts.labels[:1] if instances.grouped else counts.labels
    parts = []
    for i, label in enumerate(labels):
        rest = _rest(null, i, word)
        log_p = np.maximum(null.log_p[:, i], rest.log_p)
        at = np.flatnonzero(tested & (null.share_n > 0) & (rest.n > 0))
        low, high = wilson(*_whole(null.share_k[at, i], null.share_n[at], null.worth[at]))
        parts.append(
            pl.DataFrame(
                {
                    "word": data.vocabulary.gather(word[at]),
                    "column": pl.repeat(column.name, len(at), eager=True),
                    "value": pl.Series([names[code] for code in of_slice[at]], dtype=pl.String),
                    "label": pl.repeat(label, len(at), eager=True),
                    "n": null.share_n[at].astype(np.int64),
                    "texts": texts[at].astype(np.int64),
                    "accuracy": divided(null.share_k[at, i], null.share_n[at]),
                    "low": low,
                    "high": high,
                    "chance": null.chance[at, i],
                    "rest_n": rest.n[at].astype(np.int64),
                    "rest_accuracy": rest.share[at],
                    "rest_chance": rest.chance[at],
                    "coverage": train[at].sum(axis=1) / len(instances),
                    "log10_p": log_p[at] / LN10,
                    "least_log_p": null.least_log_p[at, i],
                }
            )
        )
    return parts


def _whole(k: Sums, n: Sums, worth: Floats) -> tuple[Floats, Floats]:
    size = np.rint(worth)
    return np.minimum(np.rint(divided(k, n) * size), size), size


def _independent(
    data: Encoded, family: _Cells, counts: CueCounts, features: pl.DataFrame, slices: Ints, train: Ints
) -> NullTest:
    """Return the test of the cue audit, with the label shares of each slice, by rows and by distinct texts.

    Where no text repeats, a slice's rows are counted as they are: a word in half of them is tested by Fisher's exact
    test, which is stronger than the binomial one.
    """
    labels, n = data.instances.label_codes.astype(np.int64), len(counts.labels)
    of_slice = family.slices[features["feature"].cast(pl.Int64).to_numpy()]

    def by_slice(weights: Floats | None) -> Floats:
        mass = np.bincount(slices * n + labels, weights, (int(slices.max()) + 1) * n)
        return mass.reshape(-1, n).astype(np.float64)

    def shares(mass: Floats) -> Floats:
        of_features: Floats = divided(mass, mass.sum(axis=1, keepdims=True))[of_slice]
        return of_features

    texts = []
    for units in train_units(family, data).values():
        own = np.unique(units * (int(slices.max()) + 1) + slices, return_inverse=True)[1]
        texts.append(shares(by_slice(1 / np.bincount(own)[own])))
    counts = replace(counts, text_priors=np.stack(texts) if texts else None)
    rows = by_slice(None)
    null = independent(counts, features, train, shares(rows), known_prior=False)
    return null if texts else replace(null, log_p=_fisher(null.log_p, train, rows[of_slice]))


def _fisher(log_p: Floats, train: Ints, rows: Floats) -> Floats:
    """Return the log p-values of Fisher's exact test in place of those that may be significant."""
    from scipy.stats import hypergeom

    at = np.nonzero(log_p < np.log(0.1))
    k, n = train[at], train.sum(axis=1)[at[0]]
    of_label, total = rows[at], rows.sum(axis=1)[at[0]]
    tail = np.minimum(hypergeom.sf(k - 1, total, of_label, n), hypergeom.cdf(k, total, of_label, n))
    exact = log_p.copy()
    exact[at] = np.where(tail > 0, np.minimum(np.log(2 * np.maximum(tail, 1e-300)), 0.0), log_p[at])
    return exact


@dataclass(frozen=True, eq=False)
class _Rest:
    """A label's share among all other rows with each word, its chance, and the log p-value of the difference."""

    n: Floats
    share: Floats
    chance: Floats
    log_p: Floats


def _rest(null: NullTest, label: int, word: Ints) -> _Rest:
    def others(values: Floats) -> Floats:
        return np.bincount(word + 1, values)[word + 1] - values

    k, n = null.share_k[:, label].astype(np.float64), null.share_n.astype(np.float64)
    expected = np.nan_to_num(null.chance[:, label]) * n
    rest_n = np.rint(others(n))
    share, chance = divided(np.rint(others(k)), rest_n), divided(others(expected), rest_n)
    own = divided(k, n)
    # As if a row more had the label and one more had not, so that shares of 0 and 1 are not certain.
    worth, rest_worth = null.worth, others(null.worth)
    pooled = (own * worth + share * rest_worth + 1) / (worth + rest_worth + 2)
    error = np.sqrt(pooled * (1 - pooled) * (1 / np.maximum(worth, 0.5) + 1 / np.maximum(rest_worth, 0.5)))
    raw, above = own - share, own - null.chance[:, label] - (share - chance)
    z = np.nan_to_num(np.minimum(np.abs(raw), np.abs(above)) / error)
    log_p = np.where(raw * above > 0, np.minimum(np.log(2.0) + log_ndtr(-z), 0.0), 0.0)
    # Where the rest shows nothing of it, the test within the slice carries the claim.
    spread = np.sqrt(np.maximum(chance * (1 - chance), 1e-9) / np.maximum(rest_worth, 0.5))
    shown = np.nan_to_num((share - chance) / spread) * np.sign(above) > SHOWN
    log_p = np.where(shown | (log_p > np.log(0.05)), np.where(shown, log_p, 0.0), -np.inf)
    return _Rest(rest_n, share, chance, log_p)


def word_findings(table: pl.DataFrame, task: Task, alpha: float) -> list[Finding]:
    """Return a finding for each of the words that give most away on a slice, a few at most."""
    above = pl.col("accuracy") >= pl.col("chance")
    distance = (
        pl.when(above).then(pl.col("low") - pl.col("chance")).otherwise(pl.col("chance") - pl.col("high"))
    )
    notable = (
        table.filter(pl.col("q_value") <= alpha)
        .with_columns(distance=distance, above=above)
        .filter(pl.col("distance") >= NOTABLE_GAIN)
        .with_columns(away=pl.col("distance") * pl.col("coverage"))
        .sort("above", "away", descending=True, maintain_order=True)
        .unique(["word", "column", "value"], keep="first", maintain_order=True)
    )
    notable = notable.sort(pl.col("above") * pl.col("away"), "away", descending=True, maintain_order=True)
    words = notable.partition_by("word", maintain_order=True)[:MOST_FINDINGS]
    return [_finding(rows.to_dicts(), task) for rows in words]


def _finding(rows: Sequence[Summary], task: Task) -> Finding:
    best = rows[0]
    where = [f"{row['column']} = {row['value']}" for row in rows]
    noun = {"choice": "choices", "preference": "responses"}.get(task, "training examples")
    verb = "points to" if best["accuracy"] >= best["chance"] else "rules out"
    text = (
        f"Where {where[0]}, {percent(best['accuracy'])} of the {best['n']:,} {noun} with “{best['word']}” are "
        f"{best['label']} (95 % CI {percent(best['low'])} to {percent(best['high'])}; chance there is "
        f"{percent(best['chance'])}); elsewhere, {percent(best['rest_accuracy'])} of {best['rest_n']:,} (chance "
        f"{percent(best['rest_chance'])}; {state_probability('q', best['q_value'])} over all words and slices)."
    )
    if len(rows) > 1:
        others = [
            f"{percent(row['accuracy'])} of {row['n']:,} are {row['label']} where {place}"
            for row, place in zip(rows[1:4], where[1:], strict=False)
        ]
        text += f" Also, {listed(others)}."
    severity = severity_of(
        best["coverage"] * max(best["low"] - best["chance"], 0) / max(1 - best["chance"], 1e-9)
    )
    if task == "text":
        severity, text = "low", f"{text} What the text says may be the task or a shortcut."
    return Finding(
        "slices",
        severity,
        f"“{best['word']}” {verb} {best['label']} where {where[0]}, and differs elsewhere",
        text,
        best["accuracy"],
        best["low"],
        best["high"],
        best["chance"],
        best["n"],
        label=best["label"],
        key=f"{best['word']}/{where[0]}",
        coverage=best["coverage"],
        words=(best["word"],),
        counted="instances",
        q_value=best["q_value"],
    )

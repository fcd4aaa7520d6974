"""Counts of features by split and label, and how often choices that have them are right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data import Instances
from cuecard.data.units import UnitScope
from cuecard.errors import CueCardError
from cuecard.features.family import (
    CountingFamily,
    Family,
    FeatureCounts,
    Presence,
    count_features,
    listed_by_chunk,
)
from cuecard.features.units import (
    SQUARES,
    TEXTS,
    UnitLevel,
    correlated_counts,
    correlated_weights,
    of_every_row,
    text_prior,
    train_units,
    unit_levels,
    weighted_table,
    within_units,
)
from cuecard.stats.arrays import Ints
from cuecard.stats.units import UnitCounts, pair_shuffle_test, unit_counts
from cuecard.stats.units.codes import counts_of_codes
from cuecard.text import Encoded, Tokens, presence_counts, within_example_counts
from cuecard.text.tokens import kept_ids

#: With more classes than this, features are counted in total first, and by class only if they are frequent. Most
#: n-grams are rare: of 40,000 texts with 990 labels, all bigrams by label would take gigabytes.
MAXIMUM_CLASSES = 64
#: Features × classes of a family that are counted; the tests take about 150 bytes for each, 2 GB in all. Of more
#: features, the most frequent are kept: their counts and p-values are exact.
MAXIMUM_CELLS = 12_000_000
#: Of fewer classes, as many features are counted as of these: names and other numbers of a feature take memory, too.
MINIMUM_CLASSES = 12


def frequent_counts(
    family: Family, data: Encoded, classes: npt.NDArray[np.int32], shape: tuple[int, int], minimum: int
) -> FeatureCounts:
    """Return the family's counts per class; with many classes, those of features with `minimum` training instances.

    `classes` are split × label as one number and `shape` says how many of both there are, train first.
    """
    n_splits, n_labels = shape
    n_classes = n_splits * n_labels
    if n_classes <= MAXIMUM_CLASSES or minimum <= 1:
        return count_features(family, data, classes, n_classes)
    in_total = count_features(family, data, classes // n_labels, n_splits)
    if in_total.ids is None or in_total.offsets is None:
        return count_features(family, data, classes, n_classes)
    at_least = raised_minimum(in_total.counts[:, 0], minimum, n_classes)
    kept = np.flatnonzero(in_total.counts[:, 0] >= at_least)
    code = np.full(len(in_total.counts), -1, dtype=np.int32)
    code[kept] = np.arange(len(kept), dtype=np.int32)
    ids, offsets = kept_ids(in_total.ids, in_total.offsets, code, data.instances.space)
    frequent = Tokens(ids, offsets, in_total.names(kept))
    counts = presence_counts(frequent, classes, n_classes, engine=data.instances.space.engine)
    raised = at_least if at_least > minimum else 0
    return FeatureCounts(frequent.vocabulary.gather, counts, frequent.ids, frequent.offsets, raised)


def raised_minimum(counts: Ints, minimum: int, n_classes: int) -> int:
    """Return how many training instances a feature needs, so that features × classes are not too many to test."""
    if minimum <= 1:  # a part of a larger set, or everything is asked for
        return minimum
    return _threshold(counts, minimum, MAXIMUM_CELLS // max(n_classes, MINIMUM_CLASSES))


def _threshold(counts: Ints, minimum: int, most: int) -> int:
    """Return the smallest count, `minimum` or more, that at most `most` features reach."""
    enough = np.sort(counts[counts >= minimum])[::-1]
    return minimum if len(enough) <= most else int(enough[most]) + 1


#: The splits whose instances are counted apart: cues are found on the first and confirmed on the second.
COUNTED_SPLITS = ("train", "test")


NOTHING_WITHIN = pl.DataFrame(
    schema={"family": pl.String, "feature": pl.String}
    | dict.fromkeys(("k", "m", "examples", "right"), pl.Int64)
    | {"squared_weights": pl.Float64}
)


#: How the reason of a family begins that has a bug.
FAILED = "the family failed with"


@dataclass(frozen=True, eq=False)
class CueCounts:
    """Counts of features by split and label, and for grouped tasks within examples.

    `features` has the columns family, feature, train_<label>…, test_<label>…, and `TEXTS` and `SQUARES`: the
    number of distinct texts among the training instances with the feature, and their sum of squared sizes, from which
    the effective sample size follows; `within` (grouped tasks only) has family, feature, k, m, examples, right,
    squared_weights: among training examples with k instances of which m have the feature, how many there are, in how
    many the right instance has it, and their squared weights. For these tasks `SQUARES` is about the examples in which
    some but not all instances have the feature.

    Where instances have weights, counts and totals are sums of weights. `shuffled` (tasks that are not grouped, under
    weights) has family, feature and for each label l z_l, log_p_l and least_l: the test of (label, weight) pairs.
    `text_priors` (tasks that are not grouped, texts with copies) has a row of label shares for each kind of text: the
    shares where every distinct text counts once, and `copy_correlation` is how far the labels of copies correlate.
    """

    labels: tuple[str, ...]
    totals: npt.NDArray[np.int64] | npt.NDArray[np.float64]  # instances by split and label
    examples: int  # training examples
    features: pl.DataFrame
    within: pl.DataFrame | None = None
    skipped: Mapping[str, str] = field(default_factory=dict)
    raised: Mapping[str, int] = field(
        default_factory=dict
    )  # family → a count below which features were left out
    shuffled: pl.DataFrame | None = None
    text_priors: npt.NDArray[np.float64] | None = None
    copy_correlation: float = 1.0
    rows: Mapping[str, FeatureRows] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, eq=False)
class FeatureRows:
    """Which features of a family every instance has: those of instance i are `ids[offsets[i]:offsets[i + 1]]`.

    `names` are those of the features that were counted, `numbers` theirs among the ids. A feature may occur twice.
    """

    names: pl.Series
    numbers: Ints
    n_features: int
    ids: npt.NDArray[np.int32]
    offsets: Ints

    def columns(self, cues: pl.DataFrame) -> npt.NDArray[np.int32]:
        """Return for every id the row of `cues` with its feature, -1 for those of others."""
        known = pl.DataFrame({"feature": self.names, "number": self.numbers})
        found = cues.select("feature", "cue").join(known, on="feature", how="inner")
        column = np.full(self.n_features, -1, dtype=np.int32)
        column[found["number"].to_numpy()] = found["cue"].to_numpy()
        return column


def count_cues(
    data: Encoded,
    families: Sequence[Family],
    *,
    minimum: int = 1,
    weights: npt.NDArray[np.float64] | None = None,
) -> CueCounts:
    """Return the counts of every family's features, leaving out those with fewer than `minimum` in train.

    With `weights`, one per instance, what is counted is weight; `minimum` is still a number of instances, so that
    the same features are looked at with and without weights.
    """
    instances = data.instances
    data = replace(data, at_least=minimum)
    n_labels = len(instances.labels)
    n_train = len(instances.train)  # train rows stand before test rows
    classes = class_codes(instances)
    totals = counts_of_codes(classes, len(COUNTED_SPLITS) * n_labels).reshape(-1, n_labels)
    tables, within, shuffled = [], [], []
    skipped: dict[str, str] = {}
    raised: dict[str, int] = {}
    rows: dict[str, FeatureRows] = {}
    kinds: dict[UnitScope, npt.NDArray[np.int64]] = {}
    levels: dict[UnitScope, list[UnitLevel]] = {}
    telling = weights is not None and bool((weights[:n_train] != weights[0]).any())
    label_totals = totals[0]
    on_disk: dict[str, Presence | Exception] = {}
    if instances.space.folder is not None:
        on_disk = listed_by_chunk([f for f in families if not isinstance(f, CountingFamily)], data)
    listed = instances.grouped or weights is not None
    for family in families:
        counted = None
        instances.space.release()
        with skipping(family, data.language, skipped):
            presence = on_disk.get(family.name)
            if isinstance(presence, Exception):
                raise presence
            if presence is None and listed:
                presence = family.presence(data)
            counted = (
                presence.counts(classes, totals.size)
                if presence is not None
                else frequent_counts(family, data, classes, totals.shape, minimum)
            )
        if counted is None:
            continue
        in_train = counted.counts[:, :n_labels].sum(axis=1)
        at_least = max(counted.at_least, raised_minimum(in_train, minimum, totals.size))
        if at_least > minimum:
            raised[family.name] = at_least
        frequent = in_train >= max(at_least, 1)
        if minimum <= 1:  # a part of a larger set: what is only in test here may be in train elsewhere
            frequent |= counted.counts.sum(axis=1) > 0
        kept = np.flatnonzero(frequent)
        table = _count_table(family.name, counted.names(kept), counted.counts[kept], instances.labels)
        if counted.ids is None or counted.offsets is None:  # a family that counts without listing
            counted = family.presence(data).counts(classes, totals.size)
        rows[family.name] = FeatureRows(table["feature"], kept, len(counted.counts), *of_every_row(counted))
        chosen = presence.columns(kept) if presence is not None and listed else None
        if weights is not None and chosen is not None:
            table = weighted_table(table, chosen, classes, weights)
        by_scope = train_units(family, data)
        units = list(by_scope.values())
        if instances.grouped and presence is not None and chosen is not None:
            texts = in_train[kept]
            if units or weights is not None:
                cells, squares = within_units(family.name, chosen, data, units, weights)
            else:
                cells = _within_table(family.name, presence, kept, instances)
                squares = _informative(cells, table)
            if units:
                texts = unit_counts(chosen.indices, chosen.indptr, units[0], len(kept)).units
            within.append(cells)
        elif units or weights is not None:
            kinds |= by_scope
            new = {scope: codes for scope, codes in by_scope.items() if scope not in levels}
            levels |= unit_levels(data, new, label_totals)
            of_family = [levels[scope] for scope in by_scope]
            if weights is None or not telling:
                texts, squares = correlated_counts(counted, of_family, in_train)
                texts, squares = texts[kept], squares[kept] * (1.0 if weights is None else weights[0] ** 2)
            else:
                repeated = correlated_weights(counted, of_family, in_train, weights[:n_train])
                correlations = [every[0].correlation for every in of_family]
                texts, squares = repeated.units[kept], repeated.squares[kept]
                shuffled.append(
                    _shuffled_table(
                        table, instances.labels, repeated, kept, classes[:n_train], weights[:n_train],
                        list(zip(units, correlations, strict=True)),
                    )
                )  # fmt: skip
        else:
            texts, squares = in_train[kept], in_train[kept].astype(np.float64)
        tables.append(table.with_columns(pl.Series(TEXTS, texts), pl.Series(SQUARES, squares, pl.Float64)))
    if not tables:
        tables.append(
            _count_table(
                "", pl.Series([], dtype=pl.String), np.empty((0, totals.size), np.int64), instances.labels
            ).with_columns(pl.lit(0, pl.Int64).alias(TEXTS), pl.lit(0.0).alias(SQUARES))
        )
    text_priors, correlation = None, 1.0
    if kinds:
        codes = instances.label_codes[:n_train]
        text_priors = np.stack([text_prior(units, codes, label_totals) for units in kinds.values()])
        correlation = max((levels[scope][0].correlation for scope in levels), default=1.0)
    if weights is not None:
        totals = np.bincount(classes, weights=weights, minlength=totals.size).reshape(totals.shape)
    return CueCounts(
        labels=instances.labels,
        totals=totals,
        examples=instances.train.n_examples,
        features=pl.concat(tables),
        within=pl.concat(within) if within else (NOTHING_WITHIN if instances.grouped else None),
        skipped=skipped,
        raised=raised,
        shuffled=pl.concat(shuffled) if shuffled else None,
        text_priors=text_priors,
        copy_correlation=correlation,
        rows=rows,
    )


def class_codes(instances: Instances) -> npt.NDArray[np.int32]:
    """Return split × label of every row as one number: train labels first, then test labels."""
    in_train, labels = instances.in_splits(COUNTED_SPLITS[0]), instances.label_codes
    in_test = np.int32(len(instances.labels))
    return instances.space.computed(
        np.int32, len(labels), lambda chunk: np.where(in_train[chunk], labels[chunk], labels[chunk] + in_test)
    )


@contextmanager
def skipping(family: Family, language: str, skipped: dict[str, str]) -> Iterator[None]:
    """Note in `skipped` why a family cannot be counted in the body, and continue after it.

    A bug in a family of the user's own must not cost the other families.
    """
    try:
        check_language(family, language)
        yield
    except CueCardError as error:
        skipped[family.name] = str(error)
    except Exception as error:
        skipped[family.name] = f"{FAILED} {type(error).__name__}: {error}"


def check_language(family: Family, language: str) -> None:
    """Raise if a family does not work for texts of that language."""
    if family.languages is not None and language not in family.languages:
        languages = ", ".join(sorted(family.languages))
        raise CueCardError(
            f"the family {family.name!r} only applies to {languages}; these texts are in {language!r} "
            "(--language names another)"
        )


def _count_table(
    family: str, names: pl.Series, counts: npt.NDArray[np.int64], labels: tuple[str, ...]
) -> pl.DataFrame:
    columns = [f"{split}_{label}" for split in COUNTED_SPLITS for label in labels]
    table = pl.DataFrame({"family": pl.Series([family]).new_from_index(0, len(names)), "feature": names})
    return table.with_columns(pl.Series(name, counts[:, i]) for i, name in enumerate(columns))


def _within_table(
    family: str, presence: Presence, kept: npt.NDArray[np.int64], instances: Instances
) -> pl.DataFrame:
    """Return how often the right row of a training example has a kept feature, by how many of its rows have it."""
    n_train = len(instances.train)  # train rows stand before test rows
    chosen = presence.columns(kept)
    counted = within_example_counts(
        chosen.indptr[: n_train + 1],
        chosen.indices[: chosen.indptr[n_train]],
        instances.example_codes[:n_train],
        instances.label_codes[:n_train] == 0,
        len(kept),
    )
    return pl.DataFrame(
        {
            "family": pl.Series([family]).new_from_index(0, len(counted.feature)),
            "feature": chosen.names.gather(counted.feature),
            "k": counted.size,
            "m": counted.having,
            "examples": counted.n_examples,
            "right": counted.n_right,
            "squared_weights": counted.n_examples.astype(np.float64),
        }
    )


def _informative(within: pl.DataFrame, table: pl.DataFrame) -> npt.NDArray[np.float64]:
    """Return in how many training examples some but not all instances have each feature of the table."""
    sums = within.filter(pl.col("m") < pl.col("k")).group_by("feature").agg(pl.col("examples").sum())
    joined = table.select("feature").join(sums, on="feature", how="left", maintain_order="left")
    return joined["examples"].fill_null(0).cast(pl.Float64).to_numpy()


def _shuffled_table(
    table: pl.DataFrame,
    labels: tuple[str, ...],
    copies: UnitCounts,
    kept: npt.NDArray[np.int64],
    codes: npt.NDArray[np.int32],
    weights: npt.NDArray[np.float64],
    units: list[tuple[npt.NDArray[np.int64], float]],
) -> pl.DataFrame:
    """Return the test of every feature's weights against random (label, weight) pairs.

    Pairs are those of all instances, and those of distinct texts where some have copies, as far as labels of copies
    correlate (the number beside the units): the larger p-value counts.
    """
    sums = table.select(f"train_{label}" for label in labels).to_numpy()
    sizes = copies.many[kept], copies.rows_squared[kept]
    test = pair_shuffle_test(sums, codes, weights, *sizes)
    log_p = test.log_p()
    for kind, correlation in units:
        own = np.unique(kind, return_inverse=True)[1].ravel()
        often = np.bincount(own)
        frequency = correlation / (len(often) * often[own]) + (1 - correlation) / len(own)
        once = pair_shuffle_test(sums, codes, weights, *sizes, frequency=frequency)
        log_p = np.maximum(log_p, once.log_p())
    parts = {"z": test.z, "log_p": log_p, "least": test.least_log_p}
    return table.select("family", "feature").with_columns(
        pl.Series(f"{name}_{i}", values[:, i]) for name, values in parts.items() for i in range(len(labels))
    )

"""What copies of texts and weights of instances do to counts: which rows are one observation of a family's features."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import sparse

from cuecard.data import Instances
from cuecard.data.parallel import on_threads, started
from cuecard.data.units import UnitScope
from cuecard.features.family import Family, FeatureCounts, Presence
from cuecard.stats.arrays import Floats, Ints, chunks
from cuecard.stats.units import UnitCounts, has_repeats, unit_counts
from cuecard.stats.units.codes import (
    counts_of_codes,
    dense_codes,
    distinct_codes,
    exact_sum,
    first_rows_of_codes,
    rows_of_copies,
)
from cuecard.stats.units.effective import copy_correlation, correlated_pairs, label_cells
from cuecard.text import Encoded, Scope
from cuecard.text.encoded import Side
from cuecard.text.similarity import NeighbourAgreement, neighbour_agreement, similar_units


def weighted_table(
    table: pl.DataFrame, presence: Presence, classes: npt.NDArray[np.int32], weights: Floats
) -> pl.DataFrame:
    """Return a table of counts with sums of weights in place of the counts.

    Row f of the table is about feature f of `presence`.
    """
    columns = [name for name in table.columns if name not in ("family", "feature")]
    rows, n = presence.rows(), len(columns)
    keys = presence.indices.astype(np.int64) * n + classes[rows]
    # Of nothing, bincount makes whole numbers whatever the weights are.
    sums = np.bincount(keys, weights=weights[rows], minlength=table.height * n).astype(np.float64)
    sums = sums.reshape(table.height, n)
    return table.with_columns(pl.Series(name, sums[:, i]) for i, name in enumerate(columns))


def example_features(
    presence: Presence, instances: Instances
) -> tuple[sparse.csr_matrix, npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Return how many of each example's instances have each feature, the examples' sizes, and who is right.

    The matrix has a row per example; the last array says for each of its entries whether the right instance has
    the feature.
    """
    sizes = np.bincount(instances.example_codes).astype(np.int64)
    base = int(sizes.max(initial=0)) + 1
    # One product gives both: the right instance counts for itself and, in the next digit, for being right.
    digits = 1 + base * (instances.label_codes == 0).astype(np.int64)
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    gathered = sparse.csr_matrix(
        (digits, np.arange(len(instances)), starts), shape=(len(sizes), len(instances))
    )
    ones = np.ones(len(presence.indices), dtype=np.int64)
    counted = gathered @ sparse.csr_matrix((ones, presence.indices, presence.indptr), shape=presence.shape)
    right = counted.data >= base
    counted.data = counted.data % base
    return counted, sizes, right


#: Columns beside the counts: distinct texts among the train instances with a feature, and the sum over pairs of these
#: instances of how far they correlate (of the products of their weights within texts, where they have weights), by
#: which n instances count as n² / it.
TEXTS = "train_texts"
SQUARES = "train_squares"
NOT_COUNTS = ("family", "feature", TEXTS, SQUARES)


def train_units(family: Family, data: Encoded) -> dict[UnitScope, Ints]:
    """Return codes of the units of every train row, for each kind of text that counts; only those with repeats.

    A feature of both texts, or of their relation, has two kinds of units: of the two, the one that leaves fewer
    observations counts. The premise of a question is the same for all its choices and does not distinguish them.
    """
    instances = data.instances
    scopes = unit_scopes(family, instances, data.scope)
    n_train = len(instances.train)  # train rows stand before test rows

    def of_scope(i: int) -> Ints:
        codes = instances.units(scopes[i])[:n_train]
        if (
            not instances.grouped and instances.space.folder is None
        ):  # needed soon, and found while copies of the other side are looked for
            similar_rows(data, scopes[i])
        return codes

    # On disk one after another: memory holds what is found out about one side.
    threads = None if instances.space.folder is None else 1
    of_scopes = on_threads(of_scope, len(scopes), threads)
    every = dict(zip(scopes, of_scopes, strict=True))
    if instances.grouped and (similar := similar_rows(data, "hypothesis")) is not None:
        every["hypothesis"] = similar
    examples = instances.train.example_codes if instances.grouped else None
    return {
        scope: codes
        for scope, codes in every.items()
        if has_repeats(codes, examples) or (scope != "choices" and similar_rows(data, scope) is not None)
    }


def dependence(data: Encoded, scope: Side) -> NeighbourAgreement | None:
    """Return how far labels of similar training texts correlate; None where few texts are similar to another."""
    train = data.instances.train

    def find() -> NeighbourAgreement | None:
        units, labels, n_labels = train.units(scope), train.label_codes, len(train.labels)
        first = first_rows_of_codes(units)

        def shares(texts: Ints) -> Floats:
            chosen, of_texts = np.unique(units[first[texts]], return_inverse=True)
            place = np.full(int(chosen[-1]) + 2, -1, dtype=np.int32)
            place[chosen] = np.arange(len(chosen))
            counts = np.zeros((len(chosen), n_labels), dtype=np.int64)
            for chunk in chunks(len(units)):
                of_rows = place[np.minimum(units[chunk], chosen[-1] + 1)]
                np.add.at(counts, (of_rows[of_rows >= 0], labels[chunk][of_rows >= 0]), 1)
            return np.asarray((counts / counts.sum(axis=1, keepdims=True))[of_texts])

        prior = counts_of_codes(labels, n_labels) / len(units)
        tokens = data.premise if scope == "premise" else data.hypothesis
        return neighbour_agreement(tokens, first, shares, prior, train.space)

    return train.derived(("dependence", scope, data.tokeniser), find)


def similar_rows(data: Encoded, scope: UnitScope) -> Ints | None:
    """Return codes that train rows of similar texts share, where such texts depend on each other; None otherwise.

    Copies with a few words changed are no near copies, but have the label of their source all the same. In other sets,
    similar texts are independent observations.
    """
    train = data.instances.train
    if train.cluster is not None or (scope != "hypothesis" and scope != "premise"):
        return None
    agreement = dependence(data, scope)
    if agreement is None or not agreement.dependent:
        return None

    def find() -> Ints:
        units = train.units(scope)
        tokens = data.premise if scope == "premise" else data.hypothesis
        return similar_units(tokens.gather(first_rows_of_codes(units)))[dense_codes(units)]

    return train.derived(("similar rows", scope, data.tokeniser), find)


def begin_units(families: Iterable[Family], instances: Instances, scope: Scope) -> None:
    """Begin to compare texts with each other on a thread, so that `train_units` waits for less."""
    scopes = dict.fromkeys(name for family in families for name in unit_scopes(family, instances, scope))
    if not instances.grouped:  # no built-in family of single texts or pairs counts by examples
        scopes.pop("choices", None)
    # Premises first: they are longer, and hypotheses are compared on the other thread once they are tokenised.
    started(lambda: [instances.units(name) for name in reversed(scopes)])


def unit_scopes(family: Family, instances: Instances, scope: Scope) -> tuple[UnitScope, ...]:
    """Return which texts' copies are one observation of a family's features."""
    if getattr(family, "unit", None) == "example":
        return ("choices",)
    if instances.grouped:
        return ("hypothesis", "choices")
    if getattr(family, "unit", None) == "premise":
        return ("premise",)
    if instances.task == "text":
        return ("hypothesis",)
    if scope == "both" or getattr(family, "relational", False):
        return ("hypothesis", "premise")
    return (scope,)


def text_prior(
    units: Ints, labels: npt.NDArray[np.int32], totals: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """Return the mean label shares of distinct texts: what the prior is if a text that occurs often counts once.

    `units` and `labels` are of all training rows, or at least of all whose text occurs more than once; `totals` are the
    instances of every label.
    """
    codes = dense_codes(units)
    n_labels, texts = len(totals), 0
    shares: list[list[Floats]] = [[] for _ in range(n_labels)]
    single = totals.copy()
    for rows in rows_of_copies(codes):
        unit, label, count = label_cells(codes[rows], labels[rows], n_labels)
        share = count / np.bincount(unit, weights=count)[unit]
        for i in range(n_labels):
            shares[i].append(share[label == i])
        single -= np.bincount(labels[rows], minlength=n_labels)
        texts += int(unit[-1]) + 1
    # Exact sums, so that the order of the texts does not change the last digit.
    prior = np.array([exact_sum([single[i : i + 1].astype(np.float64), *shares[i]]) for i in range(n_labels)])
    return np.asarray(prior / (single.sum() + texts))


#: Of more rows, one level is counted at a time, to save memory.
MANY_ROWS = 1 << 22


def threads_for(n_rows: int) -> int | None:
    """Return how many levels of this many rows are counted in parallel; None for one per thread."""
    return 1 if n_rows > MANY_ROWS else None


@dataclass(frozen=True, eq=False)
class UnitLevel:
    """Units of training rows, how far their labels correlate, and what all rows of the dataset are.

    `rows` is how many there are, and infinite where any dependence within units is allowed.
    """

    codes: Ints
    correlation: float
    rows: float
    squared_sizes: float


def unit_levels(
    data: Encoded, near: Mapping[UnitScope, Ints], totals: npt.NDArray[np.int64]
) -> dict[UnitScope, list[UnitLevel]]:
    """Return the levels at which rows may be copies of each other: near copies, similar texts, and the nearest copies.

    `near` are units of the training rows by scope and `totals` the instances of every label, which are more than these
    rows where only those with copies are here. A column of clusters is one level, of which nothing more is assumed.
    """
    scopes = list(near)
    of_scopes = on_threads(
        lambda i: _levels(data, scopes[i], near[scopes[i]], totals), len(scopes), threads_for(totals.sum())
    )
    return dict(zip(scopes, of_scopes, strict=True))


def _levels(data: Encoded, scope: UnitScope, codes: Ints, totals: npt.NDArray[np.int64]) -> list[UnitLevel]:
    """Return the levels of one kind of text."""
    instances = data.instances
    similar = similar_rows(data, scope)
    every = [codes] if similar is None else [codes, similar]
    if instances.cluster is None and (scope == "hypothesis" or scope == "premise"):
        closest = instances.closest_units(scope)[: len(codes)]
        divided = distinct_codes(closest) > distinct_codes(codes)
        every += [closest if divided else codes] if divided or similar is not None else []
    rows = float(totals.sum())
    labels, prior = instances.label_codes[: len(codes)], totals / rows
    return [
        UnitLevel(
            own,
            copy_correlation(own, labels, prior),
            rows if instances.cluster is None else np.inf,
            float(np.dot(sizes := counts_of_codes(own, int(own.max(initial=-1)) + 1), sizes))
            + rows
            - len(own),
        )
        for own in every
    ]


def of_every_row(counted: FeatureCounts) -> tuple[npt.NDArray[np.int32], Ints]:
    """Return the features of every row, one row after another, and where each row begins."""
    if counted.ids is None or counted.offsets is None:
        raise ValueError("units are counted from the features of every row")
    return counted.ids, counted.offsets


def correlated_counts(
    counted: FeatureCounts, kinds: Sequence[Sequence[UnitLevel]], totals: npt.NDArray[np.int64]
) -> tuple[Ints, Floats]:
    """Return the distinct texts of every feature, and n + Σ over pairs of its rows of their correlation.

    `totals` are all training instances with each feature, and `kinds` the levels of each kind of units, the closest
    last, by which texts are counted. Of all these, for each feature the one that leaves the smallest effective sample
    size counts.
    """
    ids, offsets = of_every_row(counted)
    every = [level for levels in kinds for level in levels]
    each = on_threads(
        lambda i: unit_counts(ids, offsets, every[i].codes, len(counted.counts), totals=totals),
        len(every),
        threads_for(len(offsets)),
    )
    return most_correlated(totals, kinds, each)


def most_correlated(
    totals: npt.NDArray[np.int64], kinds: Sequence[Sequence[UnitLevel]], each: Sequence[UnitCounts]
) -> tuple[Ints, Floats]:
    """Return what `correlated_counts` does from the counts in units of all levels, one after another."""
    every = [level for levels in kinds for level in levels]
    texts, pairs = totals.copy(), np.zeros(len(totals))
    for level, copies in zip(every, each, strict=True):
        correlated = correlated_pairs(
            totals, copies, level.correlation, rows=level.rows, squared_sizes=level.squared_sizes
        )
        pairs = np.maximum(pairs, correlated)
        if any(level is levels[-1] for levels in kinds):
            texts = np.minimum(texts, copies.units)
    return texts, totals + pairs


def correlated_weights(
    counted: FeatureCounts,
    kinds: Sequence[Sequence[UnitLevel]],
    totals: npt.NDArray[np.int64],
    weights: Floats,
) -> UnitCounts:
    """Return units and squared weights of every feature by the correlation of copies, as `correlated_counts` does.

    A feature's n rows are its effective sample size of units, all with as many rows. Units as they are would draw as
    often as there are: a template of 50 sentences of which five were not linked with the others would be six draws.
    """
    texts, squares = correlated_counts(counted, kinds, totals)
    rows = unit_counts(*of_every_row(counted), np.arange(len(weights)), len(totals), weights=weights)
    n = np.maximum(totals, 1).astype(np.float64)
    effective = np.maximum(np.rint(n**2 / np.maximum(squares, 1.0)), 1.0)
    many = np.where(totals > 0, effective, 0.0).astype(np.int64)
    return UnitCounts(
        texts, rows.squares * squares / n, many[:, None], (many * (n / effective) ** 2)[:, None], rows.crossed
    )


def within_units(
    family: str, presence: Presence, data: Encoded, units: list[Ints], weights: Floats | None
) -> tuple[pl.DataFrame, Floats]:
    """Return the counts within training examples, in weight where there are weights, and the squares of every feature.

    An example is one observation of a feature that some but not all of its choices have. Where choices are copies, all
    examples in which the same text has the feature are one; of several such texts, the one that repeats most counts.
    Examples that offer the same text, with the feature or without, are correlated as far as labels of copies are: if
    one answer wins most comparisons, words of all others seem to lose.
    """
    train = data.instances.train
    n_train = len(train)
    of_train = Presence(
        presence.names, presence.indptr[: n_train + 1], presence.indices[: presence.indptr[n_train]]
    )
    cells, sizes, right = example_features(of_train, train)
    example = np.repeat(np.arange(len(sizes)), np.diff(cells.indptr))
    first = np.searchsorted(train.example_codes, np.arange(len(sizes)))
    mass = np.ones(len(sizes)) if weights is None else weights[:n_train][first]
    entries = pl.DataFrame(
        {
            "feature": cells.indices.astype(np.int64),
            "example": example,
            "k": sizes[example],
            "m": cells.data,
            "weight": mass[example],
            "right": right,
        }
    )
    if units:
        of_cells = cell_units(of_train, train.example_codes, units[0], np.bincount(units[0]))
        columns = ["example", "feature", "unit", "offered"]
        entries = entries.join(of_cells.select(columns), on=["example", "feature"], maintain_order="left")
    mixed = entries.filter(pl.col("m") < pl.col("k"))
    of_features = _squares(mixed, "unit" if units else "example", len(presence.names))
    if units:
        alone, together = (_squares(mixed, name, len(presence.names)) for name in ("example", "offered"))
        correlation = choice_correlation(train, units[0])
        of_features = np.maximum(of_features, alone + correlation * (together - alone))
    summed = (
        entries.group_by("feature", "k", "m", maintain_order=True)  # weights are added up in one order
        .agg(
            examples=pl.col("weight").sum(),
            right=pl.col("weight").filter("right").sum(),
            squared_weights=pl.col("weight").pow(2).sum(),
        )
        .sort("feature", "k", "m")
    )
    count = pl.Int64 if weights is None else pl.Float64
    table = summed.select(
        family=pl.lit(family),
        feature=presence.names.gather(summed["feature"]),
        k="k",
        m="m",
        examples=pl.col("examples").cast(count),
        right=pl.col("right").cast(count),
        squared_weights="squared_weights",
    )
    return table, of_features


def choice_correlation(train: Instances, units: Ints) -> float:
    """Return how far being right correlates between copies of a choice; `units` are those of the choices."""
    codes = train.label_codes.astype(np.int64)
    return copy_correlation(
        units, codes, np.bincount(codes, minlength=len(train.labels)) / max(len(codes), 1)
    )


def _squares(entries: pl.DataFrame, unit: str, n_features: int) -> Floats:
    """Return the sum over units of the squared weight of every feature's entries."""
    sums = entries.group_by("feature", unit, maintain_order=True).agg(pl.col("weight").sum())
    squares = sums.group_by("feature", maintain_order=True).agg(pl.col("weight").pow(2).sum())
    of_features = np.zeros(n_features)
    of_features[squares["feature"].to_numpy()] = squares["weight"].to_numpy()
    return of_features


def cell_units(presence: Presence, examples: Ints, units: Ints, sizes: Ints) -> pl.DataFrame:
    """Return for every example and feature the unit of the choice with the feature whose text repeats most.

    `sizes` has the rows of every unit; k is the number of the example's choices, and m of those with the feature. Of
    all choices of the example, `offered` is the unit whose text repeats most.
    """
    rows = presence.rows()
    often = np.lexsort((units, sizes[units], examples))  # of each example, the text that repeats most is last
    offered = units[
        often[
            np.searchsorted(examples[often], np.arange(int(examples.max(initial=-1)) + 1), side="right") - 1
        ]
    ]
    table = pl.DataFrame(
        {
            "example": examples[rows],
            "feature": presence.indices.astype(np.int64),
            "unit": units[rows],
            "size": sizes[units[rows]],
            "offered": offered[examples[rows]],
            "k": np.bincount(examples)[examples[rows]],
        }
    )
    most = pl.struct("size", "unit").sort_by("size", "unit", descending=True).first()
    cells = table.group_by("example", "feature").agg(
        most.alias("most"), pl.col("offered", "k").first(), m=pl.len()
    )
    return cells.unnest("most")

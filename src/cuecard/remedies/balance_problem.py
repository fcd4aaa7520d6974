"""What lexical weights balance, features against labels, and features on which they are judged besides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import sparse

from cuecard.data import Instances
from cuecard.data.parallel import running_total
from cuecard.data.space import Space
from cuecard.errors import CueCardError, InputError
from cuecard.features import FAMILIES, Family, Presence, learned
from cuecard.features.counts import check_language
from cuecard.features.units import example_features
from cuecard.stats.arrays import Floats, Ints
from cuecard.stats.entropy_balancing import (
    BalancedWeights,
    HeldOut,
    LabelledFeatures,
    SoftmaxWeights,
    StoredFeatures,
    share_residuals,
)
from cuecard.text import Encoded, presence, presence_counts, stop_words
from cuecard.wording import plural


@dataclass(frozen=True, eq=False)
class BalanceProblem:
    """Rows with labels and features, whose weighted label shares shall be the same with every feature.

    For pairs and texts a row is an instance. A `choice` or `preference` example has one weight, so it is two rows
    that share it: what its right instance has, and what the wrong ones have together. If a feature says nothing,
    each of an example's k instances is equally likely to be the right one, so the right one has the feature with
    probability m / k where m instances have it. Right counts 2 (k − 1) / k and every wrong one 2 / k: their
    weighted sums are then equal exactly if the right instances have the feature as often as chance gives, and
    chance is ½ for every k. An example whose instances all have a feature says nothing of it and has none.

    `features` has a row per column of the matrix: family, feature, and the number of instances that count. Features of
    a family are in the order of their names, so that the order of the rows does not matter. Where rows do not fit in
    memory, the matrix stays on disk.
    """

    matrix: sparse.csr_matrix | StoredFeatures
    labels: npt.NDArray[np.int64]
    label_names: tuple[str, ...]
    groups: npt.NDArray[np.int64] | None
    features: pl.DataFrame

    @cached_property
    def _folded(self) -> LabelledFeatures:
        if isinstance(self.matrix, StoredFeatures):
            return self.matrix
        return LabelledFeatures(self.matrix, self.labels, len(self.label_names))

    def _totals(self, rows: Floats) -> Floats:
        """Return the weight of every feature and label; nothing where there is no feature."""
        if not self.features.height:
            return np.zeros((0, len(self.label_names)))
        return self._folded.totals(rows)

    def row_weights(self, weights: Floats) -> Floats:
        """Return the weight of every row from the weight of every example."""
        return weights if self.groups is None else weights[self.groups]

    def example_weights(self, weights: Floats) -> Floats:
        """Return the weight of every example from the weight of every row."""
        return weights if self.groups is None else np.ascontiguousarray(weights[::2])

    def shares(self, weights: Floats) -> Floats:
        """Return q(label | feature), features × labels, under the weights of the examples."""
        totals = self._totals(self.row_weights(weights))
        return share_residuals(totals, np.zeros(len(self.label_names)))

    def with_every_label(self) -> npt.NDArray[np.bool_]:
        """Return which features occur with every label."""
        occurs: npt.NDArray[np.bool_] = np.all(self._totals(np.ones(len(self.labels))) > 0, axis=1)
        return occurs

    def err(self, weights: Floats, target: Floats) -> float | None:
        """Return Err: the mean over features and labels of |q(label | feature) − target|; None without any."""
        off = np.abs(self.shares(weights) - target)
        return None if not off.size or np.isnan(off).all() else float(np.nanmean(off))

    def chance_err(self, weights: Floats, target: Floats) -> float | None:
        """Return the Err that sampling alone would leave if every feature's labels were drawn from the target.

        A feature's instances of weight w count as (Σw)² / Σw² equal ones, and |share − t| of n draws is
        sqrt(2 t (1 − t) / (π n)) on average (half-normal).
        """
        if not self.features.height:
            return None
        rows = self.row_weights(weights)
        total, squares = self._totals(rows).sum(axis=1), self._folded.squared_totals(rows**2)
        n = total[total > 0] ** 2 / squares[total > 0]
        return float(np.mean(np.sqrt(2 / np.pi * (target * (1 - target))[None, :] / n[:, None])))

    def only(self, kept: npt.NDArray[np.integer] | npt.NDArray[np.bool_]) -> BalanceProblem:
        """Return the problem with some of its features."""
        which = np.asarray(np.flatnonzero(kept) if kept.dtype == np.bool_ else kept, dtype=np.int64)
        stored = isinstance(self.matrix, StoredFeatures)
        matrix = self.matrix.only(which) if stored else self.matrix_in_memory[:, which]
        return replace(self, matrix=matrix, features=self.features[which])

    def some(self, examples: Ints) -> BalanceProblem:
        """Return the problem of some examples, in memory."""
        rows = (
            examples if self.groups is None else np.repeat(2 * examples, 2) + np.tile([0, 1], len(examples))
        )
        matrix = self.matrix.some_rows(rows) if isinstance(self.matrix, StoredFeatures) else self.matrix[rows]
        groups = None if self.groups is None else np.repeat(np.arange(len(examples)), 2)
        return replace(self, matrix=matrix, labels=self.labels[rows], groups=groups)

    @property
    def matrix_in_memory(self) -> sparse.csr_matrix:
        """The matrix, read where it is on disk."""
        if isinstance(self.matrix, StoredFeatures):
            return self.matrix.columns(np.arange(self.features.height))
        return self.matrix


@dataclass(frozen=True, eq=False)
class Balanced:
    """Weights of the examples (mean one) with the problem they solve."""

    weights: Floats
    target: Floats
    problem: BalanceProblem
    solution: BalancedWeights | SoftmaxWeights
    encoded: Encoded
    skipped: dict[str, str]
    held_out: HeldOut | None = None
    """Balance of held-out examples by ridge, where the ridge was chosen by it."""
    sample: Ints | None = None
    """The numbers of the examples that are `encoded`, on which the weights are judged besides; None for all."""

    @property
    def weights_of_encoded(self) -> Floats:
        """The weights of the examples that are encoded."""
        return self.weights if self.sample is None else self.weights[self.sample]


@dataclass(frozen=True, eq=False)
class Candidates:
    """Features of a family that are balanced if at least `min_count` instances have them.

    `chunks` has which instances have which of them, chunk by chunk. Where `only` names some, others are balanced if
    at least `or_from` instances have them, or not at all.
    """

    family: str
    chunks: Sequence[tuple[Presence, Instances]]
    min_count: int
    only: pl.Series | None = None
    or_from: int | None = None

    def counted(self) -> pl.DataFrame:
        """Return the features of at least `min_count` instances that count, by name."""
        every = [_name_counts(having.names, _instances_with(having)) for having, _ in self.chunks]
        frequent = self._frequent(every)
        if self.only is not None:
            named = pl.col("feature").is_in(self.only.implode())
            frequent = frequent.filter(
                named if self.or_from is None else named | (pl.col("count") >= self.or_from)
            )
        if not self.chunks[0][1].grouped:
            return frequent
        telling = []
        for having, rows in self.chunks:
            known = having.columns(_places(having, frequent)["local"].to_numpy())
            telling.append(_name_counts(known.names, within_examples(known, rows)[1]))
        return self._frequent(telling)

    def _frequent(self, counts: Sequence[pl.DataFrame]) -> pl.DataFrame:
        total = pl.concat(counts).group_by("feature").agg(pl.col("count").sum())
        return total.filter(pl.col("count") >= self.min_count).sort("feature")

    def matrices(self, features: pl.DataFrame) -> Iterator[sparse.csr_matrix]:
        """Yield the columns of some features, chunk by chunk."""
        for having, rows in self.chunks:
            both = _places(having, features)
            chosen = having.columns(both["local"].to_numpy())
            matrix = within_examples(chosen, rows)[0] if rows.grouped else chosen.matrix()
            columns = both["column"].to_numpy()[matrix.indices]
            shape = (matrix.shape[0], features.height)
            yield sparse.csr_matrix((matrix.data, columns, matrix.indptr), shape=shape)


def _instances_with(presence: Presence) -> npt.NDArray[np.int64]:
    return np.bincount(presence.indices, minlength=len(presence.names))


def _name_counts(names: pl.Series, counts: npt.NDArray[np.int64]) -> pl.DataFrame:
    table = pl.DataFrame({"feature": names.cast(pl.String), "count": counts.astype(np.int64)})
    return table.filter(pl.col("count") > 0)


def _places(presence: Presence, features: pl.DataFrame) -> pl.DataFrame:
    """Return the places of some features in a presence (`local`) and among these features (`column`)."""
    own = pl.DataFrame({"feature": presence.names.cast(pl.String)}).with_row_index("local")
    wanted = features.select("feature").with_row_index("column")
    both = own.join(wanted, on="feature", how="inner").sort("column")
    return both.select(pl.col("local").cast(pl.Int64), pl.col("column").cast(pl.Int32))


def balance_problem(parts: Iterable[Candidates], instances: Instances) -> BalanceProblem:
    """Return the frequent features of all families jointly; where rows are on disk, so are their features."""
    parts = list(parts)
    tables = [part.counted() for part in parts]
    blocks = zip(*(part.matrices(own) for part, own in zip(parts, tables, strict=True)), strict=True)
    labels, groups = row_labels(instances)
    named = [
        own.select(pl.lit(part.family).alias("family"), "feature", "count")
        for part, own in zip(parts, tables, strict=True)
    ]
    features = pl.concat(named)
    matrices = (sparse.hstack(own, format="csr") for own in blocks)
    space = instances.space
    if space.folder is None:
        matrix = sparse.vstack(list(matrices), format="csr")
        matrix.sort_indices()
        return BalanceProblem(matrix, labels, instances.labels, groups, features)
    stored = _stored(matrices, labels, features.height, len(instances.labels), space, instances.grouped)
    return BalanceProblem(stored, labels, instances.labels, groups, features)


def _stored(
    matrices: Iterable[sparse.csr_matrix],
    labels: npt.NDArray[np.int64],
    n_features: int,
    n_labels: int,
    space: Space,
    with_values: bool,
) -> StoredFeatures:
    sizes: list[npt.NDArray[np.int64]] = []
    values: list[Floats] = []

    def codes() -> Iterator[npt.NDArray[np.int32]]:
        start = 0
        for matrix in matrices:
            matrix.sort_indices()
            own = np.diff(matrix.indptr).astype(np.int64)
            of_rows = labels[start : start + len(own)]
            start += len(own)
            sizes.append(own)
            if with_values:
                values.append(space.stored(matrix.data))
            yield (matrix.indices.astype(np.int64) * n_labels + np.repeat(of_rows, own)).astype(np.int32)

    indices = space.joined(np.int32, codes())
    indptr = space.stored(running_total(np.concatenate([np.empty(0, np.int64), *sizes])))
    data = space.joined(np.float64, values) if with_values else None
    return StoredFeatures(indptr, indices, data, labels, n_features, n_labels)


def row_labels(instances: Instances) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64] | None]:
    """Return the labels of the rows of a problem, and for examples of two rows each the example of every row."""
    if not instances.grouped:
        return instances.label_codes.astype(np.int64), None
    examples = np.arange(instances.n_examples)
    return np.tile(np.arange(2), len(examples)), np.repeat(examples, 2)


def within_examples(
    presence: Presence, instances: Instances
) -> tuple[sparse.csr_matrix, npt.NDArray[np.int64]]:
    """Return two rows per example, right and wrong, and how many instances tell something of each feature."""
    features, sizes, right = example_features(presence, instances)
    example = np.repeat(np.arange(len(sizes)), np.diff(features.indptr))
    informative = features.data < sizes[example]
    example, having = example[informative], features.data[informative]
    feature, right = features.indices[informative], right[informative]
    size = sizes[example]
    rows = np.concatenate([2 * example, 2 * example + 1])
    values = np.concatenate([right * 2 * (size - 1) / size, (having - right) * 2 / size])
    shape = (2 * len(sizes), presence.shape[1])
    matrix = sparse.csr_matrix((values, (rows, np.concatenate([feature, feature]))), shape=shape)
    matrix.eliminate_zeros()
    counts = np.bincount(feature, weights=having, minlength=shape[1]).astype(np.int64)
    return matrix, counts


def candidates(
    families: Sequence[Family], encoded: Encoded, min_count: int
) -> tuple[list[Candidates], dict[str, str]]:
    """Return every family's features, and the families that cannot answer with the reason."""
    blocks, skipped = [], {}
    for family in families:
        try:
            check_language(family, encoded.language)
            fitted = learned(family, encoded)
            chunks = [_kept(fitted.presence(chunk), chunk.instances, encoded) for chunk in encoded.chunks()]
        except CueCardError as error:
            skipped[family.name] = str(error)
        else:
            blocks.append(Candidates(family.name, chunks, min_count))
    if not blocks:
        raise InputError("; ".join(skipped.values()) + ".")
    return blocks, skipped


def _kept(presence: Presence, rows: Instances, encoded: Encoded) -> tuple[Presence, Instances]:
    space = encoded.instances.space
    arrays = space.stored(presence.indptr), space.stored(presence.indices)
    return Presence(presence.names, *arrays), rows


def check_enough(problem: BalanceProblem, min_count: int) -> None:
    """Raise if no feature can be balanced, with what would help."""
    if not problem.features.height:
        raise InputError(
            f"No feature occurs in at least {plural(min_count, 'training instance')} that are informative about it: "
            "lower --min-count or choose other --features."
        )
    if not problem.with_every_label().any():
        raise InputError(
            f"None of the {plural(problem.features.height, 'feature')} with at least "
            f"{plural(min_count, 'training instance')} occurs with every label, so there is nothing to balance: lower "
            "--min-count or choose other --features."
        )


#: The paper's numbers: 50 words of highest z per label, and 200 random n-grams that occur with every label.
STRONGEST_PER_LABEL = 50
RANDOM_NGRAMS = 200
#: Words rarer than this have no z worth ranking.
MIN_WORD_COUNT = 5
#: Draws of labels per n-gram that tell how far off sampling alone leaves it.
DRAWS = 100
#: A grouped task needs a margin: n-grams seen with both labels may still say nothing within any example.
CANDIDATES = 5 * RANDOM_NGRAMS


def strongest_words(encoded: Encoded) -> BalanceProblem:
    """Return the words of highest z for every label, function words left out where a list of them is known."""
    presence_of_words = FAMILIES.get("word")().presence(encoded)
    words = balance_problem(
        [Candidates("word", [(presence_of_words, encoded.instances)], MIN_WORD_COUNT)], encoded.instances
    )
    if encoded.language == "en":
        words = words.only(~words.features["feature"].is_in(sorted(stop_words("en"))).to_numpy())
    if not words.features.height:
        return words
    order = np.argsort(-label_z(words), axis=0, kind="stable")
    return words.only(np.unique(order[:STRONGEST_PER_LABEL]))


def label_z(problem: BalanceProblem) -> npt.NDArray[np.float64]:
    """Return z of every feature and label: against the label's prior, or against chance within examples."""
    if problem.groups is not None:
        matrix = problem.matrix_in_memory
        surplus = matrix[::2] - matrix[1::2]
        spread = np.sqrt(np.asarray(surplus.multiply(surplus).sum(axis=0)).ravel())
        z = np.asarray(surplus.sum(axis=0)).ravel() / np.maximum(spread, 1e-12)
        return np.column_stack([z, -z])
    prior = np.bincount(problem.labels) / len(problem.labels)
    n = problem.features["count"].to_numpy()[:, None]
    shares = problem.shares(np.ones(len(problem.labels)))
    return np.asarray((shares - prior) / np.sqrt(prior * (1 - prior) / n))


def random_ngrams(encoded: Encoded, n: int, constrained: pl.Series, seed: int) -> BalanceProblem:
    """Return random n-grams that occur with every label and are not among the constrained features."""
    instances = encoded.instances
    runs = encoded.ngrams(n)
    counts = presence_counts(runs, instances.label_codes, len(instances.labels))
    everywhere = np.flatnonzero(np.all(counts > 0, axis=1))
    names = runs.names(everywhere)
    everywhere = everywhere[~names.is_in(constrained.implode()).to_numpy()]
    # Named order, not order of first occurrence: the draw must not depend on the order of the rows.
    everywhere = everywhere[np.argsort(runs.names(everywhere).to_numpy().astype(str), kind="stable")]
    drawn = np.random.default_rng(seed).permutation(everywhere)[:CANDIDATES]
    indptr, indices = presence(runs)
    numbers = pl.Series(np.arange(len(counts)))
    chosen = Presence(numbers, indptr, indices).columns(drawn)
    named = Presence(runs.names(drawn), chosen.indptr, chosen.indices)
    problem = balance_problem([Candidates(f"{n}-gram", [(named, instances)], 1)], instances)
    if not problem.features.height:
        return problem
    return problem.only(np.flatnonzero(problem.with_every_label())[:RANDOM_NGRAMS])


def chance_err_of_ngrams(
    problem: BalanceProblem, weights: npt.NDArray[np.float64], target: npt.NDArray[np.float64], seed: int
) -> float | None:
    """Return the Err of random n-grams if labels were drawn from the target, by simulation; None for grouped tasks.

    N-grams were chosen because every label occurs with them, which makes rare ones look balanced: three instances
    with three labels are so exactly. Only draws in which every label occurs are counted, so that equal weights
    and these are held against what the choice alone does.
    """
    if problem.groups is not None or not problem.features.height:
        return None
    rng = np.random.default_rng(seed)
    by_feature = problem.matrix_in_memory.tocsc()
    errors = []
    for j in range(by_feature.shape[1]):
        mass = weights[by_feature.indices[by_feature.indptr[j] : by_feature.indptr[j + 1]]]
        drawn = rng.choice(len(target), size=(DRAWS, len(mass)), p=target)
        hit = drawn[:, :, None] == np.arange(len(target))
        everywhere = hit.any(axis=1).all(axis=1)
        shares = np.einsum("dil,i->dl", hit[everywhere], mass) / mass.sum()
        if len(shares):
            errors.append(np.abs(shares - target).mean())
    return float(np.mean(errors)) if errors else None

"""PECO over several clusterings of the same instances: one verdict that no single start of k-means decides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.special import stdtrit

from cuecard.stats.arrays import Array, Floats, Ints
from cuecard.stats.clusters.peco import (
    PLAIN,
    Divergence,
    Mode,
    SampleDesign,
    check_weights,
    divergences,
    label_factors,
    like_weights,
    score_of,
)
from cuecard.stats.units import group_units, has_repeats, label_orders

__all__ = ["ClusterTables", "PecoMean", "PecoStarts", "peco_means", "peco_starts"]

#: Entries of labels that are counted in one product, and instances up to which single precision counts exactly.
_ENTRIES, _EXACT_SINGLES = 1 << 21, 1 << 24
EXACT_L2: tuple[tuple[Divergence, Mode], ...] = (("l2", "exact"),)


class PecoMean(NamedTuple):
    """The mean of the exact L2 score over clusterings of one kind, beside what shuffled labels give."""

    score: float
    null_mean: float
    excess: float
    p_value: float


@dataclass(frozen=True)
class PecoStarts:
    """The mean of a PECO score over clusterings, beside what shuffled labels give, and how the clusterings differ."""

    divergence: Divergence
    mode: Mode
    score: float
    null_mean: float
    null_low: float
    null_high: float
    """5 % and 95 % of the mean score under shuffled labels."""
    excess: float
    low: float
    high: float
    """Confidence interval of the excess: for other labels of the same kind, and for other clusterings."""
    p_value: float
    """Share of shuffles whose mean score is at least as high, the observed order counted as one of them."""
    scores: Floats
    """The score of each clustering; the next two follow its order."""
    excesses: Floats
    p_values: Floats


def peco_starts(
    labels: npt.ArrayLike,
    clusterings: Sequence[npt.ArrayLike],
    *,
    wanted: Sequence[tuple[Divergence, Mode]] = EXACT_L2,
    design: SampleDesign = PLAIN,
    permutations: int = 200,
    draws: int = 400,
    confidence: float = 0.95,
    seed: int = 0,
) -> list[PecoStarts]:
    """Return each wanted score as its mean over the clusterings, tested by one shuffle of the labels for all of them.

    A shuffle moves the labels once and scores every clustering with them, so the mean score has an exact null
    whatever the clusterings have in common: no correction for looking several times is needed, and none is lost.
    With groups (the question each choice belongs to), labels are shuffled within groups only. With weights,
    labels count by weight; they take the part of the weight that goes with their label along and are shuffled among
    instances of which about the same weight is left, which stays where it is. The null is then as good as these bins
    are narrow. With units, copies of a text change places together, and so are drawn again together.

    The interval is that of the score, ± t · s, less the null mean. s² is the variance of the mean score when instances
    (whole groups, where given) are drawn again, plus the variance of the clusterings over their number; t has the
    degrees of freedom of both parts after Welch and Satterthwaite. The exact score is a sum of squares, so its interval
    is made for its square root, whose spread does not grow with it. In simulations with 5 to 50 clusters of 100,
    intervals of 95 % cover 92 to 100 %, most where there are few clusters; a released score at its floor moves in
    steps too coarse for an interval.

    Args:
        labels: one label per instance.
        clusterings: for each clustering, the cluster of every instance.
        wanted: pairs of a divergence and a mode, as `peco` takes them.
        design: groups, units and weights of the instances.
        permutations: shuffles of the labels.
        draws: times the instances are drawn again for the interval.
        confidence: of the interval.
        seed: seed of shuffles and draws.
    """
    if permutations < 1 or draws < 2:
        raise ValueError(f"permutations and draws must be at least 1 and 2, got {permutations} and {draws}.")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, got {confidence}.")
    tables = ClusterTables(labels, clusterings, design)
    seen = tables.scores(tables.count()[None], wanted)[:, 0]
    null = tables.scores(tables.shuffled(permutations, seed), wanted)
    drawn = tables.scores(tables.redrawn(draws, seed), wanted)
    results = []
    for (divergence, mode), scores, by_chance, again in zip(wanted, seen, null, drawn, strict=True):
        mean, means = float(scores.mean()), by_chance.mean(axis=1)
        excesses = scores - by_chance.mean(axis=0)
        chance = float(means.mean())
        low, high = _interval(scores, again.mean(axis=1), tables.fewest, confidence, rooted=mode == "exact")
        null_low, null_high = (float(edge) for edge in np.quantile(means, [0.05, 0.95]))
        results.append(
            PecoStarts(
                divergence=divergence,
                mode=mode,
                score=mean,
                null_mean=chance,
                null_low=null_low,
                null_high=null_high,
                excess=mean - chance,
                low=low - chance,
                high=high - chance,
                p_value=float(_as_high(means, mean)),
                scores=scores,
                excesses=excesses,
                p_values=_as_high(by_chance, scores),
            )
        )
    return results


def peco_means(
    labels: npt.ArrayLike,
    settings: Sequence[Sequence[npt.ArrayLike]],
    *,
    design: SampleDesign = PLAIN,
    permutations: int = 200,
    seed: int = 0,
) -> list[PecoMean]:
    """Return the exact L2 score of several settings, each the mean over its clusterings, as `peco_starts` computes it.

    The labels are shuffled once for all settings; `settings` holds the clusterings of each.
    """
    tables = ClusterTables(labels, [clusters for clusterings in settings for clusters in clusterings], design)
    seen = tables.scores(tables.count()[None], EXACT_L2)[0, 0]
    null = tables.scores(tables.shuffled(permutations, seed), EXACT_L2)[0]
    ends = np.cumsum([len(clusterings) for clusterings in settings])
    means = []
    for clusterings, end in zip(settings, ends, strict=True):
        of_setting = slice(end - len(clusterings), end)
        score, by_chance = float(seen[of_setting].mean()), null[:, of_setting].mean(axis=1)
        chance = float(by_chance.mean())
        means.append(PecoMean(score, chance, score - chance, float(_as_high(by_chance, score))))
    return means


def _group_codes(groups: npt.ArrayLike | None, count: int) -> Ints | None:
    codes = None if groups is None else _codes(groups)
    if codes is not None and len(codes) != count:
        raise ValueError(f"groups must be as long as labels, got {len(codes)} and {count}.")
    return codes


def _shuffled(tables: ClusterTables, permutations: int, seed: int) -> Floats:
    """Return the table of every shuffle of the labels, which take their part of the weights along."""
    parts = None
    if tables.groups is None and tables.weights is not None:
        parts = label_factors(tables.labels, tables.weights)
    bins = None if parts is None else like_weights(parts[1])
    orders = label_orders(
        len(tables.labels),
        permutations,
        np.random.default_rng([seed, 0]),
        groups=tables.groups,
        units=tables.units,
        strata=bins if bins is not None and bins.min() < bins.max() else None,
    )
    if parts is None:
        return tables.counts((tables.labels[order], tables.weights) for order in orders)
    factors, rest = parts
    shuffles = (tables.labels[order] for order in orders)
    return tables.counts((labels, factors[labels] * rest) for labels in shuffles)


class ClusterTables:
    """Counts of clusters × labels of all clusterings, stacked into one table."""

    def __init__(
        self, labels: npt.ArrayLike, clusterings: Sequence[npt.ArrayLike], design: SampleDesign = PLAIN
    ) -> None:
        self.labels = _codes(labels)
        self.weights = None if design.weights is None else check_weights(design.weights, len(self.labels))
        each = [_codes(clusters) for clusters in clusterings]
        if not each or not len(self.labels) or any(c.shape != self.labels.shape for c in each):
            raise ValueError(
                "clusterings must be one or more vectors as long as labels, got lengths "
                f"{', '.join(str(len(c)) for c in each) or 'of none'} for {len(self.labels)} labels."
            )
        self.groups, self.units = _group_codes(design.groups, len(self.labels)), design.units
        self.kinds = int(self.labels.max()) + 1
        sizes = [int(c.max()) + 1 for c in each]
        self.bounds = np.concatenate([[0], np.cumsum(sizes)])
        self.fewest = min(sizes)
        places = np.concatenate([c + first for c, first in zip(each, self.bounds[:-1], strict=True)])
        rows = np.tile(np.arange(len(self.labels), dtype=np.int32), len(each))
        ones = np.ones(len(rows), dtype=np.float64 if len(self.labels) > _EXACT_SINGLES else np.float32)
        #: Clusters of all clusterings × instances: 1 for every member.
        self._members = csr_array((ones, (places, rows)), shape=(int(self.bounds[-1]), len(self.labels)))

    def count(self) -> Floats:
        """Return the table as it is."""
        table: Floats = self.counts([(self.labels, self.weights)])[0]
        return table

    def counts(self, repeats: Iterable[tuple[Ints, Array | None]]) -> Floats:
        """Return a table for each repeat, of all instances with its labels and weights (each 1 for None).

        Several are counted in one product with the clusters' members; sums run in the order of the instances.
        """
        n, counted = len(self.labels), []
        at_once = max(1, _ENTRIES // (n * self.kinds))
        remaining = iter(repeats)
        while batch := list(islice(remaining, at_once)):
            whole = all(weights is None or weights.dtype.kind == "i" for _, weights in batch)
            mass = np.zeros((n, len(batch), self.kinds), dtype=self._members.dtype if whole else np.float64)
            for i, (labels, weights) in enumerate(batch):
                mass[np.arange(n), i, labels] = 1 if weights is None else weights
            tables = (self._members @ mass.reshape(n, -1)).reshape(-1, len(batch), self.kinds)
            counted.append(tables.transpose(1, 0, 2).astype(np.float64, order="C"))
        return np.concatenate(counted)

    def scores(self, counts: Floats, wanted: Sequence[tuple[Divergence, Mode]]) -> Floats:
        """Return the scores by wanted score, repeat and clustering."""
        scored = np.empty((len(wanted), len(counts), len(self.bounds) - 1))
        for i in range(len(self.bounds) - 1):
            part = counts[:, self.bounds[i] : self.bounds[i + 1]]
            by_name = {name: divergences(part, name) for name in dict.fromkeys(d for d, _ in wanted)}
            for j, (divergence, mode) in enumerate(wanted):
                scored[j, :, i] = score_of(by_name[divergence], divergence, mode)
        return np.maximum(scored, 0.0)  # a mean can round to a hair below the minimum

    def shuffled(self, permutations: int, seed: int) -> Floats:
        """Return the table of every shuffle of the labels."""
        return _shuffled(self, permutations, seed)

    def redrawn(self, draws: int, seed: int) -> Floats:
        """Return the tables of as many instances drawn with replacement: whole groups, and copies together."""
        together = self.groups
        if self.units is not None and has_repeats(self.units, self.groups):
            together = _codes(self.units) if self.groups is None else group_units(self.groups, self.units)
        # A stream of its own, so that the number of shuffles does not change the interval.
        drawing = np.random.default_rng([seed, 1])
        return _redrawn(self, together, draws, drawing)

    def interval(self, seen: Floats, again: Floats, confidence: float) -> tuple[float, float]:
        """Return the interval of a mean over clusterings, from the means of redrawn tables."""
        return _interval(seen, again, self.fewest, confidence, rooted=False)


def _codes(values: npt.ArrayLike) -> Ints:
    return np.unique(np.asarray(values), return_inverse=True)[1].ravel().astype(np.int64)


def _redrawn(tables: ClusterTables, groups: Ints | None, draws: int, rng: np.random.Generator) -> Floats:
    """Return tables of as many instances, or groups of instances, drawn with replacement."""
    n = len(tables.labels) if groups is None else int(groups.max()) + 1

    def weights() -> Iterator[Array]:
        for _ in range(draws):
            times = np.bincount(rng.integers(0, n, n), minlength=n)
            drawn = times if groups is None else times[groups]
            yield drawn if tables.weights is None else tables.weights * drawn

    counts = tables.counts((tables.labels, drawn) for drawn in weights())
    # A cluster that no draw hits has no labels to compare; it keeps those it has.
    return np.where(counts.sum(axis=2, keepdims=True) > 0, counts, tables.count())


def _as_high(null: Floats, seen: float | Floats) -> npt.NDArray[np.float64]:
    """Return the share of shuffles (rows) that score at least as high, the observed order counted as one of them."""
    least = np.asarray(seen) - 1e-9 * np.maximum(1.0, np.abs(seen))
    return np.asarray((1 + (null >= least).sum(axis=0)) / (1 + len(null)))


def _interval(
    scores: Floats, again: Floats, clusters: int, confidence: float, *, rooted: bool
) -> tuple[float, float]:
    """Return the interval of the mean score from every clustering's score and the mean scores of redrawn instances."""
    centre, starts = float(scores.mean()), len(scores)
    if rooted:
        centre, scores, again = centre**0.5, np.sqrt(scores), np.sqrt(again)
    parts = [(float(again.var(ddof=1)), max(1, clusters - 1))]
    if starts > 1:
        parts.append((float(scores.var(ddof=1)) / starts, starts - 1))
    variance = sum(part for part, _ in parts)
    if variance == 0:
        half = 0.0
    else:
        freedom = variance**2 / sum(part**2 / terms for part, terms in parts)
        half = float(stdtrit(freedom, (1 + confidence) / 2)) * variance**0.5
    low, high = centre - half, centre + half
    return (max(0.0, low) ** 2, high**2) if rooted else (low, high)

"""Tables behind the Selection paper's Figures 1, 2 and 4."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import sparse

from cuecard.data import Instances
from cuecard.data.weights import weight_total
from cuecard.features.pair_graph import LEAKAGE_FEATURES
from cuecard.models.embeddings import embed as embedded
from cuecard.models.embeddings import largest_components
from cuecard.stats import wilson
from cuecard.stats.arrays import Array, Codes, Floats, Ints, chunks
from cuecard.stats.counted_forest import Points, distinct_points
from cuecard.stats.weighted import effective_counts
from cuecard.text import Tokens, encoded_texts, tokenise

#: Similarity is only drawn, so a sample of pairs is enough; slow kinds get a smaller one.
PAIRS = {"tfidf": 20_000}
PAIRS_OF_AN_ENCODER = 2_000
PAIRS_TO_MOVE = 3_000
#: Dimensions of the word vectors that words are moved between.
WORD_DIMENSIONS = 64
#: A vector this much shorter than the longest is rounding error.
NOTHING = 1e-5


def pairs_compared(embed: str) -> int:
    """Return how many pairs are compared by an embedding."""
    return PAIRS.get(embed, PAIRS_OF_AN_ENCODER)


def cosine_similarity(
    first: pl.Series,
    second: pl.Series,
    embed: str = "tfidf",
    *,
    seed: int = 0,
    tokenised: Tokens | None = None,
) -> Floats:
    """Return the cosine of the embeddings of two columns of texts, 0 where a text has no vector.

    `tokenised` are the default tokens of the first column, then of the second, where they are at hand.
    """
    texts = pl.concat([first.alias("text"), second.alias("text")])
    vectors, codes = embedded(texts, embed, seed=seed, tokenised=tokenised)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    # A text without words is not quite the zero vector after the decomposition, and has no direction.
    without = lengths <= NOTHING * lengths.max(initial=0)
    directions = np.where(without, 0, vectors / np.where(without, 1, lengths))
    product = np.einsum("ij,ij->i", directions[codes[: len(first)]], directions[codes[len(first) :]])
    similarity: Floats = np.clip(product.astype(np.float64), -1, 1)
    return similarity


def has_transport() -> bool:
    """Return whether POT, the optimal-transport library of the extra `transport`, is installed."""
    return find_spec("ot") is not None


def word_movers_distance(
    first: pl.Series, second: pl.Series, *, seed: int = 0, tokenised: Tokens | None = None
) -> Floats:
    """Return the least total distance that the words of one text travel to become the other's (Kusner et al. 2015).

    Words lie where the texts put them: vectors of length one from the singular value decomposition of which word
    occurs in which text. nan where a text has no word. Needs the package POT (extra `transport`). `tokenised` is as for
    `cosine_similarity`.
    """
    import ot

    encoded = tokenised or tokenise(pl.concat([first.alias("text"), second.alias("text")]))
    counts = sparse.csr_matrix(
        (np.ones(len(encoded.ids)), encoded.ids, encoded.offsets), shape=(len(encoded), encoded.n_types)
    )
    counts.sum_duplicates()
    rank = min(WORD_DIMENSIONS, *(side - 1 for side in counts.shape))
    if rank < 1:
        return np.full(len(first), np.nan)
    rarity = np.log((1 + counts.shape[0]) / (1 + np.bincount(counts.indices, minlength=counts.shape[1]))) + 1
    _, singular, right = largest_components(counts.multiply(rarity).tocsr(), rank, seed=seed)
    words = right.T * singular
    lengths = np.linalg.norm(words, axis=1, keepdims=True)
    words = words / np.where(lengths > 0, lengths, 1)
    distances = np.full(len(first), np.nan)
    for pair in range(len(first)):
        a, b = (_bag(counts, row) for row in (pair, len(first) + pair))
        if len(a[0]) and len(b[0]):
            cost = np.sqrt(np.maximum(2 - 2 * words[a[0]] @ words[b[0]].T, 0))
            distances[pair] = ot.emd2(a[1], b[1], np.ascontiguousarray(cost, dtype=np.float64))
    return distances


def _bag(counts: sparse.csr_matrix, row: int) -> tuple[npt.NDArray[np.int64], Floats]:
    """Return the distinct words of a text and the share of each."""
    start, end = counts.indptr[row : row + 2]
    amounts = counts.data[start:end].astype(np.float64)
    return counts.indices[start:end], amounts / amounts.sum() if end > start else amounts


#: In the grid of Figure 2, sentences that occur at least this often share the last row or column.
GRID_END = 12

#: Lower ends of the frequency classes of Figure 4.
FREQUENCY_STEPS = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50, 100, 200, 500, 1000)
FEWEST_IN_CLASS = 20

QUANTILE_BINS = 20
#: A feature of some pairs, beside their labels and weights.
Drawn = tuple[Floats, Codes, Floats]


@dataclass(frozen=True, eq=False)
class _Counted:
    """Features and labels: of pairs that have the same, with their number, or of every pair where they have weights."""

    features: Ints
    labels: Ints
    n: Ints
    weights: Floats | None

    @property
    def mass(self) -> Array:
        """How much each counts."""
        return self.n if self.weights is None else self.weights

    def of_labels(self, which: npt.NDArray[np.bool_], n_labels: int) -> Array:
        """Return how much some of them count, by label."""
        counts = np.bincount(self.labels[which], self.mass[which], minlength=n_labels)
        return counts.astype(self.mass.dtype)


def _counted(data: Instances, features: npt.ArrayLike | Points, weights: Floats | None) -> _Counted:
    points = features if isinstance(features, Points) else distinct_points(features)
    if weights is not None:
        every = np.ones(len(data), dtype=np.int64)
        return _Counted(points.rows.astype(np.int64), data.label_codes.astype(np.int64), every, weights)
    counts = np.zeros((len(points), len(data.labels)), dtype=np.int64)
    for rows in chunks(len(data)):
        np.add.at(counts, (points.index[rows], data.label_codes[rows]), 1)
    point, label = np.nonzero(counts)
    return _Counted(points.values[point].astype(np.int64), label, counts[point, label], None)


def frequency_grid(
    data: Instances, features: npt.ArrayLike | Points, weights: Floats | None = None
) -> pl.DataFrame:
    """Return the label shares for every S1_freq × S2_freq (Figure 2); the last step means "or more".

    With `weights`, one per row, `n` and `count` are sums of weights.
    """
    pairs = _counted(data, features, weights)
    frame = pl.DataFrame(
        {
            "s1_freq": np.minimum(pairs.features[:, 0], GRID_END),
            "s2_freq": np.minimum(pairs.features[:, 1], GRID_END),
            "label": np.array(data.labels, dtype=object)[pairs.labels],
            "weight": pairs.n.astype(np.uint32) if weights is None else weights,
        },
        schema_overrides={"label": pl.String},
    )
    keys = ["s1_freq", "s2_freq"]
    mass = weight_total("weight", frame.schema["weight"])
    cells = frame.group_by(keys).agg(n=mass)
    counts = frame.group_by(*keys, "label").agg(count=mass)
    return (
        cells.join(pl.DataFrame({"label": list(data.labels)}), how="cross")
        .join(counts, on=[*keys, "label"], how="left")
        .with_columns(pl.col("count").fill_null(0))
        .with_columns(share=(pl.col("count") / pl.col("n")).fill_nan(0.0))
        .sort(*keys, pl.col("label").cast(pl.Enum(list(data.labels))))
    )


def label_by_frequency(
    data: Instances, features: npt.ArrayLike | Points, weights: Floats | None = None
) -> pl.DataFrame:
    """Return the share of every label by how often a sentence occurs, with intervals (Figure 4).

    With `weights`, one per row, `count` and `share` are of weight, and intervals of effective counts.
    """
    pairs = _counted(data, features, weights)
    rows = []
    for column, feature in enumerate(LEAKAGE_FEATURES[:2]):
        values = pairs.features[:, column]
        ends = _classes(values, pairs.n)
        place = np.searchsorted(ends, values, side="right") - 1
        for i, start in enumerate(ends):
            here = place == i
            n = int(pairs.n[here].sum())
            if not n:  # no sentence occurs so often
                continue
            counts = pairs.of_labels(here, len(data.labels))
            tested = counts
            if weights is not None:
                tested = effective_counts([counts], [(weights[here] ** 2).sum()])[0]
            low, high = wilson(tested, np.full(len(counts), max(int(tested.sum()), 1)))
            last = int(values[here].max(initial=start))
            for k, label in enumerate(data.labels):
                share = counts[k] / (counts.sum() or 1)
                rows.append(
                    (
                        feature,
                        i,
                        int(start),
                        last,
                        label,
                        n,
                        counts[k].item(),
                        share,
                        float(low[k]),
                        float(high[k]),
                    )
                )
    names = ["feature", "class", "from", "to", "label", "n", "count", "share", "share_low", "share_high"]
    return pl.DataFrame(rows, schema=names, orient="row")


def _classes(values: Ints, n: Ints) -> Ints:
    """Return the lower ends of frequency classes, the upper ones merged until each has a few pairs."""
    ends = [step for step in FREQUENCY_STEPS if step <= values.max(initial=1)]
    while len(ends) > 1 and n[values >= ends[-1]].sum() < FEWEST_IN_CLASS:
        ends.pop()
    return np.array(ends, dtype=np.int64)


def quantile_shares(
    data: Instances,
    features: npt.ArrayLike | Points,
    *,
    embed: str,
    seed: int,
    weights: Floats | None = None,
) -> pl.DataFrame:
    """Return how every feature, as its quantile, is distributed within each label (Figure 1).

    The cosine of the two texts' embeddings stands beside the three leakage features for comparison, and Word Mover's
    Distance where POT is installed; both on a sample of the pairs.
    """
    pairs = _counted(data, features, weights)
    mass = pairs.mass.astype(np.float64)
    columns: dict[str, Drawn] = {
        name: (pairs.features[:, i].astype(np.float64), pairs.labels, mass)
        for i, name in enumerate(LEAKAGE_FEATURES)
    }
    del pairs
    columns |= _similarities(data, weights, embed, seed)
    frames = []
    bounds = np.linspace(0, 1, QUANTILE_BINS + 1)
    for name, (values, labels, weight) in columns.items():
        distinct, place = np.unique(values, return_inverse=True)
        # Equal values share a stretch of quantiles evenly, so a feature that says nothing gives flat lines.
        ends = np.concatenate([[0], np.cumsum(np.bincount(place, weight))]) / (weight.sum() or 1)
        for code, label in enumerate(data.labels):
            counts = np.bincount(place[labels == code], weight[labels == code], minlength=len(distinct))
            reached = np.concatenate([[0], np.cumsum(counts)]) / (counts.sum() or 1)
            frames.append(
                pl.DataFrame(
                    {
                        "feature": [name] * QUANTILE_BINS,
                        "label": [label] * QUANTILE_BINS,
                        "quantile": (bounds[:-1] + bounds[1:]) / 2,
                        "share": np.diff(np.interp(bounds, ends, reached)),
                    }
                )
            )
    return pl.concat(frames)


def _similarities(data: Instances, weights: Floats | None, embed: str, seed: int) -> dict[str, Drawn]:
    """Return how alike the texts of sampled pairs are, by name, beside the labels and weights of these pairs."""
    order = np.arange(len(data), dtype=np.int32 if len(data) < 1 << 31 else np.int64)
    np.random.default_rng(seed).shuffle(order)
    order = order[: max(pairs_compared(embed), PAIRS_TO_MOVE)].copy()

    def sampled(size: int) -> tuple[Instances, npt.NDArray[np.int64]]:
        rows = np.zeros(len(data), dtype=np.bool_)
        rows[order[:size]] = True
        return data.rows(rows), np.flatnonzero(rows)

    def mass(rows: npt.NDArray[np.int64]) -> Floats:
        return np.ones(len(rows)) if weights is None else weights[rows]

    part, rows = sampled(pairs_compared(embed))
    tokens = encoded_texts(part, "default").both if embed == "tfidf" else None
    alike = cosine_similarity(*_texts(part), embed, seed=seed, tokenised=tokens)
    measures: dict[str, Drawn] = {"similarity": (alike, data.label_codes[rows], mass(rows))}
    if has_transport():
        part, rows = sampled(PAIRS_TO_MOVE)
        tokens = encoded_texts(part, "default").both
        distance = word_movers_distance(*_texts(part), seed=seed, tokenised=tokens)
        finite = np.isfinite(distance)
        if finite.any():
            rows = rows[finite]
            measures["word_movers_distance"] = (distance[finite], data.label_codes[rows], mass(rows))
    return measures


def _texts(pairs: Instances) -> tuple[pl.Series, pl.Series]:
    return pairs.table["premise"].fill_null(""), pairs.table["hypothesis"].fill_null("")

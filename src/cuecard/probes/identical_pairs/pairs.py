"""A sentence paired with itself always matches: does the model's score depend on how often it occurs? (Selection)"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data import Instances
from cuecard.errors import InputError
from cuecard.features.pair_graph import sentence_codes

#: Sentences that occur at least this often share the last box.
LAST_FREQUENCY = 10


class PairModel(Protocol):
    """Anything that gives a probability per label for pairs of texts."""

    def predict_proba(self, premises: Sequence[str], hypotheses: Sequence[str]) -> npt.ArrayLike:
        """Return an array of one row per pair and one column per label."""
        ...


def identical_pairs(
    data: Instances, *, split: str = "train", sample: int | None = None, seed: int = 0
) -> pl.DataFrame:
    """Return every distinct sentence of a split paired with itself, and how often it occurs there.

    The frame has `example_id`, `premise`, `hypothesis` and `frequency`; written to a file, any model can score it. With
    `sample`, at most this many sentences are drawn, rare and frequent ones alike; a sentence has the same id in every
    sample of the same split.
    """
    table = data.split(split).table
    both = pl.concat([table["premise"], table["hypothesis"].rename("premise")])
    first, second, n = sentence_codes(table["premise"], table["hypothesis"])
    codes = np.concatenate([first, second])
    where = np.zeros(n, dtype=np.int64)
    where[codes] = np.arange(len(codes))
    frequency = np.bincount(codes, minlength=n)
    texts = both.gather(where)
    kept = np.flatnonzero((texts.str.strip_chars() != "").fill_null(False).to_numpy())
    if sample is not None and sample < len(kept):
        kept = _spread_sample(kept, np.minimum(frequency[kept], LAST_FREQUENCY), sample, seed)
    chosen = texts.gather(kept)
    return pl.DataFrame(
        {
            "example_id": [f"identical-{i}" for i in kept + 1],
            "premise": chosen,
            "hypothesis": chosen,
            "frequency": frequency[kept],
        }
    )


def _spread_sample(
    rows: npt.NDArray[np.int64], classes: npt.NDArray[np.int64], size: int, seed: int
) -> npt.NDArray[np.int64]:
    """Return a seeded sample that takes from the classes in turn, so that rare classes are not lost."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(rows))
    turn = np.empty(len(rows), dtype=np.int64)
    for value in np.unique(classes):
        members = order[classes[order] == value]
        turn[members] = np.arange(len(members))
    return np.sort(rows[np.lexsort((order, turn))[:size]])


def score_identical_pairs(
    pairs: pl.DataFrame, models: dict[str, PairModel], *, label: int, batch: int = 4096
) -> pl.DataFrame:
    """Return the pairs with every model's probability that they match, long: `model`, `frequency`, `score` …

    `label` is the column of `predict_proba` that means the two sentences match.
    """
    frames = []
    for name, model in models.items():
        scores = []
        for part in pairs.iter_slices(batch):
            probabilities = np.asarray(
                model.predict_proba(part["premise"].to_list(), part["hypothesis"].to_list()), dtype=float
            )
            if (
                probabilities.ndim != 2
                or len(probabilities) != part.height
                or not 0 <= label < probabilities.shape[1]
            ):
                raise InputError(
                    f"predict_proba of {name!r} gave an array of shape {probabilities.shape} for {part.height} pairs; "
                    f"expected a row per pair and more than {label} columns."
                )
            scores.append(probabilities[:, label])
        frames.append(
            pairs.select("example_id", "frequency").with_columns(
                model=pl.lit(name),
                score=pl.Series(np.concatenate(scores) if scores else [], dtype=pl.Float64),
            )
        )
    return pl.concat(frames) if frames else pairs.select("example_id", "frequency").clear()


def box_statistics(scores: pl.DataFrame, *, last: int = LAST_FREQUENCY) -> pl.DataFrame:
    """Return Tukey's box of the scores for every model and frequency (Figures 5 and 6).

    Whiskers end at the outermost scores within 1.5 interquartile ranges of the box; those beyond are counted as
    outliers. `frequency` = `last` means so often or more. Also the share of scores of at least one half.

    Args:
        scores: columns `frequency` and `score`, and `model` where there are several.
        last: frequencies from here on share a box.
    """
    missing = [c for c in ("frequency", "score") if c not in scores.columns]
    if missing:
        raise InputError(
            f"Scores of identical pairs need the columns frequency and score; {', '.join(missing)} is missing. "
            f"There are: {', '.join(scores.columns)}."
        )
    if scores["score"].null_count() or scores["score"].is_nan().any():
        raise InputError("Some identical pairs have no score; score every pair that was written.")
    if "model" not in scores.columns:
        scores = scores.with_columns(model=pl.lit("model"))
    keys = ["model", "frequency"]
    scores = scores.with_columns(pl.col("frequency").clip(upper_bound=last))
    quartiles = scores.group_by(keys, maintain_order=True).agg(
        n=pl.len(),
        q1=pl.col("score").quantile(0.25, "linear"),
        median=pl.col("score").median(),
        q3=pl.col("score").quantile(0.75, "linear"),
        mean=pl.col("score").mean(),
        matched=(pl.col("score") >= 0.5).mean(),
    )
    fence = 1.5 * (pl.col("q3") - pl.col("q1"))
    inside = pl.col("score").is_between(pl.col("q1") - fence, pl.col("q3") + fence)
    whiskers = (
        scores.join(quartiles, on=keys)
        .group_by(keys)
        .agg(
            low=pl.col("score").filter(inside).min(),
            high=pl.col("score").filter(inside).max(),
            outliers=(~inside).sum(),
        )
    )
    order = {name: i for i, name in enumerate(scores["model"].unique(maintain_order=True))}
    return quartiles.join(whiskers, on=keys).sort(pl.col("model").replace_strict(order), "frequency")

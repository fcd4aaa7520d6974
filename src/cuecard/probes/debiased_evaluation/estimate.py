"""A model's accuracy as it stands, and under weights that take a leak out of the test set."""

from __future__ import annotations

import numpy as np
import polars as pl

from cuecard.data import Instances
from cuecard.errors import InputError
from cuecard.registry import unknown_name
from cuecard.stats.arrays import Bools, Floats
from cuecard.stats.scores.doubly_robust import DebiasedAccuracy
from cuecard.stats.weighted import weighted_change, weighted_share


def debiased_evaluation(
    data: Instances,
    predictions: pl.DataFrame,
    weights: pl.DataFrame,
    *,
    split: str = "test",
    level: float = 0.95,
) -> pl.DataFrame:
    """Return unweighted and weighted accuracy with intervals, a row per model and first one for the majority.

    Args:
        data: the dataset that was predicted.
        predictions: columns `example_id`, `prediction` (a label; for choices, the chosen position), and `model` where
            there are several.
        weights: columns `example_id`, `split`, `weight`, as the remedies return them.
        split: the split to evaluate on.
        level: level of the intervals.
    """
    if split not in data.splits:
        raise unknown_name("split", split, list(data.splits))
    gold = _gold(data.split(split))
    mine = weights.filter(pl.col("split").cast(pl.String) == split).select("example_id", "weight")
    gold = gold.join(mine, on="example_id", how="left", maintain_order="left")
    if gold["weight"].null_count():
        raise InputError(
            f"{gold['weight'].null_count():,} {split} examples have no weight; reweight all splits together."
        )
    rows = [majority_row(gold["gold"], gold["weight"].to_numpy(), level)]
    if "model" not in predictions.columns:
        predictions = predictions.with_columns(model=pl.lit("model"))
    for (name,), answers in predictions.group_by("model", maintain_order=True):
        answered = answers.select("example_id", pl.col("prediction").cast(pl.String))
        if answered["example_id"].n_unique() < answered.height:
            raise InputError(
                f"The predictions of {name!r} name an example twice; keep one row per example and model."
            )
        joined = gold.join(answered, on="example_id", how="left", maintain_order="left")
        missing = joined["prediction"].null_count()
        if missing:
            raise InputError(
                f"The predictions of {name!r} lack {missing:,} of {joined.height:,} {split} examples, such as "
                f"{joined.filter(pl.col('prediction').is_null())['example_id'][0]!r}; predict every example."
            )
        right = (joined["prediction"] == joined["gold"]).to_numpy()
        rows.append(accuracy_row(str(name), right, joined["weight"].to_numpy(), level))
    return pl.DataFrame(rows, schema_overrides=ROW_SCHEMA)


def _gold(data: Instances) -> pl.DataFrame:
    """Return the right answer of every example: its label, or the position of the right choice."""
    table = data.table.with_columns(pl.col("example_id").cast(pl.String))
    if data.grouped:
        table = table.filter(pl.Series(data.label_codes == 0))
        return table.select("example_id", gold=pl.col("position").cast(pl.String))
    return table.select("example_id", gold=pl.col("label").cast(pl.String))


def accuracy_row(
    model: str,
    right: Bools,
    weights: Floats,
    level: float = 0.95,
    *,
    weighted_right: Bools | None = None,
    robust: DebiasedAccuracy | None = None,
) -> dict[str, object]:
    """Return the accuracy of one model as it stands and without the leak.

    A majority may name another label under the weights, and `weighted_right` says where that one is right; the
    change is then no property of one model and has no interval. With `robust`, the estimate is the doubly robust one,
    and that of the weights alone stands beside it.
    """
    plain = weighted_share(right, np.ones(len(right)), level)
    weighted = weighted_share(right if weighted_right is None else weighted_right, weights, level)
    change: tuple[float | None, ...] = (weighted.share - plain.share, None, None)
    if robust is not None:
        estimate = (robust.accuracy, robust.low, robust.high, robust.effective_n)
        change = (robust.change, robust.change_low, robust.change_high)
    else:
        estimate = (weighted.share, weighted.low, weighted.high, weighted.effective_n)
        if weighted_right is None:
            change = weighted_change(right, weights, level)
    names = ("weighted_accuracy", "weighted_low", "weighted_high", "effective_n")
    return {
        "model": model,
        "n": plain.n,
        "accuracy": plain.share,
        "low": plain.low,
        "high": plain.high,
        **dict(zip(names, estimate, strict=True)),
        **dict(zip(("change", "change_low", "change_high"), change, strict=True)),
        "weights_alone": weighted.share,
    }


def majority_row(gold: pl.Series, weights: Floats, level: float = 0.95) -> dict[str, object]:
    """Return the accuracy of always giving the most frequent answer, which may be another under the weights."""
    shares = pl.DataFrame({"gold": gold, "weight": weights}).group_by("gold").agg(
        n=pl.len(), weight=pl.col("weight").sum()
    )  # fmt: skip
    most = [shares.sort(column, "gold", descending=[True, False])["gold"][0] for column in ("n", "weight")]
    plain, weighted = ((gold == answer).to_numpy() for answer in most)
    return accuracy_row("majority", plain, weights, level, weighted_right=weighted)


#: Columns of the table whose values may all be missing.
ROW_SCHEMA = {"change_low": pl.Float64, "change_high": pl.Float64}

"""Selection's Tables 3 and 4 as means over seeds: a row for the majority, the leakage, and either training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

BIASED, DEBIASED = "biased", "debiased"


def means_over_seeds(
    evaluation: pl.DataFrame, across: pl.DataFrame, identical: pl.DataFrame, weights: Mapping[str, Any]
) -> pl.DataFrame:
    """Return accuracy without and with weights, on identical pairs and on every other dataset.

    `rise` is by how much the mean score of identical pairs is higher for sentences that occur more than once than for
    those that occur once (Figures 5 and 6).

    Args:
        evaluation: accuracy and weighted_accuracy of the majority and of every model.
        across: biased_accuracy and debiased_accuracy of every seed and dataset, the test set first.
        identical: model, frequency and score of every identical pair.
        weights: the summary of leakage-neutral weights.
    """
    leakage = weights["leakage_accuracy"]
    plain, weighted = (leakage[when]["accuracy"] for when in ("unweighted", "weighted"))
    rows: list[dict[str, Any]] = [
        {"model": "majority", **evaluation.filter(model="majority").select(*_ACCURACIES).row(0, named=True)},
        {"model": "leakage", **dict(zip(_ACCURACIES, (plain, weighted), strict=True))},
    ]
    others = across["dataset"].unique(maintain_order=True).to_list()[1:]
    for training in (BIASED, DEBIASED):
        of_training = pl.col("model").str.starts_with(training)
        scores = identical.filter(of_training)
        frequent = pl.col("frequency") > 1
        rows.append(
            {
                "model": training,
                **evaluation.filter(of_training).select(pl.col(*_ACCURACIES).mean()).row(0, named=True),
                "identical": scores.select((pl.col("score") >= 0.5).mean()).item(),
                "rise": _difference(
                    scores.filter(frequent)["score"].mean(), scores.filter(~frequent)["score"].mean()
                ),
                **{name: across.filter(dataset=name)[f"{training}_accuracy"].mean() for name in others},
            }
        )
    means = pl.DataFrame(rows, infer_schema_length=None)
    biased_rise = rows[2]["rise"]
    return means.with_columns(less_rise=biased_rise - pl.col("rise"))


_ACCURACIES = ("accuracy", "weighted_accuracy")


def _difference(first: Any, second: Any) -> float | None:
    return None if first is None or second is None else float(first - second)

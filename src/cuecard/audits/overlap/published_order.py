"""Did a model see the dataset in its published order? Log-probabilities of that order against shuffled ones."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import polars as pl

from cuecard.analysis import About, Finding, Measure, MeasureKind, Need, Result, Summary
from cuecard.audits.overlap.audit import ORDER_VIEW
from cuecard.data import TASKS, Instances, Task
from cuecard.data.reading.files import read_file
from cuecard.data.reading.formats import typed_path
from cuecard.errors import InputError
from cuecard.stats import state_probability
from cuecard.stats.preferences.order_test import order_test
from cuecard.view import View
from cuecard.wording import percent, plural

NAME = "published_order"
PUBLISHED = "published"
UNNAMED = "the model"
RANK = MeasureKind(
    "{model}.rank", "shuffles that {model} finds less likely than the published order", "share", "higher"
)
P_VALUE = MeasureKind("{model}.p", "p-value of the order test of {model}", "p", "lower")


def order_measures(summary: Summary) -> list[Measure]:
    """Return rank and p-value of every model."""
    measures = []
    for model, part in summary["models"].items():
        measures.append(RANK.of(NAME, part["rank_share"], chance=0.5, n=part["shards"], model=model))
        measures.append(P_VALUE.of(NAME, float(np.log10(part["p_value"])), n=part["shards"], model=model))
    return measures


@dataclass(frozen=True)
class PublishedOrder:
    """Test whether a model finds the published order of a dataset likelier than shuffled ones.

    The p-value is exact: if a model has not seen the order, the published one has any rank among the shuffled ones with
    the same probability, in every shard.

    Args:
        alpha: a model is said to know the order if its p-value, times the number of models, is at most this.
    """

    name: ClassVar[str] = NAME
    title: ClassVar[str] = "Published order"
    view: ClassVar[View] = ORDER_VIEW
    tasks: ClassVar[frozenset[Task]] = frozenset(TASKS)
    needs: ClassVar[frozenset[Need]] = frozenset({"orders"})
    measures: ClassVar[tuple[MeasureKind, ...]] = (RANK, P_VALUE)
    about: ClassVar[About] = "models"

    alpha: float = 0.05

    def run(self, data: Instances, orders: str | Path | pl.DataFrame) -> Result:
        """Return the test of every model in a table of `order`, `logprob` and, for several, `shard` and `model`."""
        del data
        models = {}
        for model, published, shuffled in read_orders(orders):
            test = order_test(published, shuffled)
            models[model] = {
                "p_value": test.p_value,
                "rank_share": test.rank_share,
                "shards": test.shards,
                "shuffles": test.shuffles,
            }
        summary = {"models": models, "alpha": self.alpha}
        table = pl.DataFrame([{"model": model, **part} for model, part in models.items()])
        findings = [self._finding(model, part, len(models)) for model, part in models.items()]
        smallest = min(1.0, *(part["p_value"] * len(models) for part in models.values()))
        return Result(summary, {NAME: table}, findings, None, order_measures(summary), smallest_q=smallest)

    def _finding(self, model: str, part: Summary, tests: int) -> Finding:
        knows = part["p_value"] * tests <= self.alpha
        named = f"{model[:1].upper()}{model[1:]}" if model == UNNAMED else model
        text = (
            f"{named} finds the published order likelier than {percent(part['rank_share'])} of {part['shuffles']:,} "
            f"shuffles, on average over {plural(part['shards'], 'shard')} (50 % if it has not seen it; exact "
            f"{state_probability('p', part['p_value'])})."
        )
        title = (
            f"{named} finds the published order likelier than shuffled ones"
            if knows
            else f"{named} finds the published order no likelier than shuffled ones"
        )
        return Finding(
            NAME,
            "high" if knows else "info",
            title,
            text,
            part["rank_share"],
            chance=0.5,
            n=part["shards"],
            key=model,
            q_value=min(1.0, part["p_value"] * tests),
            role="flaw",
        )


def read_orders(source: str | Path | pl.DataFrame) -> list[tuple[str, list[float], list[list[float]]]]:
    """Return for every model the log-probability of the published order of every shard, and those of its shuffles."""
    where = "the table of orders"
    if isinstance(source, pl.DataFrame):
        frame = source
    else:
        path = typed_path(source)
        frame, where = read_file(path).frame, str(path)
    for column in ("order", "logprob"):
        if column not in frame.columns:
            raise InputError(
                f"{where} has no column {column!r}: give one row per order with order ({PUBLISHED!r}, or the number of "
                "a shuffle), logprob and, where there are several, shard and model."
            )
    values = pl.col("logprob").cast(pl.Float64, strict=False)
    table = frame.select(
        pl.col("order").cast(pl.String),
        values,
        (pl.col("model").cast(pl.String) if "model" in frame.columns else pl.lit(UNNAMED)).alias("model"),
        (pl.col("shard").cast(pl.String) if "shard" in frame.columns else pl.lit("0")).alias("shard"),
    )
    if table["logprob"].null_count() or table["logprob"].is_nan().any():
        raise InputError(f"Column 'logprob' of {where} has values that are not numbers: correct them.")
    result = []
    for (model,), rows in table.group_by("model", maintain_order=True):
        published, shuffled = [], []
        for (shard,), part in rows.group_by("shard", maintain_order=True):
            first = part.filter(pl.col("order") == PUBLISHED)["logprob"].to_list()
            others = part.filter(pl.col("order") != PUBLISHED)["logprob"].to_list()
            if len(first) != 1 or not others:
                raise InputError(
                    f"Shard {shard!r} of {model!r} in {where} has {len(first)} rows with the order {PUBLISHED!r} and "
                    f"{len(others)} shuffles: give one and at least one."
                )
            published.append(first[0])
            shuffled.append(others)
        if len({len(others) for others in shuffled}) > 1:
            raise InputError(
                f"Shards of {model!r} in {where} have different numbers of shuffles: give equally many."
            )
        result.append((str(model), published, shuffled))
    return result

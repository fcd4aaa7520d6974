"""Verdicts of a judge or scores of a reward model in one form: which response is preferred, shown in which order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from cuecard.data import Instances
from cuecard.data.files.paths import typed_path
from cuecard.data.files.reading import read_file
from cuecard.data.instances import COLUMNS
from cuecard.errors import InputError
from cuecard.probes.judge.formats import has_ids, recognised
from cuecard.probes.judge.matching import matched
from cuecard.wording import percent, plural

#: Columns of verdicts. `preferred` is 1 where the first named response (a) wins, 0 where b does, 0.5 for a tie;
#: `human` says the same of people, or of the quality label; `first` is 1 where the judge saw a first. Responses may
#: have changed places so that comparisons have one form: `name_a` and `name_b` are what the user's file calls them.
VERDICT_COLUMNS = {
    "item": pl.String,
    "prompt": pl.String,
    "text_a": pl.String,
    "text_b": pl.String,
    "model_a": pl.String,
    "model_b": pl.String,
    "preferred": pl.Float64,
    "first": pl.Float64,
    "human": pl.Float64,
    "score_a": pl.Float64,
    "score_b": pl.Float64,
    "subset": pl.String,
    "judge": pl.String,
    "name_a": pl.String,
    "name_b": pl.String,
}


@dataclass(frozen=True, eq=False)
class Verdicts:
    """What a judge said, one row per comparison and time it was asked; columns as in `VERDICT_COLUMNS`.

    `missing` is the number of verdicts without a value, which `table` does not hold.
    """

    name: str
    table: pl.DataFrame
    source: str
    notes: tuple[str, ...] = ()
    missing: int = 0

    def instances(self) -> Instances:
        """Return the comparisons as preferences: the response that people prefer is chosen, or the judge's choice.

        A comparison without texts has the names of the models in their place.
        """
        once = self.table.unique("item", keep="first", maintain_order=True)
        won = once["human"].fill_null(once["preferred"]).fill_null(0.5)
        once = once.filter(won != 0.5)
        won = won.filter(won != 0.5)
        if not once.height:
            raise InputError(
                f"{self.source} has no comparison with a winner: give verdicts that are not all ties."
            )
        a, b = (
            once.select(pl.coalesce(f"text_{side}", f"model_{side}", pl.lit(side))).to_series()
            for side in "ab"
        )
        rows = pl.DataFrame(
            {"item": once["item"], "prompt": once["prompt"].fill_null(""), "a": a, "b": b, "won": won}
        )
        first = pl.when(pl.col("won") > 0.5)
        long = rows.with_columns(
            hypothesis=pl.concat_list(first.then("a").otherwise("b"), first.then("b").otherwise("a"))
        ).explode("hypothesis")
        labels = pl.Enum(["chosen", "rejected"])
        table = pl.DataFrame(
            {
                "example_id": long["item"],
                "position": pl.Series(np.tile([0, 1], len(rows)), dtype=pl.Int32),
                "split": pl.repeat("train", len(long), eager=True),
                "premise": long["prompt"],
                "hypothesis": long["hypothesis"],
                "label": pl.Series(["chosen", "rejected"] * len(rows), dtype=labels),
            }
        ).select(COLUMNS)
        return Instances(table, "preference", ("chosen", "rejected"), Path(self.source).stem)


def together(judges: Sequence[Verdicts]) -> Instances:
    """Return the comparisons of all judges as one dataset of preferences."""
    table = pl.concat([verdicts.table for verdicts in judges])
    return Verdicts(judges[0].name, table, judges[0].source).instances()


def read_verdicts(
    name: str | None, source: str | Path | pl.DataFrame, data: Instances | None = None
) -> Verdicts:
    """Return the verdicts of a file or table; with `data`, texts and labels come from the preferences of the same id.

    Read are judgments of MT-Bench (`g1_winner`, `g2_winner`), annotations of AlpacaEval (`generator_1`,
    `preference`), battles of an arena (`model_a`, `winner`), outputs of RewardBench (`scores_chosen`, `results`), and a
    plain table: `verdict` or scores of both responses, by `id`, with `first` for the response shown first. Where the
    dataset has no ids, ids are row numbers.
    """
    if isinstance(source, pl.DataFrame):
        frame, where = source, name or "verdicts"
    else:
        path = typed_path(source)
        frame, where = read_file(path).frame, str(path)
    if not frame.height:
        raise InputError(f"{where} has no rows; give one verdict per row.")
    rows = recognised(frame, where)
    missing = [
        pl.lit(None, dtype=dtype).alias(c) for c, dtype in VERDICT_COLUMNS.items() if c not in rows.columns
    ]
    table = rows.with_columns(missing).select(pl.col(c).cast(dtype) for c, dtype in VERDICT_COLUMNS.items())
    table = table.with_columns(name_a=pl.col("name_a").fill_null("a"), name_b=pl.col("name_b").fill_null("b"))
    valued = table["preferred"].is_not_null()
    if not valued.any():
        raise InputError(
            f"{where} has no verdict that can be read: expected a, b, tie, or the name of a response."
        )
    judges = table.filter(valued)["judge"].drop_nulls().unique()
    called = name or (judges[0] if len(judges) == 1 else Path(where).stem)
    notes: tuple[str, ...] = ()
    if data is not None:
        table, notes = matched(table, data, where, ids=has_ids(frame))
        valued = table["preferred"].is_not_null()
    absent = table.height - int(valued.sum())
    if absent:
        share = percent(absent / table.height, 0)
        notes = (*notes, f"{called}: {absent:,} of {plural(table.height, 'verdict')} ({share}) are missing.")
    return Verdicts(called, _one_pair_per_item(_canonical(table.filter(valued))), where, notes, absent)


def _one_pair_per_item(table: pl.DataFrame) -> pl.DataFrame:
    """Return verdicts whose items name both responses where one id, such as that of a question, has several pairs."""
    for part in ("model", "text"):
        pair = [pl.col(f"{part}_{side}").fill_null("") for side in "ab"]
        if table.select("item", *pair).unique().height > table["item"].n_unique():
            names = pl.concat_str("item", *pair, separator="/")
            table = table.with_columns(item=names, prompt=pl.coalesce("prompt", "item"))
    return table


def _canonical(table: pl.DataFrame) -> pl.DataFrame:
    """Return verdicts about the same two responses with the same one as a, so that orders can be compared."""
    key_a, key_b = (pl.coalesce(f"text_{side}", f"model_{side}", pl.lit(side)) for side in "ab")
    turned = table.select((key_a > key_b).fill_null(False)).to_series()
    swap = {"text_a": "text_b", "model_a": "model_b", "score_a": "score_b", "name_a": "name_b"}
    swap |= {b: a for a, b in swap.items()}
    flipped = table.select(
        (1.0 - pl.col(c)).alias(c)
        if c in ("preferred", "human", "first")
        else pl.col(swap.get(c, c)).alias(c)
        for c in table.columns
    )
    both = pl.concat([table.with_columns(_t=False), flipped.with_columns(_t=True)])
    numbers = pl.int_range(len(table), dtype=pl.Int64, eager=True)
    both = both.with_columns(_n=pl.concat([numbers, numbers]), _keep=pl.concat([turned, turned]))
    return both.filter(pl.col("_t") == pl.col("_keep")).sort("_n").drop("_t", "_n", "_keep")

"""Verdicts of a judge or scores of a reward model in one form, matched to a dataset where there is one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from cuecard.data import Instances
from cuecard.data.instances import COLUMNS
from cuecard.data.reading.files import read_file
from cuecard.data.reading.formats import typed_path
from cuecard.errors import InputError
from cuecard.probes.judge.formats import has_ids, recognised
from cuecard.wording import percent, plural

_KEY = "_key"


def matched(
    table: pl.DataFrame, data: Instances, where: str, *, ids: bool
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Return the verdicts with texts and labels of the dataset, and notes about how they were matched.

    Response a is the one that the dataset calls a (the first of two, one of which won); where the dataset or the
    verdicts speak of chosen and rejected responses, a is the chosen one and b the first rejected one. Without `ids` of
    their own, verdicts are in the order of the rows.
    """
    keyed, notes = _keyed(table, data, where, ids=ids)
    wide, lettered = _wide(data, by_letter=bool((table["name_a"] == "a").all()))
    both = keyed.join(wide, left_on=_KEY, right_on="example_id", how="inner", maintain_order="left")
    if not lettered:
        own = pl.col("text_a").is_not_null()
        both = both.with_columns(
            name_a=pl.when(own).then("name_a").otherwise(pl.lit("chosen")),
            name_b=pl.when(own).then("name_b").otherwise(pl.lit("rejected")),
        )
    a, b = (pl.col("_texts").list.get(i, null_on_oob=True) for i in (0, 1))
    # Verdicts with texts of their own may show the two in another order than the dataset.
    turned = ((pl.col("text_a") == b) & (pl.col("text_b") == a) & (a != b)).fill_null(False)
    label = pl.when(turned).then(1.0 - pl.col("_human")).otherwise("_human")
    joined = both.with_columns(
        prompt=pl.coalesce("prompt", "_prompt"),
        text_a=pl.coalesce("text_a", a),
        text_b=pl.coalesce("text_b", b),
        human=pl.coalesce("human", label),
    )
    return joined.select(table.columns), notes


def _wide(data: Instances, *, by_letter: bool) -> tuple[pl.DataFrame, bool]:
    """Return a row per preference with both texts, and whether they are in the order of the user's file."""
    rows, order = data.table.filter(pl.col("position") < 2), "position"
    lettered = by_letter and "file_position" in rows.columns and set(rows["file_position"]) <= {0, 1}
    if lettered:
        order = "file_position"
    first = pl.col("label").cast(pl.String).sort_by(order).first()
    wide = rows.group_by("example_id", maintain_order=True).agg(
        pl.col("premise").first().alias("_prompt"),
        pl.col("hypothesis").sort_by(order).alias("_texts"),
        (first == data.labels[0]).cast(pl.Float64).alias("_human"),
    )
    return wide, lettered


def _keyed(
    table: pl.DataFrame, data: Instances, where: str, *, ids: bool
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Return the verdicts whose preference is known, with its id as key; an error where one is of no row."""
    known = data.table["example_id"].unique(maintain_order=True)
    left_out = sum(data.report.dropped.values())
    numbered = "id" not in data.report.recognised and known.cast(pl.Int64, strict=False).null_count() == 0
    keys, start = table["item"], 1
    if numbered:
        rows = len(known) + left_out
        numbers = keys.cast(pl.Int64, strict=False)
        if not ids and not numbers.null_count() and len(keys) != rows:
            raise InputError(
                f"{where}: {plural(len(keys), 'verdict')} for {plural(rows, 'row')} of {data.name}; without ids they "
                "are matched by order, so give one per row, or a column `id`."
            )
        if set(numbers) == set(range(rows)):
            keys, start = (numbers + 1).cast(pl.String), 0
        outside = keys.filter(~numbers.is_between(start, rows - 1 + start).fill_null(False))
    else:
        outside = keys.filter(~keys.is_in(known.implode()))
        if outside.n_unique() <= left_out < keys.n_unique():  # verdicts about rows that were left out
            outside = outside.clear()
    if outside.n_unique() == keys.n_unique():
        raise InputError(
            f"No id of {where} is an id of {data.name}: name the column of ids id, or leave the dataset out."
        )
    if len(outside):
        raise InputError(_unknown(outside, keys, known, data, where, rows=rows if numbered else None))
    there = keys.is_in(known.implode())
    notes = []
    without, missing = int((~there).sum()), int((~known.is_in(keys.implode())).sum())
    if numbered:
        how = f"row number, counted from {start}" if ids else "order"
        notes.append(
            f"{data.name} has no ids, so the verdicts of {where} are matched by {how}: "
            f"{plural(without, 'verdict has', 'verdicts have')} no row, and {missing:,} of "
            f"{plural(len(known), 'row')} {'has' if missing == 1 else 'have'} no verdict."
        )
    elif without:
        notes.append(f"{plural(without, 'verdict')} of {where} about rows that were left out are not used.")
    return table.with_columns(keys.alias(_KEY)).filter(there), tuple(notes)


def _unknown(
    outside: pl.Series, keys: pl.Series, known: pl.Series, data: Instances, where: str, *, rows: int | None
) -> str:
    """Return the sentence about ids that the dataset does not have."""
    has = (
        f"the dataset has {_some(known)}"
        if rows is None
        else f"it has no ids, so ids are row numbers, 1 to {rows:,} or all of 0 to {rows - 1:,}"
    )
    name = "" if rows is None else ", name the dataset's column of ids with --columns id=NAME"
    return (
        f"{where}: {outside.n_unique():,} of {plural(keys.n_unique(), 'id')} are not in {data.name} (such as "
        f"{_some(outside)}; {has}); give verdicts about this dataset{name}, or leave the dataset out."
    )


def _some(values: pl.Series) -> str:
    return ", ".join(repr(value) for value in values.unique(maintain_order=True).head(3).to_list())


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

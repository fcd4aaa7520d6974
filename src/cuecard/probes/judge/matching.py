"""Verdicts matched to the preferences of a dataset: by id, or by row number where the dataset has no ids."""

from __future__ import annotations

import polars as pl

from cuecard.data import Instances
from cuecard.errors import InputError
from cuecard.wording import plural

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

"""Properties of choices that models are always probed for: the longest, the shortest, and every position."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from cuecard.audits.cues.statistics import cue_tables
from cuecard.features import Family, Lengths, Positions, count_cues
from cuecard.features.family import learned
from cuecard.text import Encoded

#: A choice is probed for being one of these, whatever the data says about them.
EXTREMES = ("longest", "shortest")


def always_probed(
    cue_table: pl.DataFrame, chosen: pl.DataFrame, encoded: Encoded, families: Sequence[Family]
) -> tuple[pl.DataFrame, list[Family]]:
    """Return the rows to add to the chosen cues of a grouped task, and the families that all of them need.

    A model may prefer the longest choice, or the first, although the data gives no reason to. A property that is not
    significant in the data stands with the label of the right choice, so that a lean towards it reads as picking it.
    """
    if not encoded.instances.grouped:
        return chosen.clear(), list(families)
    wanted: list[Family] = [Lengths()]
    if encoded.instances.task == "choice":
        wanted.append(Positions())
    have = {family.name for family in families}
    missing = [learned(family, [encoded]) for family in wanted if family.name not in have]
    pool = cue_table
    if missing:
        extra = cue_tables(count_cues(encoded, missing, minimum=1), min_count=1).cues
        shared = [name for name in cue_table.columns if name in extra.columns]
        extra = extra.select(shared).cast({name: cue_table.schema[name] for name in shared})
        pool = pl.concat([cue_table, extra], how="diagonal")
    is_wanted = ((pl.col("family") == "length") & pl.col("feature").is_in(EXTREMES)) | (
        pl.col("family") == "position"
    )
    rows = pool.filter(is_wanted).join(
        chosen.select("family", "feature"), on=["family", "feature"], how="anti"
    )
    return _towards_right(rows, encoded.instances.labels), [*families, *missing]


def _towards_right(rows: pl.DataFrame, labels: Sequence[str]) -> pl.DataFrame:
    """Return the rows with the first label as the usual one where no label is significant."""
    right, other = labels
    turned = ~pl.col("significant") & (pl.col("label") == other)
    return rows.with_columns(
        pl.when(turned)
        .then(pl.lit(right))
        .otherwise(pl.col("label"))
        .cast(rows.schema["label"])
        .alias("label"),
        *(
            pl.when(turned).then(1 - pl.col(opposite)).otherwise(pl.col(name)).alias(name)
            for name, opposite in (
                ("share", "share"),
                ("share_low", "share_high"),
                ("share_high", "share_low"),
            )
        ),
        pl.when(turned).then(-pl.col("z")).otherwise(pl.col("z")).alias("z"),
        # The two labels' priors add up to one.
        pl.when(turned)
        .then((1 - pl.col("share")) / (1 - pl.col("share") / pl.col("lift")))
        .otherwise(pl.col("lift"))
        .alias("lift"),
    )

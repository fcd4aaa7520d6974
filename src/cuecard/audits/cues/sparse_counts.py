"""Counts of features by label where labels are many: only those of frequent features, and only those that are not 0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.features import Family, class_codes, count_features
from cuecard.features.counts import COUNTED_SPLITS, skipping
from cuecard.text import Encoded


def split_counts(encoded: Encoded, families: Sequence[Family]) -> tuple[pl.DataFrame, dict[str, str]]:
    """Return how many instances of every split have each feature, and why families are skipped."""
    instances = encoded.instances
    split = class_codes(instances) // len(instances.labels)
    tables: list[pl.DataFrame] = []
    skipped: dict[str, str] = {}
    for family in families:
        counted = None
        with skipping(family, encoded.language, skipped):
            counted = count_features(family, encoded, split, len(COUNTED_SPLITS))
        if counted is None:
            continue
        kept = np.flatnonzero(counted.counts.sum(axis=1) > 0)
        tables.append(
            pl.DataFrame({"feature": counted.names(kept), "n": counted.counts[kept, 0]}).select(
                family=pl.lit(family.name), feature="feature", n="n"
            )
        )
    return pl.concat(tables) if tables else _NO_COUNTS, skipped


_NO_COUNTS = pl.DataFrame(schema={"family": pl.String, "feature": pl.String, "n": pl.Int64})


def class_counts(
    encoded: Encoded, families: Sequence[Family], frequent: Mapping[str, pl.Series]
) -> pl.DataFrame:
    """Return how many instances of every class (split × label) have each frequent feature, where any has."""
    classes = class_codes(encoded.instances).astype(np.int64)
    n_classes = len(COUNTED_SPLITS) * len(encoded.instances.labels)
    tables = [
        pl.DataFrame(schema={**_NO_COUNTS.schema, "class": pl.Int64}).select(
            "family", "feature", "class", "n"
        )
    ]
    for family in families:
        if family.name not in frequent:
            continue
        presence = family.presence(encoded)
        wanted = presence.names.is_in(frequent[family.name].implode()).to_numpy()
        kept = wanted[presence.indices]
        keys = presence.indices[kept].astype(np.int64) * n_classes + classes[presence.rows()[kept]]
        cells, n = np.unique(keys, return_counts=True)
        table = pl.DataFrame(
            {"feature": presence.names.gather(cells // n_classes), "class": cells % n_classes, "n": n}
        )
        tables.append(table.select(pl.lit(family.name).alias("family"), "feature", "class", "n"))
    return pl.concat(tables)


def wide(counts: pl.DataFrame, labels: Sequence[str]) -> pl.DataFrame:
    """Return one row per feature with a column per class, from the counts that are not 0."""
    columns = [f"{split}_{label}" for split in COUNTED_SPLITS for label in labels]
    keys = counts.select("family", "feature").unique().sort("family", "feature").with_row_index("row")
    row = counts.join(keys, on=["family", "feature"], how="left", maintain_order="left")["row"].to_numpy()
    dense: npt.NDArray[np.int64] = np.zeros((len(columns), keys.height), dtype=np.int64)
    dense[counts["class"].to_numpy(), row] = counts["n"].to_numpy()
    return keys.drop("row").with_columns(pl.Series(name, dense[i]) for i, name in enumerate(columns))

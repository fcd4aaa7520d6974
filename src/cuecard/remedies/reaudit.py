"""The cue audit repeated under weights, so that one sees which cues fall."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.audits import Cues
from cuecard.audits.cues.findings import NOTABLE_GAIN, adjusted_gain
from cuecard.audits.cues.statistics import CueTables, cue_tables
from cuecard.features import FAMILIES, ON_REQUEST, CueCounts, count_cues, learned
from cuecard.text import Encoded


@dataclass(frozen=True, eq=False)
class Reaudit:
    """Cues before and after: how many in all, and one row per feature that was significant in either."""

    summary: dict[str, Any]
    table: pl.DataFrame


def reaudit(
    encoded: Encoded,
    weights: npt.NDArray[np.float64],
    features: Sequence[str],
    regex: tuple[tuple[str, str], ...],
) -> Reaudit:
    """Return what the cue audit finds without and with the examples' weights, on the same tokens and scope.

    Looked at are the families of a plain audit and those named.
    """
    names = [name for name in FAMILIES.names() if name not in ON_REQUEST or name in features]
    audit = Cues(features=tuple(names), regex=regex)
    families = [learned(family, [encoded]) for family in audit.families()]
    relational = [family.name for family in families if getattr(family, "relational", False)]
    row_weights = weights[encoded.instances.example_codes]
    counts = {
        "before": count_cues(encoded, families, minimum=audit.min_count),
        "after": count_cues(encoded, families, minimum=audit.min_count, weights=row_weights),
    }
    tables = {when: cue_tables(part, min_count=audit.min_count) for when, part in counts.items()}
    return Reaudit(
        {when: _tally(tables[when], counts[when], relational) for when in tables},
        _joined(tables["before"], tables["after"], encoded.instances.labels),
    )


def _tally(tables: CueTables, counts: CueCounts, relational: Sequence[str]) -> dict[str, Any]:
    """Return how many features there are, are significant, and are strong, as an audit of one split counts them."""
    prior = dict(zip(counts.labels, tables.prior.tolist(), strict=True))
    significant = tables.cues.filter("significant")
    return {
        "features": tables.cues.height,
        "significant": significant.height,
        "strong": significant.filter(
            pl.col("is_cue") & ~pl.col("family").is_in(relational) & (adjusted_gain() >= NOTABLE_GAIN)
        ).height,
        "prior": prior,
    }


def _joined(before: CueTables, after: CueTables, labels: tuple[str, ...]) -> pl.DataFrame:
    keys = ["family", "feature"]
    shares = {
        label: pl.col(f"train_{label}") / pl.sum_horizontal(f"train_{name}" for name in labels)
        for label in labels
    }
    weighted = after.cues.select(
        *keys,
        label_after="label",
        q_after="q_value",
        significant_after="significant",
        **{f"_{i}": shares[label] for i, label in enumerate(labels)},
    )
    joined = before.cues.select(
        *keys,
        "label",
        count="train_count",
        share_before="share",
        q_before="q_value",
        significant_before="significant",
    ).join(weighted, on=keys, how="left", maintain_order="left")
    same_label = pl.coalesce(
        pl.when(pl.col("label") == label).then(pl.col(f"_{i}")) for i, label in enumerate(labels)
    )
    return (
        joined.with_columns(share_after=same_label, significant_after=pl.col("significant_after").fill_null(False))
        .filter(pl.col("significant_before") | pl.col("significant_after"))
        .select(
            *keys, "count", "label", "share_before", "share_after", "label_after",
            "q_before", "q_after", "significant_before", "significant_after",
        )
    )  # fmt: skip

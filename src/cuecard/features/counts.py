"""What the cue audit learns from a part of the data: a small summary that merges with those of other parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data import Instances
from cuecard.errors import CueCardError
from cuecard.features.family import Family, Presence, count_features
from cuecard.features.weighted_counts import weighted_table, weighted_within
from cuecard.text import Encoded, within_example_counts

#: The splits whose instances are counted apart: cues are found on the first and confirmed on the second.
COUNTED_SPLITS = ("train", "test")


NOTHING_WITHIN = pl.DataFrame(
    schema={"family": pl.String, "feature": pl.String}
    | dict.fromkeys(("k", "m", "examples", "right"), pl.Int64)
)


@dataclass(frozen=True, eq=False)
class CueCounts:
    """Counts of features by split and label, and for grouped tasks within examples.

    `features` has the columns family, feature, train_<label>…, test_<label>…; `within` (grouped tasks only) has
    family, feature, k, m, examples, right: among train examples with k instances of which m have the feature,
    how many there are, and in how many the right instance has it.

    Where instances have weights, counts and totals are sums of weights, `features` has the further column
    `SQUARED_WEIGHTS` of `weighted_counts`, and the counts of `within` are effective ones.
    """

    labels: tuple[str, ...]
    totals: npt.NDArray[np.int64] | npt.NDArray[np.float64]  # instances by split and label
    examples: int  # train examples
    features: pl.DataFrame
    within: pl.DataFrame | None = None
    skipped: Mapping[str, str] = field(default_factory=dict)

    def merge(self, other: CueCounts) -> CueCounts:
        """Return the counts of both parts together."""
        keys = ["family", "feature"]
        features = _summed([self.features, other.features], keys)
        within = None
        if self.within is not None and other.within is not None:
            within = _summed([self.within, other.within], [*keys, "k", "m"])
        return CueCounts(
            self.labels,
            self.totals + other.totals,
            self.examples + other.examples,
            features,
            within,
            {**self.skipped, **other.skipped},
        )


def count_cues(
    data: Encoded,
    families: Sequence[Family],
    *,
    minimum: int = 1,
    weights: npt.NDArray[np.float64] | None = None,
) -> CueCounts:
    """Return the counts of every family's features, leaving out those with fewer than `minimum` in train.

    With `weights`, one per instance, what is counted is weight; `minimum` is still a number of instances, so that
    the same features are looked at with and without weights.
    """
    instances = data.instances
    n_labels = len(instances.labels)
    classes = class_codes(instances)
    totals = np.bincount(classes, minlength=len(COUNTED_SPLITS) * n_labels).reshape(-1, n_labels)
    tables, within, skipped = [], [], {}
    for family in families:
        try:
            check_language(family, data.language)
            listed = instances.grouped or weights is not None
            presence = family.presence(data) if listed else None
            counted = (
                presence.counts(classes, totals.size)
                if presence is not None
                else count_features(family, data, classes, totals.size)
            )
        except CueCardError as error:
            skipped[family.name] = str(error)
            continue
        except Exception as error:  # a bug in a family of the user's own must not cost the other families
            skipped[family.name] = f"it failed with {type(error).__name__}: {error}"
            continue
        frequent = counted.counts[:, :n_labels].sum(axis=1) >= max(minimum, 1)
        if minimum <= 1:  # a part of a larger set: what is only in test here may be in train elsewhere
            frequent |= counted.counts.sum(axis=1) > 0
        kept = np.flatnonzero(frequent)
        table = _count_table(family.name, counted.names(kept), counted.counts[kept], instances.labels)
        if weights is not None and presence is not None:
            table = weighted_table(table, presence.columns(kept), classes, n_labels, weights)
        tables.append(table)
        if instances.grouped and presence is not None:
            within.append(
                _within_table(family.name, presence, kept, instances)
                if weights is None
                else weighted_within(family.name, presence.columns(kept), instances, weights)
            )
    if not tables:
        tables.append(
            _count_table(
                "", pl.Series([], dtype=pl.String), np.empty((0, totals.size), np.int64), instances.labels
            )
        )
    if weights is not None:
        totals = np.bincount(classes, weights=weights, minlength=totals.size).reshape(totals.shape)
    return CueCounts(
        labels=instances.labels,
        totals=totals,
        examples=instances.train.n_examples,
        features=pl.concat(tables),
        within=pl.concat(within) if within else (NOTHING_WITHIN if instances.grouped else None),
        skipped=skipped,
    )


def class_codes(instances: Instances) -> npt.NDArray[np.int32]:
    """Return split × label of every row as one number: train labels first, then test labels."""
    split = instances.table["split"].cast(pl.String)
    offset = (split != COUNTED_SPLITS[0]).to_numpy().astype(np.int32) * len(instances.labels)
    return instances.label_codes + offset


def check_language(family: Family, language: str) -> None:
    """Raise if a family does not work for texts of that language."""
    if family.languages is not None and language not in family.languages:
        known = ", ".join(sorted(family.languages))
        raise CueCardError(
            f"the family {family.name!r} works for {known}, and these texts look like {language!r}"
        )


def _count_table(
    family: str, names: pl.Series, counts: npt.NDArray[np.int64], labels: tuple[str, ...]
) -> pl.DataFrame:
    columns = [f"{split}_{label}" for split in COUNTED_SPLITS for label in labels]
    table = pl.DataFrame({"family": pl.Series([family]).new_from_index(0, len(names)), "feature": names})
    return table.with_columns(pl.Series(name, counts[:, i]) for i, name in enumerate(columns))


def _within_table(
    family: str, presence: Presence, kept: npt.NDArray[np.int64], instances: Instances
) -> pl.DataFrame:
    """Return how often the right row of a train example has a kept feature, by how many of its rows have it."""
    n_train = len(instances.train)  # train rows stand before test rows
    chosen = presence.columns(kept)
    counted = within_example_counts(
        chosen.indptr[: n_train + 1],
        chosen.indices[: chosen.indptr[n_train]],
        instances.example_codes[:n_train],
        instances.label_codes[:n_train] == 0,
        len(kept),
    )
    return pl.DataFrame(
        {
            "family": pl.Series([family]).new_from_index(0, len(counted.feature)),
            "feature": chosen.names.gather(counted.feature),
            "k": counted.size,
            "m": counted.having,
            "examples": counted.n_examples,
            "right": counted.n_right,
        }
    )


def _summed(tables: list[pl.DataFrame], keys: list[str]) -> pl.DataFrame:
    return pl.concat(tables).group_by(keys, maintain_order=True).agg(pl.all().sum())

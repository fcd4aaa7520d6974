"""The cue audit of a dataset whose texts stay on disk: counts of every piece, added up, and the rows of a few cues."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy import sparse

from cuecard.audits.cues.rows import CueRows, cue_matrix, rows_in_parts
from cuecard.audits.cues.sparse_counts import class_counts, split_counts, wide
from cuecard.audits.cues.sums import COMPLETE, KEYS, NO_UNITS, PartCopies, over_units
from cuecard.cache import content_key
from cuecard.data import Instances
from cuecard.data.units import UnitScope
from cuecard.engines import Stream, Sum, Summary, Sums, compact, new_array, sums_in
from cuecard.features import CueCounts, Family, LearningFamily, count_cues
from cuecard.features.counts import COUNTED_SPLITS, NOTHING_WITHIN
from cuecard.features.frequent import MOST_CLASSES, raised_minimum
from cuecard.features.units import (
    SQUARES,
    TEXTS,
    UnitLevel,
    cell_units,
    choice_correlation,
    most_correlated,
    text_prior,
    unit_levels,
    unit_scopes,
)
from cuecard.stats.arrays import Ints
from cuecard.stats.units import UnitCounts, has_repeats
from cuecard.stats.units.codes import counts_of_codes
from cuecard.text import Encoded, Scope

#: What the name of a level ends with where units are those of all texts that a question offers.
OFFERED = " offered"

_REASONS = {"family": pl.String, "reason": pl.String}


@dataclass(frozen=True, eq=False)
class Frequent:
    """Features by family that are counted by label, None for all; see `CueCounts` for the rest."""

    features: Mapping[str, pl.Series] | None = None
    raised: Mapping[str, int] = field(default_factory=dict)
    skipped: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class CueStream:
    """A dataset on disk as the cue audit looks at it.

    Attributes:
        stream: the dataset.
        encode: returns the tokens of some of its instances.
        unlearned: the feature families, before they have seen what they must.
        stage: what the names of its stages begin with.
    """

    stream: Stream
    encode: Callable[[Instances], Encoded]
    unlearned: Sequence[Family]
    language: str
    tokeniser: str
    scope: Scope
    minimum: int
    stage: str = "cues"

    def __getstate__(self) -> dict[str, object]:
        """Return what other machines need to look at a piece: nothing of the rows of others but their units."""
        needed = ("encode", "minimum", "families", "_frequent", "_scopes", "_levels", "_sizes")
        return {name: value for name, value in self.__dict__.items() if name in needed}

    @property
    def instances(self) -> Instances:
        """The instances of the splits that are counted, without their texts."""
        return self.stream.data.train_and_test

    @cached_property
    def families(self) -> list[Family]:
        """The feature families, after they have seen what they must."""
        learning = [family for family in self.unlearned if isinstance(family, LearningFamily)]
        fitted = {family.name: one for family, one in zip(learning, self._fitted(learning), strict=True)}
        return [fitted.get(family.name, family) for family in self.unlearned]

    def _fitted(self, families: Sequence[LearningFamily]) -> list[Family]:
        """Return families that have seen all instances, in one pass."""
        if not families:
            return []
        encode = self.encode

        def observe(part: Instances) -> list[Any] | None:
            if not len(part) or part.splits[0] not in COUNTED_SPLITS:
                return None
            encoded = encode(part)
            return [family.observe(encoded) for family in families]

        def merge(one: list[Any], other: list[Any]) -> list[Any]:
            return [a.merge(b) for a, b in zip(one, other, strict=True)]

        observed = self.stream.observed(observe, merge)
        return [family.fitted(each) for family, each in zip(families, observed, strict=True)]

    # Counts.

    def counts(self) -> CueCounts:
        """Return the counts of all features with `minimum` training instances, as if the dataset were in memory."""
        self.families, self._sizes, self._scopes, self._frequent  # noqa: B018  known before any piece is counted
        self.stream.each(self.stage, self._count, title="Counts of features", sums=self._sums)
        instances, store = self.stream.data.train_and_test, self.stream.store
        in_test = (instances.table["split"] != COUNTED_SPLITS[0]).to_numpy()
        totals = np.stack(
            [
                counts_of_codes(instances.label_codes[rows], len(instances.labels))
                for rows in (~in_test, in_test)
            ]
        )
        skipped = dict(self._frequent.skipped)
        for table in store.tables(self.stage, "skipped"):
            skipped |= {name: reason for name, reason in table.iter_rows() if name not in skipped}
        features, raised = self._features(skipped)
        within = None
        if instances.grouped:
            within = pl.concat([NOTHING_WITHIN, *self._summed("within")])
            within = within.join(features.select(KEYS), on=KEYS).sort(*KEYS, "k", "m")
        features = self._with_copies(features, within)
        priors, correlation = None, 1.0
        if not instances.grouped and self.repeated:
            codes = instances.train.label_codes
            priors = np.stack([text_prior(units, codes, totals[0]) for units in self.repeated.values()])
            correlation = max(levels[0].correlation for levels in self._levels.values())
        return CueCounts(
            instances.labels,
            totals,
            instances.train.n_examples,
            features,
            within,
            skipped,
            raised,
            text_priors=priors,
            copy_correlation=correlation,
        )

    @cached_property
    def repeated(self) -> dict[UnitScope, Ints]:
        """The units of all training rows, for each kind of text of which some have copies."""
        train = self.instances.train
        examples = train.example_codes if train.grouped else None
        kept: dict[UnitScope, Ints] = {}
        for family in self.unlearned:
            for scope in unit_scopes(family, train, self.scope):
                if scope not in kept and has_repeats(units := train.units(scope), examples):
                    kept[scope] = units
        return kept

    @cached_property
    def _levels(self) -> dict[UnitScope, list[UnitLevel]]:
        """The levels at which training rows may be copies of each other, by kind of text; questions have one."""
        if self.instances.grouped:
            train, repeated = self.instances.train, self.repeated.items()
            return {
                scope: [UnitLevel(units, choice_correlation(train, units), 0.0, 0.0)]
                for scope, units in repeated
            }
        totals = np.bincount(self.instances.train.label_codes, minlength=len(self.instances.labels))
        return unit_levels(self.instances, self.repeated, totals)

    @cached_property
    def _sizes(self) -> dict[tuple[UnitScope, int], Ints]:
        """The number of rows of every unit, by kind of text and level."""
        every = {
            (scope, i): level.codes
            for scope, levels in self._levels.items()
            for i, level in enumerate(levels)
        }

        def write(folder: Path) -> None:
            for (scope, i), codes in every.items():
                sizes = np.bincount(codes)
                new_array(folder, f"{scope} {i}", np.int64, len(sizes))[:] = sizes

        sizes = self.stream.store.arrays(f"sizes {content_key({'of': [*map(str, every)]})}", write)
        return {(scope, i): sizes[f"{scope} {i}"] for scope, i in every}

    @cached_property
    def _scopes(self) -> dict[str, list[UnitScope]]:
        """The kinds of texts whose copies are one observation of a family's features, by family."""
        instances, most = self.instances, 1 if self.instances.grouped else None
        return {
            family.name: [s for s in unit_scopes(family, instances, self.scope) if s in self.repeated][:most]
            for family in self.unlearned
        }

    def _count(self, part: Instances, start: int) -> Summary:
        """Return the counts of a part, and where its texts have copies, those of every text."""
        if not len(part) or part.splits[0] not in COUNTED_SPLITS:
            return {}
        encoded = self.encode(part)
        if self._frequent.features is not None:
            features = class_counts(encoded, self.families, self._frequent.features)
            used = [family for family in self.families if family.name in self._frequent.features]
            in_train = part.splits[0] == COUNTED_SPLITS[0]
            return {"features": features, **(self._copies(encoded, used, start) if in_train else {})}
        counts = count_cues(encoded, self.families, copies=False)
        tables = {
            "features": counts.features.drop(TEXTS, SQUARES),
            "skipped": pl.DataFrame(list(counts.skipped.items()), schema=_REASONS, orient="row"),
        }
        if counts.within is not None:
            tables["within"] = counts.within
        if part.splits[0] == COUNTED_SPLITS[0]:
            used = [family for family in self.families if family.name not in counts.skipped]
            tables |= self._copies(encoded, used, start)
        return tables

    def _copies(self, encoded: Encoded, families: Sequence[Family], start: int) -> Summary:
        """Return how many rows (and cells of examples) with each feature belong to every text with copies."""
        part = encoded.instances
        tables: dict[str, list[pl.DataFrame]] = {}
        for family in families:
            scopes = self._scopes[family.name]
            if not scopes:
                continue
            presence = family.presence(encoded)
            row = presence.rows()
            for scope in scopes:
                for i, level in enumerate(self._levels[scope]):
                    # Train rows stand first, in memory as on disk.
                    units, sizes = level.codes[start : start + len(part)], self._sizes[scope, i]
                    copies = PartCopies(units, sizes, family.name, presence.names)
                    copied = sizes[units[row]] > 1
                    counted = copies.counted(presence.indices[copied], units[row[copied]], f"{scope} {i}")
                    for kind, table in counted.items():
                        tables.setdefault(f"copies{kind}", []).append(table)
                    if part.grouped:
                        cells = cell_units(presence, part.example_codes, units, sizes)
                        mixed = cells.filter(pl.col("m") < pl.col("k"))
                        for name, suffix in (("unit", ""), ("offered", OFFERED)):
                            theirs = mixed[name].to_numpy()
                            copied = sizes[theirs] > 1
                            features = mixed["feature"].to_numpy()[copied]
                            counted = copies.counted(features, theirs[copied], f"{scope} {i}{suffix}")
                            for kind, table in counted.items():
                                tables.setdefault(f"cells{kind}", []).append(table)
        return {name: pl.concat(parts) for name, parts in tables.items()}

    # Sums.

    @cached_property
    def _frequent(self) -> Frequent:
        """The features that are counted by label: all, or with many labels those that are frequent enough."""
        labels = self.instances.labels
        n_classes = len(COUNTED_SPLITS) * len(labels)
        if n_classes <= MOST_CLASSES or self.instances.grouped:
            return Frequent()

        def count(part: Instances, start: int) -> Summary:
            if not len(part) or part.splits[0] not in COUNTED_SPLITS:
                return {}
            counts, skipped = split_counts(self.encode(part), self.families)
            reasons = pl.DataFrame(list(skipped.items()), schema=_REASONS, orient="row")
            return {"counts": counts, "skipped": reasons}

        stage = f"{self.stage} frequencies"
        sums = Sum((*KEYS,), "feature", partial(_at_least, self.minimum, ["n"]))
        self.stream.each(stage, count, title="Frequencies of features", sums={"counts": sums})
        counts = pl.concat(sums_in(self.stream.store, stage, "counts", sums))
        skipped: dict[str, str] = {}
        for table in self.stream.store.tables(stage, "skipped"):
            skipped |= {name: reason for name, reason in table.iter_rows() if name not in skipped}
        features, raised = {}, {}
        for family in self.families:
            own = counts.filter(pl.col("family") == family.name)
            least = raised_minimum(own["n"].to_numpy(), self.minimum, n_classes)
            if least > self.minimum:
                raised[family.name] = least
            if family.name not in skipped:
                features[family.name] = own.filter(pl.col("n") >= least)["feature"]
        return Frequent(features, raised, skipped)

    def _features(self, skipped: Mapping[str, str]) -> tuple[pl.DataFrame, Mapping[str, int]]:
        """Return the counts of frequent features over all pieces, and where more than `minimum` was asked of them."""
        features = pl.concat(self._summed("features"))
        if self._frequent.features is not None:
            return wide(features, self.instances.labels), self._frequent.raised
        n_classes = len(COUNTED_SPLITS) * len(self.instances.labels)
        in_train = pl.sum_horizontal(f"train_{label}" for label in self.instances.labels)
        kept, raised = [], {}
        for family in self.families:
            own = features.filter((pl.col("family") == family.name) & (family.name not in skipped))
            counts = own.select(in_train.cast(pl.Int64)).to_series().to_numpy()
            least = raised_minimum(counts, self.minimum, n_classes)
            if least > self.minimum:
                raised[family.name], own = least, compact(own.filter(in_train >= least))
            kept.append(own)
        return pl.concat(kept), raised

    def _with_copies(self, features: pl.DataFrame, within: pl.DataFrame | None) -> pl.DataFrame:
        """Return the features with their number of texts, and the squares by which their instances count."""
        in_train = pl.sum_horizontal(f"train_{label}" for label in self.instances.labels)
        of_rows, of_cells = (self._in_units(name) for name in ("copies", "cells"))
        parts = []
        for family in self.families:
            own = features.filter(pl.col("family") == family.name)
            totals = own.select(in_train.cast(pl.Int64)).to_series().to_numpy()
            kinds = [self._levels[scope] for scope in self._scopes[family.name]]
            named = [
                f"{scope} {i}" for scope in self._scopes[family.name] for i in range(len(self._levels[scope]))
            ]
            each = [_unit_counts(own, totals, of_rows, level) for level in named]
            if within is None:
                texts, squares = most_correlated(totals, kinds, each)
            else:
                mixed = (
                    within.filter(pl.col("m") < pl.col("k")).group_by(KEYS).agg(n=pl.col("examples").sum())
                )
                informative = _joined(own, mixed)["n"].to_numpy()
                texts, squares = totals, informative.astype(np.float64)
                for copies, level, [kind] in zip(each, named, kinds, strict=True):
                    squares, together = (
                        _unit_counts(own, informative, of_cells, f"{level}{suffix}").squares
                        for suffix in ("", OFFERED)
                    )
                    texts = copies.units
                    squares = np.maximum(squares, informative + kind.correlation * (together - informative))
            parts.append(own.with_columns(pl.Series(TEXTS, texts), pl.Series(SQUARES, squares, pl.Float64)))
        return pl.concat(parts)

    def _in_units(self, name: str) -> pl.DataFrame:
        """Return for every feature and level its units with copies, their rows, these squared, and times all rows."""
        sums = pl.concat([NO_UNITS, *self._summed(name), *self._summed(name + COMPLETE)])
        return sums.group_by(*KEYS, "level").agg(pl.all().sum())

    def _summed(self, name: str) -> Iterator[pl.DataFrame]:
        return sums_in(self.stream.store, self.stage, name, self._sums[name])

    @cached_property
    def _sums(self) -> Sums:
        """How the counts of pieces are added up."""
        if self._frequent.features is None:
            in_train = [f"train_{label}" for label in self.instances.labels]
            features = Sum((*KEYS,), "feature", partial(_at_least, self.minimum, in_train))
        else:
            features = Sum((*KEYS, "class"), "feature")
        sums = {"features": features, "within": Sum((*KEYS, "k", "m"), "feature")}
        for name in ("copies", "cells"):
            sums[name] = Sum((*KEYS, "level", "unit"), "feature", over_units)
            sums[name + COMPLETE] = Sum((*KEYS, "level"), "feature")
        return sums

    # Rows of single cues.

    def rows(self, cues: pl.DataFrame) -> CueRows:
        """Return which instances have which of the cues: instances × rows of `cues`."""

        def found(part: Instances) -> sparse.csc_matrix | None:
            counted = len(part) and part.splits[0] in COUNTED_SPLITS
            return cue_matrix(self.encode(part), self.families, cues) if counted else None

        stage = f"{self.stage} rows {content_key({'cues': cues.select(KEYS).rows()})}"
        return rows_in_parts(self.stream, stage, found, cues.height)

    def lengths(self) -> Ints:
        """Return the number of tokens of every training row."""

        def count(part: Instances, start: int) -> Summary:
            if not len(part) or part.splits[0] != COUNTED_SPLITS[0]:
                return {}
            return {"lengths": pl.DataFrame({"tokens": self.encode(part).scoped.lengths.astype(np.int64)})}

        stage = f"{self.stage} lengths"
        self.stream.each(stage, count, title="Lengths")
        return pl.concat(self.stream.store.tables(stage, "lengths"))["tokens"].to_numpy()


def _at_least(minimum: int, columns: list[str], table: pl.DataFrame) -> pl.DataFrame:
    """Return the rows whose numbers add up to a minimum."""
    return compact(table.filter(pl.sum_horizontal(columns) >= minimum))


def _unit_counts(features: pl.DataFrame, totals: Ints, in_units: pl.DataFrame, level: str) -> UnitCounts:
    """Return the units of every feature at one level; rows that are no copies are units of their own."""
    own = _joined(features, in_units.filter(pl.col("level") == level))
    single = totals - own["n"].to_numpy()
    units, squares, crossed = (own[name].to_numpy() + single for name in ("units", "squares", "crossed"))
    nothing = np.zeros((len(single), 1))
    return UnitCounts(
        units, squares.astype(np.float64), nothing.astype(np.int64), nothing, crossed.astype(np.float64)
    )


def _joined(features: pl.DataFrame, table: pl.DataFrame) -> pl.DataFrame:
    """Return a table's numbers for every feature, 0 where it has none."""
    return features.select(KEYS).join(table, on=KEYS, how="left", maintain_order="left").fill_null(0)

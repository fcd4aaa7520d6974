"""Which examples have which cues of a card, with the label the cue predicts or against it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from scipy import sparse

from cuecard.audits import Cues
from cuecard.audits.cues.findings import cue_gain
from cuecard.audits.cues.statistics import POINTS_TO
from cuecard.data import Instances
from cuecard.data.examples import Bools, Examples, Floats, Ints
from cuecard.probes.cue_members import presence_of
from cuecard.stats.removal import feature_z

#: A cue counts as strong if the nearer end of its share's interval is this far from the label's prior.
STRONG_GAIN = 0.10
#: An example that contradicts one of these many strongest cues of a label is never proposed for removal.
STRONGEST = 50
REASONS_SHOWN = 3
#: No feature with a smaller |z| is ever a cue.
LEAST_CRITICAL = 1.96


@dataclass(frozen=True, eq=False)
class CueEvidence:
    """Examples × features: how far each example speaks for a feature's association (positive) or against it (negative).

    `features` has a row per feature that is frequent enough to be a cue: family, feature, label, direction, z,
    significant, strong (by its share, see `STRONG_GAIN`). `instances` has which rows of the data have each.
    """

    examples: Examples
    features: pl.DataFrame
    instances: Any
    deviations: Any
    variances: Any

    @cached_property
    def z(self) -> Floats:
        """The z of every feature over all splits; positive in the direction that the card states."""
        return feature_z(self.deviations, self.variances)

    @cached_property
    def cues(self) -> Ints:
        """The numbers of the features that are significant."""
        return np.flatnonzero(self.features["significant"].to_numpy()).astype(np.int64)

    @cached_property
    def critical(self) -> float:
        """The |z| from which a feature is a cue on this card: that of the weakest cue, or of what is nearly one."""
        z, significant = self.features["z"].abs().to_numpy(), self.features["significant"].to_numpy()
        weakest = z[significant].min(initial=np.inf)
        return float(max(LEAST_CRITICAL, min(weakest, z[~significant].max(initial=LEAST_CRITICAL))))

    @cached_property
    def contradicts(self) -> Bools:
        """Which examples contradict one of the strongest cues of its label: these break the shortcut."""
        ranked = self.features.with_row_index("at").filter("strong")
        rank = pl.col("z").abs().rank("ordinal", descending=True).over("label", "direction")
        strongest = ranked.filter(rank <= STRONGEST)["at"].cast(pl.Int64).to_numpy()
        against = sparse.csr_matrix(self.deviations[:, strongest] < 0)
        return np.asarray(against.sum(axis=1)).ravel() > 0

    def reasons(self, example: int) -> str:
        """Return the cues by which a shortcut finds the right answer of an example, the strongest first."""
        start, end = self.deviations.indptr[example : example + 2]
        columns = self.deviations.indices[start:end][self.deviations.data[start:end] > 0]
        columns = columns[np.isin(columns, self.cues)]
        strongest = columns[np.argsort(-self.z[columns], kind="stable")][:REASONS_SHOWN]
        rows = self.features[strongest.tolist()] if len(strongest) else self.features.clear()
        return "; ".join(
            f"{'' if family == 'word' else family + ': '}{feature} {'→' if way == POINTS_TO else 'not'} {label}"
            for family, feature, label, way in rows.select(
                "family", "feature", "label", "direction"
            ).iter_rows()
        )


def cue_evidence(data: Instances, audit: Cues, table: pl.DataFrame) -> CueEvidence:
    """Return which examples have the features of a table that the audit made, in all splits."""
    cues = table.filter("is_cue").select(
        "family",
        "feature",
        "label",
        "direction",
        "z",
        "significant",
        strong=pl.col("significant") & (cue_gain() >= STRONG_GAIN),
    )
    encoded, families = audit.prepared(data)
    having = presence_of(cues, encoded, families)
    examples = Examples(data)
    row, column, hit, chance = _entries(examples, having, cues)
    sign = np.where(cues["direction"].to_numpy() == POINTS_TO, 1.0, -1.0)[column]
    shape = (len(examples), cues.height)
    deviations = sparse.csr_matrix((sign * (hit - chance), (row, column)), shape=shape)
    variances = sparse.csr_matrix((chance * (1 - chance), (row, column)), shape=shape)
    return CueEvidence(examples, cues, having, deviations, variances)


def _entries(examples: Examples, having: Any, cues: pl.DataFrame) -> tuple[Ints, Ints, Floats, Floats]:
    """Return example, cue, whether the example has the cue's label, and how likely that is by chance."""
    data = examples.instances
    codes = np.array([data.labels.index(label) for label in cues["label"]], dtype=np.int64)
    if not data.grouped:
        entries = sparse.coo_matrix(having)
        prior = np.bincount(examples.gold, minlength=len(data.labels)) / max(len(examples), 1)
        wanted = codes[entries.col]
        return (
            entries.row.astype(np.int64),
            entries.col.astype(np.int64),
            (examples.gold[entries.row] == wanted).astype(np.float64),
            prior[wanted],
        )
    group = sparse.csr_matrix(
        (np.ones(len(data)), (data.example_codes, np.arange(len(data)))), shape=(len(examples), len(data))
    )
    counted = sparse.coo_matrix(group @ having)
    some = counted.data < examples.sizes[counted.row]
    row, column, with_cue = counted.row[some], counted.col[some], counted.data[some]
    right_has = np.asarray(having[examples.right_rows[row], column]).ravel() if len(row) else np.empty(0)
    chance = with_cue / examples.sizes[row]
    # A cue of wrong choices is confirmed where the right one lacks it.
    of_right = codes[column] == 0
    return (
        row.astype(np.int64),
        column.astype(np.int64),
        np.where(of_right, right_has, 1 - right_has).astype(np.float64),
        np.where(of_right, chance, 1 - chance),
    )

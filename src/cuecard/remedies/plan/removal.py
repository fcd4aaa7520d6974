"""Which examples carry the cues of a card, in which order to remove them, and what their removal does to a measure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
import polars as pl
from scipy import sparse
from scipy.special import ndtri_exp

from cuecard.analysis import Measure
from cuecard.audits import Cues
from cuecard.audits.cues.audit import CUES, NAME
from cuecard.audits.cues.findings import cue_gain
from cuecard.audits.cues.statistics import POINTS_TO
from cuecard.data import Instances
from cuecard.data.examples import Bools, Examples, Floats, Ints
from cuecard.probes.cues.members import informative_cells, presence_of
from cuecard.stats.entropy_balancing import entropy_balance
from cuecard.stats.removal import feature_z, weight_order, z_order

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

    `features` has a row per feature that is frequent enough to be a cue: family, feature, label, direction, z, log10_p,
    significant, strong (by its share, see `STRONG_GAIN`). `instances` has which rows of the data have each.
    """

    examples: Examples
    features: pl.DataFrame
    instances: sparse.csr_matrix
    deviations: sparse.csr_matrix
    variances: sparse.csr_matrix

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
        "log10_p",
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


def _entries(
    examples: Examples, having: sparse.csr_matrix, cues: pl.DataFrame
) -> tuple[Ints, Ints, Floats, Floats]:
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
    row, column, with_cue, right_has = informative_cells(having, examples)
    chance = with_cue / examples.sizes[row]
    # A cue of wrong choices is confirmed where the right one lacks it.
    of_right = codes[column] == 0
    return (
        row,
        column,
        np.where(of_right, right_has, ~right_has).astype(np.float64),
        np.where(of_right, chance, 1 - chance),
    )


Method = Literal["weights", "z-filter", "aflite", "random"]
METHODS: tuple[Method, ...] = get_args(Method)
#: Number of rounds in which AFLite removes the easiest examples; it retrains after each.
ROUNDS = 5
#: Where cues are to go, they are brought to this share of the z of the weakest of them; where a model's accuracy is to
#: fall, which adds up many weak features, all features are brought to a z of chance.
BELOW, BY_CHANCE = 0.9, 1.0
#: The smallest effective sample size that the weights may leave.
LEAST_SAMPLE = 0.2

#: Return how likely the right answer of each of some examples is for a model that did not see it.
Score = Callable[[Ints], Floats]


def removal_order(
    method: Method,
    evidence: CueEvidence,
    allowed: Bools,
    *,
    score: Score,
    most: int,
    every_feature: bool = False,
    seed: int = 0,
) -> Ints:
    """Return the examples in the order in which to change them; those not allowed are left out.

    Args:
        method: weights, z-filter, aflite or random.
        evidence: which examples have which cues.
        allowed: the examples that may be proposed.
        score: fits a shortcut model on some examples, for AFLite.
        most: the largest number of examples that will be changed.
        every_feature: remove the associations of all features, not only those of cues.
        seed: of what is drawn.
    """
    if method == "random":
        return np.random.default_rng(seed).permutation(np.flatnonzero(allowed)).astype(np.int64)
    if method == "z-filter":
        target = BY_CHANCE if every_feature else BELOW * evidence.critical
        return z_order(evidence.deviations, evidence.variances, allowed, target)
    if method == "weights":
        return weight_order(balancing_weights(evidence, every_feature), allowed, seed=seed)
    return _aflite(allowed, score, most)


def balancing_weights(evidence: CueEvidence, every_feature: bool = False) -> Floats:
    """Return weights of the examples under which features do not predict the label, the closest to equal ones."""
    examples, data = evidence.examples, evidence.examples.instances
    least = BY_CHANCE if every_feature else BELOW * evidence.critical
    balanced_features = np.flatnonzero(np.abs(evidence.features["z"].to_numpy()) >= least)
    if not len(balanced_features):
        return np.ones(len(examples))
    balanced = entropy_balance(
        evidence.instances[:, balanced_features],
        data.label_codes,
        target="overall",
        groups=data.example_codes if data.grouped else None,
        min_ess=LEAST_SAMPLE,
        balance_labels=not data.grouped,
    )
    return balanced.weights[examples.first_rows[:-1]]


def _aflite(allowed: Bools, score: Score, most: int) -> Ints:
    """Return the examples by how easily a model that did not see them predicts them, learned again after each round."""
    left = np.ones(len(allowed), dtype=np.bool_)
    order: list[Ints] = []
    for _ in range(ROUNDS):
        here = np.flatnonzero(left)
        candidates = here[allowed[here]]
        if not len(candidates):
            break
        easiness = np.zeros(len(allowed))
        easiness[here] = score(here)
        slice_size = max(1, -(-most // ROUNDS))
        easiest = candidates[np.argsort(-easiness[candidates], kind="stable")][:slice_size]
        order.append(easiest)
        left[easiest] = False
    return np.concatenate([*order, np.empty(0, dtype=np.int64)]).astype(np.int64)


def predicted_value(
    table: pl.DataFrame, evidence: CueEvidence, measure: Measure, removed: Ints
) -> float | None:
    """Return the value of a measure without some examples, or None where it cannot be told without an audit.

    An accuracy is that of the same answers on the examples left: a model trained on them will find other words. A
    number of cues counts those that are still as significant as the weakest cue, if the z that belongs to a p-value
    (which counts copies as one observation) changes as the recounted z does. `table` is the card's table of examples.
    """
    if measure.solved:
        return _accuracy(table, measure, evidence.examples, removed)
    if measure.name == CUES.named(NAME) and len(evidence.cues):
        kept = np.ones(len(evidence.examples), dtype=np.bool_)
        kept[removed] = False
        train = evidence.examples.in_split("train")
        before, after = (
            np.abs(feature_z(evidence.deviations[rows], evidence.variances[rows]))
            for rows in (train, train & kept)
        )
        tested = -ndtri_exp(evidence.features["log10_p"].to_numpy() * np.log(10) - np.log(2))
        recounted = tested * np.divide(after, before, out=np.ones_like(after), where=before > 0)
        may_be = evidence.features["significant"].to_numpy() | (after > before)
        return float((may_be & (recounted >= tested[evidence.cues].min())).sum())
    return None


def _accuracy(table: pl.DataFrame, measure: Measure, examples: Examples, removed: Ints) -> float | None:
    """Return the share of what was solved, above chance where the measure is in points."""
    column = measure.solved
    if column not in table.columns:
        return None
    scored = examples.in_split("test") if "test" in set(examples.splits) else examples.in_split("train")
    scored = scored & table[column].is_not_null().to_numpy()
    scored[removed] = False
    if not scored.any():
        return None
    accuracy = float(table[column].filter(pl.Series(scored)).to_numpy().mean())
    if measure.unit != "points":
        return accuracy
    if examples.grouped:
        return accuracy - float((1 / examples.sizes[scored]).mean())
    gold = examples.gold[scored]
    return accuracy - float(np.bincount(gold).max() / len(gold))

"""What removing examples does to a measure if nothing is learned again: exact for counts, too hopeful for models."""

from __future__ import annotations

import numpy as np
import polars as pl

from cuecard.analysis import Measure
from cuecard.audits.cues.measures import CUES, NAME
from cuecard.data.examples import Examples, Ints
from cuecard.remedies.plan.cue_evidence import CueEvidence
from cuecard.stats.removal import feature_z


def predicted_value(
    table: pl.DataFrame, evidence: CueEvidence, measure: Measure, removed: Ints
) -> float | None:
    """Return the value of a measure without some examples, or None where it cannot be told without an audit.

    An accuracy is that of the same answers on the examples left: a model trained on them will find other words. A
    number of cues counts those whose z, recounted, is still as large as that of the weakest cue. `table` is the card's
    table of examples.
    """
    if measure.solved:
        return _accuracy(table, measure, evidence.examples, removed)
    if measure.name == CUES.named(NAME) and len(evidence.cues):
        kept = np.ones(len(evidence.examples), dtype=np.bool_)
        kept[removed] = False
        train = kept & evidence.examples.in_split("train")
        z = feature_z(evidence.deviations[train], evidence.variances[train])
        return float((np.abs(z) >= evidence.critical).sum())
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

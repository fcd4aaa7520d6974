"""What removing examples does to a measure if nothing is learned again: exact for counts, too hopeful for models."""

from __future__ import annotations

import numpy as np
import polars as pl

from cuecard.analysis import Measure
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
    section, _, rest = measure.name.partition(".")
    if section == "partial_input":
        shortcut, _, kind = rest.partition(".")
        if kind in ("accuracy", "excess"):
            return _accuracy(table, f"solved_{shortcut}", kind, evidence.examples, removed)
    if measure.name == "cues.cues" and len(evidence.cues):
        kept = np.ones(len(evidence.examples), dtype=np.bool_)
        kept[removed] = False
        train = kept & evidence.examples.in_split("train")
        z = feature_z(evidence.deviations[train], evidence.variances[train])
        return float((np.abs(z) >= evidence.critical).sum())
    return None


def _accuracy(table: pl.DataFrame, column: str, kind: str, examples: Examples, removed: Ints) -> float | None:
    if column not in table.columns:
        return None
    scored = examples.in_split("test") if "test" in set(examples.splits) else examples.in_split("train")
    scored = scored & table[column].is_not_null().to_numpy()
    scored[removed] = False
    if not scored.any():
        return None
    accuracy = float(table[column].filter(pl.Series(scored)).to_numpy().mean())
    if kind == "accuracy":
        return accuracy
    if examples.grouped:
        return accuracy - float((1 / examples.sizes[scored]).mean())
    gold = examples.gold[scored]
    return accuracy - float(np.bincount(gold).max() / len(gold))

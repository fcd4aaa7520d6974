"""The tables of a balance: every feature before and after, and those that stay unbalanced with the reason."""

from __future__ import annotations

import numpy as np
import polars as pl

from cuecard.features.cue_names import spoken_cue
from cuecard.remedies.lexical.balance_problem import Balanced, BalanceProblem
from cuecard.stats.arrays import Floats
from cuecard.stats.entropy_balancing import BalancedWeights, UnbalancedFeature
from cuecard.wording import listed, plural

#: A share that is off by more than this is not balanced.
OFF_TARGET = 1e-4
NAMED_OPPONENTS = 3


def balance_table(problem: BalanceProblem, weights: Floats, target: Floats) -> pl.DataFrame:
    """Return one row per feature of a problem: its label shares with equal weights (before) and with these (after).

    `off_before` and `off_after` are the paper's label balance: the mean over labels of |share − target|.
    """
    before = problem.shares(np.ones(len(weights)))
    after = problem.shares(weights)
    columns = {
        "constrained": problem.with_every_label(),
        "off_before": np.abs(before - target).mean(axis=1),
        "off_after": np.abs(after - target).mean(axis=1),
    }
    for part, shares in (("before", before), ("after", after)):
        columns |= {f"{part}_{label}": shares[:, i] for i, label in enumerate(problem.label_names)}
    table = problem.features.with_columns(pl.Series(name, values) for name, values in columns.items())
    return table.sort("off_before", "feature", descending=[True, False], nulls_last=True, maintain_order=True)


def unbalanced_table(balanced: Balanced) -> pl.DataFrame:
    """Return one row per feature that stays off target: how far, why, and the proof in words where there is one."""
    features, names = balanced.problem.features, balanced.problem.label_names
    rows = []
    for entry in _unbalanced(balanced):
        row = features.row(entry.feature, named=True)
        rows.append(
            (
                row["family"],
                row["feature"],
                row["count"],
                entry.reason,
                entry.residual,
                _proof(entry, features, names),
            )
        )
    schema = {
        "family": pl.String,
        "feature": pl.String,
        "count": pl.Int64,
        "reason": pl.String,
        "largest_off": pl.Float64,
        "proof": pl.String,
    }
    table = pl.DataFrame(rows, schema=schema, orient="row")
    return table.sort("largest_off", "feature", descending=[True, False], maintain_order=True)


def _unbalanced(balanced: Balanced) -> tuple[UnbalancedFeature, ...]:
    if isinstance(balanced.solution, BalancedWeights):
        return balanced.solution.unbalanced
    off = np.abs(balanced.problem.shares(balanced.weights) - balanced.target).max(axis=1)
    everywhere = balanced.problem.with_every_label()
    return tuple(
        UnbalancedFeature(
            int(j), ("not reached" if everywhere[j] else "absent label"), float(off[j]), certificate=None
        )
        for j in np.flatnonzero((off > OFF_TARGET) | ~everywhere)
    )


def _proof(entry: UnbalancedFeature, features: pl.DataFrame, labels: tuple[str, ...]) -> str | None:
    certificate = entry.certificate
    if certificate is None:
        return None
    if entry.reason == "absent label":
        never = int(np.argmax(np.abs(certificate.multipliers[0])))
        return f"it never occurs with {labels[never]}"
    # The column after the last feature is the constraint on the labels themselves.
    others = certificate.features[
        (certificate.features != entry.feature) & (certificate.features < features.height)
    ]
    named = [spoken_cue(*features.select("family", "feature").row(int(j))) for j in others[:NAMED_OPPONENTS]]
    limit = f" with no weight above {certificate.max_weight:g}" if certificate.max_weight is not None else ""
    if not named:
        return f"no weights balance it{limit}"
    more = f", {len(others) - len(named)} more" if len(others) > len(named) else ""
    return f"no weights balance it together with {plural(len(others), 'other feature')}{limit}: {listed(named)}{more}"

"""How well a balance carries over to examples it was not made from, and the ridge for which it does so best."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import polars as pl

from cuecard.analysis import Finding
from cuecard.remedies.lexical.balance_problem import BalanceProblem
from cuecard.stats.entropy_balancing import RIDGES, HeldOut, held_out_balance
from cuecard.wording import percent

#: What to give as ridge to have it chosen by cross-validation.
CROSS_VALIDATED = "cv"
#: A softer balance gets a sentence if its held-out Err is lower by this much, a fifth of a point.
NOTABLE = 0.002


def held_out(
    problem: BalanceProblem,
    *,
    target: Literal["uniform", "overall"],
    ridge: float | None,
    max_weight: float | None,
    seed: int,
) -> HeldOut:
    """Return Err on held-out halves of the examples for several ridges, that of the weights among them."""
    ridges = RIDGES if ridge is None else sorted({*RIDGES, ridge})
    return held_out_balance(
        problem.matrix_in_memory,
        problem.labels,
        target="uniform" if problem.groups is not None else target,
        ridges=ridges,
        groups=problem.groups,
        max_weight=max_weight,
        seed=seed,
    )


def held_out_table(held_out: HeldOut) -> pl.DataFrame:
    """Return held-out Err and effective sample size by ridge."""
    return pl.DataFrame({"ridge": held_out.ridges, "err": held_out.err, "ess": held_out.ess})


def held_out_summary(held_out: HeldOut, ridge: float) -> dict[str, Any]:
    """Return what weights of this ridge do for held-out examples, beside the best ridge and what sampling leaves."""
    return {
        "err": held_out.at(ridge),
        "unweighted": held_out.unweighted,
        "floor": held_out.floor,
        "best_ridge": held_out.best,
        "best_err": float(held_out.err.min()),
        "best_ess": float(held_out.ess[int(np.argmin(held_out.err))]),
    }


def held_out_finding(summary: dict[str, Any], *, chosen: bool) -> Finding:
    """Return how far label shares are off on examples that the weights were not made from."""
    text = (
        "Weights fitted on one half of the examples and applied to the other half change the mean distance of its "
        f"label shares from the target from {_points(summary['unweighted'])} to {_points(summary['err'])}; "
        f"{_points(summary['floor'])} is expected from sampling."
    )
    if chosen:
        text += f" The ridge {summary['best_ridge']:g} is chosen by cross-validation on this distance."
    elif summary["err"] - summary["best_err"] >= NOTABLE:
        text += (
            f" A ridge of {summary['best_ridge']:g} reaches {_points(summary['best_err'])} with an effective sample "
            f"size of {percent(summary['best_ess'])}: exact balance overfits the noise in its own examples (--ridge cv "
            "prevents this)."
        )
    return Finding(
        "lexical_weights", "info", "Balance on held-out examples", text, value=summary["err"], chance=summary["floor"],
        unit="points", key="held-out",
    )  # fmt: skip


def _points(share: float) -> str:
    return f"{100 * share:.1f} points"

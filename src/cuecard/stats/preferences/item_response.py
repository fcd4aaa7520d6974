"""Two-parameter item response model: how able models are, and how hard and how telling examples are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuecard.stats.arrays import Floats

__all__ = ["ItemResponse", "item_response"]

_ROUNDS, _STEPS = 40, 3
#: Priors: abilities N(0, 1), discriminations N(1, 0.7²), intercepts N(0, 2²).
_MEAN_A, _SD_A, _SD_D = 1.0, 0.7, 2.0


@dataclass(frozen=True, eq=False)
class ItemResponse:
    """Ability of every model, and discrimination and difficulty of every example (posterior modes)."""

    ability: Floats
    discrimination: Floats
    """Below 0 where abler models are wrong more often: a sign of a wrong key."""
    intercept: Floats
    """Log odds that a model of ability 0 is right; difficulty is −intercept / discrimination."""

    def probabilities(self) -> Floats:
        """Return models × examples, the fitted probability of a right answer."""
        return _logistic(self.ability[:, None] * self.discrimination + self.intercept)


def item_response(correct: npt.ArrayLike) -> ItemResponse:
    """Fit P(model m answers example i correctly) = logistic(a_i · θ_m + d_i) to a table of models × examples.

    Abilities and examples are fitted in turn by Newton steps with weak normal priors, which keep examples that all or
    none solve finite. Abilities are scaled to mean 0 and standard deviation 1.

    >>> answers = np.array([[0, 0, 0, 1], [1, 0, 0, 1], [1, 1, 0, 1], [1, 1, 1, 0]])
    >>> item_response(answers).ability.argsort().tolist()
    [0, 1, 2, 3]
    >>> bool(item_response(answers.repeat(3, axis=0)).discrimination[3] < 0)
    True
    """
    y = np.asarray(correct, np.float64)
    if y.ndim != 2 or y.shape[0] < 2:
        raise ValueError("correct must be models × examples, with at least two models")
    share = y.mean(axis=1)
    ability = _standardised(np.log((share + 0.02) / (1.02 - share)))
    a, d = np.full(y.shape[1], _MEAN_A), np.zeros(y.shape[1])
    for _ in range(_ROUNDS):
        before = ability
        for _ in range(_STEPS):
            a, d = _item_step(y, ability, a, d)
        for _ in range(_STEPS):
            p = _logistic(ability[:, None] * a + d)
            slope = (y - p) @ a - ability
            ability = ability + slope / ((p * (1 - p)) @ a**2 + 1.0)
        ability = _standardised(ability)
        if np.abs(ability - before).max() < 1e-5:
            break
    return ItemResponse(ability, a, d)


def _item_step(y: Floats, ability: Floats, a: Floats, d: Floats) -> tuple[Floats, Floats]:
    """Return discriminations and intercepts after one Newton step for every example."""
    p = _logistic(ability[:, None] * a + d)
    residual, weight = y - p, p * (1 - p)
    slope_a = ability @ residual - (a - _MEAN_A) / _SD_A**2
    slope_d = residual.sum(axis=0) - d / _SD_D**2
    aa = (ability**2) @ weight + 1 / _SD_A**2
    dd = weight.sum(axis=0) + 1 / _SD_D**2
    ad = ability @ weight
    det = aa * dd - ad**2
    step_a, step_d = (dd * slope_a - ad * slope_d) / det, (aa * slope_d - ad * slope_a) / det
    return a + np.clip(step_a, -1, 1), d + np.clip(step_d, -2, 2)


def _logistic(values: Floats) -> Floats:
    return np.asarray(0.5 * (1 + np.tanh(0.5 * values)))


def _standardised(values: Floats) -> Floats:
    spread = float(values.std())
    return np.asarray((values - values.mean()) / (spread if spread > 1e-9 else 1.0))

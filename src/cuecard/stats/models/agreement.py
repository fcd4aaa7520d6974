"""Agreement of a full-input model with a partial-input one (PECO's NBA and NBR, equations 7 and 8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Agreement", "agreement", "nba", "nbr", "nbr_released"]


@dataclass(frozen=True)
class Agreement:
    """How two models' predictions coincide, with the counts behind every share."""

    n: int
    agreed: int
    both_right: int
    normal_right: int
    biased_right: int
    nba: float
    """Normal-bias agreement: share of the test set on which the two predict the same label."""
    nbr: float
    """Normal-bias recovery as the paper's equation 8 has it: both right / agreements."""
    nbr_released: float
    """What the paper's Table 4 really holds: both right / normal model right."""
    only_biased: float
    """Share of the test set on which the biased model is right and the normal one is not."""
    expected_nba: float
    """Agreement that two models with these label frequencies would reach by chance."""
    kappa: float
    """Agreement beyond chance (Cohen's κ); NaN when chance alone agrees always."""


def agreement(normal: npt.ArrayLike, biased: npt.ArrayLike, gold: npt.ArrayLike) -> Agreement:
    """All agreement measures of the normal (full-input) and the biased (partial-input) predictions.

    A share whose denominator is zero is NaN.
    """
    full, partial, truth = _aligned(normal, biased, gold)
    agree = full == partial
    both = agree & (full == truth)
    values, codes = np.unique(np.concatenate([full, partial]), return_inverse=True)
    frequencies = [
        np.bincount(part, minlength=len(values)) / len(full) for part in np.split(codes.ravel(), 2)
    ]
    expected = float(frequencies[0] @ frequencies[1])
    observed = float(agree.mean())
    right = int(np.sum(full == truth))
    return Agreement(
        n=len(full),
        agreed=int(agree.sum()),
        both_right=int(both.sum()),
        normal_right=right,
        biased_right=int(np.sum(partial == truth)),
        nba=observed,
        nbr=_share(int(both.sum()), int(agree.sum())),
        nbr_released=_share(int(both.sum()), right),
        only_biased=float(np.mean((partial == truth) & (full != truth))),
        expected_nba=expected,
        kappa=(observed - expected) / (1.0 - expected) if expected < 1.0 else float("nan"),
    )


def nba(normal: npt.ArrayLike, biased: npt.ArrayLike) -> float:
    """Share of instances on which the two models predict the same label."""
    full, partial = _aligned(normal, biased)
    return float(np.mean(full == partial))


def nbr(normal: npt.ArrayLike, biased: npt.ArrayLike, gold: npt.ArrayLike) -> float:
    """Both right / agreements, the paper's equation 8; NaN when the models never agree."""
    return agreement(normal, biased, gold).nbr


def nbr_released(normal: npt.ArrayLike, biased: npt.ArrayLike, gold: npt.ArrayLike) -> float:
    """Both right / normal model right, what the paper's table holds; NaN when it is never right."""
    return agreement(normal, biased, gold).nbr_released


def _aligned(*vectors: npt.ArrayLike) -> tuple[npt.NDArray[Any], ...]:
    arrays = tuple(np.asarray(vector) for vector in vectors)
    if any(vector.ndim != 1 or not len(vector) for vector in arrays) or len({len(v) for v in arrays}) != 1:
        raise ValueError(
            "predictions and gold labels must be vectors of one length, got shapes "
            + ", ".join(str(vector.shape) for vector in arrays)
            + "."
        )
    return arrays


def _share(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")

"""Agreement of models in their answers and in the tokens they look at (PECO, equations 7 to 10)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuecard.stats.arrays import Array, Floats

__all__ = [
    "Agreement",
    "agreement",
    "nba",
    "nbr",
    "nbr_released",
    "relevance_cosines",
    "token_relevance_agreement",
]


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


def _aligned(*vectors: npt.ArrayLike) -> tuple[Array, ...]:
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


def token_relevance_agreement(a: npt.ArrayLike, b: npt.ArrayLike) -> float:
    """Mean cosine of two models' saliency maps over the examples: 1 where they look alike, 0 where nowhere the same.

    Row i of either array holds how much each token of example i matters to a model, at the same place for both:
    tokens a model cannot see, and places after the end of a short example, are 0. So a hypothesis-only model has
    zeros where the premise stands. Maps need not sum to 1, because a cosine does not change with scale. Examples
    for which one map is all zeros have no angle and are left out; NaN if that leaves none.

    A premise of two tokens and a hypothesis of two; the full model looks at both, the other at the hypothesis:

    >>> full = [[0.25, 0.25, 0.5, 0.0], [0.0, 0.0, 0.6, 0.4]]
    >>> hypothesis_only = [[0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.6, 0.4]]
    >>> [round(float(c), 3) for c in relevance_cosines(full, hypothesis_only)]
    [0.816, 1.0]
    >>> round(token_relevance_agreement(full, hypothesis_only), 3)
    0.908
    """
    cosines = relevance_cosines(a, b)
    defined = cosines[~np.isnan(cosines)]
    return float(defined.mean()) if len(defined) else float("nan")


def relevance_cosines(a: npt.ArrayLike, b: npt.ArrayLike) -> Floats:
    """Cosine of the two saliency maps of every example; NaN where one of them is all zeros.

    >>> relevance_cosines([[3.0, 4.0], [0.0, 0.0]], [[4.0, 3.0], [1.0, 0.0]]).round(2).tolist()
    [0.96, nan]
    """
    first, second = (np.asarray(maps, dtype=np.float64) for maps in (a, b))
    if first.ndim != 2 or first.shape != second.shape:
        raise ValueError(
            f"saliency maps must be two tables of one shape, examples × places, got {first.shape} and {second.shape}."
        )
    if any(not np.isfinite(maps).all() or (maps < 0).any() for maps in (first, second)):
        raise ValueError("saliency maps must be finite numbers of at least 0.")
    # Scaled by the largest entry first, so that squares of tiny gradients do not vanish.
    scaled = [
        maps / np.maximum(maps.max(axis=1, initial=0, keepdims=True), 1e-300) for maps in (first, second)
    ]
    lengths = [np.sqrt((maps**2).sum(axis=1)) for maps in scaled]
    with np.errstate(invalid="ignore"):
        cosines: Floats = (scaled[0] * scaled[1]).sum(axis=1) / (lengths[0] * lengths[1])
    return np.minimum(cosines, 1.0)

"""Do a model that reads everything and one that reads too little look at the same tokens? (PECO's TRA)"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cuecard.data import Instances
from cuecard.errors import UsageError
from cuecard.models.saliency import SaliencyMaps, aligned, saliency
from cuecard.models.text_model import TextModel
from cuecard.stats import percentile_bootstrap, relevance_cosines

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RelevanceAgreement:
    """Token relevance agreement of two models on some examples.

    Attributes:
        tra: mean cosine of the two maps over the examples; NaN where no example has both maps.
        low, high: its 95 % interval, from resampled examples.
        cosines: of every example (of grouped data, the mean over its rows); NaN where a map is all zeros.
        left_out: examples without an angle.
        even: mean cosine if each model looked at all tokens it reads alike; what the lengths alone give.
        full, partial: the maps of either model, by row.
    """

    tra: float
    low: float
    high: float
    cosines: Floats
    left_out: int
    even: float
    full: SaliencyMaps
    partial: SaliencyMaps


def relevance_agreement(
    full: TextModel, partial: TextModel, data: Instances, *, draws: int = 2000, seed: int = 0
) -> RelevanceAgreement:
    """Return how far two models of one kind look at the same tokens of the data.

    Args:
        full: the model that reads everything (PSC).
        partial: the one that reads a part of it (SSC).
        data: instances to compare them on, such as `data.test`.
        draws: resamples for the interval.
        seed: of the resamples.
    """
    if full.name != partial.name:
        raise UsageError(
            f"The maps of {full.name!r} and {partial.name!r} are of different tokens: compare two models of one kind."
        )
    maps = saliency(full, data), saliency(partial, data)
    rows = relevance_cosines(*aligned(*maps))
    cosines = _by_example(rows, data) if data.grouped else rows
    known = cosines[~np.isnan(cosines)]
    tra, low, high = float("nan"), float("nan"), float("nan")
    if len(known):
        ends: Any = percentile_bootstrap(known, lambda drawn: drawn.mean(axis=1), draws=draws, seed=seed)
        tra, low, high = float(known.mean()), float(ends[0]), float(ends[1])
    return RelevanceAgreement(tra, low, high, cosines, len(cosines) - len(known), _even(*maps), *maps)


def _even(full: SaliencyMaps, partial: SaliencyMaps) -> float:
    """Return the mean cosine of maps that are the same everywhere: common tokens / √(tokens × tokens)."""
    pairs = [
        (full.premise_lengths, partial.premise_lengths),
        (full.hypothesis_lengths, partial.hypothesis_lengths),
    ]
    common = np.minimum(*pairs[0]) + np.minimum(*pairs[1])
    product = (pairs[0][0] + pairs[1][0]) * (pairs[0][1] + pairs[1][1])
    read = product > 0
    return float((common[read] / np.sqrt(product[read])).mean()) if read.any() else float("nan")


def _by_example(rows: Floats, data: Instances) -> Floats:
    """Return the mean of each example's rows that have an angle; NaN where none has."""
    known = ~np.isnan(rows)
    n, codes = data.n_examples, data.example_codes
    counts = np.bincount(codes[known], minlength=n)
    sums = np.bincount(codes[known], rows[known], minlength=n)
    means: Floats = np.divide(sums, counts, out=np.full(n, np.nan), where=counts > 0)
    return means

"""Token relevance: does a model that reads everything look where one that reads too little looks? (PECO's TRA)"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from cuecard.analysis import Finding
from cuecard.data import Instances
from cuecard.models import TextModel
from cuecard.models.saliency.maps import token_texts
from cuecard.models.saliency.relevance import RelevanceAgreement, Shown, relevance_agreement, saliency_table
from cuecard.wording import plural


@dataclass(frozen=True, eq=False)
class TokenRelevance:
    """How far two models look at the same tokens, and the maps of some examples.

    Attributes:
        agreement: TRA with its interval, and all maps.
        examples: `example_id` and `cosine` of every example.
        maps: the maps of some examples, see `saliency_table`.
        finding: the result as a sentence.
    """

    agreement: RelevanceAgreement
    examples: pl.DataFrame
    maps: pl.DataFrame
    finding: Finding


def token_relevance(
    full: TextModel,
    partial: TextModel,
    data: Instances,
    *,
    show: int = 12,
    which: Shown = "spread",
    draws: int = 2000,
    seed: int = 0,
) -> TokenRelevance:
    """Return the token relevance agreement of a full-input model and a partial-input one on some data.

    Args:
        full: the model that reads everything (PSC).
        partial: a model of the same kind that reads a part of it (SSC).
        data: instances of one split, such as `data.test`.
        show: rows whose maps are kept to be looked at.
        which: whether those are spread over the cosines, the least alike or the most alike.
        draws: resamples for the interval.
        seed: of the resamples.
    """
    agreement = relevance_agreement(full, partial, data, draws=draws, seed=seed)
    first = np.flatnonzero(np.diff(data.example_codes, prepend=-1))
    examples = pl.DataFrame(
        {"example_id": data.table["example_id"].gather(first), "cosine": agreement.cosines}
    ).with_columns(pl.col("cosine").fill_nan(None))
    maps = saliency_table(agreement, data, token_texts(full, data), show=show, which=which)
    return TokenRelevance(agreement, examples, maps, _finding(agreement, full.name))


def _finding(agreement: RelevanceAgreement, name: str) -> Finding:
    n = len(agreement.cosines) - agreement.left_out
    text = (
        f"The saliency maps of two {name} models, one with full and one with partial input, have a mean "
        f"cosine of {agreement.tra:.2f} (95 % CI {agreement.low:.2f} to {agreement.high:.2f}) over "
        f"{plural(n, 'example')}. A cosine of 1 means the same tokens, 0 means no token in common; two uniform maps "
        f"would have {agreement.even:.2f}."
    )
    if agreement.left_out:
        text += f" {plural(agreement.left_out, 'example')} without a map are left out."
    title = f"Token relevance agreement is {agreement.tra:.2f}"
    return Finding(
        "saliency",
        "info",
        title,
        text,
        agreement.tra,
        agreement.low,
        agreement.high,
        agreement.even,
        n,
        unit="score",
        key=name,
    )

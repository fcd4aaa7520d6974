"""Token relevance: does a model that reads everything look where one that reads too little looks? (PECO's TRA)"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from cuecard.analysis import Finding
from cuecard.data import Instances
from cuecard.models import TextModel
from cuecard.models.relevance import RelevanceAgreement, Shown, relevance_agreement, saliency_table
from cuecard.models.saliency import token_texts
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
    found = relevance_agreement(full, partial, data, draws=draws, seed=seed)
    first = np.flatnonzero(np.diff(data.example_codes, prepend=-1))
    examples = pl.DataFrame(
        {"example_id": data.table["example_id"].gather(first), "cosine": found.cosines}
    ).with_columns(pl.col("cosine").fill_nan(None))
    maps = saliency_table(found, data, token_texts(full, data), show=show, which=which)
    return TokenRelevance(found, examples, maps, _finding(found, full.name))


def _finding(found: RelevanceAgreement, name: str) -> Finding:
    n = len(found.cosines) - found.left_out
    text = (
        f"The saliency maps of the two {name} models, one with the full and one with partial input, have a mean "
        f"cosine of {found.tra:.2f} (95 % interval {found.low:.2f} to {found.high:.2f}) over {plural(n, 'example')}: "
        f"1 would be the same tokens, 0 none in common, {found.even:.2f} two models that look everywhere alike."
    )
    if found.left_out:
        text += f" {plural(found.left_out, 'example')} without a map are left out."
    title = f"Token relevance agreement of {found.tra:.2f}"
    return Finding(
        "saliency",
        "info",
        title,
        text,
        found.tra,
        found.low,
        found.high,
        found.even,
        n,
        unit="score",
        key=name,
    )

"""Token relevance: does a model that reads everything look where one that reads too little looks? (PECO's TRA)"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.analysis import Finding
from cuecard.data import Instances
from cuecard.models import TextModel
from cuecard.models.relevance import RelevanceAgreement, relevance_agreement
from cuecard.models.saliency import token_texts
from cuecard.wording import count

#: Which examples to show: spread over the cosines, the least alike, or the most alike.
Shown = Literal["spread", "least", "most"]


@dataclass(frozen=True, eq=False)
class TokenRelevance:
    """How far two models look at the same tokens, and the maps of some examples.

    Attributes:
        agreement: TRA with its interval, and all maps.
        examples: `example_id` and `cosine` of every example.
        maps: of the shown rows `example_id`, `label`, `cosine`, the tokens of premise and hypothesis, and what each
            matters to either model, as lists.
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
    chosen = _chosen(found.cosines, show, which)
    rows = first[chosen]
    if data.grouped:  # of a question, the row of the right choice
        rows = np.flatnonzero(data.label_codes == 0)[chosen]
    maps = _maps(full, found, data, rows).with_columns(pl.Series("cosine", found.cosines[chosen]))
    return TokenRelevance(found, examples, maps, _finding(found, full.name))


def _chosen(cosines: npt.NDArray[np.float64], show: int, which: Shown) -> npt.NDArray[np.int64]:
    known = np.flatnonzero(~np.isnan(cosines))
    order = known[np.argsort(cosines[known], kind="stable")]
    if which != "spread" or len(order) <= show:
        return order[:show] if which != "most" else order[::-1][:show]
    return order[np.linspace(0, len(order) - 1, show).round().astype(np.int64)]


def _maps(
    model: TextModel, found: RelevanceAgreement, data: Instances, rows: npt.NDArray[np.int64]
) -> pl.DataFrame:
    """Return the tokens of some rows and what they matter to either model."""
    part = replace(data, table=data.table[rows])
    premises, hypotheses = token_texts(model, part)
    columns: dict[str, pl.Series] = {
        "example_id": part.table["example_id"],
        "label": part.table["label"].cast(pl.String),
        "premise": pl.Series(premises, dtype=pl.List(pl.String)),
        "hypothesis": pl.Series(hypotheses, dtype=pl.List(pl.String)),
    }
    for name, maps in (("full", found.full), ("partial", found.partial)):
        for side, table, tokens in (
            ("premise", maps.premise, premises),
            ("hypothesis", maps.hypothesis, hypotheses),
        ):
            # A text that the model may not read has no places: nothing of it matters.
            values = [
                np.pad(table[row], (0, max(len(own) - table.shape[1], 0)))[: len(own)].tolist()
                for row, own in zip(rows, tokens, strict=True)
            ]
            columns[f"{name}_{side}"] = pl.Series(values, dtype=pl.List(pl.Float64))
    return pl.DataFrame(columns)


def _finding(found: RelevanceAgreement, name: str) -> Finding:
    n = len(found.cosines) - found.left_out
    text = (
        f"The saliency maps of the two {name} models, one with the full and one with partial input, have a mean "
        f"cosine of {found.tra:.2f} (95 % interval {found.low:.2f} to {found.high:.2f}) over {count(n, 'example')}: "
        f"1 would be the same tokens, 0 none in common, {found.even:.2f} two models that look everywhere alike."
    )
    if found.left_out:
        text += f" {count(found.left_out, 'example')} without a map are left out."
    title = f"Token relevance agreement of {found.tra:.2f}"
    return Finding("saliency", "info", title, text, found.tra, found.low, found.high, found.even, n)

"""Which texts of an instance are clustered, how a trained model reads them, and where they went."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data import Instances
from cuecard.text import Scope, Tokens, encoded_texts, tokenise


def scoped_texts(data: Instances, scope: Scope) -> pl.Series:
    """Return the texts that are clustered."""
    if scope == "both":
        joined = pl.concat_str("premise", "hypothesis", separator=" ", ignore_nulls=True)
        return data.table.select(joined).to_series()
    return data.table[scope].fill_null("")


def scoped_tokens(data: Instances, scope: Scope, tokens: str) -> Tokens:
    """Return the tokens of the texts that are clustered."""
    if (
        scope == "both"
    ):  # where one text ends may decide how its last word is cut, so the joined texts are tokenised
        return tokenise(scoped_texts(data, scope), tokens)
    return encoded_texts(data, tokens).side(scope).renumbered()


def text_units(data: Instances, scope: Scope) -> npt.NDArray[np.int64]:
    """Return a code for every instance that the copies of its clustered text share."""
    return data.units(
        "example" if scope == "both" and not data.grouped else "hypothesis" if scope == "both" else scope
    )


def moving_units(data: Instances, scope: Scope) -> npt.NDArray[np.int64] | None:
    """Return a code that instances share whose labels are shuffled alike: copies of a text, or of a choice."""
    if not data.grouped:
        return text_units(data, scope)
    if data.cluster is not None:  # a column of clusters does not say which choices are the same
        return None
    return data.units("choice")


def as_read(data: Instances, scope: Scope, texts: pl.Series | None = None) -> Instances:
    """Return the instances as a trained model shall read them: the text in its place, the other one empty.

    Changed texts of both together take the place of the hypothesis.
    """
    if scope == "both" and texts is None:
        return data
    place, other = ("premise", "hypothesis") if scope == "premise" else ("hypothesis", "premise")
    columns = [(scoped_texts(data, scope) if texts is None else texts).alias(place)]
    if data.task != "text":
        columns.append(pl.repeat("", len(data), eager=True).alias(other))
    return replace(data, table=data.table.with_columns(columns))


def clusters_of_examples(part: Instances, clusters: npt.NDArray[np.int64]) -> pl.DataFrame:
    """Return the cluster of every example: of its right answer where it has several."""
    table = part.table.select("example_id", pl.col("split").cast(pl.String), pl.Series("cluster", clusters))
    return table.filter(pl.Series(part.label_codes == 0)) if part.grouped else table

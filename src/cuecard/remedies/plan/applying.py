"""A dataset with the changes of a worksheet: rows dropped, texts rewritten, labels corrected, choices moved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from cuecard.data import Instances
from cuecard.data.examples import Examples, Ints
from cuecard.remedies.plan.worksheet import Change


def without(data: Instances, examples: Ints) -> Instances:
    """Return the dataset without some examples."""
    dropped = np.zeros(data.n_examples, dtype=np.bool_)
    dropped[examples] = True
    return replace(data, table=data.table.filter(pl.Series(~dropped[data.example_codes])))


def applied(data: Instances, changes: Sequence[Change]) -> Instances:
    """Return the dataset with the changes of a worksheet."""
    examples = Examples(data)
    texts = data.table["hypothesis"].to_list()
    premises = data.table["premise"].to_list()
    codes = data.label_codes.copy()
    for change in changes:
        first, end = examples.first_rows[change.example : change.example + 2]
        rows = np.arange(first, end)
        right = int(examples.right_rows[change.example])
        if change.new_premise:
            for row in rows:
                premises[row] = change.new_premise
        if change.new_text:
            texts[right] = change.new_text
        if change.new_others:
            for row, text in zip(rows[rows != right], change.new_others, strict=True):
                texts[row] = text
        if change.new_label is not None and not data.grouped:
            codes[first] = change.new_label
        elif change.new_label is not None:
            to = int(first) + change.new_label
            codes[right], codes[to] = codes[to], codes[right]
            if change.action == "permute":  # the right answer moves; otherwise another answer becomes right
                texts[right], texts[to] = texts[to], texts[right]
    labels = pl.Series("label", [data.labels[code] for code in codes], dtype=pl.Enum(data.labels))
    table = data.table.with_columns(
        labels,
        hypothesis=pl.Series(texts, dtype=pl.String),
        premise=pl.Series(premises, dtype=pl.String),
    )
    dropped = np.array([c.example for c in changes if c.action == "drop"], dtype=np.int64)
    return without(replace(data, table=table), dropped)

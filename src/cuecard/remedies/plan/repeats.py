"""Examples whose input occurs more than once: copies with the same label, and conflicts with another."""

from __future__ import annotations

import polars as pl

from cuecard.data.examples import Examples


def repeated_examples(examples: Examples) -> dict[int, str]:
    """Return the examples that repeat an earlier one with the same label, with its id."""
    keys = ["premise", "text", "gold"]
    table = _texts(examples).with_columns(
        first=pl.col("id").first().over(keys), place=pl.col("example").rank("ordinal").over(keys)
    )
    again = table.filter(pl.col("place") > 1)
    return dict(zip(again["example"].to_list(), again["first"].to_list(), strict=True))


def conflicting_examples(examples: Examples) -> list[int]:
    """Return the examples whose input occurs with another label, too."""
    if examples.grouped:
        return []
    table = _texts(examples).filter(pl.col("gold").n_unique().over("premise", "text") > 1)
    return [int(example) for example in table["example"]]


def _texts(examples: Examples) -> pl.DataFrame:
    data = examples.instances
    hypotheses = examples.choices if data.grouped else data.table["hypothesis"]
    return pl.DataFrame(
        {
            "premise": examples.premises,
            "text": hypotheses.list.join("\0") if data.grouped else hypotheses,
            "gold": examples.gold,
            "id": examples.ids,
        }
    ).with_row_index("example")

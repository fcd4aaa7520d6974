"""Small sets written down row by row, for tests."""

from __future__ import annotations

import polars as pl

from cuecard.data import Instances


def pair_instances(rows: list[tuple[str, str, str, str]], name: str = "pairs") -> Instances:
    """Instances from (split, premise, hypothesis, label) rows."""
    labels = tuple(sorted({row[3] for row in rows}))
    table = pl.DataFrame(
        {
            "example_id": [str(i) for i in range(len(rows))],
            "position": pl.Series([0] * len(rows), dtype=pl.Int32),
            "split": [row[0] for row in rows],
            "premise": [row[1] for row in rows],
            "hypothesis": [row[2] for row in rows],
            "label": pl.Series([row[3] for row in rows], dtype=pl.Enum(labels)),
        }
    )
    return Instances(table, "pair", labels, name)


def choice_instances(questions: list[tuple[str, str, list[str], int]], name: str = "choices") -> Instances:
    """Instances from (split, question, choices, answer) questions."""
    rows = [
        (str(q), position, split, premise, choice, "right" if position == answer else "wrong")
        for q, (split, premise, choices, answer) in enumerate(questions)
        for position, choice in enumerate(choices)
    ]
    columns = ["example_id", "position", "split", "premise", "hypothesis", "label"]
    schema = dict.fromkeys(columns, pl.String) | {
        "position": pl.Int32,
        "label": pl.Enum(["right", "wrong"]),
    }
    return Instances(pl.DataFrame(rows, schema=schema, orient="row"), "choice", ("right", "wrong"), name)

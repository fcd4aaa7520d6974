"""Options and work of the verbs about the pair graph: weights of the evaluation, and identical pairs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from cuecard.data import Instances
    from cuecard.data.files.formats import Format

TestWeightsOption = Annotated[
    str | None,
    typer.Option(
        "--weights",
        metavar="COLUMN",
        help="Extra column of TEST with weights for the debiased evaluation; for pairs, leakage-neutral ones are "
        "computed by default.",
    ),
]
IdenticalScoresOption = Annotated[
    list[str] | None,
    typer.Option(
        "--identical-pairs",
        metavar="[NAME=]FILE|MODEL",
        help="Scores of the pairs that `cuecard stress --identical-pairs` wrote (`score`, `p_LABEL` or `prediction` "
        "beside `example_id`), or linear to train and ask it; may be given several times.",
    ),
]
MatchOption = Annotated[
    str | None,
    typer.Option("--match", metavar="LABEL", help="The label that says that two sentences match."),
]
IdenticalPairsFlag = Annotated[
    bool,
    typer.Option(
        "--identical-pairs",
        help="Write every train sentence paired with itself to the file --out instead, for models to score.",
    ),
]
SentencesOption = Annotated[
    int | None,
    typer.Option("--sample", min=1, help="At most so many identical pairs, rare and frequent alike."),
]


def write_identical_pairs(
    data: Instances, out: Path, kind: Format, *, match: str | None, sample: int | None, seed: int
) -> int:
    """Write the identical pairs of train to a file whole or not at all, and return how many there are."""
    import polars as pl

    from cuecard.data.weights import write_rows
    from cuecard.errors import UsageError
    from cuecard.probes import identical_pairs, matching_label

    if data.task != "pair":
        raise UsageError(f"Identical pairs are made of pair data, and this is {data.task} data.")
    label = matching_label(data, match)
    pairs = identical_pairs(data, sample=sample, seed=seed)
    write_rows(pairs.with_columns(label=pl.lit(label)), out, kind)
    return pairs.height

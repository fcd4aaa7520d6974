"""`cuecard stress`: the examples that no partial input solves, as a set of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cuecard.cli.leakage import IdenticalPairsFlag, MatchOption, SentencesOption, write_identical_pairs
from cuecard.cli.options import (
    ColumnsOption,
    JsonOption,
    LabelsOption,
    OnErrorOption,
    QuietOption,
    SeedOption,
    SourceArgument,
    TaskOption,
    TestOption,
)

EXAMPLES = """
Examples:

`cuecard stress train.parquet --test test.parquet --out hard`

`cuecard stress qa.jsonl --balanced --out hard`

`cuecard stress pairs.parquet --identical-pairs --sample 20000 --out identical.csv`
"""


def stress(
    train: SourceArgument,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR|FILE", help="Write hard, easy and balance here.")
    ],
    test: TestOption = None,
    task: TaskOption = None,
    columns: ColumnsOption = None,
    labels: LabelsOption = None,
    balanced: Annotated[
        bool, typer.Option("--balanced", help="Drop hard examples until every label has as many.")
    ] = False,
    identical_pairs: IdenticalPairsFlag = False,
    sample: SentencesOption = None,
    match: MatchOption = None,
    on_error: OnErrorOption = "stop",
    seed: SeedOption = 0,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Write the examples that no partial input solves, and the rest, as two sets; or identical pairs."""
    from json import dumps

    from cuecard.cli.loading import load_from_options
    from cuecard.cli.progress import progress, stage
    from cuecard.data.weights import check_writable
    from cuecard.errors import UsageError
    from cuecard.remedies import stress_set, write_stress_set
    from cuecard.run import audit

    if not identical_pairs and (sample is not None or match is not None):
        raise UsageError("--sample and --match are for --identical-pairs.")
    kind = check_writable(out, train) if identical_pairs else None
    silent = quiet or json
    with stage("Reading", silent=silent):
        data = load_from_options(
            train, test=test, task=task, columns=columns, labels=labels, on_error=on_error, seed=seed
        )
    if kind is not None:
        written_pairs = write_identical_pairs(data, out, kind, match=match, sample=sample, seed=seed)
        if json:
            typer.echo(dumps({"pairs": written_pairs, "file": str(out)}))
        elif not quiet:
            typer.echo(f"{written_pairs:,} sentences paired with themselves: {out}")
            told = f" --match {match}" if match else ""
            typer.echo(
                f"Let a model score them, then: cuecard probe {train} --identical-pairs NAME=SCORES.csv{told}"
            )
        return
    card = audit(data, only=["partial_input"], progress=progress(silent=silent), seed=seed)
    found = stress_set(data, card.tables["examples"], balanced=balanced, seed=seed)
    written = write_stress_set(found, out)
    if json:
        typer.echo(dumps(found.summary(), indent=2, ensure_ascii=False))
    elif not quiet:
        for split, part, answer, count, share in found.balance.rows():
            typer.echo(f"{split:5}  {part:4}  {answer:20}  {count:>8,}  {100 * share:5.1f} %")
        typer.echo(
            f"Hard: no partial input ({', '.join(found.solvers)}) solves them. Read them beside the whole set."
        )
        typer.echo(f"Hard:   {written['hard']}\nEasy:   {written['easy']}")

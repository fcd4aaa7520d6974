"""`cuecard stress`: test sets that shortcuts do not solve."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cuecard.cli.options.data import Dataset
from cuecard.cli.options.groups import grouped, option
from cuecard.cli.options.shared import MatchOption, Output, SeedOption, required_out, typed_command

if TYPE_CHECKING:
    from cuecard.data import Instances
    from cuecard.data.loading import LoadedRows

EXAMPLES = """
Examples:

`cuecard stress train.parquet --test test.parquet --out hard`

`cuecard stress qa.jsonl --balanced --out hard`

`cuecard stress pairs.parquet --kind identical-pairs --sample 20000 --out identical.csv`
"""


@grouped
def stress(
    dataset: Dataset,
    output: Output,
    out: Annotated[
        Path,
        required_out(
            "DIR|FILE",
            "The folder to write test_hard, test_easy, … and balance to, or the file of identical pairs.",
        ),
    ],
    kind: Annotated[
        Literal["hard", "identical-pairs"],
        option(
            "--kind",
            "NAME",
            "hard: the examples that no partial input solves; identical-pairs: every training sentence paired "
            "with itself, to be scored by a model.",
        ),
    ] = "hard",
    balanced: Annotated[
        bool, option("--balanced", "Drop hard examples until every label has the same number.")
    ] = False,
    sample: Annotated[
        int | None,
        option("--sample", "N", "At most N identical pairs, of rare and frequent sentences.", min=1),
    ] = None,
    match: MatchOption = None,
    seed: SeedOption = 0,
) -> None:
    """Write hard examples, which no partial input solves, and easy ones as two sets; or write identical pairs.

    The rows of every split are written as they came, with all columns, to a file of hard and one of easy examples.
    """
    from json import dumps

    from cuecard.cli.show import display
    from cuecard.data.output.rows import check_writable
    from cuecard.errors import UsageError
    from cuecard.remedies.stress_sets import STRESS_FILES
    from cuecard.report import stress_lines
    from cuecard.run import hard_examples, identical_pairs_file
    from cuecard.run.next_commands import on_same_data
    from cuecard.writing import check_folder

    if kind == "hard" and (sample is not None or match is not None):
        raise UsageError(
            "--sample and --match only apply to identical pairs: add --kind identical-pairs, or leave them out."
        )

    if kind == "hard":
        check_folder(out, STRESS_FILES, inputs=dataset.inputs)
    else:
        check_writable(out, dataset.inputs)

    def load() -> Instances:
        return dataset.load(seed, output.progress)

    def load_rows() -> LoadedRows:
        return dataset.load_rows(seed, output.progress)

    if kind == "identical-pairs":
        pairs = identical_pairs_file(load, out, match=match, sample=sample, seed=seed)
        if output.json:
            typer.echo(dumps({"pairs": pairs, "file": str(out)}))
        elif not output.quiet:
            matching = ["--match", match] if match else []
            scores = ["--identical-pairs", "NAME=SCORES.csv", *matching]
            again = on_same_data(typed_command(), "probe", *scores)
            typer.echo(f"{pairs:,} sentences paired with themselves: {display(str(out))}")
            typer.echo(f"Score them with a model, then: {display(again)}")
        return
    written = hard_examples(load_rows, out, balanced=balanced, seed=seed, progress=output.progress)
    if output.json:
        typer.echo(dumps(written.set.summary(), indent=2, ensure_ascii=False))
    elif not output.quiet:
        for line in stress_lines(written.set):
            typer.echo(line)
        for name, file in written.files.items():
            typer.echo(f"{name.replace('_', ' ').capitalize() + ':':12} {file}")

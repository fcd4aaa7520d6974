"""Verbs that choose examples: `cuecard plan` and `stress`."""

from __future__ import annotations

from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cuecard.cli.options.data import Dataset
from cuecard.cli.options.shared import (
    CardOutput,
    MatchOption,
    Output,
    SeedOption,
    grouped,
    option,
    path,
    required_out,
    typed_command,
)

if TYPE_CHECKING:
    from cuecard.data import Instances
    from cuecard.data.loading import LoadedRows


PLAN_EXAMPLES = """
Examples:

`cuecard plan train.parquet --goal 'cues.cues == 0' --out worksheet.csv`

`cuecard plan train.parquet --test test.parquet --policy cuecard.toml --budget 500 --out worksheet.csv`

`cuecard plan qa.jsonl --goal 'partial_input.position.excess <= 0' --change permute --out worksheet.csv`

`cuecard plan train.parquet --test test.parquet --apply worksheet.csv --out v2`
"""


@grouped
def plan(
    dataset: Dataset,
    output: CardOutput,
    out: Annotated[
        Path,
        required_out(
            "FILE|DIR",
            "The worksheet to write (.csv or .jsonl); with --apply, the folder of the new version.",
        ),
    ],
    goal: Annotated[
        list[str] | None,
        option("--goal", "LIMIT", "A measure and its limit, such as 'cues.cues == 0'. Repeatable."),
    ] = None,
    policy: Annotated[
        Path | None,
        option("--policy", "FILE", "The goals are the violated rules of this policy.", parser=path),
    ] = None,
    budget: Annotated[
        int | None, option("--budget", "N", "The largest number of examples to change.", min=1)
    ] = None,
    method: Annotated[
        Literal["weights", "z-filter", "aflite", "random"] | None,
        option(
            "--method",
            "NAME",
            "How examples are chosen: weights, z-filter, aflite or random.",
            default="z-filter for cues, aflite otherwise",
        ),
    ] = None,
    change: Annotated[
        Literal["drop", "rewrite", "re-pair", "permute"],
        option(
            "--change",
            "KIND",
            "drop, rewrite (a new premise or question, for which the same text has the label that the plan names), or "
            "for multiple choice re-pair (new wrong choices) or permute (new positions).",
        ),
    ] = "drop",
    change_test: Annotated[
        bool,
        option("--change-test", "Also change examples of the other splits, not only training examples."),
    ] = False,
    apply: Annotated[
        Path | None,
        option(
            "--apply",
            "FILE",
            "Apply a worksheet that annotators filled in: write the new version and audit it.",
            parser=path,
        ),
    ] = None,
    seed: SeedOption = 0,
) -> None:
    """Plan which examples to change so that measures meet their limits; `debias` keeps all of them, with weights.

    The plan is a worksheet for annotators.
    """
    from cuecard.cli.options.shared import explicit_options
    from cuecard.cli.show import display, exit_if_failed
    from cuecard.errors import UsageError
    from cuecard.limits import check_file, check_folder
    from cuecard.report import render_html
    from cuecard.run import AUDIT_FOLDER, apply_worksheet, plan_file

    if (apply is not None) + (policy is not None) + bool(goal) != 1:
        raise UsageError("Give one of --goal, --policy and --apply.")
    inputs = [*dataset.inputs, policy, apply]
    if apply is not None:
        check_folder(out, inputs=inputs)
        changed = apply_worksheet(
            lambda: dataset.load(seed, output.progress),
            apply,
            out,
            seed=seed,
            drawn=render_html,
            progress=output.progress,
            command=typed_command(),
        )
        if not output.silent:
            typer.echo(f"{changed.summary} Files: {', '.join(display(str(file)) for file in changed.files)}")
        output.print(changed.card, out / AUDIT_FOLDER)
        exit_if_failed(changed.card, "audit")
        return
    check_file(out, inputs=inputs)
    result = plan_file(
        lambda: dataset.load(seed, output.progress),
        out,
        policy if policy is not None else goal or [],
        change=change,
        change_test=change_test,
        seed=seed,
        progress=output.progress,
        **explicit_options(budget=budget, method=method),
    )
    if output.json:
        typer.echo(dumps(result.as_dict(), indent=2, ensure_ascii=False))
    elif not output.quiet:
        from rich.console import Console

        from cuecard.report import render_plan
        from cuecard.run.next_commands import on_same_data

        render_plan(result, Console())
        if result.goals:
            typer.echo(f"Worksheet: {display(str(out))}")
            again = on_same_data(typed_command(), "plan", "--apply", out, "--out", "NEW")
            typer.echo(f"Fill it, then: {display(again)}")


STRESS_EXAMPLES = """
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
    """Write the examples that no partial input solves, and the easy ones, as two sets; `plan` changes the dataset.

    With --kind identical-pairs, write every training sentence paired with itself.

    The rows of every split are written as they came, with all columns, to a file of hard and one of easy examples.
    """
    from json import dumps

    from cuecard.cli.show import display
    from cuecard.data.output import check_writable
    from cuecard.errors import UsageError
    from cuecard.limits import check_folder
    from cuecard.remedies.stress_sets import STRESS_FILES
    from cuecard.report import stress_lines
    from cuecard.run import hard_examples, identical_pairs_file
    from cuecard.run.next_commands import on_same_data

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

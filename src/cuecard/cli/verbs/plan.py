"""`cuecard plan`: which examples to change so that a shortcut stops working."""

from __future__ import annotations

from json import dumps
from pathlib import Path
from typing import Annotated, Literal

import typer

from cuecard.cli.options.data import Dataset
from cuecard.cli.options.groups import grouped, option
from cuecard.cli.options.shared import CardOutput, SeedOption, path, required_out, typed_command

EXAMPLES = """
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
            "drop, rewrite, or for multiple choice re-pair (new wrong choices) or permute (new positions).",
        ),
    ] = "drop",
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
    """Plan which examples to change so that measures meet their limits, and write a worksheet for annotators."""
    from cuecard.cli.options.groups import typed
    from cuecard.cli.show import display, exit_if_failed, rendered
    from cuecard.errors import UsageError
    from cuecard.run import AUDIT_FOLDER, apply_worksheet, plan_file
    from cuecard.writing import check_file, check_folder

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
            drawn=rendered,
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
        seed=seed,
        progress=output.progress,
        **typed(budget=budget, method=method),
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

"""`cuecard check`: does a dataset satisfy a policy?"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from cuecard.cli.options.data import Dataset
from cuecard.cli.options.shared import Output, SeedOption, grouped, option, path, typed_command

CHECK_EXAMPLES = """
Examples:

`cuecard check train.parquet --test test.parquet --init`

`cuecard check train.parquet --test test.parquet`

`cuecard check out/v2 --policy cuecard.toml --baseline out/v1`

`cuecard check out/v2 --format sarif > cuecard.sarif`
"""
Format = Literal["text", "json", "junit", "sarif", "github", "markdown"]


@grouped
def check(
    dataset: Dataset,
    output: Output,
    policy: Annotated[
        Path, option("--policy", "FILE", "The policy: rules in a TOML file.", parser=path)
    ] = Path("cuecard.toml"),
    baseline: Annotated[
        Path | None,
        option(
            "--baseline",
            "CARD",
            "Card of an earlier version; only what is new or significantly worse fails.",
            parser=path,
        ),
    ] = None,
    ratchet: Annotated[
        Path | None,
        option(
            "--ratchet",
            "FILE",
            "Accepted violations: written by the first check, unless in CI; only shortened by later ones.",
            parser=path,
        ),
    ] = None,
    strict: Annotated[bool, option("--strict", "Undecided rules also fail.")] = False,
    init: Annotated[
        bool, option("--init", "Write a policy that the data satisfies today, with its numbers.")
    ] = False,
    format: Annotated[
        Format, option("--format", "NAME", "text, json, junit, sarif, github or markdown.")
    ] = "text",
    out: Annotated[
        Path | None,
        option("--out", "-o", "FILE", "Write the result to this file instead of printing it.", parser=path),
    ] = None,
    sarif: Annotated[
        Path | None,
        option("--sarif", "FILE", "Also write a SARIF log to this file, for code scanning.", parser=path),
    ] = None,
    seed: SeedOption = 0,
) -> None:
    """Check a card or a dataset against a policy: exit code 0 if it is met, 1 if it is violated.

    A rule fails if the whole confidence interval violates its limit, passes if the whole interval satisfies it, and is
    undecided otherwise. TRAIN can be the folder of a card.
    """
    from cuecard.errors import UsageError, printable
    from cuecard.limits import check_file
    from cuecard.run import check as run_check
    from cuecard.run import is_card, write_starter_policy

    read = [*dataset.inputs, baseline]
    for target, name, inputs in (
        (out, "--out", [*read, policy, ratchet]),
        (sarif, "--sarif", [*read, policy, ratchet, out]),
        (ratchet, "--ratchet", [*read, policy]),
        (policy if init else None, "--policy", read),
    ):
        if target is not None:
            check_file(target, inputs=inputs, option=name)
    if output.json and format not in ("text", "json"):
        raise UsageError(f"--json and --format {format} contradict each other: leave one of them out.")
    shape = "json" if output.json else format
    output = Output(json=shape != "text" or out is not None, quiet=output.quiet)
    of_card = is_card(dataset.train)
    if of_card and dataset.test is not None:
        raise UsageError(f"{dataset.train} is a card, which has its splits: leave --test out.")
    source = dataset.train if of_card else lambda: dataset.load(seed, output.progress)
    more: dict[str, Any] = {} if of_card else {"seed": seed}
    if init:
        written = write_starter_policy(
            source, policy, progress=output.progress, command=typed_command(), **more
        )
        if not output.quiet:
            again = shlex.join(word for word in shlex.split(typed_command()) if word != "--init")
            typer.echo(f"Policy: {written}\nEdit its limits, then: {again}")
        return
    result = run_check(
        source,
        policy,
        baseline=baseline,
        ratchet=ratchet,
        progress=output.progress,
        command=typed_command(),
        **more,
    )
    from cuecard.report import show_check

    result = result.strictly() if strict else result
    show_check(result, shape, out=out, quiet=output.quiet)
    if sarif is not None:
        show_check(result, "sarif", out=sarif, quiet=True)
    if shape in ("junit", "sarif", "github") and not output.quiet:  # the other formats have a place for notes
        for note in result.notes:
            typer.echo(printable(f"cuecard: {note}", 1_000), err=True)
    if not result.passes():
        raise typer.Exit(1)

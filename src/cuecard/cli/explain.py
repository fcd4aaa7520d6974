"""`cuecard explain`: one cue in depth."""

from __future__ import annotations

from typing import Annotated

import typer

from cuecard.cli.options import (
    ColumnsOption,
    JsonOption,
    LabelsOption,
    LanguageOption,
    OnErrorOption,
    ScopeOption,
    SourceArgument,
    TaskOption,
    TestOption,
    TokensOption,
)

EXAMPLES = """
Examples:

`cuecard explain sleeping train.parquet --test test.parquet`

`cuecard explain "is sleeping" train.parquet`

`cuecard explain length:longest qa.jsonl`
"""


def explain(
    cue: Annotated[str, typer.Argument(metavar="CUE", help="A word, several words, or FAMILY:FEATURE.")],
    train: SourceArgument,
    test: TestOption = None,
    task: TaskOption = None,
    columns: ColumnsOption = None,
    labels: LabelsOption = None,
    tokens: TokensOption = None,
    scope: ScopeOption = "hypothesis",
    language: LanguageOption = None,
    examples: Annotated[int, typer.Option("--examples", min=0, help="Examples to show per label.")] = 3,
    on_error: OnErrorOption = "stop",
    json: JsonOption = False,
) -> None:
    """Show one cue in depth: counts, interval, examples, the words it travels with."""
    from rich.console import Console

    from cuecard.audits import Cues
    from cuecard.audits import explain as explain_cue
    from cuecard.cli.progress import stage
    from cuecard.data import load, parse_columns, parse_labels
    from cuecard.report import explanation_json, render_explanation

    audit = Cues(tokens=tokens, scope=scope, language=language)
    with stage("Looking", silent=json):
        data = load(
            train,
            test=test,
            task=task,
            columns=parse_columns(columns) if columns else None,
            labels=parse_labels(labels) if labels else None,
            on_error=on_error,
        )
        explanation = explain_cue(data, cue, examples=examples, audit=audit)
    if json:
        typer.echo(explanation_json(explanation))
    else:
        render_explanation(explanation, Console())

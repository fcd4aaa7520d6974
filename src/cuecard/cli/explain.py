"""`cuecard explain`: one cue in depth."""

from __future__ import annotations

from typing import Annotated

import typer

from cuecard.cli.options import (
    ColumnsOption,
    HoldoutOption,
    JsonOption,
    KeepUnlabelledOption,
    LabelsOption,
    LanguageOption,
    OnErrorOption,
    RegexOption,
    ScopeOption,
    SeedOption,
    SourceArgument,
    StopWordsOption,
    TaskOption,
    TestOption,
    TokensOption,
    named_patterns,
)

EXAMPLES = """
Examples:

`cuecard explain sleeping train.parquet --test test.parquet`

`cuecard explain "is sleeping" train.parquet`

`cuecard explain length:longest qa.jsonl`

`cuecard explain regex:hedge train.parquet --regex hedge='maybe|perhaps'`
"""


def explain(
    cue: Annotated[str, typer.Argument(metavar="CUE", help="A word, several words, or FAMILY:FEATURE.")],
    train: SourceArgument,
    test: TestOption = None,
    task: TaskOption = None,
    columns: ColumnsOption = None,
    labels: LabelsOption = None,
    regex: RegexOption = None,
    tokens: TokensOption = None,
    scope: ScopeOption = "hypothesis",
    language: LanguageOption = None,
    stop_words: StopWordsOption = True,
    examples: Annotated[int, typer.Option("--examples", min=0, help="Examples to show per label.")] = 3,
    holdout: HoldoutOption = None,
    keep_unlabelled: KeepUnlabelledOption = False,
    on_error: OnErrorOption = "stop",
    seed: SeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Show one cue in depth: counts, interval, examples, the words it travels with."""
    from rich.console import Console

    from cuecard.audits import Cues
    from cuecard.audits import explain as explain_cue
    from cuecard.cli.loading import load_from_options
    from cuecard.cli.progress import stage
    from cuecard.report import explanation_json, render_explanation

    audit = Cues(
        regex=named_patterns(regex), tokens=tokens, scope=scope, language=language, stop_words=stop_words
    )
    with stage("Looking", silent=json):
        data = load_from_options(
            train,
            test=test,
            task=task,
            columns=columns,
            labels=labels,
            holdout=holdout,
            keep_unlabelled=keep_unlabelled,
            on_error=on_error,
            seed=seed,
        )
        explanation = explain_cue(data, cue, examples=examples, audit=audit)
    if json:
        typer.echo(explanation_json(explanation))
    else:
        render_explanation(explanation, Console())

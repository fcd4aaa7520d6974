"""`cuecard audit`: look for everything in a dataset that gives the label away."""

from __future__ import annotations

import shlex
import sys
from typing import Annotated

import typer

from cuecard.cli.options import (
    ColumnsOption,
    EmbedOption,
    FeaturesOption,
    HoldoutOption,
    JsonOption,
    KeepUnlabelledOption,
    LabelsOption,
    LanguageOption,
    MinCountOption,
    OnErrorOption,
    OutOption,
    QuietOption,
    RegexOption,
    ScopeOption,
    SeedOption,
    SourceArgument,
    StopWordsOption,
    TaskOption,
    TestOption,
    TokensOption,
    WeightsOption,
    comma_list,
    named_patterns,
)

EXAMPLES = """
Examples:

`cuecard audit train.parquet --test test.parquet --out report`

`cuecard audit qa.jsonl --columns question=q,choices=options,answer=gold`

`cuecard audit pairs.csv --labels 0=entailment,1=neutral,2=contradiction --json | jq .findings`

`cuecard audit weighted.parquet --weights weight`

`cuecard audit pairs.csv --features word,bigram --regex hedge='\\b(maybe|perhaps)\\b'`
"""


def audit(
    train: SourceArgument,
    test: TestOption = None,
    task: TaskOption = None,
    columns: ColumnsOption = None,
    labels: LabelsOption = None,
    only: Annotated[str | None, typer.Option("--only", metavar="A,B", help="Run these audits only.")] = None,
    skip: Annotated[str | None, typer.Option("--skip", metavar="A,B", help="Leave these audits out.")] = None,
    out: OutOption = None,
    features: FeaturesOption = None,
    regex: RegexOption = None,
    tokens: TokensOption = None,
    scope: ScopeOption = "hypothesis",
    language: LanguageOption = None,
    stop_words: StopWordsOption = True,
    min_count: MinCountOption = 5,
    weights: WeightsOption = None,
    embed: EmbedOption = "tfidf",
    holdout: HoldoutOption = None,
    keep_unlabelled: KeepUnlabelledOption = False,
    on_error: OnErrorOption = "stop",
    seed: SeedOption = 0,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Audit a dataset: which shortcuts reveal the label?"""
    from cuecard.card import audit as run_audit
    from cuecard.card import check_options
    from cuecard.cli.loading import load_from_options
    from cuecard.cli.progress import progress, stage
    from cuecard.cli.show import exit_if_failed, show_card

    options: dict[str, object] = {
        "tokens": tokens,
        "scope": scope,
        "language": language,
        "stop_words": stop_words,
        "min_count": min_count,
        "weights": weights,
        "embed": embed,
        "seed": seed,
        "regex": named_patterns(regex),
        "features": tuple(comma_list(features)) or None,
    }
    chosen = comma_list(only) or None
    check_options(chosen, comma_list(skip), options)
    silent = quiet or json
    with stage("Reading", silent=silent):
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
    card = run_audit(
        data,
        only=chosen,
        skip=comma_list(skip),
        progress=progress(silent=silent),
        command=shlex.join(["cuecard", *sys.argv[1:]]),
        **options,
    )
    show_card(card, out=out, json=json, quiet=quiet)
    exit_if_failed(card, "audit")

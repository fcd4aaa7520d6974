"""`cuecard audit`: look for everything in a dataset that gives the label away."""

from __future__ import annotations

import shlex
import sys
from typing import Annotated, Any

import typer

from cuecard.cli.options import (
    ColumnsOption,
    DynamicsOption,
    EmbedOption,
    FeaturesOption,
    HoldoutOption,
    JsonOption,
    KeepUnlabelledOption,
    LabelsOption,
    LanguageOption,
    MapOption,
    MapSizeOption,
    MinCountOption,
    NoCacheOption,
    OnErrorOption,
    OutOption,
    QuietOption,
    RegexOption,
    ScopeOption,
    SeedOption,
    SetOption,
    SourceArgument,
    StopWordsOption,
    TaskOption,
    TestOption,
    TokensOption,
    TransformOption,
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

`cuecard audit pairs.csv --only pair_graph --set pair_graph.forest=paper --set pair_graph.advanced=true`

`cuecard audit train.parquet --test test.parquet --learner bilstm --set epochs=3` (extra `models`)

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
    map: MapOption = "tsne",
    map_size: MapSizeOption = 2_000,
    transform: TransformOption = None,
    dynamics: DynamicsOption = None,
    set_: SetOption = None,
    learner: Annotated[
        str | None,
        typer.Option(
            "--learner",
            metavar="A,B",
            help="Also train these models with the full and with partial input: fasttext, bilstm, transformer …",
        ),
    ] = None,
    no_cache: NoCacheOption = False,
    holdout: HoldoutOption = None,
    keep_unlabelled: KeepUnlabelledOption = False,
    on_error: OnErrorOption = "stop",
    seed: SeedOption = 0,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Audit a dataset: which shortcuts reveal the label?"""
    from cuecard.audits import AUDITS
    from cuecard.cli.loading import load_from_options
    from cuecard.cli.progress import progress, stage, training_bar
    from cuecard.cli.settings import split_settings
    from cuecard.cli.show import exit_if_failed, show_card
    from cuecard.run import audit as run_audit
    from cuecard.run import parse_settings, selected_audits

    kinds = {kind.name: kind for kind in AUDITS}
    of_sections, of_models = split_settings(set_, list(kinds), comma_list(learner))
    settings = parse_settings(of_sections, kinds)
    options: dict[str, Any] = {
        "tokens": tokens,
        "scope": scope,
        "language": language,
        "stop_words": stop_words,
        "min_count": min_count,
        "weights": weights,
        "embed": embed,
        "map": map,
        "map_size": map_size,
        "transformations": tuple(comma_list(transform)),
        "dynamics": str(dynamics) if dynamics else None,
        "learner": tuple(comma_list(learner)),
        "learner_settings": of_models,
        "tell": lambda title: training_bar(title, silent=quiet or json),
        "cache": not no_cache,
        "seed": seed,
        "regex": named_patterns(regex),
        "features": tuple(comma_list(features)) or None,
    }
    chosen = comma_list(only) or None
    selected_audits(only=chosen, skip=comma_list(skip), settings=settings, options=options)
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
        settings=settings,
        progress=progress(silent=silent),
        command=shlex.join(["cuecard", *sys.argv[1:]]),
        **options,
    )
    show_card(card, out=out, json=json, quiet=quiet)
    exit_if_failed(card, "audit")

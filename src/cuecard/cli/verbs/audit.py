"""Verbs that examine a dataset: `cuecard audit`, `explain` and `overlap`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cuecard.cli.help import DATA, FEATURES, MODELS
from cuecard.cli.options import completion
from cuecard.cli.options.completion import listed_names
from cuecard.cli.options.data import ClusterOptions, Dataset, Features, StopWordsOption, Texts, what_was_read
from cuecard.cli.options.shared import (
    CardOutput,
    MemoryOption,
    NoCacheOption,
    OnlyOption,
    OutOption,
    Output,
    SeedOption,
    SettingsOption,
    SkipOption,
    WeightsOption,
    comma_list,
    explicit_options,
    grouped,
    names_of,
    option,
    path,
    typed_command,
)
from cuecard.cli.streams import set_examples

if TYPE_CHECKING:
    from cuecard.data import DatasetSpec, Instances


AUDIT_EXAMPLES = """
Examples:

`cuecard audit train.parquet --test test.parquet --out report`

`cuecard audit qa.jsonl --columns question=q,choices=options,answer=gold`

`cuecard audit pairs.csv --labels 0=entailment,1=neutral,2=contradiction --json | jq .findings`

`cuecard audit 'shards/*.parquet' --memory 4GB --out report`

`cuecard audit weighted.parquet --weights weight`

`cuecard audit pairs.csv --only pair_graph --set pair_graph.forest=paper --set pair_graph.advanced=true`

`cuecard audit train.parquet --test test.parquet --learner bilstm --set epochs=3` (extra `models`)

`cuecard audit pairs.csv --features word,bigram --regex hedge='\\b(maybe|perhaps)\\b'`
"""


@grouped
def audit(
    dataset: Dataset,
    features: Features,
    clusters: ClusterOptions,
    output: CardOutput,
    out: OutOption = None,
    only: OnlyOption = None,
    skip: SkipOption = None,
    settings: SettingsOption = None,
    seed: SeedOption = 0,
    weights: WeightsOption = None,
    learner: Annotated[
        str | None,
        option(
            "--learner",
            "A,B",
            "Also train these models with full and with partial input: fasttext, bilstm, transformer, …",
            autocompletion=listed_names(completion.models),
            panel=MODELS,
        ),
    ] = None,
    learner_condition: Annotated[
        Literal["hypothesis", "premise", "choices"] | None,
        option(
            "--learner-condition",
            "NAME",
            "Partial input of --learner: hypothesis, premise or choices.",
            panel=MODELS,
            default="choices for multiple choice and preferences, otherwise hypothesis",
        ),
    ] = None,
    sort: Annotated[
        Literal["significance", "cueness"] | None,
        option(
            "--sort",
            "COLUMN",
            "Order of the cues: significance or cueness.",
            panel=FEATURES,
            default="significance",
        ),
    ] = None,
    expect: Annotated[
        str | None,
        option(
            "--expect",
            "A,B",
            "Feature families that are part of the task, no shortcuts; words: all that read what a text says.",
            panel=FEATURES,
        ),
    ] = None,
    endpoint: Annotated[
        str | None,
        option(
            "--endpoint",
            "URL",
            "Base URL of an OpenAI-compatible API.",
            panel=MODELS,
        ),
    ] = None,
    endpoint_model: Annotated[
        str | None, option("--endpoint-model", "NAME", "Name of the model at that endpoint.", panel=MODELS)
    ] = None,
    statement: Annotated[
        str | None,
        option(
            "--statement",
            "TEXT",
            "Test a sentence such as 'the right answer hedges' as a cue: the model says yes or no of each text.",
            panel=MODELS,
        ),
    ] = None,
    max_requests: Annotated[
        int | None,
        option("--max-requests", "N", "Send at most N requests; the next run resumes.", panel=MODELS, min=1),
    ] = None,
    no_cache: NoCacheOption = False,
    memory: MemoryOption = None,
    engine: Annotated[
        Literal["local", "ray"] | None,
        option(
            "--engine",
            "local|ray",
            "Where to run: this machine, or a Ray cluster.",
            panel=DATA,
            default="local",
        ),
    ] = None,
    address: Annotated[
        str | None,
        option(
            "--address",
            "HOST:PORT",
            "Ray cluster to run on. Default: RAY_ADDRESS, or one on this machine.",
            panel=DATA,
        ),
    ] = None,
) -> None:
    """Audit a dataset: which shortcuts reveal the label?"""
    from cuecard.audits import AUDITS
    from cuecard.cli.options.shared import split_settings

    output.check(out, dataset.inputs)
    of_sections, of_models = split_settings(settings, AUDITS.names(), comma_list(learner))

    def when_loaded(data: Instances) -> None:
        set_examples(data.n_examples)
        if not output.silent and sys.stderr.isatty():
            typer.echo(what_was_read(data), err=True)
        if out is not None:
            from cuecard.cli.show import import_report_early

            import_report_early()

    spec = dataset.spec(seed, when_loaded)
    data: Instances | DatasetSpec = spec
    if memory is None and engine is None:
        # What is needed from here on takes longer to import than small files take to read.
        data = spec() if dataset.is_small else spec.begun()
    from cuecard.cli.show import exit_if_failed
    from cuecard.cli.streams import training_bar
    from cuecard.run import audit as run_audit
    from cuecard.run import kept_until_written, parse_settings

    kinds = {kind.name: kind for kind in AUDITS} if of_sections else {}

    with kept_until_written():
        card = run_audit(
            data,
            only=comma_list(only),
            skip=comma_list(skip),
            settings=parse_settings(of_sections, kinds),
            progress=output.progress,
            command=typed_command(),
            **features.of_features,
            **clusters.of_clusters,
            **explicit_options(
                seed=seed or None,
                weights=weights,
                learner=names_of(learner),
                learner_settings=of_models or None,
                learner_condition=learner_condition,
                sort=sort,
                expect=names_of(expect),
                endpoint=endpoint,
                endpoint_model=endpoint_model,
                statement=statement,
                max_requests=max_requests,
                cache=False if no_cache else None,
                engine=engine,
                memory=memory,
                address=address,
                tell=(lambda title: training_bar(title, silent=output.silent)) if learner else None,
            ),
        )
        output.show(card, out, sections=comma_list(only))
    exit_if_failed(card, "audit")


EXPLAIN_EXAMPLES = """
Examples:

`cuecard explain sleeping train.parquet --test test.parquet`

`cuecard explain "is sleeping" train.parquet`

`cuecard explain length:longest qa.jsonl`

`cuecard explain regex:hedge train.parquet --regex hedge='maybe|perhaps'`
"""


@grouped
def explain(
    cue: Annotated[
        str,
        typer.Argument(metavar="CUE", help="A word, several words, or FAMILY:FEATURE.", show_default=False),
    ],
    dataset: Dataset,
    texts: Texts,
    output: Output,
    examples: Annotated[
        int | None, option("--examples", "N", "Number of examples to show per label.", default="3", min=0)
    ] = None,
    stop_words: StopWordsOption = None,
    seed: SeedOption = 0,
) -> None:
    """Show one cue in depth: counts, interval, examples, the words it occurs with."""
    from cuecard.audits import Cues
    from cuecard.audits.cues.explain import explain as explain_cue
    from cuecard.report import explanation_json, render_explanation

    audit = Cues(**texts.of_texts, **explicit_options(stop_words=stop_words))
    data = dataset.load(seed, output.progress)
    with output.progress("Looking"):
        explanation = explain_cue(data, cue, audit=audit, **explicit_options(examples=examples))
    if output.json:
        typer.echo(explanation_json(explanation))
    elif not output.quiet:
        from rich.console import Console

        render_explanation(explanation, Console())


OVERLAP_EXAMPLES = """
Examples:

`cuecard overlap test.parquet --with corpus/ --out overlap`

`cuecard overlap humaneval.jsonl --with corpus/`

`cuecard overlap qa.jsonl --with part1.jsonl.gz --with part2.txt --shortest 4`

`cuecard overlap test.parquet --orders logprobs.csv`
"""


@grouped
def overlap(
    dataset: Dataset,
    output: CardOutput,
    corpus: Annotated[
        list[Path] | None,
        option(
            "--with",
            "CORPUS",
            "File or folder to search: text, .jsonl, both also as .gz, .zst, .bz2 or .xz, or .parquet. Repeatable.",
            parser=path,
        ),
    ] = None,
    orders: Annotated[
        Path | None,
        option(
            "--orders",
            "FILE",
            "Log-probabilities of the published order and of shuffles: order (published, or a number), logprob and, "
            "where there are several, shard and model.",
            parser=path,
        ),
    ] = None,
    words: Annotated[
        int | None,
        option(
            "--words",
            "N",
            "Words of the shortest run that counts; a shorter text must occur whole.",
            default="13",
            min=2,
        ),
    ] = None,
    shortest: Annotated[
        int | None,
        option("--shortest", "N", "Do not search for texts with fewer words.", default="5", min=2),
    ] = None,
    out: OutOption = None,
) -> None:
    """Search a corpus for the texts of a benchmark, with file and offset of every run of words that both have."""
    from cuecard.run import overlap as run_overlap

    output.check(out, [*dataset.inputs, *map(str, corpus or ()), *([str(orders)] if orders else ())])
    card = run_overlap(
        lambda: dataset.load(0, output.progress, texts=True),
        corpus or (),
        orders=orders,
        progress=output.progress,
        command=typed_command(),
        **explicit_options(n=words, shortest=shortest),
    )
    output.show(card, out)

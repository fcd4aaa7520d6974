"""`cuecard audit`: look for everything in a dataset that gives the label away."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from cuecard.cli import timings
from cuecard.cli.help import DATA, FEATURES
from cuecard.cli.options import completion
from cuecard.cli.options.completion import listed_names
from cuecard.cli.options.data import Dataset
from cuecard.cli.options.features import ClusterOptions, Features
from cuecard.cli.options.groups import grouped, option, typed
from cuecard.cli.options.shared import (
    CardOutput,
    MemoryOption,
    NoCacheOption,
    OnlyOption,
    OutOption,
    SeedOption,
    SettingsOption,
    SkipOption,
    WeightsOption,
    comma_list,
    names_of,
    typed_command,
)
from cuecard.models.text_model import MODELS

if TYPE_CHECKING:
    from cuecard.data import Instances

EXAMPLES = """
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
    from cuecard.cli.options.settings import split_settings
    from cuecard.cli.progress import training_bar
    from cuecard.cli.show import exit_if_failed, import_report_early
    from cuecard.run import audit as run_audit
    from cuecard.run import kept_until_written, parse_settings

    output.check(out, dataset.inputs)
    of_sections, of_models = split_settings(settings, AUDITS.names(), comma_list(learner))
    kinds = {kind.name: kind for kind in AUDITS} if of_sections else {}

    def when_loaded(data: Instances) -> None:
        timings.examples = data.n_examples

    if out is not None:
        import_report_early()

    with kept_until_written():
        card = run_audit(
            dataset.unread(seed, when_loaded),
            only=comma_list(only),
            skip=comma_list(skip),
            settings=parse_settings(of_sections, kinds),
            progress=output.progress,
            command=typed_command(),
            **features.of_features,
            **clusters.of_clusters,
            **typed(
                seed=seed or None,
                weights=weights,
                learner=names_of(learner),
                learner_settings=of_models or None,
                learner_condition=learner_condition,
                sort=sort,
                cache=False if no_cache else None,
                engine=engine,
                memory=memory,
                address=address,
                tell=(lambda title: training_bar(title, silent=output.silent)) if learner else None,
            ),
        )
        output.show(card, out, sections=comma_list(only))
    exit_if_failed(card, "audit")

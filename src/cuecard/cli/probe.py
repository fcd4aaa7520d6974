"""`cuecard probe`: does a model use the cues?"""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from cuecard.cli.asking import (
    AnswersOption,
    Asked,
    ConcurrencyOption,
    EndpointOption,
    KeyVariableOption,
    LlmOption,
    MaxRequestsOption,
    PromptOption,
    SampleOption,
    StressOption,
    ask_endpoint,
    narrowed,
)
from cuecard.cli.leakage import IdenticalScoresOption, MatchOption, TestWeightsOption
from cuecard.cli.options import (
    ColumnsOption,
    FeaturesOption,
    HoldoutOption,
    JsonOption,
    LabelsOption,
    LanguageOption,
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
    TaskOption,
    TestOption,
    TokensOption,
    comma_list,
    named_patterns,
)

if TYPE_CHECKING:
    from cuecard.analysis import Need
    from cuecard.data import Instances
    from cuecard.probes import Predictions

EXAMPLES = """
Examples:

`cuecard probe train.parquet --test test.parquet --predictions bert=bert.csv --predictions gpt.jsonl --out probe`

`cuecard probe train.parquet --test test.parquet --model linear --model linear-hypothesis`

`cuecard probe train.parquet --test test.parquet --model fasttext --model runs/bilstm --out probe`

`cuecard probe train.parquet --test test.parquet --predictions p.csv --cues sleeping,nobody --stratify label`

`cuecard probe train.parquet --identical-pairs biased=a.csv --identical-pairs debiased=b.csv --out probe`

`cuecard probe train.parquet --test test.parquet --endpoint http://127.0.0.1:8080/v1 --llm smollm2 --stress no`
"""


def probe(
    train: SourceArgument,
    test: TestOption = None,
    predictions: Annotated[
        list[str] | None,
        typer.Option(
            "--predictions",
            "-p",
            metavar="[NAME=]FILE",
            help="A model's predictions: .csv, .jsonl or .parquet with id and prediction, a sample log of "
            "lm-evaluation-harness, a .json log of Inspect, or a folder with a Hugging Face text classifier; "
            "may be given several times.",
        ),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            metavar="NAME|DIR",
            help="Train and probe linear, fasttext, bilstm …, or with less to read fasttext-hypothesis …; or the "
            "folder of a model that `cuecard train` wrote. May be given several times.",
        ),
    ] = None,
    prediction_columns: Annotated[
        str | None,
        typer.Option(
            "--prediction-columns",
            metavar="ROLE=COLUMN,…",
            help="Which column of the predictions is what: id, prediction, gold, model.",
        ),
    ] = None,
    cues: Annotated[
        str | None,
        typer.Option("--cues", metavar="A,B,…", help="Cues to probe; the strongest of the data by default."),
    ] = None,
    endpoint: EndpointOption = None,
    llm: LlmOption = None,
    prompt: PromptOption = None,
    stress: StressOption = None,
    sample: SampleOption = None,
    max_requests: MaxRequestsOption = None,
    concurrency: ConcurrencyOption = 8,
    answers: AnswersOption = None,
    key_variable: KeyVariableOption = "OPENAI_API_KEY",
    weights: TestWeightsOption = None,
    identical_pairs: IdenticalScoresOption = None,
    match: MatchOption = None,
    set_: SetOption = None,
    top: Annotated[int, typer.Option("--top", min=1, help="How many of the strongest cues to probe.")] = 20,
    stratify: Annotated[
        Literal["label"] | None,
        typer.Option("--stratify", help="Shuffle within each right answer in the permutation test."),
    ] = None,
    reading: Annotated[
        Literal["union", "twice", "difference"],
        typer.Option("--reading", help="How the permutation test counts examples in both sets."),
    ] = "union",
    no_cache: NoCacheOption = False,
    only: Annotated[str | None, typer.Option("--only", metavar="A,B", help="Run these probes only.")] = None,
    skip: Annotated[str | None, typer.Option("--skip", metavar="A,B", help="Leave these probes out.")] = None,
    out: OutOption = None,
    task: TaskOption = None,
    columns: ColumnsOption = None,
    labels: LabelsOption = None,
    features: FeaturesOption = None,
    regex: RegexOption = None,
    tokens: TokensOption = None,
    scope: ScopeOption = "hypothesis",
    language: LanguageOption = None,
    min_count: MinCountOption = 5,
    holdout: HoldoutOption = None,
    on_error: OnErrorOption = "stop",
    seed: SeedOption = 0,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Probe models: do they use the cues of the data?"""
    from cuecard.audits import Cues
    from cuecard.cli.progress import progress, stage, training_bar
    from cuecard.cli.settings import split_settings
    from cuecard.cli.show import exit_if_failed, show_card
    from cuecard.data import load, parse_columns, parse_labels
    from cuecard.probes import PROBES, asked_recipes, is_saved, read_predictions, trained_predictions
    from cuecard.run import parse_settings, selected_probes
    from cuecard.run import probe as run_probe

    kinds = {kind.name: kind for kind in (Cues, *PROBES)}
    to_train = [name for name in model or [] if not is_saved(name)]
    of_sections, of_models = split_settings(set_, list(kinds), to_train)
    settings = parse_settings(of_sections, kinds)
    # A typo is told before anything is read.
    recipe_of = dict(zip(to_train, asked_recipes(to_train, of_models), strict=True))
    asked = Asked(endpoint, llm, tuple(prompt or ()), max_requests, concurrency, answers, key_variable, seed)
    asked.check()
    options: dict[str, Any] = {
        "tokens": tokens,
        "scope": scope,
        "language": language,
        "min_count": min_count,
        "regex": named_patterns(regex),
        "features": tuple(comma_list(features)) or None,
        "stratify": stratify,
        "reading": reading,
        "test_weights": weights,
        "match": match,
        "seed": seed,
    }
    chosen = comma_list(only) or None
    inputs: set[Need] = {"predictions", "cues", "prompts"} if predictions or model or endpoint else set()
    if identical_pairs:
        inputs.add("identical_pairs")
    selected_probes(
        only=chosen, skip=comma_list(skip), settings=settings, options=options, inputs=frozenset(inputs)
    )
    silent = quiet or json
    names = parse_labels(labels) if labels else None
    with stage("Reading", silent=silent):
        whole = load(
            train,
            test=test,
            task=task,
            columns=parse_columns(columns) if columns else None,
            labels=names,
            holdout=holdout,
            on_error=on_error,
            seed=seed,
        )
        data = narrowed(whole, stress, sample, Cues(tokens=tokens, scope=scope, language=language), seed)
        models = []
        for given in predictions or []:
            name, source = named_source(given)
            # A file is about the whole test split; a classifier in a folder is only run on what is asked about.
            about = data if Path(source).is_dir() else whole
            read = read_predictions(
                source,
                about,
                model=name,
                columns=_prediction_columns(prediction_columns),
                labels=names,
            )
            models += read if about is data else _only_about(read, about, data)
    for asked_for in model or []:
        with training_bar(f"Training {asked_for}", silent=silent) as watch:
            models.append(
                trained_predictions(
                    data,
                    recipe_of.get(asked_for, asked_for),
                    tokens=tokens,
                    seed=seed,
                    watch=watch,
                    cache=not no_cache,
                )
            )
    if endpoint:
        models += ask_endpoint(data, asked, silent=silent)
    card = run_probe(
        data,
        models,
        identical_pairs=identical_pairs or (),
        cues=comma_list(cues) or ([stress] if stress else []),
        top=top,
        only=chosen,
        skip=comma_list(skip),
        settings=settings,
        progress=progress(silent=silent),
        command=shlex.join(["cuecard", *sys.argv[1:]]),
        **options,
    )
    show_card(card, out=out, json=json, quiet=quiet)
    exit_if_failed(card, "probe")


def _only_about(models: list[Predictions], whole: Instances, narrow: Instances) -> list[Predictions]:
    """Return the predictions for those test examples that the narrower data has, in its order."""
    from cuecard.probes import check_test

    ids = check_test(whole).ids.to_list()
    at = dict(zip(ids, range(len(ids)), strict=True))
    kept = [at[name] for name in check_test(narrow).ids.to_list()]
    return [
        replace(
            model,
            answers=model.answers[kept],
            probabilities=None if model.probabilities is None else model.probabilities[kept],
        )
        for model in models
    ]


def named_source(given: str) -> tuple[str | None, str]:
    """Return the name and the file of NAME=FILE; a file whose own name has an equals sign is one too."""
    name, equals, source = given.partition("=")
    if not equals or Path(given).exists():
        return None, given
    return name.strip() or None, source


def _prediction_columns(text: str | None) -> dict[str, str]:
    from cuecard.errors import UsageError

    pairs = {}
    for part in comma_list(text):
        role, equals, name = part.partition("=")
        if not equals or not name:
            raise UsageError(
                f"--prediction-columns takes ROLE=COLUMN, such as prediction=guess, not {part!r}."
            )
        pairs[role.strip()] = name.strip()
    return pairs

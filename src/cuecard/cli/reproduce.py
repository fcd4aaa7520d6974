"""`cuecard reproduce PAPER`: the papers' experiments as one command each, on any dataset."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cuecard.cli.options import (
    ColumnsOption,
    HoldoutOption,
    JsonOption,
    LabelsOption,
    NoCacheOption,
    OnErrorOption,
    OutOption,
    QuietOption,
    SeedOption,
    SettingsOption,
    SourceArgument,
    SubsetOption,
    TestOption,
    comma_list,
)

if TYPE_CHECKING:
    from pathlib import Path

    from cuecard.analysis import Analysis
    from cuecard.data import Instances

app = typer.Typer(
    help="Repeat a paper's experiment on your own data.", no_args_is_help=True, rich_markup_mode="markdown"
)

STUBBORN_EXAMPLES = """
Example:

`cuecard reproduce stubborn train.parquet --test test.parquet --model fasttext,bilstm --seeds 3 --out stubborn`
"""
SELECTION_EXAMPLES = """
Example:

`cuecard reproduce selection quora_train.tsv --test quora_test.tsv --also msrp.parquet --out selection`
"""


@app.command("stubborn", epilog=STUBBORN_EXAMPLES)
def stubborn(
    train: SourceArgument,
    test: TestOption = None,
    model: Annotated[
        str, typer.Option("--model", metavar="A,B", help="Models to train, such as fasttext,bilstm.")
    ] = "fasttext",
    seeds: Annotated[
        int, typer.Option("--seeds", min=1, help="How often to train each: with --seed, --seed + 1, …")
    ] = 3,
    weights: Annotated[
        str,
        typer.Option(
            "--weights",
            metavar="A,B",
            help="uniform; paper: its own objective; words, bigrams, trigrams: entropy balancing of n-grams.",
        ),
    ] = "uniform,paper,words,bigrams",
    min_count: Annotated[
        int, typer.Option("--min-count", min=1, help="Balance words of this many train instances.")
    ] = 100,
    per_label: Annotated[
        int, typer.Option("--per-label", min=1, help="Words of highest z per label that the test looks at.")
    ] = 50,
    subset: SubsetOption = None,
    settings: SettingsOption = None,
    no_cache: NoCacheOption = False,
    out: OutOption = None,
    columns: ColumnsOption = None,
    labels: LabelsOption = None,
    holdout: HoldoutOption = None,
    on_error: OnErrorOption = "stop",
    seed: SeedOption = 0,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Train on equal and on balanced weights; test every model for its use of words.

    Finished runs are kept, unless --no-cache is given: an experiment that was stopped goes on where it was.
    """
    from cuecard.reproduce import StubbornExperiment

    experiment = StubbornExperiment(
        models=tuple(comma_list(model)),
        settings=tuple(settings or ()),
        seeds=seeds,
        weights=tuple(comma_list(weights)),
        min_count=min_count,
        per_label=per_label,
        seed=seed,
        cache=not no_cache,
    )
    data = _load(train, test, columns, labels, holdout, on_error, seed, silent=quiet or json)
    _conduct(experiment, data, subset=subset, seed=seed, out=out, json=json, quiet=quiet)


@app.command("selection", epilog=SELECTION_EXAMPLES)
def selection(
    train: SourceArgument,
    test: TestOption = None,
    also: Annotated[
        list[str] | None,
        typer.Option(
            "--also", metavar="OTHER", help="Another set with the same labels to score both models on."
        ),
    ] = None,
    model: Annotated[
        str, typer.Option("--model", metavar="NAME", help="The model to train.")
    ] = "siamese-lstm",
    seeds: Annotated[
        int, typer.Option("--seeds", min=1, help="How often to train each: with --seed, --seed + 1, …")
    ] = 1,
    match: Annotated[
        str | None,
        typer.Option("--match", metavar="LABEL", help="The label of two sentences that mean the same."),
    ] = None,
    max_weight: Annotated[
        float | None, typer.Option("--max-weight", help="No example weighs more; the mean is 1.")
    ] = None,
    subset: SubsetOption = None,
    settings: SettingsOption = None,
    no_cache: NoCacheOption = False,
    out: OutOption = None,
    columns: ColumnsOption = None,
    labels: LabelsOption = None,
    holdout: HoldoutOption = None,
    on_error: OnErrorOption = "stop",
    seed: SeedOption = 0,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Train with equal and with leakage-neutral weights; evaluate both as they stand, under weights and elsewhere.

    Finished runs are kept, unless --no-cache is given: an experiment that was stopped goes on where it was.
    """
    from cuecard.reproduce import SelectionExperiment

    experiment = SelectionExperiment(
        model=model,
        settings=tuple(settings or ()),
        seeds=seeds,
        match=match,
        max_weight=max_weight,
        seed=seed,
        cache=not no_cache,
    )
    silent = quiet or json
    data = _load(train, test, columns, labels, holdout, on_error, seed, silent=silent)
    others = tuple(
        _load(source, None, columns, labels, None, on_error, seed, silent=silent) for source in also or []
    )
    _conduct(
        replace(experiment, also=others), data, subset=subset, seed=seed, out=out, json=json, quiet=quiet
    )


def _load(train: str, test: str | None, *options: Any, silent: bool) -> Instances:
    from cuecard.cli.loading import load_from_options
    from cuecard.cli.progress import stage

    columns, labels, holdout, on_error, seed = options
    with stage(f"Reading {train}", silent=silent):
        return load_from_options(
            train, test=test, columns=columns, labels=labels, holdout=holdout, on_error=on_error, seed=seed
        )


def _conduct(
    experiment: Any,
    data: Instances,
    *,
    subset: int | None,
    seed: int,
    out: Path | None,
    json: bool,
    quiet: bool,
) -> None:
    """Run an experiment and show its card."""
    from cuecard.cli.progress import training_bar
    from cuecard.cli.show import show_card
    from cuecard.data.subsets import train_subset
    from cuecard.errors import UsageError
    from cuecard.run import check_labels, run_analyses

    silent = quiet or json
    of_all = data.train.n_examples
    data, _ = train_subset(data, subset, seed)
    check_labels(data)
    drawn = data.train.n_examples
    notes = [f"{drawn:,} of {of_all:,} train examples, drawn with seed {seed}."] if drawn < of_all else []
    told: Analysis = replace(experiment, tell=lambda title: training_bar(title, silent=silent))
    card = run_analyses(data, [told], command=shlex.join(["cuecard", *sys.argv[1:]]), notes=notes)
    section = card[experiment.name]
    if section.status == "skipped":
        raise UsageError(f"The experiment {experiment.name!r} cannot be run: {section.reason}.")
    if section.status == "failed":
        raise RuntimeError(f"The experiment {experiment.name!r} failed: {section.reason}.")
    show_card(card, out=out, json=json, quiet=quiet)

"""`cuecard train`: a model of the data, weighted or not, with everything the probes need."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cuecard.cli.help import MODELS, WEIGHTS
from cuecard.cli.options import completion
from cuecard.cli.options.completion import listed_names
from cuecard.cli.options.data import Dataset
from cuecard.cli.options.shared import (
    Output,
    SeedOption,
    SettingsOption,
    SubsetOption,
    WeightsOption,
    explicit_options,
    grouped,
    option,
    path,
    required_out,
)

if TYPE_CHECKING:
    from cuecard.models import Debias


TRAIN_EXAMPLES = """
Examples:

`cuecard train train.parquet --test test.parquet --model fasttext --out runs/fasttext`

`cuecard train train.parquet --test test.parquet --model bilstm --condition hypothesis --out runs/hypothesis`

`cuecard debias train.parquet --out weighted.parquet`, then
`cuecard train weighted.parquet --model bilstm --weights weight --weighting sampler --out runs/weighted`

`cuecard train train.parquet --test test.parquet --model esim --debias product-of-experts --out runs/debiased`

`cuecard probe train.parquet --test test.parquet --predictions runs/fasttext/predictions_test.parquet`
"""


@grouped
def train(
    dataset: Dataset,
    output: Output,
    out: Annotated[
        Path,
        required_out(
            "DIR",
            "Write the model, predictions, metrics and training dynamics here; an interrupted run resumes.",
        ),
    ],
    model: Annotated[
        str,
        option(
            "--model",
            "-m",
            "NAME",
            "linear, fasttext, bilstm, siamese-lstm, esim, transformer, or a plug-in's name.",
            autocompletion=listed_names(completion.models),
        ),
    ] = "linear",
    dev: Annotated[
        str | None, option("--dev", "DEV", "Validation split for early stopping, in any form TRAIN can have.")
    ] = None,
    condition: Annotated[
        Literal["full", "hypothesis", "premise", "choices"],
        option("--condition", "NAME", "Input of the model: full, hypothesis, premise or choices."),
    ] = "full",
    debias: Annotated[
        str | None,
        option(
            "--debias",
            "NAME",
            "Keep the model from using cues: product-of-experts, learned-mixin, confidence, group-robust, upweight, "
            "last-layer or erase.",
        ),
    ] = None,
    expert: Annotated[
        str | None,
        option(
            "--expert",
            "NAME",
            "What the bias expert of --debias reads: words, hypothesis, premise, choices, pair-graph, a feature "
            "family, or several with a plus.",
            default="words",
        ),
    ] = None,
    strength: Annotated[
        float | None,
        option("--strength", "R", "Strength of --debias. Default: the method's own.", min=0, default=False),
    ] = None,
    settings: SettingsOption = None,
    seed: SeedOption = 0,
    epochs: Annotated[int | None, option("--epochs", "N", "Number of epochs.", panel=MODELS, min=1)] = None,
    batch_size: Annotated[
        int | None, option("--batch-size", "N", "Examples per batch.", panel=MODELS, min=1)
    ] = None,
    learning_rate: Annotated[
        float | None, option("--learning-rate", "R", "Learning rate of the optimiser.", panel=MODELS)
    ] = None,
    subset: SubsetOption = None,
    record_dynamics: Annotated[
        bool,
        option("--record-dynamics", "Record training dynamics and draw the data map.", panel=MODELS),
    ] = False,
    weights: WeightsOption = None,
    weights_from: Annotated[
        Path | None,
        option(
            "--weights-from",
            "FILE",
            "File with the same rows and their weights, as `cuecard debias` writes it; --weights names the column.",
            panel=WEIGHTS,
            default=False,
            parser=path,
        ),
    ] = None,
    weighting: Annotated[
        Literal["loss", "sampler"] | None,
        option(
            "--weighting",
            "NAME",
            "loss: weight the loss; sampler: draw examples in proportion to their weights.",
            panel=WEIGHTS,
        ),
    ] = None,
) -> None:
    """Train a model and write its predictions, scores and training dynamics."""
    from cuecard.cli.streams import training_bar
    from cuecard.errors import InputError
    from cuecard.models.recipe import recipes
    from cuecard.run import WeightFile, train_recipe, training_recipe
    from cuecard.run.run_folder import check_run_folder

    _check_weights(weights, weights_from)
    explicit = {"epochs": epochs, "batch_size": batch_size, "learning_rate": learning_rate}
    named = [f"{name}={value}" for name, value in explicit.items() if value is not None]
    [recipe] = recipes([model], [*named, *(settings or [])], condition=condition)
    recipe = training_recipe(recipe, weighting=weighting, seed=seed)
    recipe = replace(recipe, debias=_debias(debias, expert, strength))
    check_run_folder(out, [*dataset.inputs, dev, weights_from])
    data = dataset.load(seed, output.progress, dev=dev)
    weights_read = replace(dataset.read_options, label_file=None, header=None, cluster=None, name=None)
    with training_bar(f"Training {model}", silent=output.silent) as watch:
        done = train_recipe(
            data,
            recipe,
            weights=WeightFile(weights_from, weights or "weight", weights_read) if weights_from else weights,
            subset=subset,
            dynamics=record_dynamics,
            out=out,
            seed=seed,
            watch=watch,
        )
    if done.dynamics is not None and not (out / "data_map.html").exists():
        from cuecard.report import write_data_map

        with output.progress("Drawing the data map"):
            reads = "full input" if condition == "full" else f"{condition} only"
            try:
                write_data_map(
                    done.dynamics, out / "data_map.html", data, of=f"{model} on {data.name}, {reads}"
                )
            except InputError as error:  # the run itself is written
                typer.echo(f"cuecard: there is no data map: {error}", err=True)
    if output.json:
        from json import dumps

        typer.echo(dumps(done.metrics, indent=2, ensure_ascii=False))
    elif not output.quiet:
        from rich.console import Console

        from cuecard.report import render_training

        render_training(done.metrics, Console())
        already = "This run is already complete; nothing was trained.\n" if done.resumed else ""
        typer.echo(f"{already}Model and predictions: {out}")
        if (out / "data_map.html").exists():
            typer.echo(f"Data map: {out / 'data_map.html'}")


def _debias(method: str | None, expert: str | None, strength: float | None) -> Debias | None:
    """Return how the model is to be debiased, or raise if options are there that need a method."""
    from cuecard.errors import UsageError
    from cuecard.models import Debias

    if method is None:
        if expert is not None or strength is not None:
            raise UsageError("--expert and --strength only apply with --debias: add --debias NAME.")
        return None
    return Debias(method, **explicit_options(expert=expert, strength=strength))


def _check_weights(weights: str | None, weights_from: Path | None) -> None:
    """Raise if `--weights` is a file where the name of a column is expected."""
    from cuecard.errors import UsageError

    if weights and not weights_from and (Path(weights).suffix or Path(weights).is_file()):
        raise UsageError(
            f"--weights takes the name of a column of TRAIN, but {weights!r} is a file: type --weights-from {weights}."
        )

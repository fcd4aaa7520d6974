"""`cuecard train`: a model of the data, weighted or not, with everything the probes need."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from cuecard.cli.options import (
    ColumnsOption,
    HoldoutOption,
    JsonOption,
    LabelsOption,
    OnErrorOption,
    QuietOption,
    SeedOption,
    SettingsOption,
    SourceArgument,
    SubsetOption,
    TaskOption,
    TestOption,
)

EXAMPLES = """
Examples:

`cuecard train train.parquet --test test.parquet --model fasttext --out runs/fasttext`

`cuecard train train.parquet --test test.parquet --model bilstm --condition hypothesis --out runs/hypothesis`

`cuecard debias train.parquet --out weighted.parquet`, then
`cuecard train train.parquet --model bilstm --weights weighted.parquet --weighting sampler --out runs/weighted`

`cuecard probe train.parquet --test test.parquet --predictions runs/fasttext/predictions_test.parquet`
"""


def train(
    train: SourceArgument,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help="Write the model, predictions, metrics and training dynamics here; a stopped run goes on.",
            show_default=False,
        ),
    ],
    model: Annotated[
        str,
        typer.Option(
            "--model",
            metavar="NAME",
            help="linear, fasttext, bilstm, siamese-lstm, esim, transformer, or a plug-in's name.",
        ),
    ] = "linear",
    test: TestOption = None,
    dev: Annotated[
        str | None,
        typer.Option("--dev", metavar="DEV", help="Examples to stop early on, in any form TRAIN can have."),
    ] = None,
    condition: Annotated[
        Literal["full", "hypothesis", "premise", "choices"],
        typer.Option("--condition", help="What the model may read."),
    ] = "full",
    weights: Annotated[
        Path | None,
        typer.Option(
            "--weights", metavar="FILE", help="The same rows with weights, as `cuecard debias` writes them."
        ),
    ] = None,
    weight_column: Annotated[
        str, typer.Option("--weight-column", metavar="NAME", help="What the column of weights is called.")
    ] = "weight",
    weighting: Annotated[
        Literal["loss", "sampler"] | None,
        typer.Option("--weighting", help="Weights as factors of the loss, or as chances to be drawn."),
    ] = None,
    epochs: Annotated[int | None, typer.Option("--epochs", min=1, help="Passes over the data.")] = None,
    batch_size: Annotated[int | None, typer.Option("--batch-size", min=1, help="Examples per step.")] = None,
    learning_rate: Annotated[float | None, typer.Option("--learning-rate", help="Size of a step.")] = None,
    settings: SettingsOption = None,
    subset: SubsetOption = None,
    dynamics: Annotated[
        bool, typer.Option("--dynamics", help="Record how every example was learned, and draw the data map.")
    ] = False,
    task: TaskOption = None,
    columns: ColumnsOption = None,
    labels: LabelsOption = None,
    holdout: HoldoutOption = None,
    on_error: OnErrorOption = "stop",
    seed: SeedOption = 0,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Train a model and write its predictions, scores and training dynamics."""
    from cuecard.cli.progress import stage, training_bar
    from cuecard.data import load, parse_columns, parse_labels
    from cuecard.data.files.weight_files import weights_from_file
    from cuecard.models.recipe import recipes
    from cuecard.run import train_recipe, training_recipe

    explicit = {"epochs": epochs, "batch_size": batch_size, "learning_rate": learning_rate}
    named = [f"{name}={value}" for name, value in explicit.items() if value is not None]
    [asked] = recipes([model], [*named, *(settings or [])], condition=condition)
    recipe = training_recipe(asked, weighting=weighting, seed=seed)
    silent = quiet or json
    reading = {
        "task": task,
        "columns": parse_columns(columns) if columns else None,
        "labels": parse_labels(labels) if labels else None,
        "on_error": on_error,
    }
    with stage("Reading", silent=silent):
        data = load(train, test=test, dev=dev, holdout=holdout, seed=seed, **reading)  # type: ignore[arg-type]
        row_weights = (
            weights_from_file(weights, data, column=weight_column, **reading) if weights is not None else None
        )
    with training_bar(f"Training {model}", silent=silent) as watch:
        done = train_recipe(
            data,
            recipe,
            weights=row_weights,
            subset=subset,
            dynamics=dynamics,
            out=out,
            seed=seed,
            watch=watch,
        )
    if done.dynamics is not None and not (out / "data_map.html").exists():
        from cuecard.report import write_data_map

        with stage("Drawing the data map", silent=silent):
            reads = "full input" if condition == "full" else f"{condition} only"
            write_data_map(done.dynamics, out / "data_map.html", data, of=f"{model} on {data.name}, {reads}")
    if json:
        from json import dumps

        typer.echo(dumps(done.metrics, indent=2, ensure_ascii=False))
    elif not quiet:
        from rich.console import Console

        from cuecard.report import render_training

        render_training(done.metrics, Console())
        already = "This run was finished before; nothing was trained.\n" if done.resumed else ""
        typer.echo(f"{already}Model and predictions: {out}")
        if done.dynamics is not None:
            typer.echo(f"Data map: {out / 'data_map.html'}")

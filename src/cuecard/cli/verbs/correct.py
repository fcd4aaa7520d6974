"""`cuecard correct`: a model's predictions without what cues alone predict."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from cuecard.cli.options.data import Dataset, Texts
from cuecard.cli.options.shared import (
    Output,
    SeedOption,
    comma_list,
    explicit_options,
    grouped,
    option,
    required_out,
)
from cuecard.cli.verbs.probe import named_source

CORRECT_EXAMPLES = """
Examples:

`cuecard correct train.parquet --test test.parquet --dev dev.parquet --predictions run/predictions_test.parquet
--dev-predictions run/predictions_dev.parquet --out corrected.parquet`

`cuecard correct train.parquet --test test.parquet --predictions llm.csv --aim worst-group --out corrected.csv`

`cuecard correct train.parquet --test test.parquet --predictions p.csv --method expert --expert hypothesis --out c.csv`

`cuecard correct benchmark.csv --predictions llm.csv --out corrected.csv`

`cuecard probe train.parquet --test test.parquet --predictions before=p.csv --predictions after=c.csv`
"""


@grouped
def correct(
    dataset: Dataset,
    texts: Texts,
    output: Output,
    predictions: Annotated[
        str,
        option(
            "--predictions",
            "-p",
            "[NAME=]FILE",
            "The model's predictions of TEST (without one, of TRAIN, a benchmark of one file) with a column p_<answer> "
            "per answer, in any form `probe` reads.",
            default=False,
        ),
    ],
    out: Annotated[
        Path,
        required_out(
            "FILE",
            "Write the corrected predictions here (.parquet, .csv, .tsv or .jsonl), for `cuecard probe --predictions`.",
        ),
    ],
    dev: Annotated[
        str | None, option("--dev", "DEV", "Validation split to tune on, in any form TRAIN can have.")
    ] = None,
    dev_predictions: Annotated[
        str | None,
        option(
            "--dev-predictions",
            "FILE",
            "The model's predictions of DEV. Default: tune on four fifths of TEST, correct the other fifth.",
            default=False,
        ),
    ] = None,
    method: Annotated[
        Literal["constraint", "expert"] | None,
        option(
            "--method",
            "NAME",
            "constraint: the most accurate answers that do not depend on cues; expert: divide by p(answer | cues).",
            default="constraint",
        ),
    ] = None,
    aim: Annotated[
        Literal["gap", "worst-group"] | None,
        option(
            "--aim",
            "NAME",
            "gap: close the gap between usual and unusual labels; worst-group: raise the accuracy of the worse.",
            default="gap",
        ),
    ] = None,
    cues: Annotated[
        str | None,
        option("--cues", "A,B", "Cues to correct for. Default: the words with the highest z.", default=False),
    ] = None,
    per_label: Annotated[
        int | None,
        option(
            "--per-label",
            "N",
            "Number of words with the highest z per label to correct for.",
            default="50",
            min=1,
        ),
    ] = None,
    bands: Annotated[
        int | None,
        option(
            "--bands",
            "N",
            "Number of such lists: the next ones have the words that follow, each with a strength of its own.",
            default="1",
            min=1,
        ),
    ] = None,
    expert: Annotated[
        str | None,
        option(
            "--expert",
            "NAME",
            "What the expert reads: cues, hypothesis, premise, choices, pair-graph, a feature family such as length, "
            "or several with a plus.",
            default="cues",
        ),
    ] = None,
    strength: Annotated[
        float | None,
        option(
            "--strength", "R", "Strength of the correction. Default: tuned for the aim.", min=0, default=False
        ),
    ] = None,
    seed: SeedOption = 0,
) -> None:
    """Correct the predictions of a trained model for cues, and report the cost; `debias` is for training another."""
    from cuecard.audits import Cues
    from cuecard.data.output import check_writable
    from cuecard.errors import UsageError
    from cuecard.run import correct_file

    check_writable(out, [*dataset.inputs, dev, named_source(predictions)[1], dev_predictions])
    if (dev is None) != (dev_predictions is None):
        raise UsageError(
            "--dev and --dev-predictions belong together: give both, or neither to tune on TEST."
        )
    name, source = named_source(predictions)
    options = explicit_options(
        method=method,
        aim=aim,
        cues=tuple(comma_list(cues)) or None,
        per_label=per_label,
        bands=bands,
        expert=expert,
        strength=strength,
    )
    done = correct_file(
        lambda: dataset.load(seed, output.progress, dev=dev),
        source,
        out,
        model=name,
        dev_predictions=dev_predictions,
        audit=Cues(**texts.of_texts),
        labels=dataset.label_names,
        seed=seed,
        **options,
    )
    if output.json:
        from json import dumps

        typer.echo(dumps(done.metrics, indent=2, ensure_ascii=False))
    elif not output.quiet:
        from rich.console import Console

        from cuecard.report import render_correction

        render_correction(dict(done.metrics), Console())
        test = f" --test {dataset.test}" if dataset.test else ""
        typer.echo(f"Corrected predictions: {out}")
        typer.echo(f"Next: cuecard probe {dataset.train}{test} --predictions {out}")

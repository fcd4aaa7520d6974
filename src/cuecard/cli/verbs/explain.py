"""`cuecard explain`: one cue in depth."""

from __future__ import annotations

from typing import Annotated

import typer

from cuecard.cli.options.data import Dataset
from cuecard.cli.options.features import StopWordsOption, Texts
from cuecard.cli.options.groups import grouped, option, typed
from cuecard.cli.options.shared import Output, SeedOption

EXAMPLES = """
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
    from cuecard.audits import explain as explain_cue
    from cuecard.report import explanation_json, render_explanation

    audit = Cues(**texts.of_texts, **typed(stop_words=stop_words))
    data = dataset.load(seed, output.progress)
    with output.progress("Looking"):
        explanation = explain_cue(data, cue, audit=audit, **typed(examples=examples))
    if output.json:
        typer.echo(explanation_json(explanation))
    elif not output.quiet:
        from rich.console import Console

        render_explanation(explanation, Console())

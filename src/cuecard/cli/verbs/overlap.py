"""`cuecard overlap`: does a corpus contain the texts of a benchmark?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cuecard.cli.options.data import Dataset
from cuecard.cli.options.groups import grouped, option, typed
from cuecard.cli.options.shared import CardOutput, OutOption, path, typed_command

EXAMPLES = """
Examples:

`cuecard overlap test.parquet --with corpus/ --out overlap`

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
        lambda: dataset.load(0, output.progress),
        corpus or (),
        orders=orders,
        progress=output.progress,
        command=typed_command(),
        **typed(n=words, shortest=shortest),
    )
    output.show(card, out)

"""`cuecard debias`: weights that take the shortcuts out of a training set."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from cuecard.cli.help import FEATURES, WEIGHTS
from cuecard.cli.options import completion
from cuecard.cli.options.completion import listed_names
from cuecard.cli.options.data import Rows, Texts
from cuecard.cli.options.shared import (
    CardOutput,
    MaxWeightOption,
    MemoryOption,
    SeedOption,
    SettingsOption,
    explicit_options,
    grouped,
    names_of,
    option,
    path,
    required_out,
    typed_command,
)
from cuecard.errors import UsageError

DEBIAS_EXAMPLES = """
Examples:

`cuecard debias train.parquet --out weighted.parquet`

`cuecard debias train.parquet --ngrams 2 --min-count 50 --report out/debias --out weighted.parquet`

`cuecard debias train.parquet --features significant --min-ess 0.6 --out weighted.parquet`

`cuecard debias train.parquet --card out/audit --out weighted.parquet` (balance what an audit found)

`cuecard debias train.parquet --reaudit all --report out/debias --out weighted.parquet`

`cuecard debias pairs.parquet --method neutral --max-weight 20 --set neutral.trees=500 --out weighted.parquet`

`cuecard debias 'shards/*.parquet' --memory 4GB --out weighted` (larger than memory)

`cuecard audit weighted.parquet --weights weight` (audit again with the weights)
"""


@grouped
def debias(
    rows: Rows,
    texts: Texts,
    output: CardOutput,
    out: Annotated[
        Path,
        required_out(
            "FILE",
            "Write the rows with their weights here (.parquet, .csv, .tsv or .jsonl; without an extension, a folder "
            "of parquet files).",
        ),
    ],
    method: Annotated[
        str,
        option(
            "--method",
            "NAME",
            "lexical: balance features; neutral: balance the pair graph; or the name of a plug-in.",
        ),
    ] = "lexical",
    card: Annotated[
        Path | None,
        option(
            "--card",
            "DIR",
            "Balance the cues on this card, with its tokens, scope and families.",
            parser=path,
        ),
    ] = None,
    report: Annotated[
        Path | None,
        option("--report", "DIR", "Write card.json, report.html and tables/ here.", parser=path),
    ] = None,
    reaudit: Annotated[
        str | None,
        option(
            "--reaudit",
            "A,B",
            "Audits to repeat under the weights: cues, partial_input, …, all or none.",
            default="cues; none for neutral",
        ),
    ] = None,
    settings: SettingsOption = None,
    seed: SeedOption = 0,
    features: Annotated[
        str | None,
        option(
            "--features",
            "A,B",
            "Balance these families, such as word,negation,length; significant: all significant cues.",
            panel=FEATURES,
            default="word",
            autocompletion=listed_names(completion.families),
        ),
    ] = None,
    ngrams: Annotated[
        int | None, option("--ngrams", "N", "Balance words and n-grams up to N words.", panel=FEATURES)
    ] = None,
    min_count: Annotated[
        int | None,
        option(
            "--min-count",
            "N",
            "Balance features that occur in at least N training instances.",
            panel=FEATURES,
            default="100 and, of under 10,000 examples, rarer significant ones; 5 for --features significant",
            min=1,
        ),
    ] = None,
    target: Annotated[
        Literal["uniform", "overall"] | None,
        option(
            "--target",
            "NAME",
            "Label shares to reach. uniform: equal; overall: those of the training set.",
            panel=WEIGHTS,
            default="uniform",
        ),
    ] = None,
    solver: Annotated[
        Literal["entropy", "softmax"] | None,
        option(
            "--solver",
            "NAME",
            "entropy: closest to equal weights; softmax: the paper's objective.",
            panel=WEIGHTS,
            default="entropy",
        ),
    ] = None,
    ridge: Annotated[
        str | None,
        option(
            "--ridge",
            "R|cv|exact",
            "Ridge penalty: larger values give more equal weights and less balance; cv: choose it by held-out "
            "balance; exact: none.",
            panel=WEIGHTS,
            default="cv",
        ),
    ] = None,
    max_weight: MaxWeightOption = None,
    min_ess: Annotated[
        float | None,
        option(
            "--min-ess",
            "SHARE",
            "Raise the ridge until the effective sample size is at least this share of the examples.",
            panel=WEIGHTS,
        ),
    ] = None,
    balance_labels: Annotated[
        bool | None,
        option("--balance-labels", "Also balance the overall label shares.", panel=WEIGHTS),
    ] = None,
    trade_off: Annotated[
        bool,
        option(
            "--trade-off",
            "Also solve with larger ridges, to chart balance against effective sample size.",
            panel=WEIGHTS,
        ),
    ] = False,
    weight_column: Annotated[
        str, option("--weight-column", "NAME", "Name of the new column of weights.", panel=WEIGHTS)
    ] = "weight",
    memory: MemoryOption = None,
) -> None:
    """Reweight the examples of a training set so that shortcuts no longer predict the label; `plan` changes them.

    Writes all rows unchanged and in their order, with a column of weights. The mean weight of the labelled rows is 1;
    rows without a label get weight 0.
    """
    from cuecard.data import DatasetSpec
    from cuecard.remedies import REMEDIES
    from cuecard.run import WeightedRows, debias_file, parse_settings

    output.check(report, [*rows.inputs, card, out], option="--report")
    options = texts.of_texts | explicit_options(
        ngrams=ngrams,
        features=names_of(features),
        min_count=min_count,
        ridge=_ridge(ridge),
        max_weight=max_weight,
        min_ess=min_ess,
        balance_labels=balance_labels,
        target=target,
        solver=solver,
        reaudit=names_of(reaudit),
        seed=seed or None,
        trade_off=_softer_ridges() if trade_off else None,
    )
    options |= parse_settings(settings or [], {method: REMEDIES.get(method)}).get(method, {})
    debiased = debias_file(
        DatasetSpec(rows.train, options=rows.read_options),
        WeightedRows(out, weight_column, output.staged(report)),
        method,
        like=card,
        memory=memory,
        progress=output.progress,
        command=typed_command(),
        **options,
    )
    output.print(debiased.card, report)
    if not output.silent:
        typer.echo(f"Weighted rows: {out}")


def _ridge(text: str | None) -> float | str | None:
    """Return a ridge as a number, "cv" and "exact" as they are."""
    if text in (None, "cv", "exact"):
        return text
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"--ridge takes a number, cv or exact, not {text!r}.") from None


def _softer_ridges() -> tuple[float, ...]:
    from cuecard.remedies.lexical_weights import TRADE_OFF

    return TRADE_OFF

"""`cuecard debias`: weights that take the shortcuts out of a training set."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from cuecard.cli.options import (
    ColumnsOption,
    JsonOption,
    LabelsOption,
    LanguageOption,
    OnErrorOption,
    QuietOption,
    RegexOption,
    SeedOption,
    SetOption,
    SourceArgument,
    TaskOption,
    TokensOption,
    comma_list,
    named_patterns,
)
from cuecard.errors import UsageError

EXAMPLES = """
Examples:

`cuecard debias train.parquet --out weighted.parquet`

`cuecard debias train.parquet --ngrams 2 --min-count 50 --report out/debias --out weighted.parquet`

`cuecard debias train.parquet --features significant --min-ess 0.6 --out weighted.parquet`

`cuecard debias train.parquet --card out/audit --out weighted.parquet` (balance what an audit found)

`cuecard debias train.parquet --reaudit all --report out/debias --out weighted.parquet`

`cuecard debias pairs.parquet --method leakage --max-weight 20 --set leakage.trees=500 --out weighted.parquet`

`cuecard audit weighted.parquet --weights weight` (look again, under the weights)
"""


def debias(
    train: SourceArgument,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Write the rows with their weights here (.parquet, .csv, .tsv or .jsonl).",
            show_default=False,
        ),
    ],
    method: Annotated[
        str,
        typer.Option(
            "--method",
            help="lexical: no feature tells the label; leakage: the pair graph does not; or a plug-in's name.",
        ),
    ] = "lexical",
    card: Annotated[
        Path | None,
        typer.Option(
            "--card",
            metavar="DIR",
            help="Balance what the cue audit on this card found, with its tokens, scope and families.",
        ),
    ] = None,
    ngrams: Annotated[
        int | None, typer.Option("--ngrams", metavar="N", help="Balance words and n-grams up to N words.")
    ] = None,
    features: Annotated[
        str | None,
        typer.Option(
            "--features",
            metavar="A,B,…",
            help="Balance these families, such as word,negation,length; significant: all that the cue audit finds.",
        ),
    ] = None,
    regex: RegexOption = None,
    min_count: Annotated[
        int | None,
        typer.Option(
            "--min-count",
            min=1,
            help="Balance features of this many train instances. [default: 100; for --features significant 5]",
        ),
    ] = None,
    ridge: Annotated[
        str | None,
        typer.Option(
            "--ridge",
            metavar="NUMBER|cv",
            help="Above 0: soften the balance for more equal weights; cv: as balances held-out examples best.",
        ),
    ] = None,
    max_weight: Annotated[
        float | None, typer.Option("--max-weight", help="No example weighs more; the mean is 1.")
    ] = None,
    min_ess: Annotated[
        float | None,
        typer.Option(
            "--min-ess", help="Soften until this share of the examples is left as effective sample."
        ),
    ] = None,
    balance_labels: Annotated[
        bool | None,
        typer.Option("--balance-labels", help="Bring the labels' overall shares to the target too."),
    ] = None,
    target: Annotated[
        Literal["uniform", "overall"] | None,
        typer.Option(
            "--target", help="Label shares to reach: all the same, or those of all train. [default: uniform]"
        ),
    ] = None,
    solver: Annotated[
        Literal["entropy", "softmax"] | None,
        typer.Option(
            "--solver", help="Closest to equal weights, or the paper's objective. [default: entropy]"
        ),
    ] = None,
    tokens: TokensOption = None,
    scope: Annotated[
        Literal["hypothesis", "premise", "both"] | None,
        typer.Option("--scope", help="The text in which a feature is looked for; both, or the choices."),
    ] = None,
    language: LanguageOption = None,
    task: TaskOption = None,
    columns: ColumnsOption = None,
    labels: LabelsOption = None,
    reaudit: Annotated[
        str | None,
        typer.Option(
            "--reaudit",
            metavar="A,B",
            help="Audits to repeat under the weights: cues, partial_input, …, all or none. [default: cues]",
        ),
    ] = None,
    weight_column: Annotated[
        str, typer.Option("--weight-column", metavar="NAME", help="What the column of weights is called.")
    ] = "weight",
    report: Annotated[
        Path | None,
        typer.Option("--report", metavar="DIR", help="Write card.json, report.html and tables/ here."),
    ] = None,
    set_: SetOption = None,
    on_error: OnErrorOption = "stop",
    seed: SeedOption = 0,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Weigh the examples of a training set so that its shortcuts no longer tell the label.

    Writes the rows as they are, in their order, with a column of weights whose mean over the labelled rows is 1;
    a row without a label has the weight 0.
    """
    from cuecard.cli.progress import progress
    from cuecard.cli.show import show_card
    from cuecard.data import parse_columns, parse_labels
    from cuecard.remedies import REMEDIES
    from cuecard.run import debias_file, parse_settings

    given: dict[str, Any] = {
        "ngrams": ngrams,
        "features": tuple(comma_list(features)) or None,
        "regex": named_patterns(regex) or None,
        "min_count": min_count,
        "ridge": _ridge(ridge),
        "max_weight": max_weight,
        "min_ess": min_ess,
        "balance_labels": balance_labels,
        "target": target,
        "solver": solver,
        "tokens": tokens,
        "scope": scope,
        "language": language,
        "reaudit": tuple(comma_list(reaudit)) or None,
        "seed": seed or None,
        "trade_off": _trade_off(method, solver) if report else None,
    }
    options = {name: value for name, value in given.items() if value is not None}
    options |= parse_settings(set_ or [], {method: REMEDIES.get(method)}).get(method, {})
    silent = quiet or json
    debiased = debias_file(
        train,
        out,
        method,
        weight_column=weight_column,
        like=card,
        reading={
            "task": task,
            "columns": parse_columns(columns) if columns else None,
            "labels": parse_labels(labels) if labels else None,
            "on_error": on_error,
        },
        progress=progress(silent=silent),
        command=shlex.join(["cuecard", *sys.argv[1:]]),
        **options,
    )
    show_card(debiased.card, out=report, json=json, quiet=quiet)
    if not silent:
        typer.echo(f"Weighted rows: {out}")


def _ridge(text: str | None) -> float | str | None:
    """Return a ridge as a number, or "cv" as it is."""
    if text is None or text == "cv":
        return text
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"--ridge takes a number or cv, not {text!r}.") from None


def _trade_off(method: str, solver: str | None) -> tuple[float, ...] | None:
    """Return the ridges whose balance and cost the report shows."""
    if method != "lexical" or solver == "softmax":
        return None
    from cuecard.remedies.lexical_weights import TRADE_OFF

    return TRADE_OFF

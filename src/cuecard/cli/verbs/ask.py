"""`cuecard ask`: a language model's answers to the test examples, as a file of predictions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cuecard.cli.help import REQUESTS
from cuecard.cli.options.data import Dataset, Texts
from cuecard.cli.options.shared import (
    Output,
    SeedOption,
    comma_list,
    grouped,
    option,
    path,
    required_out,
    typed_command,
)

if TYPE_CHECKING:
    from cuecard.data import Instances

ASK_EXAMPLES = """
Examples:

`cuecard ask train.parquet --test test.parquet --endpoint http://127.0.0.1:8080/v1 --model smollm2 --out asked.jsonl`

`cuecard ask train.parquet --test test.parquet --endpoint URL --model NAME --stress no --prompt short --out asked.jsonl`

`cuecard ask qa.jsonl --input full,choices --permute cyclic --endpoint URL --model NAME --dry-run --out asked.jsonl`

`cuecard probe train.parquet --test test.parquet --predictions asked.jsonl --cues no --out probe`

`cuecard ask preferences.parquet --judge-as score,rubric,batch,pairs --endpoint URL --model NAME --out judged.jsonl`
"""


@grouped
def ask(
    dataset: Dataset,
    texts: Texts,
    output: Output,
    endpoint: Annotated[
        str,
        option("--endpoint", "URL", "Base URL of an OpenAI-compatible API.", default=False),
    ],
    model: Annotated[str, option("--model", "NAME", "Name of the model at that endpoint.", default=False)],
    out: Annotated[
        Path,
        required_out(
            "FILE",
            "Write the answers here (.jsonl, .csv, .tsv or .parquet), for `cuecard probe --predictions`.",
        ),
    ],
    prompt: Annotated[
        list[str] | None,
        option(
            "--prompt",
            "NAME|FILE.j2",
            "short, alternative, short-steps, alternative-steps (default: all four), or a template file of your "
            "own. Repeatable.",
        ),
    ] = None,
    inputs: Annotated[
        str | None,
        option(
            "--input",
            "A,B",
            "What the model is shown: full, choices, question, hypothesis, premise, no-context, blank, swapped (with "
            "the question of a similar example), open (without options). Default: full.",
        ),
    ] = None,
    permute: Annotated[
        str | None,
        option("--permute", "all|N|cyclic", "Also ask with the options in other orders."),
    ] = None,
    judge: Annotated[
        str | None,
        option(
            "--judge-as",
            "A,B",
            "Ask the model to judge the responses of preferences or open answers: score (1 to 10), rubric, examiner, "
            "batch (several in one request), pairs (both orders).",
        ),
    ] = None,
    perturb: Annotated[
        str | None,
        option(
            "--perturb",
            "A,B",
            "With --judge-as, also judge responses changed by rules: all (default), none, padding, markdown, "
            "restating, flattery, citation (must not move a score), number, negation (must lower it).",
        ),
    ] = None,
    stress: Annotated[
        str | None,
        option("--stress", "CUE", "Ask about the test examples with a cue and equally many without it."),
    ] = None,
    sample: Annotated[
        int | None,
        option("--sample", "N", "Ask about N random test examples; with --stress, half have the cue.", min=1),
    ] = None,
    structured: Annotated[
        bool,
        option(
            "--structured",
            "Let the server allow only the possible answers, as JSON with a schema: small models then rarely say "
            "anything else.",
        ),
    ] = False,
    seed: SeedOption = 0,
    max_requests: Annotated[
        int | None,
        option(
            "--max-requests", "N", "Send at most N requests; the next run resumes.", panel=REQUESTS, min=1
        ),
    ] = None,
    max_cost: Annotated[
        float | None,
        option("--max-cost", "USD", "Spend at most this much; the next run resumes.", panel=REQUESTS, min=0),
    ] = None,
    prices: Annotated[
        Path | None,
        option(
            "--prices",
            "FILE",
            "Prices in TOML: [MODEL] with input and output (US dollars per million tokens) and date.",
            panel=REQUESTS,
            parser=path,
        ),
    ] = None,
    rate: Annotated[
        float | None,
        option("--rate", "N", "Send at most N requests per minute.", panel=REQUESTS, min=0.1),
    ] = None,
    dry_run: Annotated[
        bool,
        option(
            "--dry-run",
            "Print the number of requests, their tokens and their cost, and send nothing.",
            panel=REQUESTS,
        ),
    ] = False,
    concurrency: Annotated[
        int, option("--concurrency", "N", "Number of concurrent requests.", panel=REQUESTS, min=1)
    ] = 8,
    timeout: Annotated[
        float,
        option(
            "--timeout",
            "SECONDS",
            "Seconds within which a whole answer must have arrived.",
            panel=REQUESTS,
            min=1,
        ),
    ] = 60.0,
    keep_answers: Annotated[
        Path | None,
        option(
            "--keep-answers",
            "FILE",
            "Cache raw answers in this file, so that no request is sent twice. Default: in the cache folder.",
            panel=REQUESTS,
            parser=path,
        ),
    ] = None,
    key_variable: Annotated[
        str, option("--key-variable", "NAME", "Environment variable that holds the API key.", panel=REQUESTS)
    ] = "OPENAI_API_KEY",
) -> None:
    """Ask a language model about the test examples with one or more prompts and write its answers to a file."""
    from json import dumps
    from shlex import join

    import polars as pl

    from cuecard.audits import Cues
    from cuecard.data.output import check_writable
    from cuecard.errors import UsageError
    from cuecard.models.pricing import Estimate
    from cuecard.probes.formats.table import NOT_ASKED, READ_FROM
    from cuecard.run import ask_file, ask_judge_file
    from cuecard.wording import listed

    check_writable(out, [*dataset.inputs, *(prompt or ()), keep_answers, prices])

    def estimated(estimate: Estimate) -> None:
        if output.json:
            typer.echo(dumps(estimate.as_json()))
        else:
            typer.echo("\n".join(estimate.lines(model)))
        raise typer.Exit

    requests: dict[str, Any] = {
        "sample": sample,
        "structured": structured,
        "keep_answers": keep_answers,
        "key_variable": key_variable,
        "concurrency": concurrency,
        "max_requests": max_requests,
        "max_cost": max_cost,
        "prices": prices,
        "rate": rate,
        "timeout": timeout,
        "seed": seed,
        "progress": output.progress,
        "before": estimated if dry_run else None,
    }

    def load() -> Instances:
        return dataset.load(seed, output.progress)

    if judge:
        typed = {"--prompt": prompt, "--input": inputs, "--permute": permute, "--stress": stress}
        if wrong := [name for name, value in typed.items() if value]:
            raise UsageError(f"--judge-as asks about responses and takes no {listed(wrong)}.")
        changes = {"perturb": comma_list(perturb)} if perturb else {}
        asked = ask_judge_file(load, out, endpoint, model, forms=comma_list(judge), **changes, **requests)
        unread, following = asked["score"].null_count(), join(["cuecard", "probe", "--judge", str(out)])
    else:
        if perturb:
            raise UsageError("--perturb changes responses that are judged: add --judge-as score.")
        answers = ask_file(
            load,
            out,
            endpoint,
            model,
            prompts=prompt,
            **({"inputs": comma_list(inputs)} if inputs else {}),
            permute=permute,
            stress=stress,
            audit=Cues(**texts.of_texts),
            **requests,
        )
        asked = answers.filter(pl.col(READ_FROM).ne_missing(NOT_ASKED))
        unread, following = asked["prediction"].null_count(), ""
    if output.json:
        typer.echo(dumps({"file": str(out), "answers": asked.height, "unread": unread}))
    elif not output.quiet:
        from cuecard.cli.show import display
        from cuecard.run.next_commands import on_same_data

        cues = ["--cues", stress] if stress else []
        following = following or on_same_data(typed_command(), "probe", "--predictions", out, *cues)
        typer.echo(f"{asked.height:,} answers, {unread:,} of them unreadable: {display(str(out))}")
        typer.echo(f"Next: {display(following)}")

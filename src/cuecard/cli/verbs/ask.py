"""`cuecard ask`: a language model's answers to the test examples, as a file of predictions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cuecard.cli.help import REQUESTS
from cuecard.cli.options.data import Dataset, Texts
from cuecard.cli.options.shared import Output, SeedOption, grouped, option, path, required_out, typed_command

ASK_EXAMPLES = """
Examples:

`cuecard ask train.parquet --test test.parquet --endpoint http://127.0.0.1:8080/v1 --model smollm2 --out asked.jsonl`

`cuecard ask train.parquet --test test.parquet --endpoint URL --model NAME --stress no --prompt short --out asked.jsonl`

`cuecard probe train.parquet --test test.parquet --predictions asked.jsonl --cues no --out probe`
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

    from cuecard.audits import Cues
    from cuecard.data.output import check_writable
    from cuecard.run import ask_file

    check_writable(out, [*dataset.inputs, *(prompt or ()), keep_answers])
    answers = ask_file(
        lambda: dataset.load(seed, output.progress),
        out,
        endpoint,
        model,
        prompts=prompt,
        stress=stress,
        sample=sample,
        structured=structured,
        audit=Cues(**texts.of_texts),
        keep_answers=keep_answers,
        key_variable=key_variable,
        concurrency=concurrency,
        max_requests=max_requests,
        timeout=timeout,
        seed=seed,
        progress=output.progress,
    )
    unread = answers["prediction"].null_count()
    if output.json:
        typer.echo(dumps({"file": str(out), "answers": answers.height, "unread": unread}))
    elif not output.quiet:
        from cuecard.cli.show import display
        from cuecard.run.next_commands import on_same_data

        cues = ["--cues", stress] if stress else []
        following = on_same_data(typed_command(), "probe", "--predictions", out, *cues)
        typer.echo(f"{answers.height:,} answers, {unread:,} of them unreadable: {display(str(out))}")
        typer.echo(f"Next: {display(following)}")

"""Ask a language model about the test examples: its answers as a table, and as a file of predictions."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import polars as pl

from cuecard.audits import Cues
from cuecard.cache import cache_folder
from cuecard.data import Instances, Source
from cuecard.data.output.rows import check_not_read, check_writable, write_rows
from cuecard.limits import check_seed
from cuecard.models.endpoint import AnswerCache, Endpoint, check_endpoint
from cuecard.probes import cue_stress_set, find_prompt, prompted_answers
from cuecard.probes.cue_members import sample_test
from cuecard.probes.prompts.study import BUILT_IN
from cuecard.run.running import Data, ProgressOption, ensure_loaded, shown_progress
from cuecard.targets import check_file


def ask(
    data: Data,
    endpoint: str,
    model: str,
    *,
    test: Source | None = None,
    prompts: Sequence[str] | None = None,
    stress: str | None = None,
    sample: int | None = None,
    structured: bool = False,
    audit: Cues | None = None,
    keep_answers: str | Path | None = None,
    key_variable: str = "OPENAI_API_KEY",
    concurrency: int = 8,
    max_requests: int | None = None,
    timeout: float = 60.0,
    seed: int = 0,
    progress: ProgressOption = None,
) -> pl.DataFrame:
    """Return a language model's answers to the test examples, one row per prompt and example, for `probe`.

    Args:
        data: what `cuecard.load` returned, with a test split; or what it takes, such as ``"train.csv"``; or a function
            that returns the dataset, called once the options are checked.
        endpoint: an OpenAI-compatible address, such as "http://127.0.0.1:8080/v1".
        model: the model's name there.
        test: the test split, where `data` is a file or a table.
        prompts: names of built-in prompts or template files; all four built-in ones by default.
        stress: ask about the test examples with this cue and equally many without it.
        sample: number of random test examples to ask about; with `stress`, half of them have the cue.
        structured: ask the endpoint to allow no other answer than the possible ones, as JSON with a schema.
        audit: the cue audit whose tokens and scope say which examples have the cue.
        keep_answers: file in which raw answers are kept, so that nothing is asked twice; in the user's cache folder
            by default.
        key_variable: environment variable that holds the key.
        concurrency: requests under way at a time.
        max_requests: send at most this many requests; the next call resumes.
        timeout: seconds within which a whole answer must have arrived.
        seed: of the sample, and for the model.
        progress: True for a line about every step that takes long, or a function from its title to a context
            manager that it runs in.
    """
    progress = shown_progress(progress)
    check_seed(seed)
    check_endpoint(endpoint)
    templates = [find_prompt(name) for name in prompts or BUILT_IN]
    data = _chosen(ensure_loaded(data, test), stress, sample, audit, seed)
    server = Endpoint(
        endpoint,
        model,
        key_variable=key_variable,
        concurrency=concurrency,
        max_requests=max_requests,
        timeout=timeout,
        seed=seed,
    )
    with progress(f"Asking {model}") if progress else nullcontext():
        cache = AnswerCache(Path(keep_answers) if keep_answers else default_answers())
        return prompted_answers(data, server, templates, structured=structured, cache=cache)


def ask_file(data: Data, out: Path, endpoint: str, model: str, **options: Any) -> pl.DataFrame:
    """Write the answers of `ask`, which takes the options, to a file, whole or not at all, and return them."""
    kind = check_writable(out)
    if keep := options.get("keep_answers"):
        check_file(Path(keep), option="--keep-answers")

    def checked() -> Instances:
        instances = ensure_loaded(data)
        check_not_read(out, instances)
        return instances

    answers = ask(checked, endpoint, model, **options)
    write_rows(answers, out, kind)
    return answers


def default_answers() -> Path:
    """Return where answers are kept if the user names no place: CUECARD_CACHE, or the user's cache folder."""
    return cache_folder() / "answers.jsonl"


def _chosen(
    data: Instances, stress: str | None, sample: int | None, audit: Cues | None, seed: int
) -> Instances:
    """Return the data with the test examples that are to be asked about."""
    if stress:
        return cue_stress_set(data, stress, audit=audit, sample=sample, seed=seed).balanced
    return sample_test(data, sample, seed=seed) if sample else data

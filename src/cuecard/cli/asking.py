"""Options and work of `cuecard probe` with a language model behind an endpoint."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from cuecard.audits import Cues
    from cuecard.data import Instances
    from cuecard.probes import Predictions

EndpointOption = Annotated[
    str | None,
    typer.Option(
        "--endpoint", metavar="URL", help="Ask a model behind an OpenAI-compatible address, with prompts."
    ),
]
LlmOption = Annotated[
    str | None, typer.Option("--llm", metavar="NAME", help="The model's name at the endpoint.")
]
PromptOption = Annotated[
    list[str] | None,
    typer.Option(
        "--prompt",
        metavar="NAME|FILE.j2",
        help="short, alternative, short-steps, alternative-steps (all four by default), or a template of your own.",
    ),
]
StressOption = Annotated[
    str | None,
    typer.Option(
        "--stress", metavar="CUE", help="Ask about the test examples with a cue and as many others."
    ),
]
SampleOption = Annotated[
    int | None, typer.Option("--sample", min=1, help="Ask about so many random test examples.")
]
MaxRequestsOption = Annotated[
    int | None,
    typer.Option("--max-requests", min=1, help="Send at most so many requests; run again to go on."),
]
ConcurrencyOption = Annotated[int, typer.Option("--concurrency", min=1, help="Requests under way at a time.")]
AnswersOption = Annotated[
    Path | None,
    typer.Option("--answers", metavar="FILE", help="Keep answers here, so that nothing is asked twice."),
]
KeyVariableOption = Annotated[
    str, typer.Option("--key-variable", metavar="NAME", help="Environment variable that holds the key.")
]


@dataclass(frozen=True)
class Asked:
    """What the user wants to ask, and how."""

    url: str | None
    model: str | None
    prompts: tuple[str, ...]
    max_requests: int | None
    concurrency: int
    answers: Path | None
    key_variable: str
    seed: int

    def check(self) -> None:
        """Raise if something is missing or does not exist, before any data is read."""
        from cuecard.errors import UsageError
        from cuecard.models.endpoint import check_endpoint
        from cuecard.probes import find_prompt

        if self.url is None:
            return
        check_endpoint(self.url)
        if not self.model:
            raise UsageError("--endpoint needs the model's name there: add --llm NAME.")
        for name in self.prompts:
            find_prompt(name)


def ask_endpoint(data: Instances, asked: Asked, *, silent: bool) -> list[Predictions]:
    """Return the answers of the model behind the endpoint, one entry per prompt."""
    from cuecard.cli.progress import stage
    from cuecard.models.answer_cache import AnswerCache
    from cuecard.models.endpoint import Endpoint
    from cuecard.probes import find_prompt, prompted_predictions
    from cuecard.probes.prompts.study import BUILT_IN

    assert asked.url is not None
    assert asked.model is not None
    endpoint = Endpoint(
        asked.url,
        asked.model,
        key_variable=asked.key_variable,
        concurrency=asked.concurrency,
        max_requests=asked.max_requests,
        seed=asked.seed,
    )
    prompts = [find_prompt(name) for name in asked.prompts or BUILT_IN]
    with stage(f"Asking {asked.model}", silent=silent):
        return prompted_predictions(
            data, endpoint, prompts, cache=AnswerCache(asked.answers or default_answers())
        )


def default_answers() -> Path:
    """Return where answers are kept if the user names no place: CUECARD_CACHE, or the user's cache folder."""
    from cuecard.cache import cache_folder

    return cache_folder() / "answers.jsonl"


def narrowed(data: Instances, stress: str | None, sample: int | None, audit: Cues, seed: int) -> Instances:
    """Return the data with the test examples that are to be asked about."""
    from cuecard.errors import UsageError
    from cuecard.probes.stress_set import sample_test, stress_set

    if stress and sample:
        raise UsageError("--stress and --sample both choose test examples: give one of them.")
    if stress:
        return stress_set(data, stress, audit=audit, seed=seed).balanced
    return sample_test(data, sample, seed=seed) if sample else data

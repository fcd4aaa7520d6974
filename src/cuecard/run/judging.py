"""Ask a judge about responses as they are and changed by rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import polars as pl

from cuecard.data import Instances, Source
from cuecard.data.output import check_not_read, check_writable, write_rows
from cuecard.limits import check_file, check_seed
from cuecard.models.answers import AnswerCache
from cuecard.models.endpoint import Endpoint, check_endpoint
from cuecard.models.pricing import Estimate, price_of
from cuecard.probes.judge.asking import check_forms, judge_requests, judged_responses
from cuecard.probes.judge.perturbations import check_perturbations
from cuecard.run.predicting import default_answers
from cuecard.run.running import Data, ProgressOption, ensure_loaded, shown_progress


def ask_judge(
    data: Data,
    endpoint: str,
    model: str,
    *,
    test: Source | None = None,
    forms: Sequence[str] = ("score",),
    perturb: Sequence[str] = ("all",),
    sample: int | None = None,
    structured: bool = False,
    keep_answers: str | Path | None = None,
    prices: str | Path | None = None,
    seed: int = 0,
    progress: ProgressOption = None,
    before: Callable[[Estimate], None] | None = None,
    **options: Any,
) -> pl.DataFrame:
    """Return a judge's scores of responses for `probe`: a row per response, way of asking and change.

    Args:
        data: what `cuecard.load` returned, or what it takes: preferences, or questions with answers in words. Of a
            dataset with a test split, that is judged.
        endpoint: an OpenAI-compatible address.
        model: the judge's name there.
        test: the test split, where `data` is a file or a table.
        forms: ways of asking: "score" (1 to 10), "rubric", "examiner" (other wordings), "batch" (several responses in
            one request, each in every place) and "pairs" (both orders).
        perturb: changes by rules: "all", "none", or some of "padding", "markdown", "restating", "flattery", "citation",
            "number", "negation".
        sample: number of random prompts whose responses are judged.
        structured: ask the endpoint to allow no other answer than a score, as JSON with a schema.
        keep_answers: file in which raw answers are kept; in the user's cache folder by default.
        prices: TOML file of prices by model, in place of those that come with the package.
        seed: of the sample and of the changes, and for the model.
        progress: as in `ask`.
        before: called with what asking takes (requests, tokens, cost) before anything is sent; raise to stop there.
        options: limits of the requests, as in `ask`: key_variable, concurrency, max_requests, max_cost, rate, timeout.
    """
    progress = shown_progress(progress)
    check_seed(seed)
    check_endpoint(endpoint)
    changes = check_perturbations(list(perturb))
    price = price_of(model, Path(prices) if prices else None)
    server = Endpoint(endpoint, model, price=price, seed=seed, **options)
    cache = AnswerCache(Path(keep_answers) if keep_answers else default_answers())
    data = ensure_loaded(data, test)
    chosen = check_forms(forms, data)
    asked = judge_requests(data, chosen, changes, structured=structured, sample=sample, seed=seed)
    if before is not None:
        before(server.estimate([one.question for one in asked], cache))
    with progress(f"Asking {model}") if progress else nullcontext():
        return judged_responses(asked, server, cache)


def ask_judge_file(data: Data, out: Path, endpoint: str, model: str, **options: Any) -> pl.DataFrame:
    """Write the scores of `ask_judge`, which takes the options, to a file, whole or not at all, and return them."""
    kind = check_writable(out)
    if keep := options.get("keep_answers"):
        check_file(Path(keep), option="--keep-answers")

    def checked() -> Instances:
        instances = ensure_loaded(data)
        check_not_read(out, instances)
        return instances

    scores = ask_judge(checked, endpoint, model, **options)
    write_rows(scores, out, kind)
    return scores

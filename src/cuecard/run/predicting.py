"""Predictions for `cuecard probe`: a language model's answers, and predictions corrected for cues."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from cuecard.audits import Cues
from cuecard.cache import cache_folder
from cuecard.data import Instances, Source
from cuecard.data.output import check_not_read, check_writable, write_rows
from cuecard.errors import InputError, UsageError
from cuecard.limits import check_file, check_seed
from cuecard.models.answers import AnswerCache
from cuecard.models.endpoint import Endpoint, check_endpoint
from cuecard.models.pricing import Estimate, price_of
from cuecard.probes import (
    Predictions,
    PredictionSource,
    cue_stress_set,
    find_prompt,
    prompted_answers,
    read_predictions,
)
from cuecard.probes.cues.members import sample_test
from cuecard.probes.judge.asking import check_forms, judge_requests, judged_responses
from cuecard.probes.judge.perturbations import check_perturbations
from cuecard.probes.predictions import as_split
from cuecard.probes.prompts.asking import BUILT_IN, requests
from cuecard.probes.prompts.inputs import FULL, check_inputs
from cuecard.probes.prompts.orders import check_permute
from cuecard.remedies.correction import Corrected, Correction
from cuecard.run.finishing import check_labels
from cuecard.run.running import Data, ProgressOption, ensure_loaded, shown_progress


def ask(
    data: Data,
    endpoint: str,
    model: str,
    *,
    test: Source | None = None,
    prompts: Sequence[str] | None = None,
    inputs: Sequence[str] = (FULL,),
    permute: str | None = None,
    stress: str | None = None,
    sample: int | None = None,
    structured: bool = False,
    audit: Cues | None = None,
    keep_answers: str | Path | None = None,
    key_variable: str = "OPENAI_API_KEY",
    concurrency: int = 8,
    max_requests: int | None = None,
    max_cost: float | None = None,
    prices: str | Path | None = None,
    rate: float | None = None,
    timeout: float = 60.0,
    seed: int = 0,
    progress: ProgressOption = None,
    before: Callable[[Estimate], None] | None = None,
) -> pl.DataFrame:
    """Return a language model's answers to the test examples for `probe`: a row per prompt, input, order and example.

    Args:
        data: what `cuecard.load` returned, with a test split; or what it takes, such as ``"train.csv"``; or a function
            that returns the dataset, called once the options are checked. Without a test split, all is asked.
        endpoint: an OpenAI-compatible address, such as "http://127.0.0.1:8080/v1".
        model: the model's name there.
        test: the test split, where `data` is a file or a table.
        prompts: names of built-in prompts or template files; all four built-in ones by default.
        inputs: what the model is shown: "full", "choices", "question", "hypothesis", "premise", "no-context", "blank",
            "swapped" (the question of a similar example) or "open" (without options), those that the task has.
        permute: also ask with the options in other orders: "all", "cyclic" or a number.
        stress: ask about the test examples with this cue and equally many without it.
        sample: number of random test examples to ask about; with `stress`, half of them have the cue.
        structured: ask the endpoint to allow no other answer than the possible ones, as JSON with a schema.
        audit: the cue audit whose tokens and scope say which examples have the cue.
        keep_answers: file in which raw answers are kept, so that nothing is asked twice; in the user's cache folder
            by default.
        key_variable: environment variable that holds the key.
        concurrency: requests under way at a time.
        max_requests: send at most this many requests; the next call resumes.
        max_cost: spend at most this many US dollars; the next call resumes.
        prices: TOML file of prices by model, in place of those that come with the package.
        rate: requests a minute.
        timeout: seconds within which a whole answer must have arrived.
        seed: of the sample, and for the model.
        progress: True for a line about every step that takes long, or a function from its title to a context
            manager that it runs in.
        before: called with what asking takes (requests, tokens, cost) before anything is sent; raise to stop there.
    """
    progress = shown_progress(progress)
    check_seed(seed)
    check_endpoint(endpoint)
    if permute is not None:
        check_permute(permute)
    templates = [find_prompt(name) for name in prompts or BUILT_IN]
    server = Endpoint(
        endpoint,
        model,
        key_variable=key_variable,
        concurrency=concurrency,
        max_requests=max_requests,
        max_cost=max_cost,
        price=price_of(model, Path(prices) if prices else None),
        rate=rate,
        timeout=timeout,
        seed=seed,
    )
    cache = AnswerCache(Path(keep_answers) if keep_answers else default_answers())
    data = ensure_loaded(data, test)
    check_labels(data)
    if data.test is None:
        data = as_split(data, "test")
    data = _chosen(data, stress, sample, audit, seed)
    chosen = check_inputs(inputs, data.task)
    if before is not None:
        asked = requests(data, templates, inputs=chosen, permute=permute, structured=structured, seed=seed)
        before(server.estimate([one.question for one in asked if one.question is not None], cache))
    with progress(f"Asking {model}") if progress else nullcontext():
        return prompted_answers(
            data,
            server,
            templates,
            inputs=chosen,
            permute=permute,
            structured=structured,
            cache=cache,
            seed=seed,
        )


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


def correct(
    data: Data,
    predictions: PredictionSource | Predictions,
    *,
    test: Source | None = None,
    model: str | None = None,
    dev_predictions: PredictionSource | Predictions | None = None,
    audit: Cues | None = None,
    prediction_columns: Mapping[str, str] | None = None,
    labels: Mapping[str, str | None] | None = None,
    **options: Any,
) -> Corrected:
    """Return a model's test predictions without what cues alone predict, and what the correction cost.

    The strength is tuned on the dev split where there are predictions of it; otherwise every fifth of the test split is
    corrected with a strength that was tuned on the others. Of a benchmark of one file, every fifth is corrected for the
    cues of the others.

    Args:
        data: what `cuecard.load` returned; or what it takes, such as ``"train.csv"``; or a function that returns the
            dataset. Without a test split, it is a benchmark of one file.
        predictions: the model's probabilities for the test split or the one file: a file, a frame or `Predictions`.
        test: the test split, where `data` is a file or a table.
        model: what to call the model; the file's own name by default.
        dev_predictions: the model's probabilities for the dev split, which `data` must then have.
        audit: the cue audit whose tokens and scope say which examples have a cue, such as ``cc.Cues(scope="both")``.
        prediction_columns: which column of the predictions is what: id, prediction, gold.
        labels: names of raw label values in the predictions, such as ``{"0": "entailment"}``.
        options: parameters of `Correction`, such as ``method="expert"``, ``aim="worst-group"`` or ``strength=1.0``.
    """
    correction = Correction(**options)
    check_seed(correction.seed)
    data = ensure_loaded(data, test)
    check_labels(data)
    if "test" not in data.splits and dev_predictions is None:
        data = as_split(data.train, "test")
    read = {"model": model, "columns": prediction_columns, "labels": labels}
    dev = None
    if dev_predictions is not None:
        dev_data = dev_as_test(data)
        dev = dev_data, _one_model(dev_predictions, dev_data, read)
    return correction.run(data, _one_model(predictions, data, read), dev, audit=audit)


def correct_file(data: Data, predictions: PredictionSource, out: Path, **options: Any) -> Corrected:
    """Write the corrected predictions of `correct`, which takes the options, to a file, and return them."""
    kind = check_writable(out)
    Correction(**{k: v for k, v in options.items() if k in Correction.__dataclass_fields__})

    def checked() -> Instances:
        instances = ensure_loaded(data)
        check_not_read(out, instances)
        return instances

    done = correct(checked, predictions, **options)
    write_rows(done.predictions, out, kind)
    return done


def dev_as_test(data: Instances) -> Instances:
    """Return the training set with the dev split as its test split."""
    if "dev" not in data.splits:
        raise UsageError("There are dev predictions but no dev split: give it with --dev.")
    split = data.table["split"]
    kept = data.table.filter(split.cast(pl.String) != "test")
    renamed = kept["split"].cast(pl.String).replace({"dev": "test"}).cast(split.dtype)
    return replace(data, table=kept.with_columns(renamed))


def _one_model(
    source: PredictionSource | Predictions, data: Instances, read: Mapping[str, Any]
) -> Predictions:
    if isinstance(source, Predictions):
        return source
    models = read_predictions(source, data, **read)
    if len(models) > 1:
        names = ", ".join(one.model for one in models)
        raise InputError(
            f"{models[0].source} has predictions of several models ({names}): give one file per model."
        )
    return models[0]

"""Ask a judge about responses as they are and changed by rules, and read its scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from cuecard.data import Instances
from cuecard.errors import InputError, UsageError
from cuecard.models.answers import AnswerCache, Question
from cuecard.models.endpoint import Endpoint
from cuecard.probes.judge.forms import (
    BATCH,
    BATCHED,
    FORMS,
    PAIRS,
    batch_question,
    pair_question,
    read_batch,
    read_pair,
    read_score,
    score_question,
)
from cuecard.probes.judge.perturbations import PERTURBATIONS
from cuecard.registry import unknown_name
from cuecard.wording import only_applies_to

__all__ = ["JudgeRequest", "check_forms", "judge_requests", "judged_responses"]


@dataclass(frozen=True)
class _Response:
    id: str
    prompt: str
    name: str
    text: str
    human: float | None


@dataclass(frozen=True)
class JudgeRequest:
    """One request and what its answer gives: a score for each row, in the order of `rows`."""

    question: Question
    rows: tuple[dict[str, object], ...]
    read: Callable[[str], Sequence[float | None]]


def check_forms(names: Sequence[str], data: Instances) -> list[str]:
    """Return the forms to ask in, or raise if one is unknown or does not suit the data."""
    for name in names:
        if name not in FORMS:
            raise unknown_name("form of judging", name, list(FORMS))
    if data.task not in ("preference", "open"):
        raise UsageError(
            f"{data.name}: a judge {only_applies_to(frozenset({'preference', 'open'}), data.task)}."
        )
    if PAIRS in names and data.task != "preference":
        raise UsageError(f"{data.name}: --judge-as pairs needs preferences, with two responses to a prompt.")
    return list(dict.fromkeys(names))


def judge_requests(
    data: Instances,
    forms: Sequence[str],
    perturbations: Sequence[str],
    *,
    structured: bool = False,
    sample: int | None = None,
    seed: int = 0,
) -> list[JudgeRequest]:
    """Return what a judge is asked: every response as it is, and one of each prompt changed by each rule.

    What must not move a verdict is done to the rejected response, which it could help; what must lower it is done to
    the chosen one.
    """
    examples = _responses(data, sample, seed)
    asked: list[JudgeRequest] = []
    for form in check_forms(forms, data):
        if form == BATCH:
            asked += _batches([one for responses in examples for one in responses], structured)
            continue
        for responses in examples:
            asks = _pairs if form == PAIRS else _scores
            asked += asks(form, responses, perturbations, structured, seed)
    return asked


def judged_responses(
    asked: Sequence[JudgeRequest], endpoint: Endpoint, cache: AnswerCache | None = None
) -> pl.DataFrame:
    """Return the scores of a judge, a row per response and request; null where an answer could not be read."""
    replies = endpoint.ask([one.question for one in asked], cache)
    rows = [
        {**row, "score": score}
        for one, reply in zip(asked, replies, strict=True)
        for row, score in zip(one.rows, one.read(reply.text), strict=True)
    ]
    schema = {
        "id": pl.String,
        "form": pl.String,
        "perturbation": pl.String,
        "response": pl.String,
        "place": pl.Int64,
        "score": pl.Float64,
        "human": pl.Float64,
        "prompt": pl.String,
        "text": pl.String,
    }
    return pl.DataFrame(rows, schema=schema).insert_column(1, pl.lit(endpoint.model).alias("judge"))


def _responses(data: Instances, sample: int | None, seed: int) -> list[list[_Response]]:
    """Return the responses to every prompt that is asked about, the preferred one first."""
    table = data.test if data.test is not None and len(data.test) else data
    rows = table.table.group_by("example_id", maintain_order=True).agg("premise", "hypothesis", "label")
    if sample is not None and sample < rows.height:
        rows = rows.sample(sample, seed=seed)
    examples = []
    for row in rows.iter_rows(named=True):
        labels = [str(label) for label in row["label"]]
        texts = dict(zip(labels, row["hypothesis"], strict=True))
        names = ("chosen", "rejected") if data.task == "preference" else (labels[0],)
        if not all(texts.get(name) for name in names):
            continue
        graded = data.task == "preference"
        examples.append(
            [
                _Response(
                    str(row["example_id"]),
                    row["premise"][0],
                    name,
                    texts[name],
                    float(k == 0) if graded else None,
                )
                for k, name in enumerate(names)
            ]
        )
    if not examples:
        raise InputError(f"{data.name} has no response to judge.")
    return examples


def _row(form: str, one: _Response, perturbation: str, place: int | None, text: str) -> dict[str, object]:
    return {
        "id": one.id,
        "form": form,
        "perturbation": perturbation,
        "response": one.name,
        "place": place,
        "human": one.human,
        "prompt": one.prompt,
        "text": text,
    }


def _changed(
    responses: Sequence[_Response], perturbations: Sequence[str], seed: int
) -> Iterator[tuple[str, _Response, str]]:
    """Yield every change that applies: its name, the response it is made to, and the changed text."""
    for name in perturbations:
        rule = PERTURBATIONS[name]
        one = responses[-1] if rule.expected == "same" else responses[0]
        text = rule.apply(one.text, one.prompt, f"{seed}/{one.id}/{one.name}")
        if text is not None:
            yield name, one, text


def _scores(
    form: str, responses: Sequence[_Response], perturbations: Sequence[str], structured: bool, seed: int
) -> list[JudgeRequest]:
    changed = [("", one, one.text) for one in responses]
    changed += _changed(responses, perturbations, seed)
    return [
        JudgeRequest(
            score_question(FORMS[form], one.prompt, text, structured=structured),
            (_row(form, one, name, None, text),),
            lambda said: [read_score(said)],
        )
        for name, one, text in changed
    ]


def _pairs(
    form: str, responses: Sequence[_Response], perturbations: Sequence[str], structured: bool, seed: int
) -> list[JudgeRequest]:
    """Return every comparison in both orders; as they are, both responses have a row."""
    chosen, rejected = responses
    asked = []
    for name, one, text in [("", chosen, chosen.text), *_changed(responses, perturbations, seed)]:
        other = rejected if one is chosen else chosen
        for place in (1, 2):
            shown = (text, other.text) if place == 1 else (other.text, text)
            rows = [_row(form, one, name, place, text)]
            if not name:
                rows.append(_row(form, other, "", 3 - place, other.text))
            asked.append(
                JudgeRequest(
                    pair_question(one.prompt, *shown, structured=structured),
                    tuple(rows),
                    _pair_reader(place, len(rows)),
                )
            )
    return asked


def _pair_reader(place: int, count: int) -> Callable[[str], Sequence[float | None]]:
    """Return what reads a verdict as that of the response at a place, and of the other one."""

    def read(said: str) -> Sequence[float | None]:
        first = read_pair(said)
        if first is None:
            return [None] * count
        own = first if place == 1 else 1 - first
        return [own, 1 - own][:count]

    return read


def _batches(responses: Sequence[_Response], structured: bool) -> list[JudgeRequest]:
    """Return groups of responses to different prompts, each asked with every response in every place."""
    # Responses of one prompt are next to each other: a stride puts them into different groups.
    count = len(responses) // BATCHED
    asked = []
    for group in range(count):
        members = [responses[group + k * count] for k in range(BATCHED)]
        for turn in range(BATCHED):
            shown = members[turn:] + members[:turn]
            asked.append(
                JudgeRequest(
                    batch_question([(one.prompt, one.text) for one in shown], structured=structured),
                    tuple(_row(BATCH, one, "", place, one.text) for place, one in enumerate(shown, start=1)),
                    lambda said: read_batch(said, BATCHED),
                )
            )
    return asked

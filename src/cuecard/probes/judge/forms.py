"""What a judge is asked: a score from 1 to 10, by a rubric, of several answers at once, or which of two is better."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cuecard.models.answers import Question

__all__ = [
    "BATCH",
    "FORMS",
    "HIGHEST",
    "LOWEST",
    "PAIRS",
    "Form",
    "batch_question",
    "pair_question",
    "read_batch",
    "read_pair",
    "read_score",
    "score_question",
]  # fmt: skip

LOWEST, HIGHEST = 1, 10
#: Answers that are scored in one request.
BATCHED = 4
_ROOM = 16
_ONLY = f"Reply with one whole number from {LOWEST} to {HIGHEST} and nothing else."
_RUBRIC = """\
9 or 10: correct, complete and directly useful.
7 or 8: correct, with small gaps.
5 or 6: partly correct, or useful only in part.
3 or 4: mostly wrong or of little use.
1 or 2: wrong, harmful or off the subject."""


@dataclass(frozen=True)
class Form:
    """A way to ask a judge; `wording` is the request of a single score, with the prompt and the response in it."""

    name: str
    wording: str = ""


BATCH, PAIRS = "batch", "pairs"
FORMS: Mapping[str, Form] = {
    form.name: form
    for form in (
        Form(
            "score",
            "Rate how good the response is, from {low} (worst) to {high} (best).\n\n[Request]\n{prompt}\n\n"
            "[Response]\n{response}\n\n{only}",
        ),
        Form(
            "rubric",
            "Score the response by this rubric.\n\n{rubric}\n\n[Request]\n{prompt}\n\n[Response]\n{response}\n\n{only}",
        ),
        Form(
            "examiner",
            "You are a strict examiner.\n\nTask: {prompt}\n\nSubmission: {response}\n\nWhich mark from {low} to {high} "
            "does the submission deserve? {only}",
        ),
        Form(BATCH),
        Form(PAIRS),
    )
}


def score_question(form: Form, prompt: str, response: str, *, structured: bool) -> Question:
    """Return the request for the score of one response."""
    values = {"low": LOWEST, "high": HIGHEST, "rubric": _RUBRIC, "only": _ONLY}
    text = form.wording.format(prompt=prompt, response=response, **values)
    return Question(
        text, max_tokens=64 if structured else _ROOM, schema=_schema(["score"]) if structured else None
    )


def batch_question(parts: Sequence[tuple[str, str]], *, structured: bool) -> Question:
    """Return the request for the scores of several responses at once."""
    shown = "\n\n".join(
        f"[Request {k}]\n{prompt}\n[Response {k}]\n{response}"
        for k, (prompt, response) in enumerate(parts, start=1)
    )
    names = [f"score_{k}" for k in range(1, len(parts) + 1)]
    text = (
        f"Rate how good each of {len(parts)} responses to different requests is, from {LOWEST} (worst) to {HIGHEST} "
        f"(best).\n\n{shown}\n\nReply with one line per response, such as “1: 5”, and nothing else."
    )
    room = 32 * len(parts)
    return Question(text, max_tokens=room, schema=_schema(names) if structured else None)


def pair_question(prompt: str, first: str, second: str, *, structured: bool) -> Question:
    """Return the request for the better of two responses, or a tie."""
    text = (
        f"Which response to the request is better?\n\n[Request]\n{prompt}\n\n[Response A]\n{first}\n\n[Response B]\n"
        f"{second}\n\nReply with A, B or tie and nothing else."
    )
    schema = {
        "type": "object",
        "properties": {"verdict": {"type": "string", "enum": ["A", "B", "tie"]}},
        "required": ["verdict"],
        "additionalProperties": False,
    }
    return Question(text, max_tokens=64 if structured else _ROOM, schema=schema if structured else None)


def _schema(names: Sequence[str]) -> dict[str, Any]:
    score = {"type": "integer", "minimum": LOWEST, "maximum": HIGHEST}
    return {
        "type": "object",
        "properties": dict.fromkeys(names, score),
        "required": list(names),
        "additionalProperties": False,
    }


_NUMBER = r"(10(?:\.0+)?|[1-9](?:\.\d+)?)"
_MARKED = re.compile(
    rf"(?:score|rating|mark|grade)\W{{0,12}}(?:is\W{{0,3}})?{_NUMBER}(?![\d.]*\d)", re.IGNORECASE
)
_BRACKETS = re.compile(rf"\[\[{_NUMBER}\]\]")
_OUT_OF = re.compile(rf"(?<![\d.]){_NUMBER}\s*(?:/|out of)\s*10(?!\d)", re.IGNORECASE)
_ANY = re.compile(r"(?<![\d.])\d+(?:\.\d+)?")


def read_score(text: str) -> float | None:
    """Return the score that an answer states: marked as such, out of ten, or its only number; None otherwise.

    >>> read_score("7"), read_score("Score: 8/10"), read_score("[[9]]"), read_score("Between 6 and 8"), read_score("11")
    (7.0, 8.0, 9.0, None, None)
    """
    if (said := _json(text)) is not None:
        value = said.get("score")
        return float(value) if isinstance(value, int | float) and LOWEST <= value <= HIGHEST else None
    for pattern in (_BRACKETS, _OUT_OF, _MARKED):
        values = {float(value) for value in pattern.findall(text)}
        if len(values) == 1:
            return values.pop()
        if values:
            return None
    numbers = {float(value) for value in _ANY.findall(text)}
    if len(numbers) != 1:
        return None
    number = numbers.pop()
    return number if LOWEST <= number <= HIGHEST else None


def read_batch(text: str, count: int) -> list[float | None]:
    """Return the scores of several responses, in their order; None for those that are not stated once.

    >>> read_batch("1: 5\\n2: 9", 2), read_batch("1: 5", 2), read_batch("5, 9", 2)
    ([5.0, 9.0], [5.0, None], [5.0, 9.0])
    """
    if (said := _json(text)) is not None:
        values = [said.get(f"score_{k}") for k in range(1, count + 1)]
        return [float(v) if isinstance(v, int | float) and LOWEST <= v <= HIGHEST else None for v in values]
    lines = re.findall(
        rf"(?m)^\W*(?:response\s*)?(\d+)\W*[:.)=-]\s*{_NUMBER}(?:/10)?\W*$", text, re.IGNORECASE
    )
    if lines:
        places = [int(k) for k, _ in lines]
        scores = {int(k): float(score) for k, score in lines}
        return [scores.get(k) if places.count(k) == 1 else None for k in range(1, count + 1)]
    numbers = [float(value) for value in _ANY.findall(text)]
    if len(numbers) == count and all(LOWEST <= number <= HIGHEST for number in numbers):
        return list(numbers)
    return [None] * count


def read_pair(text: str) -> float | None:
    """Return 1 where the first response is called better, 0 for the second, 0.5 for a tie; None if neither.

    >>> read_pair("A"), read_pair("[[B]]"), read_pair("It is a tie."), read_pair("Response B is better.")
    (1.0, 0.0, 0.5, 0.0)
    """
    if (said := _json(text)) is not None:
        text = str(said.get("verdict"))
    plain = text.strip().strip("[]().\"'* ").lower()
    if plain in _VERDICTS:
        return _VERDICTS[plain]
    named = set(re.findall(r"\[\[([ABC])\]\]|\b[Rr]esponse ([AB])\b", text))
    letters = {letter for pair in named for letter in pair if letter}
    if len(letters) == 1:
        return _VERDICTS[letters.pop().lower()]
    return 0.5 if not letters and re.search(r"\b(?:tie|equally good)\b", text, re.IGNORECASE) else None


_VERDICTS = {"a": 1.0, "b": 0.0, "tie": 0.5, "c": 0.5, "response a": 1.0, "response b": 0.0}


def _json(text: str) -> dict[str, Any] | None:
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return said if isinstance(said, dict) else None

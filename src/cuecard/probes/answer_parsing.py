"""What a model's free text answers: a label or a choice if it clearly names one, else nothing; never a guess.

Rules in their order, case aside:

1. The last "answer: X" in the text, if X is (or begins with) a possible answer.
2. The whole text, or its last line, is a possible answer, with or without quotes, brackets and full stop.
3. Exactly one possible answer is named anywhere in the text, as a word of its own (not for single letters).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import exp

#: Probability that tokens must hold together to tell the answer; with less, the model was about to say something else.
LEAST_MASS = 0.5

_MARKED = re.compile(r"answer\s*(?:is)?\s*[:=\-]*\s*(.+)", re.IGNORECASE)
_AROUND = " \t\"'`*_()[]{}<>.,:;!?“”‘’"


def parsed_answer(text: str, answers: Sequence[str], texts: Sequence[str] = ()) -> str | None:
    """Return the possible answer that a text names, or None if it names none or several.

    Args:
        text: what the model wrote.
        answers: the possible answers, labels or letters.
        texts: for letters, the choices they stand for, which may be named instead.
    """
    known = {answer.lower(): answer for answer in answers}
    known |= {_bare(choice): answer for choice, answer in zip(texts, answers, strict=False)}
    for marked in reversed(_MARKED.findall(text)):
        found = _leading(marked, known)
        if found is not None:
            return found
    lines = [line for line in text.splitlines() if line.strip()]
    for part in (text, *lines[-1:]):
        if _bare(part) in known:
            return known[_bare(part)]
    if lines and all(len(answer) == 1 for answer in answers):
        letter = re.match(r"\s*[(\[*\"']*([A-Za-z])[)\].:*\"']", lines[-1])
        if letter and letter.group(1).lower() in known:
            return known[letter.group(1).lower()]
    named = {answer for name, answer in known.items() if len(name) > 1 and _mentions(text, name)}
    return named.pop() if len(named) == 1 else None


def likeliest_answer(first_tokens: Sequence[tuple[str, float]], answers: Sequence[str]) -> dict[str, float]:
    """Return the share of probability of every answer, from the first tokens that can only begin that answer.

    Empty if these tokens hold less than half of the probability: then the text must tell.
    """
    mass: dict[str, float] = dict.fromkeys(answers, 0.0)
    for token, logprob in first_tokens:
        start = _bare(token)
        if not start:
            continue
        begun = [answer for answer in answers if answer.lower().startswith(start) or start == answer.lower()]
        if len(begun) == 1:
            mass[begun[0]] += exp(min(logprob, 0.0))
    total = sum(mass.values())
    return {answer: value / total for answer, value in mass.items()} if total >= LEAST_MASS else {}


def _leading(marked: str, known: Mapping[str, str]) -> str | None:
    """Return the answer that what follows "answer:" begins with, the longest if several do."""
    bare = marked.strip(_AROUND).lower()
    fitting = [name for name in known if re.match(rf"{re.escape(name)}(?!\w)", bare)]
    return known[max(fitting, key=len)] if fitting else None


def _bare(text: str) -> str:
    return text.strip().strip(_AROUND).lower()


def _mentions(text: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE) is not None

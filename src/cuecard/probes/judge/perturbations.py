"""Responses changed by rules: changes that must not move a judge's verdict, and changes that must lower it."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from cuecard.errors import UsageError
from cuecard.registry import unknown_name

__all__ = ["PERTURBATIONS", "Perturbation", "check_perturbations"]

Expected = Literal["same", "lower"]
Change = Callable[[str, str, random.Random], str | None]


@dataclass(frozen=True)
class Perturbation:
    """A change of a response, what it should do to the verdict, and what sentences call it."""

    name: str
    expected: Expected
    called: str
    change: Change

    def apply(self, response: str, prompt: str, seed: str) -> str | None:
        """Return the changed response; None where the rule does not apply to it."""
        changed = self.change(response, prompt, random.Random(f"{seed}/{self.name}"))
        return None if changed is None or changed == response else changed


_PADDING = (
    "It is worth noting that there is more that could be said on this subject.",
    "As with many questions, it helps to take a moment and consider the matter as a whole.",
    "I hope that this is useful, and please feel free to ask if anything remains unclear.",
    "In summary, the points above are what there is to keep in mind here.",
)
_FLATTERY = (
    "What a thoughtful and well-phrased question! ",
    "Thank you for such an excellent question; it shows real insight. ",
)
_CITATIONS = (
    " (Harwick & Lindqvist, 2019, Journal of Applied Inquiry 14(2), 211–230)",
    " (see Okafor et al., 2021, Annual Review of Practical Knowledge, p. 87)",
)
_END = re.compile(r"[.!?](?=\s|$)|\n")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=\S)")
_NUMBER = re.compile(r"(?<![\w.,/-])\d+(?:\.\d+)?(?![\w/-]|[.,]\d)")
_AUXILIARY = re.compile(
    r"\b(is|are|was|were|can|could|will|would|should|must|may|might|has|have|had|does|do|did)\b(?! not\b|n't|n’t)",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"\b(is|are|was|were|could|would|should|must|has|have|had|does|do|did) not\b|\bcannot\b|\b(?:ca|wo)n['’]t\b|"
    r"n['’]t\b|\bnot\b",
    re.IGNORECASE,
)


def _padded(response: str, prompt: str, rng: random.Random) -> str:
    del prompt
    return f"{response.rstrip()}\n\n{' '.join(rng.sample(_PADDING, len(_PADDING)))}"


def _marked(response: str, prompt: str, rng: random.Random) -> str | None:
    """Return the sentences as a list in bold under a heading; nothing where the response has markup of its own."""
    del prompt, rng
    if re.search(r"^\s*(?:[-*#>]|\d+[.)])\s|```|\*\*|\|", response, re.MULTILINE):
        return None
    sentences = [part for part in _SENTENCE.split(response.strip()) if part]
    return "## Answer\n\n" + "\n".join(f"- **{sentence}**" for sentence in sentences) if sentences else None


def _restated(response: str, prompt: str, rng: random.Random) -> str | None:
    del rng
    asked = " ".join(prompt.split())
    return f"You asked: “{asked[:300]}” Here is my answer.\n\n{response}" if asked else None


def _flattered(response: str, prompt: str, rng: random.Random) -> str:
    del prompt
    return rng.choice(_FLATTERY) + response


def _cited(response: str, prompt: str, rng: random.Random) -> str:
    """Return the response with a source that does not exist behind its first sentence."""
    del prompt
    first, *others = _SENTENCE.split(response.strip(), maxsplit=1)
    stop = first[-1] if first and first[-1] in ".!?" else ""
    body = first[: len(first) - len(stop)]
    return " ".join([f"{body}{rng.choice(_CITATIONS)}{stop}", *others])


def _misnumbered(response: str, prompt: str, rng: random.Random) -> str | None:
    """Return the response with its last number changed by more than any rounding."""
    del prompt
    numbers = [found for found in _NUMBER.finditer(response) if not _numbers_an_item(response, found)]
    if not numbers:
        return None
    last = numbers[-1]
    value = float(last[0])
    digits = len(last[0].partition(".")[2])
    changed = value * rng.choice((2, 3, 5)) + rng.choice((1, 7, 13))
    return f"{response[: last.start()]}{changed:.{digits}f}{response[last.end() :]}"


def _numbers_an_item(response: str, found: re.Match[str]) -> bool:
    """Return whether a number only counts the items of a list, such as “2.” at the start of a line or a sentence."""
    before = response[: found.start()].rstrip(" \t*#-")
    starts = not before or before[-1] in ".!?:;\n"
    return starts and re.match(r"[.):]\s", response[found.end() : found.end() + 2]) is not None


def _in_a_statement(pattern: re.Pattern[str], response: str) -> re.Match[str] | None:
    """Return the first match that is not in a question."""
    for found in pattern.finditer(response):
        end = _END.search(response, found.end())
        if end is None or end[0] != "?":
            return found
    return None


def _negated(response: str, prompt: str, rng: random.Random) -> str | None:
    """Return the response with its first statement denied, or affirmed where it was denied."""
    del prompt, rng
    denied, stated = (_in_a_statement(pattern, response) for pattern in (_DENIED, _AUXILIARY))
    if denied and (stated is None or denied.start() <= stated.start()):
        word = denied[0]
        plain = {"cannot": "can", "not": ""}.get(word.lower())
        if plain is None:
            plain = re.sub(r"(?i) not$|n['’]t$", "", word)
            plain = {"ca": "can", "wo": "will"}.get(plain.lower(), plain)
        return re.sub(r"  +", " ", response[: denied.start()] + plain + response[denied.end() :])
    if stated is None:
        return None
    return f"{response[: stated.end()]} not{response[stated.end() :]}"


PERTURBATIONS: Mapping[str, Perturbation] = {
    one.name: one
    for one in (
        Perturbation("padding", "same", "padding", _padded),
        Perturbation("markdown", "same", "Markdown", _marked),
        Perturbation("restating", "same", "restating the question", _restated),
        Perturbation("flattery", "same", "flattery", _flattered),
        Perturbation("citation", "same", "a made-up source", _cited),
        Perturbation("number", "lower", "a wrong number", _misnumbered),
        Perturbation("negation", "lower", "a negation", _negated),
    )
}


def check_perturbations(names: list[str]) -> tuple[str, ...]:
    """Return the names of perturbations, all of them for "all" and none for "none"."""
    if names in (["all"], []):
        return tuple(PERTURBATIONS)
    if names == ["none"]:
        return ()
    for name in names:
        if name in ("all", "none"):
            raise UsageError(f"--perturb takes {name!r} alone, or names of perturbations.")
        if name not in PERTURBATIONS:
            raise unknown_name("perturbation", name, list(PERTURBATIONS))
    return tuple(dict.fromkeys(names))

"""Probabilities of choices from the log-probabilities of the tokens that a model wrote."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import accumulate
from math import exp, log
from typing import NamedTuple

import numpy as np

from cuecard.data import Instances
from cuecard.probes.formats.answer_parsing import likeliest_answer
from cuecard.stats.arrays import Floats

_MARKS = " \t\n().:*`\"'▁Ġ"
_LEAST = 1e-12
#: What precedes the answer in a text that explains it first; spaces may be those of tokenisers.
_ANNOUNCED = re.compile(r"(?<![a-z])answer[\s*▁Ġ]*:", re.IGNORECASE)


class Place(NamedTuple):
    """One place of a text: the token that was written there, and those that are listed with a log-probability."""

    written: str
    listed: Sequence[tuple[str, float]]


def letter_probabilities(places: Sequence[Place], letters: str, written: str) -> list[float] | None:
    """Return the share of probability of every letter where the text names its answer, None where that is not sure.

    The answer is the first token that is one of the letters, after the last "ANSWER:" if one follows it. If it is not
    the letter that was scored, letters may stand for other choices. Small letters are words, such as the article "a".
    A letter that is not among the listed tokens gets at most the probability of the least likely of them, and all such
    letters together at most what the listed tokens leave.
    """
    place = _answer_place(places, letters)
    if place is None or _bare(place.written) != written:
        return None
    listed = list({token: (_bare(token), logprob) for token, logprob in place.listed}.values())
    if all(token != written for token, _ in listed):
        return None
    shares = likeliest_answer(_with_all(listed, letters), list(letters))
    return [shares[letter] for letter in letters] if shares else None


def _answer_place(places: Sequence[Place], letters: str) -> Place | None:
    """Return the place of the letter that answers, None where no token is a letter."""
    ends = accumulate(len(place.written) for place in places)
    named = [
        (end, place) for end, place in zip(ends, places, strict=True) if _bare(place.written) in set(letters)
    ]
    announced = list(_ANNOUNCED.finditer("".join(place.written for place in places)))
    after = announced[-1].end() if announced else 0
    first = named[0][1] if named else None
    return next((place for end, place in named if end > after), first)


def _bare(token: str) -> str:
    """Return a token without the marks around it and those by which tokenisers write a space."""
    return token.strip(_MARKS)


def _with_all(listed: Sequence[tuple[str, float]], letters: str) -> list[tuple[str, float]]:
    """Return bare tokens with every letter among them, without those in small letters."""
    capital = [(token, logprob) for token, logprob in listed if not token.islower()]
    names = {token for token, _ in capital}
    missing = [letter for letter in letters if letter not in names]
    if not missing:
        return capital
    chances = [exp(min(logprob, 0.0)) for _, logprob in listed]
    most = min(min(chances), max(1.0 - sum(chances), 0.0) / len(missing))
    return [*capital, *((letter, log(max(most, _LEAST))) for letter in missing)]


def in_order_of_choices(
    rows: Sequence[tuple[str, Sequence[str], Sequence[float]]], data: Instances
) -> Floats | None:
    """Return probabilities in the data's order of choices or labels; None where choices are not those of the data.

    None too where an example has more choices than probabilities, because letters ran out. `rows` are the id of an
    example, the choices as its source lists them, and their probabilities.
    """
    known = _choices(data)
    width = max((len(names) for names in known.values()), default=0)
    values = np.zeros((len(rows), width))
    for row, (example, choices, shares) in zip(values, rows, strict=True):
        names = known.get(example, data.labels if not data.grouped else ())
        if len(shares) != len(choices) or sorted(choices) != sorted(names) or len(set(names)) != len(names):
            return None
        for choice, share in zip(choices, shares, strict=True):
            row[list(names).index(choice)] = share
    return values


def _choices(data: Instances) -> Mapping[str, tuple[str, ...]]:
    """Return the choices of every test example by its id, or the labels of all of them."""
    if not data.grouped:
        return {"": data.labels}
    table = (data.test or data).table.select("example_id", "hypothesis")
    lists = table.group_by("example_id", maintain_order=True).agg("hypothesis")
    return {str(example): tuple(texts) for example, texts in lists.iter_rows()}

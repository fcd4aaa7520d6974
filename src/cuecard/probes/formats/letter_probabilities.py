"""Probabilities of choices from the log-probabilities of the tokens that a model wrote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, log

import numpy as np

from cuecard.data import Instances
from cuecard.probes.formats.answer_parsing import likeliest_answer
from cuecard.stats.arrays import Floats

#: The tokens that could stand at one place of a text, each with its log-probability; the first is the one written.
Place = Sequence[tuple[str, float]]

_MARKS = " \t\n().:*`\"'▁Ġ"
_LEAST = 1e-12


def letter_probabilities(places: Sequence[Place], letters: str, written: str) -> list[float] | None:
    """Return the share of probability of every letter where the text names its answer, None where that is not sure.

    The answer is the last token that is one of the letters; if it is not the one that was scored, letters may stand for
    other choices. A letter that is not among the listed tokens gets at most the probability of the least likely of
    them, and all such letters together at most what the listed tokens leave.
    """
    for place in reversed(places):
        token = place[0][0].strip(_MARKS).upper()
        if len(token) != 1 or token not in letters:
            continue
        if token != written:
            return None
        shares = likeliest_answer(_with_all(place, letters), list(letters))
        return [shares[letter] for letter in letters] if shares else None
    return None


def _with_all(place: Place, letters: str) -> list[tuple[str, float]]:
    """Return the tokens of a place with every letter among them, each token once."""
    listed = list({token: (token, logprob) for token, logprob in place}.values())
    missing = [x for x in letters if all(token.strip(_MARKS).upper() != x for token, _ in listed)]
    if not missing:
        return listed
    chances = [exp(min(logprob, 0.0)) for _, logprob in listed]
    most = min(min(chances), max(1.0 - sum(chances), 0.0) / len(missing))
    return [*listed, *((letter, log(max(most, _LEAST))) for letter in missing)]


def in_order_of_choices(
    rows: Sequence[tuple[str, Sequence[str], Sequence[float]]], data: Instances
) -> Floats | None:
    """Return probabilities in the data's order of choices or labels; None where choices are not those of the data.

    `rows` are the id of an example, the choices as its source lists them, and their probabilities.
    """
    known = _choices(data)
    width = max((len(names) for names in known.values()), default=0)
    values = np.zeros((len(rows), width))
    for row, (example, choices, shares) in zip(values, rows, strict=True):
        names = known.get(example, data.labels if not data.grouped else ())
        if sorted(choices) != sorted(names) or len(set(names)) != len(names):
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

"""What a model's free text answers: a label or a choice if it clearly names one, else nothing; never a guess.

Rules in their order; case, emphasis, and whether words are joined by a space, `_` or `-` do not matter:

1. The last "answer: X" or "answer is X" in the text, if X is or begins with a possible answer. "X or Y" is none.
2. The whole text, or its last line, is a possible answer, with or without quotes, brackets and full stop.
3. Exactly one possible answer is named anywhere in the text, as words of their own (not for single letters),
   and is nowhere denied: "it is not X" names none.

An answer that was cut off for its length is read by the first rule only.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from math import exp, log
from typing import NamedTuple

import numpy as np

from cuecard.data import Instances
from cuecard.stats.arrays import Floats, Ints

#: Probability that tokens must hold together to tell the answer; with less, the model was about to say something else.
LEAST_MASS = 0.5

_EMPHASIS = re.compile(r"[*`]+|(?<!\w)_+(?=[^\W_])|(?<=[^\W_])_+(?!\w)")
_AROUND = " \t\"'()[]{}<>.,:;!?“”‘’"
#: What joins words; the sign of "-1" does not.
_JOINED = re.compile(r"(?<=[^\W_])[\s_\-]+(?=[^\W_])")
_MARK = re.compile(
    r"\banswer[\"'”’)\]]*\s*(?:(?:is|would\s+be|must\s+be)\b\s*:?|[:=]|[-–—]+\s)\s*", re.IGNORECASE
)
_OPENING = re.compile(r"[\s\"'“‘(\[{<_]*")
_CLAUSE = re.compile(
    r"[.,;:!?\n]|\b(?:so|but|therefore|hence|thus|because|since|then|and|which\s+means)\b", re.IGNORECASE
)
_DENIAL = re.compile(
    r"\b(?:not|non|never|no|neither|nor|cannot|hardly|without|rather\s+than|instead\s+of)\b|n['’]t\b",
    re.IGNORECASE,
)
#: What takes back the answer before it: "X?", "X is wrong", "X does not fit".
_TAKEN_BACK = re.compile(
    r"[\s\"'”’)\]]*(?:\?|(?:(?:is|was|does|do|did|would|could|can|should|seems|must)\s*)?(?:be\s+)?"
    r"(?:(?:not|cannot|wrong|incorrect|false|impossible|unlikely)\b|n['’]t\b|ruled\s+out\b))",
    re.IGNORECASE,
)
_OR = re.compile(r"[\s\"'”’)\].,]*(?:/|\||\b(?:or|nor|versus|vs)\b)", re.IGNORECASE)
_ALSO = re.compile(r"[\s\"'”’)\]]*(?:,|&|\band\b)[\s\"'“‘(\[]*", re.IGNORECASE)
_WORD_NEXT = re.compile(r"\s+\w")
#: What may follow a single letter, which would else be a word of a sentence: "A question like this …".
_AFTER_LETTER = re.compile(
    r"\s*$|[)\].:,;!\"”](?:\s|$)|['’](?!\w)|\s+[-–—(]|\s+(?:because|since|as|is)\b", re.IGNORECASE
)
#: A letter's bracket and the choice it stands for, which may itself begin with "not".
_CHOICE = re.compile(r"^[)\].:](?![)\].:\s]*(?:(?:or|and)\b|[,/|&?])).*", re.IGNORECASE)
#: Characters after "answer:" that are read: a text that repeats itself without a line break has many of these.
_READ_AFTER = 2_000
_LISTED = re.compile(r"\s*[(\[\"']*([A-Za-z])[)\].:\"']+(?=\s|$)")


def parsed_answer(
    text: str, answers: Sequence[str], texts: Sequence[str] = (), *, cut: bool = False
) -> str | None:
    """Return the possible answer that a text names, or None if it names none or several.

    Args:
        text: what the model wrote.
        answers: the possible answers, labels or letters.
        texts: for letters, the choices they stand for, which may be named instead.
        cut: whether the text was cut off for its length, so that its end says nothing.
    """
    text = _EMPHASIS.sub("", text)
    names = _known(answers, texts)
    denials = _Denials(text)
    for mark in reversed(list(_MARK.finditer(text))):
        if denials.before(mark.start()):
            continue
        named = _leading(text[mark.end() : mark.end() + _READ_AFTER].partition("\n")[0], names)
        if named is None:
            continue
        answer, rest = named
        if _several(rest, answer, names):
            return None
        if not _TAKEN_BACK.match(rest):
            return answer
    if cut:
        return None
    lines = [line for line in text.splitlines() if line.strip()]
    for part in (text, *lines[-1:]):
        if _bare(part) in names:
            return names[_bare(part)]
    listed = [match for match in map(_LISTED.match, lines) if match and match.group(1).lower() in names]
    if listed and listed[-1].string == lines[-1] and len({match.group(1).lower() for match in listed}) == 1:
        answer = names[listed[-1].group(1).lower()]
        return None if _several(lines[-1][listed[-1].end() :], answer, names) else answer
    return _only_named(text, names, denials)


def structured_answer(text: str, answers: Sequence[str]) -> str | None:
    """Return the possible answer in the field "answer" of a JSON object, or None if the text is not such an object."""
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return None
    answer = said.get("answer") if isinstance(said, dict) else None
    return answer if isinstance(answer, str) and answer in answers else None


def likeliest_answer(first_tokens: Sequence[tuple[str, float]], answers: Sequence[str]) -> dict[str, float]:
    """Return the share of probability of every answer, from the first tokens that can only begin that answer.

    Empty if these tokens hold less than half of the probability: then the text must tell.
    """
    mass: dict[str, float] = dict.fromkeys(answers, 0.0)
    for token, logprob in first_tokens:
        start = _bare(token)
        if not start:
            continue
        begun = [answer for answer in answers if _bare(answer).startswith(start)]
        if len(begun) == 1:
            mass[begun[0]] += exp(min(logprob, 0.0))
    total = sum(mass.values())
    return {answer: value / total for answer, value in mass.items()} if total >= LEAST_MASS else {}


def _known(answers: Sequence[str], texts: Iterable[str]) -> dict[str, str]:
    """Return what each name stands for; a name of several answers is left out, and letters go before texts."""
    by_name: dict[str, str] = {}
    for names in (zip(answers, answers, strict=True), zip(texts, answers, strict=False)):
        answers_by_name: dict[str, set[str]] = {}
        for name, answer in names:
            answers_by_name.setdefault(_bare(name), set()).add(answer)
        unique = {name: next(iter(of)) for name, of in answers_by_name.items() if name and len(of) == 1}
        by_name = unique | by_name
    return by_name


def _leading(marked: str, names: Mapping[str, str]) -> tuple[str, str] | None:
    """Return the answer that what follows "answer:" begins with, the longest if several do, and the rest."""
    opening = _OPENING.match(marked)
    start = opening.end() if opening else 0
    matches = {name: _named(name).match(marked, start) for name in names}
    ends = {name: match.end() for name, match in matches.items() if match}
    if not ends:
        return None
    name = max(ends, key=len)
    rest = marked[ends[name] :]
    if len(name) == 1 and not (_AFTER_LETTER.match(rest) or _OR.match(rest) or _ALSO.match(rest)):
        # "answer: B the dog" names a choice; "answer: A question" and "answer: I think" need not.
        follows = _bare(rest)
        if not any(
            names[text] == names[name] and len(text) > 1 and follows.startswith(text) for text in names
        ):
            return None
    if len(name) == 1:
        rest = _CHOICE.sub("", rest)
    return names[name], rest


def _several(rest: str, answer: str, names: Mapping[str, str]) -> bool:
    """Return whether an answer continues with an alternative: "or …", or "and" or a comma and another answer."""
    if _OR.match(rest):
        return True
    also = _ALSO.match(rest)
    if not also:
        return False
    others = [_named(name).match(rest, also.end()) for name, other in names.items() if other != answer]
    return any(
        re.match(r"[\"'”’)\]]*\s*(?:$|[,.;!]|(?:or|and)\b)", rest[match.end() :]) for match in others if match
    )


def _only_named(text: str, names: Mapping[str, str], denials: _Denials) -> str | None:
    """Return the one answer that a text mentions, unless a mention is denied."""
    taken = bytearray(len(text))
    named: set[str] = set()
    for name in sorted((name for name in names if len(name) > 1), key=len, reverse=True):
        for match in _named(name).finditer(text):
            start, end = match.span()
            if any(taken[start:end]):
                continue  # part of a longer name
            denial = _DENIAL.match(match.group())
            if denial and _WORD_NEXT.match(text, start + denial.end()):
                continue  # "not X" or "no X" in a sentence may deny X as well as be a label
            taken[start:end] = b"\1" * (end - start)
            if denials.before(start) or _TAKEN_BACK.match(text, end):
                return None
            named.add(names[name])
    return named.pop() if len(named) == 1 else None


class _Denials:
    """Where a text denies something, and where its clauses end; found once, so that long texts take linear time."""

    def __init__(self, text: str) -> None:
        self._clauses = [match.end() for match in _CLAUSE.finditer(text)]
        spans = [match.span() for match in _DENIAL.finditer(text)]
        self._starts = [start for start, _ in spans]
        self._ends = [end for _, end in spans]

    def before(self, place: int) -> bool:
        """Return whether the clause that ends at a place has a denial before it."""
        clause = bisect_right(self._clauses, place)
        start = self._clauses[clause - 1] if clause else 0
        last = bisect_right(self._ends, place) - 1
        return last >= 0 and self._starts[last] >= start


def _named(name: str) -> re.Pattern[str]:
    words = r"[\s_\-]+".join(re.escape(word) for word in name.split())
    return re.compile(rf"(?<!\w){words}(?!\w)", re.IGNORECASE)


def _bare(text: str) -> str:
    plain = _EMPHASIS.sub("", text).strip().strip(_AROUND)
    return " ".join(_JOINED.sub(" ", plain).lower().split())


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
    if place is None or _bare_token(place.written) != written:
        return None
    listed = list({token: (_bare_token(token), logprob) for token, logprob in place.listed}.values())
    if all(token != written for token, _ in listed):
        return None
    shares = likeliest_answer(_with_all(listed, letters), list(letters))
    return [shares[letter] for letter in letters] if shares else None


def _answer_place(places: Sequence[Place], letters: str) -> Place | None:
    """Return the place of the letter that answers, None where no token is a letter."""
    ends = accumulate(len(place.written) for place in places)
    named = [
        (end, place)
        for end, place in zip(ends, places, strict=True)
        if _bare_token(place.written) in set(letters)
    ]
    announced = list(_ANNOUNCED.finditer("".join(place.written for place in places)))
    after = announced[-1].end() if announced else 0
    first = named[0][1] if named else None
    return next((place for end, place in named if end > after), first)


def _bare_token(token: str) -> str:
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


def places_shown(rows: Sequence[tuple[str, Sequence[str]]], data: Instances) -> Ints | None:
    """Return row by row which of the data's choices stood in each place; None where choices are not those of the data.

    `rows` are the id of an example and the choices as they were shown; -1 stands where there was none.
    """
    if not data.grouped:
        return None
    known = _choices(data)
    places = np.full(
        (len(rows), max((len(names) for names in known.values()), default=0)), -1, dtype=np.int64
    )
    for row, (example, choices) in zip(places, rows, strict=True):
        names = known.get(example, ())
        if not choices or sorted(choices) != sorted(names) or len(set(names)) != len(names):
            return None
        row[: len(choices)] = [names.index(choice) for choice in choices]
    return places


def _choices(data: Instances) -> Mapping[str, tuple[str, ...]]:
    """Return the choices of every test example by its id, or the labels of all of them."""
    if not data.grouped:
        return {"": data.labels}
    table = (data.test or data).table.select("example_id", "hypothesis")
    lists = table.group_by("example_id", maintain_order=True).agg("hypothesis")
    return {str(example): tuple(texts) for example, texts in lists.iter_rows()}

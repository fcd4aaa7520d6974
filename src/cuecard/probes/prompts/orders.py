"""Orders in which the options of a question are shown; options that refer to others keep their place."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, permutations, product
from math import factorial, prod
from random import Random
from string import ascii_uppercase
from typing import TypeAlias

from cuecard.errors import UsageError

__all__ = ["MOST_ORDERS", "Order", "check_permute", "orders_of", "references"]

#: What is shown in each place: the position of an option in the data, or the code of a label.
Order: TypeAlias = tuple[int, ...]
#: Orders of a question that are asked at most.
MOST_ORDERS = 120
#: Longer texts have such words in a sentence of their own.
_LONGEST_REFERENCE = 60
_QUANTITY = r"(?:all|none|neither|both|either|any|each|some|two|three|more than one|only one|not all|no one)"
_OTHERS = (
    r"(?:the\s+)?(?:above|below|these|those|them|the\s+others?|other\s+(?:choices|options|answers)"
    r"|(?:these|those|the|other|previous|preceding)\s+(?:\w+\s+)?(?:choices|options|answers|alternatives|statements))"
)
#: "All of the above", "none of these", "none of the other answers", "both are correct".
_SWEEPING = re.compile(
    rf"\b{_QUANTITY}\s+(?:(?:one|two|three)\s+)?(?:of\s+)?{_OTHERS}(?:\s+(?:is|are)\b.*)?[\s.!)]*$"
    r"|^\W*(?:all|none|both|neither|any)(?:\s+(?:is|are)\s+(?:right|correct|true|wrong|false|incorrect))?\W*$"
    r"|\b(?:the|all|any)\s+(?:of\s+)?(?:above|aforementioned)\b",
    re.IGNORECASE,
)
_LETTER = r"\(?([A-Z])\)?"
#: "Both A and C", "A or B", "(a) and (d) only", "A, B and C": letters joined by words, and nothing else.
_LETTERS = re.compile(
    rf"^\W*(?:both|either|neither|only|not|options?|choices?|answers?)?\s*{_LETTER}"
    rf"(?:\s*(?:,|/|&|\+|\band\b|\bor\b|\bnor\b|,\s*(?:and|or))\s*{_LETTER})+"
    r"\s*(?:only|both|together|are\s+(?:correct|right|true))?\W*$",
    re.IGNORECASE,
)
_ONE_LETTER = re.compile(r"\b(?:options?|choices?|answers?)\s+\(?([A-Z])\)?(?=\W|$)", re.IGNORECASE)
_JOINED = re.compile(r"(?<!\w)\(?([A-Z])\)?(?!\w)", re.IGNORECASE)


@dataclass(frozen=True)
class References:
    """What the options of one question refer to: the options that do, and all places that must not move.

    `fences` are the places of options such as "all of the above", which no other option may cross.
    """

    referring: tuple[int, ...]
    fixed: frozenset[int]
    fences: tuple[int, ...]


def references(choices: Sequence[str]) -> References:
    """Return which options refer to others, and what therefore stays in place.

    >>> references(["a cat", "a dog", "none of the above"]).referring
    (2,)
    >>> sorted(references(["red", "blue", "green", "both A and B"]).fixed)
    [0, 1, 3]
    """
    referring, fixed, fences = [], set[int](), []
    for place, text in enumerate(choices):
        named = _named(text, len(choices)) - {place}
        if not named and not (len(text) <= _LONGEST_REFERENCE and _SWEEPING.search(text)):
            continue
        referring.append(place)
        fixed |= {place, *named}
        if not named:
            fences.append(place)
    return References(tuple(referring), frozenset(fixed), tuple(fences))


def _named(text: str, n: int) -> set[int]:
    """Return the places of the options that a text names by letter."""
    letters = _JOINED.findall(text) if _LETTERS.match(text) else _ONE_LETTER.findall(text)
    return {place for letter in letters if (place := ascii_uppercase.index(letter.upper())) < n}


def check_permute(permute: str) -> None:
    """Raise if this is not a way to permute options."""
    if permute in ("all", "cyclic") or (permute.isdecimal() and 2 <= int(permute) <= MOST_ORDERS):
        return
    raise UsageError(
        f"--permute takes all, cyclic or a number of orders from 2 to {MOST_ORDERS}, not {permute!r}."
    )


def orders_of(
    choices: Sequence[str], permute: str | None, *, seed: str, shuffled: bool = False
) -> list[Order]:
    """Return the orders in which to show some options, each once, the published one first.

    "cyclic" moves every option to every place once, "all" are all orders, a number that many random ones. Options that
    refer to others keep their place, and so do those that they name; none moves from one side of "all of the above" to
    the other. With `shuffled`, the first order is random: that of the data shows the right answer first.

    >>> orders_of(["a", "b", "none of these"], "all", seed="")
    [(0, 1, 2), (1, 0, 2)]
    """
    kept = references(choices)
    blocks = _blocks(len(choices), kept)
    rng = Random(seed)
    first = tuple(range(len(choices)))
    if shuffled:
        first = _placed(first, blocks, [rng.sample(block, len(block)) for block in blocks])
    if permute is None:
        return [first]
    total = prod(factorial(len(block)) for block in blocks)
    if permute == "cyclic":
        turns = max(map(len, blocks), default=1)
        moved = [[_turned(block, by) for block in blocks] for by in range(turns)]
    elif permute == "all" or total <= int(permute):
        if total > MOST_ORDERS:
            raise UsageError(
                f"A question with {len(choices)} options has {total:,} orders, and --permute all asks at most "
                f"{MOST_ORDERS}: take --permute cyclic or a number."
            )
        moved = [list(map(list, part)) for part in product(*(permutations(block) for block in blocks))]
    else:
        drawn = dict.fromkeys([tuple(map(tuple, blocks))])
        while len(drawn) < int(permute):
            drawn[tuple(tuple(rng.sample(block, len(block))) for block in blocks)] = None
        moved = [list(map(list, part)) for part in islice(drawn, int(permute))]
    return list(dict.fromkeys(_placed(first, blocks, part) for part in moved))


def _blocks(n: int, kept: References) -> list[list[int]]:
    """Return the places whose options may take each other's: those between two fences."""
    blocks: dict[int, list[int]] = {}
    for place in range(n):
        if place not in kept.fixed:
            blocks.setdefault(sum(fence < place for fence in kept.fences), []).append(place)
    return list(blocks.values())


def _turned(block: list[int], by: int) -> list[int]:
    by %= len(block)
    return block[by:] + block[:by]


def _placed(first: Order, blocks: Sequence[Sequence[int]], moved: Sequence[Sequence[int]]) -> Order:
    """Return an order: what stood at `moved` in the first order stands at the places of the blocks."""
    order = list(first)
    for block, now in zip(blocks, moved, strict=True):
        for place, source in zip(block, now, strict=True):
            order[place] = first[source]
    return tuple(order)

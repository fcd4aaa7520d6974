"""Templates: questions that are equal but for numbers and names."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import polars as pl

from cuecard.audits.open_answers.questions import Questions
from cuecard.stats.arrays import Ints
from cuecard.text.annotate.word_roles import verb_forms, words
from cuecard.text.stopwords import FREQUENT_WORDS

_FREQUENT = FREQUENT_WORDS["en"]
_TOKEN = re.compile(r"[^\W\d_]+|\d+(?:[.,:/]\d+)*|[^\w\s]")
_NUMBERS = frozenset(
    [
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
        "twenty",
        "thirty",
        "forty",
        "fifty",
        "sixty",
        "seventy",
        "eighty",
        "ninety",
        "hundred",
        "thousand",
        "million",
        "half",
        "twice",
        "double",
        "triple",
        "dozen",
    ]
)
_PERSONS = {
    **dict.fromkeys(("he", "she"), "⟨who⟩"),
    **dict.fromkeys(("him", "her", "his", "hers"), "⟨whose⟩"),
    **dict.fromkeys(("himself", "herself"), "⟨self⟩"),
}
NUMBER, NAME = "⟨number⟩", "⟨name⟩"
#: Shorter questions say too little to be called a template.
FEWEST_WORDS = 4


def templates(questions: pl.Series) -> pl.Series:
    """Return every question with numbers, names and persons masked.

    A word is a name where it has a capital inside of a sentence; the first word of one where it is a name elsewhere, a
    given name, or before a verb.

    >>> rows = ["Ann has 3 cats. How many has she?", "Bob has 12 cats. How many has he?"]
    >>> masked = templates(pl.Series(rows)).to_list()
    >>> masked[0] == masked[1], masked[0]
    (True, '⟨name⟩ has ⟨number⟩ cats . how many has ⟨who⟩ ?')
    """
    tokens = [_TOKEN.findall(text) for text in questions.to_list()]
    names, lower = set(), set()
    for row in tokens:
        for i, word in enumerate(row):
            if word[:1].islower():
                lower.add(word)
            elif word[:1].isupper() and not _begins(row, i):
                names.add(word)
    names = {word for word in names if word.lower() not in lower and word.lower() not in _FREQUENT}
    return pl.Series(questions.name, [_masked(row, names, lower) for row in tokens], dtype=pl.String)


def _begins(row: list[str], i: int) -> bool:
    """Return whether a token is the first of a sentence."""
    return i == 0 or row[i - 1] in '.?!:"“”'


def _acts(row: list[str], i: int, lower: set[str]) -> bool:
    """Return whether a word that never begins with a small letter stands before a verb: somebody does something."""
    small, following = row[i].lower(), row[i + 1] if i + 1 < len(row) else ""
    return small not in lower and small not in _FREQUENT and following in _verbs()


@cache
def _verbs() -> frozenset[str]:
    forms = verb_forms()
    return (forms.third_person | forms.past) - forms.base


def _masked(row: list[str], names: set[str], lower: set[str]) -> str:
    masked: list[str] = []
    given = words("given_names", "given_name")
    for i, word in enumerate(row):
        small = word.lower()
        inside = word[:1].isupper() and not _begins(row, i) and small not in _FREQUENT
        if word[:1].isdigit() or small in _NUMBERS:
            one = NUMBER
        elif word in names or inside or (word[:1].isupper() and (small in given or _acts(row, i, lower))):
            one = NAME
        else:
            one = _PERSONS.get(small, small)
        if one == NAME and masked[-1:] == [NAME]:
            continue
        masked.append(one)
    return " ".join(masked)


def template_codes(data: Questions) -> tuple[Ints, pl.Series]:
    """Return a code that questions of one template share, and the template of every question.

    Only what has a masked place and enough other words is a template: all other questions have a code of their own.
    """
    return data.instances.derived(("templates",), lambda: _coded(data))


def _coded(data: Questions) -> tuple[Ints, pl.Series]:
    masked = templates(data.questions)
    frame = pl.DataFrame({"template": masked}).with_row_index("row")
    plain = pl.col("template").str.replace_all(f"{NUMBER}|{NAME}", "").str.count_matches(r"\p{L}+")
    has = pl.col("template").str.contains(NUMBER, literal=True) | pl.col("template").str.contains(
        NAME, literal=True
    )
    key = pl.when((plain >= FEWEST_WORDS) & has).then("template").otherwise(pl.col("row").cast(pl.String))
    codes = frame.select(key.rank("dense").cast(pl.Int64)).to_series().to_numpy()
    return np.asarray(codes - 1, dtype=np.int64), masked

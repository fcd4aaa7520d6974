"""Questions with answers in words: their parts and templates, the forms in which answers are compared, scores."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Self

import numpy as np
import polars as pl
from scipy import sparse

from cuecard.data.answer_texts import NO_ANSWER, normal_answers
from cuecard.data.instances import Instances
from cuecard.stats.arrays import Bools, Floats, Ints
from cuecard.text.annotate.word_roles import verb_forms, words
from cuecard.text.stopwords import FREQUENT_WORDS

#: The form of an answer, from the narrowest to the widest.
FORMATS = ("none", "yes/no", "number", "date", "formula", "one word", "2–5 words", "6 or more words")
_MONTHS = "january|february|march|april|may|june|july|august|september|october|november|december"
_DATE = (
    rf"^(?:(?:(?:{_MONTHS}) )?(?:\d{{1,2}} )?(?:{_MONTHS})?[ ]?(?:1[0-9]|20)\d\d"
    rf"|\d{{1,2}} (?:{_MONTHS})|(?:{_MONTHS}) \d{{1,2}})$"
)
_WORD = re.compile(r"\w+(?:['’]\w+)?")
#: A question type that fewer questions have is called by its first word, and what is rarer still by none.
FEWEST_OF_TYPE = 20
OTHER_TYPE = "other"


@dataclass(frozen=True, eq=False)
class Questions:
    """The questions of a dataset, their contexts, and the right answers in the form in which they are compared.

    Attributes:
        instances: the rows; each is a question.
        questions: what is asked.
        contexts: what it is asked about; None where the data has no contexts.
        forms: the distinct forms of right answers, in order.
        answers: the code of the first right answer of every question.
        accepted: questions × forms, which are right.
    """

    instances: Instances
    questions: pl.Series
    contexts: pl.Series | None
    forms: pl.Series
    answers: Ints
    accepted: sparse.csr_matrix

    @classmethod
    def of(cls, data: Instances) -> Self:
        """Return the questions of a dataset, made once."""
        made = data.derived(("questions",), lambda: _parts(data))
        return cls(data, *made)

    def __len__(self) -> int:
        return len(self.questions)

    @cached_property
    def first_answers(self) -> pl.Series:
        """The first right answer of every question, in the form in which it is compared."""
        return self.forms.gather(self.answers)

    def correct(self, predicted: Ints) -> Bools:
        """Return which codes of forms are right answers; -1 is no answer, and never right."""
        known = np.flatnonzero(predicted >= 0)
        right = np.zeros(len(self), dtype=np.bool_)
        if not len(known):
            return right
        right[known] = np.asarray(self.accepted[known, predicted[known]]).ravel() > 0
        return right

    def codes(self, texts: pl.Series) -> Ints:
        """Return the codes of predicted answers; -1 for one that is the right answer of no question."""
        place = dict(zip(self.forms.to_list(), range(len(self.forms)), strict=True))
        forms = _answer_forms(texts.cast(pl.String).fill_null(""))
        known = forms.replace_strict(place, default=-1, return_dtype=pl.Int64)
        return np.where(texts.is_null().to_numpy(), -1, known.to_numpy()).astype(np.int64)

    def f1(self, predicted: pl.Series) -> Floats:
        """Return the F1 of words of predicted answers, that of the closest right answer; null has none."""
        said = _answer_forms(predicted.fill_null("")).to_list()
        present = predicted.is_not_null().to_list()
        forms, rows = self.forms.to_list(), self.accepted
        known: dict[tuple[str, int], float] = {}
        scores = np.zeros(len(said))
        for i, text in enumerate(said):
            if not present[i]:
                continue
            for code in rows.indices[rows.indptr[i] : rows.indptr[i + 1]].tolist():
                if (text, code) not in known:
                    none = NO_ANSWER in (text, forms[code])
                    known[text, code] = float(text == forms[code]) if none else word_f1(text, forms[code])
                scores[i] = max(scores[i], known[text, code])
        return scores

    @cached_property
    def types(self) -> pl.Series:
        """The type of every question: its first two words, or one where these are rare."""
        words = self.questions.str.to_lowercase().str.extract_all(r"[\p{L}\p{N}'’]+")
        first = words.list.first().fill_null("")
        two = pl.select(
            pl.when(pl.lit(words.list.len()) > 1)
            .then(pl.concat_str(pl.lit(first), pl.lit(words.list.get(1, null_on_oob=True)), separator=" "))
            .otherwise(pl.lit(first))
        ).to_series()
        table = pl.DataFrame({"one": first, "two": two})
        often = table.with_columns(
            n_one=pl.len().over("one"), n_two=pl.len().over("two"), any=pl.len().over(pl.lit(1))
        )
        return often.select(
            pl.when(pl.col("n_two") >= FEWEST_OF_TYPE)
            .then("two")
            .when(pl.col("n_one") >= FEWEST_OF_TYPE)
            .then("one")
            .otherwise(pl.lit(OTHER_TYPE))
            .alias("type")
        ).to_series()

    @cached_property
    def formats_of_forms(self) -> pl.Series:
        """The format of every form, one of `FORMATS`."""
        return answer_formats(self.forms)

    @property
    def formats(self) -> pl.Series:
        """The format of the first right answer of every question."""
        return self.formats_of_forms.gather(self.answers)


def _parts(data: Instances) -> tuple[pl.Series, pl.Series | None, pl.Series, Ints, sparse.csr_matrix]:
    table = data.table
    both = {"context", "question"} <= set(table.columns)
    questions = table["question"] if both else table["premise"]
    contexts = table["context"].fill_null("") if both else None
    first = _answer_forms(table["hypothesis"])
    row, form = np.arange(len(data)), first.to_list()
    rows, forms = [row], [first]
    if "accepted" in table.columns:
        more = table.select(pl.col("accepted")).with_row_index("row").explode("accepted").drop_nulls()
        rows.append(more["row"].to_numpy().astype(np.int64))
        forms.append(_answer_forms(more["accepted"].cast(pl.String)))
    names = pl.concat(forms).unique(maintain_order=True)
    place = dict(zip(names.to_list(), range(len(names)), strict=True))
    answers = np.array([place[one] for one in form], dtype=np.int64)
    columns = np.array([place[one] for part in forms for one in part.to_list()], dtype=np.int64)
    accepted = sparse.csr_matrix(
        (np.ones(len(columns), dtype=np.int64), (np.concatenate(rows), columns)),
        shape=(len(data), len(names)),
    )
    accepted.sum_duplicates()
    accepted.data[:] = 1
    return questions.fill_null(""), contexts, names, answers, accepted


def _answer_forms(texts: pl.Series) -> pl.Series:
    forms = normal_answers(texts)
    return pl.select(
        pl.when(pl.lit(forms) == "").then(pl.lit(NO_ANSWER)).otherwise(pl.lit(forms))
    ).to_series()


def word_f1(predicted: str, right: str) -> float:
    """Return the F1 of the words of two answers in the form in which they are compared, as SQuAD does.

    >>> round(word_f1("old town hall", "town hall"), 3)
    0.8
    """
    said, wanted = predicted.split(), right.split()
    if not said or not wanted:
        return float(said == wanted)
    shared = sum((Counter(said) & Counter(wanted)).values())
    return 2 * shared / (len(said) + len(wanted))


def answer_formats(forms: pl.Series) -> pl.Series:
    """Return the format of answers in the form in which they are compared, one of `FORMATS`.

    >>> answer_formats(pl.Series(["yes", "12.5", "4 july 1776", "1969", "x^2+1", "paris", "new york"])).to_list()
    ['yes/no', 'number', 'date', 'number', 'formula', 'one word', '2–5 words']
    """
    text = pl.col("form")
    words = text.str.split(" ").list.len()
    return (
        forms.alias("form")
        .to_frame()
        .select(
            pl.when(text.is_in(["", NO_ANSWER]))
            .then(pl.lit("none"))
            .when(text.is_in(["yes", "no", "true", "false"]))
            .then(pl.lit("yes/no"))
            .when(text.str.contains(r"^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$"))
            .then(pl.lit("number"))
            .when(text.str.contains(_DATE) & text.str.contains(r"\p{L}"))
            .then(pl.lit("date"))
            .when(text.str.contains(r"[\\^=+*/{}<>_|]"))
            .then(pl.lit("formula"))
            .when(words == 1)
            .then(pl.lit("one word"))
            .when(words <= 5)
            .then(pl.lit("2–5 words"))
            .otherwise(pl.lit("6 or more words"))
            .alias("format")
        )
        .to_series()
    )


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case, without punctuation, as places in it are counted.

    >>> words_of("The U.S. won 3-1.")
    ['the', 'u', 's', 'won', '3', '1']
    """
    return [word.lower() for word in _WORD.findall(text)]


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

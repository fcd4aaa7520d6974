"""What is copied from the question, shared between splits, missing or constant, and the formats of answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from cuecard.audits.open_answers.questions import Questions, words_of
from cuecard.data.answer_texts import NO_ANSWER
from cuecard.stats.arrays import Bools, Floats, Ints
from cuecard.stats.intervals import mixed_chance_log_p

#: Words of the longest answer that is looked for in a question.
LONGEST_COPY = 8
#: Places to which chances are rounded before questions of one chance are counted.
_PLACES = 4


@dataclass(frozen=True)
class Copied:
    """How often the right answer stands in the question, and how often that of another question would."""

    n: int
    hits: int
    chance: float
    log_p: float

    @property
    def share(self) -> float:
        """The share of the questions."""
        return self.hits / max(self.n, 1)


def copied_from_question(data: Questions, rows: Ints) -> tuple[Copied, Bools]:
    """Return how often answers stand in their question, tested against answers of other questions, and where.

    By chance, a question holds the answer of a random other question: the number of hits is then Poisson-binomial.
    Options that a question names ("red or blue?") and words of its subject are hits, too.
    """
    forms = data.forms.to_list()
    place: dict[tuple[str, ...], list[int]] = {}
    for code, form in enumerate(forms):
        needle = tuple(words_of(form))
        if needle and form != NO_ANSWER and len(needle) <= LONGEST_COPY:
            place.setdefault(needle, []).append(code)
    counts = np.bincount(data.answers[rows], minlength=len(forms)).astype(np.float64)
    hits, chances = np.zeros(len(rows), dtype=np.bool_), np.zeros(len(rows))
    longest = max((len(needle) for needle in place), default=0)
    texts = data.questions.gather(rows).to_list()
    for i, (row, text) in enumerate(zip(rows.tolist(), texts, strict=True)):
        words = words_of(text)
        found = {
            code
            for size in range(1, longest + 1)
            for start in range(len(words) - size + 1)
            for code in place.get(tuple(words[start : start + size]), ())
        }
        own = int(data.answers[row])
        hits[i] = own in found
        others = sum(counts[code] for code in found) - (own in found)
        chances[i] = others / max(len(rows) - 1, 1)
    log_p = poisson_binomial_log_p(hits, chances)
    return Copied(len(rows), int(hits.sum()), float(chances.mean()) if len(rows) else 0.0, log_p), hits


def poisson_binomial_log_p(hits: Bools, chances: Floats) -> float:
    """Return the natural log of the exact p-value of at least as many hits, each with a chance of its own."""
    if not len(hits):
        return 0.0
    cells, counts = np.unique(np.round(np.clip(chances, 0.0, 1.0), _PLACES), return_counts=True)
    total = int(hits.sum())
    certain = int(counts[cells == 1.0].sum())
    possible = int(counts[cells > 0].sum())
    total = min(max(total, certain), possible)  # rounding may make a chance certain, or none
    return float(mixed_chance_log_p(total, counts, cells, "greater"))


@dataclass(frozen=True)
class SharedAnswers:
    """How many test questions have an answer that is one of the training set, too."""

    n: int
    hits: int
    share_of_kinds: float


def shared_answers(data: Questions, train: Ints, test: Ints) -> SharedAnswers:
    """Return how many test answers, and different test answers, the training set has."""
    known = np.zeros(len(data.forms), dtype=np.bool_)
    known[data.answers[train]] = True
    kinds = np.unique(data.answers[test])
    return SharedAnswers(len(test), int(known[data.answers[test]].sum()), float(known[kinds].mean()))


@dataclass(frozen=True)
class ContextFacts:
    """How many questions have no context, and how many have the commonest one."""

    n: int
    missing: int
    commonest: int
    text: str


def context_facts(data: Questions, rows: Ints) -> ContextFacts | None:
    """Return what contexts are missing or constant; None where the data has none."""
    if data.contexts is None:
        return None
    texts = data.contexts.gather(rows)
    missing = int((texts.str.strip_chars() == "").sum())
    counts = texts.filter(texts.str.strip_chars() != "").value_counts(sort=True)
    if not counts.height:
        return ContextFacts(len(rows), missing, 0, "")
    return ContextFacts(len(rows), missing, int(counts["count"][0]), str(counts.row(0)[0]))


def common_answers(data: Questions, rows: Ints, most: int) -> pl.DataFrame:
    """Return the commonest answers with how many questions each is right for."""
    counts = np.asarray(data.accepted[rows].sum(axis=0)).ravel()
    order = np.argsort(-counts, kind="stable")[:most]
    order = order[counts[order] > 0]
    return pl.DataFrame(
        {
            "answer": data.forms.gather(order),
            "count": counts[order],
            "share": counts[order] / max(len(rows), 1),
            "format": data.formats_of_forms.gather(order),
        }
    )


def formats_by_slice(data: Questions, slices: Sequence[pl.Series]) -> pl.DataFrame:
    """Return the share of every format of answers, and their median length, by the values of columns."""
    words = data.first_answers.str.split(" ").list.len()
    parts = []
    for values in slices:
        frame = pl.DataFrame({"value": values.cast(pl.String), "format": data.formats, "words": words})
        totals = frame.group_by("value").agg(n=pl.len(), words=pl.col("words").median())
        parts.append(
            frame.group_by("value", "format")
            .agg(count=pl.len())
            .join(totals, on="value")
            .select(
                pl.lit(values.name).alias("column"),
                "value",
                "n",
                "format",
                share=pl.col("count") / pl.col("n"),
                words="words",
            )
            .drop_nulls("value")
            .sort("n", "value", "share", descending=[True, False, True])
        )
    return pl.concat(parts)

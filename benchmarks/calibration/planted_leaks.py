"""Everyday leaks planted in generated sets, and where a default audit states each of them among its findings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl

from cuecard import audit
from cuecard.analysis import Finding, Severity, most_serious_first
from cuecard.data import Instances, load

Rng = np.random.Generator
WORDS = np.array([a + b + c for a in ("ba", "do", "ki", "lu", "me", "sa") for b in ("ran", "tol", "vis", "pek", "mun")
                  for c in ("a", "o", "et", "ir", "us", "en", "ok", "al", "im", "ab")])  # fmt: skip
#: More common words are in a text more often, as in languages.
_SHARES = 1 / np.arange(4, 4 + len(WORDS))


def sentence(rng: Rng, least: int = 6, most: int = 12) -> str:
    """Return some words, the first with a capital, and a full stop."""
    words = rng.choice(WORDS, int(rng.integers(least, most)), p=_SHARES / _SHARES.sum())
    return " ".join(words).capitalize() + "."


def _agrees(rng: Rng, labels: np.ndarray, share: float) -> np.ndarray:
    """Return the labels 0 and 1 with some of them exchanged: as they are in a share of the examples."""
    return np.where(rng.random(len(labels)) < share, labels, 1 - labels).astype(bool)


def text_pairs(
    rng: Rng, n: int, write: Callable[[int, str], str] | None = None, **columns: Any
) -> pl.DataFrame:
    """Return pairs of texts with a label of two; `write` changes the hypothesis of a row by its number."""
    hypotheses = [sentence(rng) for _ in range(n)]
    if write is not None:
        hypotheses = [write(i, text) for i, text in enumerate(hypotheses)]
    return pl.DataFrame(
        {"premise": [sentence(rng, 10, 20) for _ in range(n)], "hypothesis": hypotheses, **columns}
    )


def labelled(rng: Rng, n: int) -> np.ndarray:
    """Return labels at random."""
    return rng.integers(0, 2, n)


def named(labels: np.ndarray) -> list[str]:
    """Return the names of labels."""
    return ["yes" if label == 1 else "no" for label in labels.tolist()]


def characters(share: float, write: Callable[[str], str]) -> Callable[[Rng, int], Instances]:
    """Return a set of pairs in which a way of writing goes with the label in a share of the examples."""

    def draw(rng: Rng, n: int) -> Instances:
        labels = labelled(rng, n)
        written = _agrees(rng, labels, share)
        return load(
            text_pairs(rng, n, lambda i, text: write(text) if written[i] else text, label=named(labels))
        )

    return draw


def column(
    share: float, value: Callable[[Rng, bool, int], Any], name: str
) -> Callable[[Rng, int], Instances]:
    """Return a set of pairs with a column whose value goes with the label in a share of the examples."""

    def draw(rng: Rng, n: int) -> Instances:
        labels = labelled(rng, n)
        values = [value(rng, bool(one), i) for i, one in enumerate(_agrees(rng, labels, share))]
        pairs = text_pairs(rng, n, label=named(labels))
        return load(pairs.with_columns(pl.Series(name, values)))

    return draw


def questions(
    rng: Rng,
    n: int,
    write: Callable[[int, str, bool, str], str],
    *,
    options: int = 4,
    answer: np.ndarray | None = None,
) -> Instances:
    """Return questions; `write` changes a choice by the number of the question, its text and whether it is right."""
    right = rng.integers(0, options, n) if answer is None else answer
    rows = []
    for i in range(n):
        question = sentence(rng, 10, 20)[:-1] + "?"
        choices = [write(i, sentence(rng), place == right[i], question) for place in range(options)]
        rows.append({"question": question, "choices": choices, "answer": int(right[i])})
    return load(pl.DataFrame(rows))


def curly(rng: Rng, n: int) -> Instances:
    """Return questions with an apostrophe in every choice: a curly one in 84.8 % of the right and few of the others."""

    def write(i: int, text: str, right: bool, question: str) -> str:
        apostrophe = "’" if rng.random() < (0.848 if right else 0.05) else "'"
        return text[:-1] + f" and {apostrophe}s."

    return questions(rng, n, write)


def copied(rng: Rng, n: int) -> Instances:
    """Return questions whose right answer repeats three of their words in 61 %."""
    leaky = rng.random(n) < 0.48

    def write(i: int, text: str, right: bool, question: str) -> str:
        if right and leaky[i]:
            words = rng.choice(question[:-1].lower().split(), 3, replace=False)
            return " ".join([*text[:-1].split()[:5], *words]) + "."
        return " ".join(text[:-1].split()[:8]) + "."

    return questions(rng, n, write)


def position(rng: Rng, n: int) -> Instances:
    """Return questions whose second choice is right in half of them."""
    answer = np.where(rng.random(n) < 1 / 3, 1, rng.integers(0, 4, n))
    return questions(rng, n, lambda i, text, right, question: text, answer=answer)


def repeated_answer(rng: Rng, n: int) -> Instances:
    """Return questions of which a fifth offer the same choice, right in 75 % of them."""
    offered = rng.random(n) < 0.2
    right_there, place = rng.random(n) < 0.75, rng.integers(0, 3, n)
    told: dict[int, int] = {}
    same = sentence(rng, 8, 9)

    def write(i: int, text: str, right: bool, question: str) -> str:
        told[i] = told.get(i, -1) + (not right)
        if offered[i] and (right if right_there[i] else not right and told[i] == place[i]):
            return same
        return text

    return questions(rng, n, write)


def longest(rng: Rng, n: int) -> Instances:
    """Return questions whose right answer has more words in half of them."""
    leaky = rng.random(n) < 0.4

    def write(i: int, text: str, right: bool, question: str) -> str:
        return text[:-1] + " " + sentence(rng, 4, 6).lower() if right and leaky[i] else text

    return questions(rng, n, write)


def yes_no(rng: Rng, n: int) -> Instances:
    """Return questions that all offer yes and no; yes is right in 70 %."""
    right = np.where(rng.random(n) < 0.7, 0, 1)
    rows = [{"question": sentence(rng)[:-1] + "?", "choices": ["Yes", "No"], "answer": int(a)} for a in right]
    return load(pl.DataFrame(rows))


def moved_options(rng: Rng, n: int) -> Instances:
    """Return questions that all offer yes, no and maybe, in any order; the first place is right in half of them."""
    rows = []
    for first in rng.random(n) < 0.25:
        answer = 0 if first else int(rng.integers(3))
        rows.append(
            {
                "question": sentence(rng)[:-1] + "?",
                "choices": rng.permutation(["Yes", "No", "Maybe"]).tolist(),
                "answer": answer,
            }
        )
    return load(pl.DataFrame(rows))


def spaced_premises(rng: Rng, n: int) -> Instances:
    """Return pairs with a doubled space in the premise, which goes with the label in 64 %."""
    labels = labelled(rng, n)
    doubled = _agrees(rng, labels, 0.64)
    table = text_pairs(rng, n, label=named(labels))
    premises = [
        text.replace(" ", "  ", 1) if two else text
        for text, two in zip(table["premise"], doubled, strict=True)
    ]
    return load(table.with_columns(premise=pl.Series(premises)))


def row_order(rng: Rng, n: int) -> Instances:
    """Return pairs of which 90 % of the first half have one label, and 90 % of the second half the other."""
    labels = _agrees(rng, (np.arange(n) >= n // 2).astype(int), 0.9).astype(int)
    return load(text_pairs(rng, n, label=named(labels)))


def copies(change: Callable[[Rng, str], str]) -> Callable[[Rng, int], Instances]:
    """Return texts of which 400 of 1,000 test texts are training texts, changed, with the same label."""

    def draw(rng: Rng, n: int) -> Instances:
        labels = labelled(rng, 2 * n)
        texts = [sentence(rng, 12, 20) for _ in range(2 * n)]
        for i in range(n, n + 2 * n // 5):
            texts[i], labels[i] = change(rng, texts[i - n]), labels[i - n]
        table = pl.DataFrame({"text": texts, "label": named(labels)})
        return load(table[:n], test=table[n:])

    return draw


def one_word_changed(rng: Rng, text: str) -> str:
    """Return a text with another word in place of one."""
    words = text[:-1].split()
    words[int(rng.integers(1, len(words)))] = str(rng.choice(WORDS))
    return " ".join(words) + "."


def respelled(rng: Rng, text: str) -> str:
    """Return a text with hyphens, capitals or spaces that it did not have."""
    words = text[:-1].split()
    kind = int(rng.integers(3))
    if kind == 0:
        return "-".join(words[:2]) + " " + " ".join(words[2:]) + "."
    return " ".join(words).upper() + "." if kind == 1 else "  ".join(words) + " ."


def slice_only(rng: Rng, n: int) -> Instances:
    """Return pairs in which a word goes with a label in one of five genres only; in the others it does not."""
    labels, genre = labelled(rng, n), rng.integers(0, 5, n)
    has = np.where(genre == 0, _agrees(rng, labels, 0.95), rng.random(n) < 0.5)
    genres = [("fiction", "letters", "news", "speech", "travel")[g] for g in genre]
    return load(
        text_pairs(
            rng, n, lambda i, t: f"Indeed {t.lower()}" if has[i] else t, label=named(labels), genre=genres
        )
    )


def bigram(rng: Rng, n: int) -> Instances:
    """Return pairs that all have two words, which are side by side in 80 % of one label and 20 % of the other."""
    labels = labelled(rng, n)
    side_by_side = _agrees(rng, labels, 0.8)

    def write(i: int, text: str) -> str:
        words = text[:-1].lower().split()
        first, second = ("north", "wind") if side_by_side[i] else ("wind", "north")
        return " ".join([*words[:2], first, second, *words[2:]]).capitalize() + "."

    return load(text_pairs(rng, n, write, label=named(labels)))


def overlap(rng: Rng, n: int) -> Instances:
    """Return pairs in which the hypothesis repeats words of its premise, more often with one label."""
    labels = labelled(rng, n)
    table = text_pairs(rng, n, label=named(labels))
    repeats = _agrees(rng, labels, 0.85)
    hypotheses = [
        " ".join(rng.permutation(p[:-1].lower().split())[:7]).capitalize() + "." if r else h
        for p, h, r in zip(table["premise"], table["hypothesis"], repeats, strict=True)
    ]
    return load(table.with_columns(hypothesis=pl.Series(hypotheses)))


def negation(rng: Rng, n: int) -> Instances:
    """Return pairs of which 40 % of one label and 8 % of the other have "not"."""
    labels = labelled(rng, n)
    has = rng.random(n) < np.where(labels == 1, 0.08, 0.4)

    def write(i: int, text: str) -> str:
        first, *rest = text.split()
        return " ".join([first, "is", "not", *rest] if has[i] else [first, "is", *rest])

    return load(text_pairs(rng, n, write, label=named(labels)))


def _file(rng: Rng, one: bool, i: int) -> str:
    return f"{'batch2' if one else 'batch1'}/item_{i:05d}.txt"


def _day(rng: Rng, one: bool, i: int) -> date:
    return date(2024, 1, 1) + timedelta(days=int(rng.integers(0, 180)) + 180 * one)


def _minute(rng: Rng, one: bool, i: int) -> datetime:
    return datetime(2024, 1, 1 + i % 28, 8 + 6 * one + int(rng.integers(0, 6)), int(rng.integers(0, 60)))


def ordering_id(rng: Rng, n: int) -> Instances:
    """Return pairs in random order with an id that is lower with one label in 90 %."""
    labels = labelled(rng, n)
    late = _agrees(rng, labels, 0.9)
    ids = rng.permutation(n) + n * late
    return load(text_pairs(rng, n, label=named(labels), id=[f"q{number:06d}" for number in ids]))


@dataclass(frozen=True)
class Leak:
    """A planted leak: its name, the set, what a finding that states it says, and how many examples are drawn."""

    name: str
    draw: Callable[[Rng, int], Instances]
    says: str
    n: int = 1_000

    def __str__(self) -> str:
        return self.name


LEAKS = (
    Leak("a curly apostrophe in 84.8 % of right answers", curly, "curly apostrophe", 500),
    Leak("a trailing space, 64 %", characters(0.64, lambda t: t + " "), "trailing space"),
    Leak("a doubled space, 64 %", characters(0.64, lambda t: t.replace(" ", "  ", 1)), "two spaces"),
    Leak(
        "a non-breaking space, 64 %",
        characters(0.64, lambda t: t.replace(" ", "\u00a0", 1)),
        "non-breaking space",
    ),
    Leak("a zero-width character, 64 %", characters(0.64, lambda t: t[:4] + "\u200b" + t[4:]), "zero-width"),
    Leak("full-width full stops, 64 %", characters(0.64, lambda t: t[:-1] + "\uff0e"), "full-width"),
    Leak("a date, 90 %", column(0.9, _day, "collected"), "collected"),
    Leak("a time of day, 90 %", column(0.9, _minute, "saved_at"), "saved_at"),
    Leak("an id that orders the label, 90 %", ordering_id, r"\bids?\b"),
    Leak("a folder in a file name, 90 %", column(0.9, _file, "file"), r"\bfile\b"),
    Leak("the order of rows, 90 %", row_order, "order of (the )?rows"),
    Leak(
        "right answers copied from the question, 61 %",
        copied,
        "words of (its|the) question|[Cc]op|shared words",
        500,
    ),
    Leak("400 of 1,000 test texts are near copies", copies(one_word_changed), "cop(y|ies)"),
    Leak("400 of 1,000 are copies in hyphens, case or spaces", copies(respelled), "cop(y|ies)"),
    Leak("the second choice is right in half", position, "position", 500),
    Leak("a word that predicts in one genre of five", slice_only, "fiction"),
    Leak("an answer that is right in 75 % of its offers", repeated_answer, "[Rr]epeated answer", 500),
    Leak("the longest answer, 50 %", longest, "long|length", 500),
    Leak("two words side by side, 80 %", bigram, "north wind|wind north"),
    Leak("words of the premise in the hypothesis, 85 %", overlap, "shared|overlap|words of the premise"),
    Leak("“not” in 40 % and 8 %", negation, "“not”|negation|is not"),
    Leak(
        "an annotator, 90 %",
        column(0.9, lambda rng, one, i: f"A{2 * int(rng.integers(4)) + one}", "worker"),
        "worker",
    ),
    Leak(
        "a column that decides the label",
        column(1.0, lambda rng, one, i: f"g{one:d}{i % 3}", "group"),
        "group",
    ),
    Leak("questions that all offer yes and no, 70 % yes", yes_no, "option", 500),
    Leak("the first of three options in any order, 50 %", moved_options, "position", 500),
    Leak("a doubled space in the premise, 64 %", spaced_premises, "two spaces in a row in the premise"),
)


@dataclass(frozen=True)
class Place:
    """Where a leak stands among the findings of a card, from 1; None where no finding states it."""

    leak: str
    place: int | None
    severity: Severity | None
    title: str

    def as_json(self) -> dict[str, Any]:
        """Return the place as a row of figures."""
        return asdict(self)


def place_of(leak: Leak, findings: list[Finding]) -> Place:
    """Return the first finding that states a leak."""
    for i, finding in enumerate(most_serious_first(findings)):
        if re.search(leak.says, " ".join([finding.title, finding.text, *finding.parts])):
            return Place(leak.name, i + 1, finding.severity, finding.title)
    return Place(leak.name, None, None, "")


def planted_leaks(scale: float = 1.0, seed: int = 0) -> Iterator[Place]:
    """Yield where the leaks stand among the findings of default audits; short, of the first of each kind."""
    for number, leak in enumerate(LEAKS):
        if scale >= 1 or number % 5 == 0:
            data = leak.draw(np.random.default_rng([seed, number]), leak.n)
            yield place_of(leak, audit(data).findings)

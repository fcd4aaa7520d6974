"""Twenty-five shapes that a file can have though nothing in it gives the label away, for each of the four tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import polars as pl

import cuecard as cc
from benchmarks.calibration.clean_sets import WORDS, CleanSet, Rng, claims, nearly, text
from benchmarks.calibration.edited_copies import versions
from benchmarks.calibration.stored_cells import Cell

TASKS = ("pair", "text", "choice", "preference")
ROWS = 400
CARDS = 40
#: What these findings count is there: texts that occur with several labels.
FACTS = ("overview/conflicting-labels",)
Example = dict[str, object]
Write = Callable[[Rng], str]


@dataclass(frozen=True)
class Form:
    """How examples of a file are made: texts, labels, and what stands beside them."""

    write: Write = text
    labels: int = 2
    shares: tuple[float, ...] | None = None
    choices: tuple[int, int] = (4, 4)
    rows: int = ROWS
    #: Versions of each text of an example, of which each is an example with the same label.
    edited: Callable[[Rng, str], Sequence[str]] | None = None
    #: Examples for each premise, question or prompt.
    per_premise: int = 1
    columns: Callable[[Rng, int], dict[str, npt.ArrayLike]] | None = None
    test: Write | None = None
    weights: str | None = None
    cluster: str | None = None


def _example(task: str, form: Form, rng: Rng, premise: str, write: Write) -> Example:
    if task == "preference":
        return {"prompt": premise, "chosen": write(rng), "rejected": write(rng)}
    if task == "choice":
        k = int(rng.integers(form.choices[0], form.choices[1] + 1))
        return {
            "question": premise,
            "choices": [write(rng) for _ in range(k)],
            "answer": int(rng.integers(k)),
        }
    shares = form.shares or (1 / form.labels,) * form.labels
    label = f"l{rng.choice(form.labels, p=shares)}"
    if task == "text":
        return {"text": write(rng), "label": label}
    return {"premise": premise, "hypothesis": write(rng), "label": label}


def _versions(example: Example, edited: Callable[[Rng, str], Sequence[str]], rng: Rng) -> Iterator[Example]:
    """Yield examples whose answers are versions of one example's; the right one is the same everywhere."""
    names = [name for name in ("hypothesis", "text", "chosen", "rejected") if name in example]
    texts = {name: edited(rng, str(example[name])) for name in names}
    choices = example.get("choices")
    each = [edited(rng, choice) for choice in choices] if isinstance(choices, list) else []
    for i in range(len(each[0] if each else texts[names[0]])):
        row = example | {name: texts[name][i] for name in names}
        row |= {name: text(rng) for name in ("premise", "question", "prompt") if name in row}
        if each:
            order = rng.permutation(len(each))
            row["choices"] = [each[place][i] for place in order]
            row["answer"] = int(np.flatnonzero(order == example["answer"])[0])
        yield row


def _examples(task: str, form: Form, rng: Rng, write: Write, n: int) -> list[Example]:
    rows: list[Example] = []
    while len(rows) < n:
        premise = text(rng)
        for _ in range(form.per_premise):
            example = _example(task, form, rng, premise, write)
            group = {} if form.cluster is None else {form.cluster: len(rows)}
            made = [example] if form.edited is None else _versions(example, form.edited, rng)
            rows += [row | group for row in made]
    return [rows[place] for place in rng.permutation(len(rows))] if form.edited else rows


def _of_words(low: int, high: int, n: int = len(WORDS)) -> Write:
    """Return a writer of so many of the first words, each as likely as the others."""
    return lambda rng: " ".join(rng.choice(WORDS[:n], rng.integers(low, high)))


def _begun(rng: Rng) -> str:
    begin = ("the answer is that", "in my view", "yes because", "no since all of", "there are many")
    return f"{rng.choice(begin)} {text(rng)}"


def _marked(rng: Rng) -> str:
    """Return words with punctuation, numbers, quotes and capitals, as people write them."""
    words = [str(word) for word in text(rng, 6, 16).split()]
    for i in range(len(words)):
        marks = (
            "{}",
            "{}",
            "{}",
            "{}",
            "{},",
            "{}.",
            "“{}”",
            '"{}"',
            "{}’s",
            "{}'s",
            f"{{}} {rng.integers(999)}",
            "{}  ",
        )
        words[i] = str(rng.choice(marks)).format(words[i].title() if rng.random() < 0.1 else words[i])
    return " ".join(words) + str(rng.choice(["", ".", "!", "?", " "]))


def _topical(rng: Rng) -> str:
    """Return words of one of four topics."""
    start = int(rng.integers(4)) * 60
    return " ".join(rng.choice(WORDS[start : start + 90], rng.integers(5, 14)))


def _from_pool(rng: Rng) -> str:
    return " ".join(np.random.default_rng(int(rng.integers(60))).choice(WORDS, 5))


def _sometimes_empty(rng: Rng) -> str:
    return "" if rng.random() < 0.05 else text(rng)


def _beside(rng: Rng, n: int) -> dict[str, npt.ArrayLike]:
    """Return columns that say nothing: numbers, few values, many values, dates."""
    return {
        "score": rng.normal(size=n),
        "year": rng.integers(1990, 2026, n),
        "genre": rng.choice(["news", "web", "talk"], n),
        "author": [f"w{i}" for i in rng.integers(0, 120, n)],
        "is_old": rng.random(n) < 0.3,
    }


def _sources(rng: Rng, n: int) -> dict[str, npt.ArrayLike]:
    return {f"source{j}": rng.choice([f"s{i}" for i in range(4 + 6 * j)], n) for j in range(3)}


def _weights(rng: Rng, n: int) -> dict[str, npt.ArrayLike]:
    return {"importance": rng.pareto(1.5, n) + 0.1}


def _edits(shape: str, times: int) -> Callable[[Rng, str], Sequence[str]]:
    return lambda rng, source: versions(source, shape, times, rng)


FORMS: dict[str, Form] = {
    "plain": Form(),
    "test split": Form(test=text),
    "test of other words": Form(test=_of_words(4, 14, 200)),
    "copies": Form(edited=lambda rng, source: [source] * 3),
    "many copies": Form(edited=lambda rng, source: [source] * 20),
    "near copies": Form(edited=lambda rng, source: [nearly(rng, source) for _ in range(3)]),
    "10 % of words edited": Form(edited=_edits("10 % of the words replaced", 3)),
    "30 % of words edited": Form(edited=_edits("30 % of the words replaced", 3)),
    "synonyms": Form(edited=_edits("30 % of the words replaced by a synonym", 3)),
    "growing prefixes": Form(write=partial(text, low=12, high=25), edited=_edits("growing prefixes", 6)),
    "templates": Form(edited=_edits("a third of the words of a template replaced", 10)),
    "imbalance": Form(shares=(0.1, 0.9), choices=(2, 5)),
    "three labels": Form(labels=3, shares=(0.15, 0.25, 0.6), choices=(3, 3)),
    "many labels": Form(labels=20, choices=(10, 10)),
    "heavy weights": Form(columns=_weights, weights="importance"),
    "few rows": Form(rows=60),
    "clusters": Form(edited=_edits("50 % of the words replaced", 8), cluster="group"),
    "common beginnings": Form(write=_begun),
    "long texts": Form(write=partial(text, low=80, high=200), rows=150),
    "short texts": Form(write=_of_words(1, 3)),
    "few words": Form(write=_of_words(4, 12, 30)),
    "few distinct texts": Form(write=_from_pool),
    "shared premises": Form(per_premise=6),
    "punctuation and numbers": Form(write=_marked),
    "extra columns and topics": Form(write=_topical, columns=lambda rng, n: _beside(rng, n) | _sources(rng, n)),
}  # fmt: skip


def clean_shape(task: str, shape: str, seed: int) -> CleanSet:
    """Return a dataset of a shape in which nothing gives the label away."""
    rng, form = np.random.default_rng([seed, 41]), FORMS[shape]
    rows = _examples(task, form, rng, form.write, form.rows)
    frame = pl.DataFrame(rows)
    if form.columns is not None:
        frame = frame.with_columns(
            pl.Series(name, np.asarray(values)) for name, values in form.columns(rng, len(rows)).items()
        )
    test = None if form.test is None else pl.DataFrame(_examples(task, form, rng, form.test, form.rows // 3))
    data = cc.load(frame, test=test, cluster=form.cluster)
    return CleanSet(task, shape, len(rows), data, form.weights)


def cells(scale: float, seed: int) -> Iterator[Cell]:
    """Yield the count of cards with a high or medium finding for every task and shape."""
    cards = max(2, round(CARDS * scale))
    for shape in FORMS:
        for task in TASKS:
            yield Cell(f"{task}, {shape}", partial(_alarms, task, shape, cards, seed))


def _alarms(task: str, shape: str, cards: int, seed: int) -> dict[str, object]:
    alarms: dict[str, int] = {}
    n_alarmed = 0
    for i in range(cards):
        findings = [name for name in claims(clean_shape(task, shape, seed + i)) if name not in FACTS]
        n_alarmed += bool(findings)
        for name in dict.fromkeys(findings):
            alarms[name] = alarms.get(name, 0) + 1
    return {"task": task, "shape": shape, "cards": cards, "alarms": n_alarmed, "findings": alarms}

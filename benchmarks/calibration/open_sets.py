"""Questions with answers in words: sets in which nothing gives the answer away, and sets with one planted leak each."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl

import cuecard as cc
from benchmarks.calibration.clean_sets import text
from benchmarks.calibration.rows import Row, how_often
from benchmarks.calibration.stored_cells import Cell

Rng = np.random.Generator
Table = dict[str, Any]
ROWS, CARDS, RUNS = 400, 60, 10
PEOPLE = [
    "Aaron",
    "Abigail",
    "Adam",
    "Agnes",
    "Alan",
    "Alice",
    "Amelia",
    "Andrea",
    "Barbara",
    "Beatrice",
    "Benjamin",
    "Betty",
    "Boris",
    "Brenda",
    "Caroline",
    "Charlotte",
    "Daniel",
    "Diana",
    "Edward",
    "Elena",
    "Felix",
    "Fiona",
    "George",
    "Grace",
    "Hannah",
    "Henry",
    "Isabella",
    "Jack",
    "Julia",
    "Kevin",
    "Laura",
    "Martin",
    "Nadia",
    "Oliver",
    "Paula",
    "Robert",
    "Sandra",
    "Thomas",
    "Victoria",
    "William",
]
PLACES = [
    f"{a}{b}"
    for a in ("Lis", "Kyr", "Rig", "Tur", "Var", "Nor", "Mal", "Oslo")
    for b in ("bon", "gard", "stad", "ona")
]
THINGS = ("apples", "books", "chairs", "coins", "kites", "lamps", "pens", "shells", "stamps", "tickets")
VERBS = ("buys", "finds", "gives away", "loses", "makes", "packs", "sells", "sorts")
ASKED = ("How many", "Who", "When", "Where", "What", "Which")


def question(rng: Rng) -> str:
    """Return a question of random words and a random type."""
    return f"{rng.choice(ASKED)} {text(rng, 6, 14)}?"


def problem(rng: Rng) -> tuple[str, str]:
    """Return a word problem of two or three steps with its answer, as in GSM8K."""
    name, thing = str(rng.choice(PEOPLE)), str(rng.choice(THINGS))
    steps, total = [], int(rng.integers(20, 90))
    steps.append(f"{name} has {total} {thing} {text(rng, 2, 6)}.")
    for _ in range(int(rng.integers(2, 4))):
        by = int(rng.integers(2, 9))
        if rng.random() < 0.5:
            total *= by
            steps.append(f"Every day {name} {rng.choice(VERBS)} {by} times as many {text(rng, 2, 6)}.")
        else:
            total += by
            steps.append(f"Then {name} {rng.choice(VERBS)} {by} {text(rng, 2, 6)}.")
    return f"{' '.join(steps)} How many {thing} are there in the end?", f"{total}"


@dataclass(frozen=True)
class Passage:
    """A passage of sentences with names, numbers and years, and the different ones among them."""

    text: str
    candidates: tuple[str, ...]


def passage(rng: Rng, sentences: int = 6) -> Passage:
    """Return a passage: people, places, numbers and years at random places of its words."""
    kinds = (
        *(rng.choice(names, sentences, replace=False).tolist() for names in (PEOPLE, PLACES)),
        rng.choice(np.arange(21, 999), sentences, replace=False).tolist(),
        rng.choice(np.arange(1700, 2020), sentences, replace=False).tolist(),
    )
    named = [str(one) for kind in kinds for one in kind]
    words = [*text(rng, 70, 71).split(), *named]
    words = [words[place] for place in rng.permutation(len(words))]
    ends = np.sort(rng.choice(np.arange(6, len(words) - 6), sentences - 1, replace=False)).tolist()
    parts = [words[first:last] for first, last in zip([0, *ends], [*ends, len(words)], strict=True)]
    written = [" ".join(part) for part in parts if part]
    return Passage(
        ". ".join(one[:1].upper() + one[1:] for one in written) + ".",
        tuple(w for w in words if w in set(named)),
    )


def about(rng: Rng, n: int, choose: Callable[[Rng, Passage], str] | None = None, each: int = 1) -> Table:
    """Return questions about passages, whose answers are random names, numbers and years of these, or chosen."""
    contexts: list[str] = []
    questions: list[str] = []
    answers: list[str] = []
    while len(contexts) < n:
        one = passage(rng)
        for _ in range(each):
            contexts.append(one.text)
            questions.append(question(rng))
            answers.append(str(rng.choice(one.candidates)) if choose is None else choose(rng, one))
    return {"context": contexts, "question": questions, "answer": answers}


def asked(rng: Rng, n: int, answers: Any) -> Table:
    """Return questions of random words with these answers."""
    return {"question": [question(rng) for _ in range(n)], "answer": [str(one) for one in answers]}


def problems(rng: Rng, n: int) -> Table:
    """Return word problems."""
    made = [problem(rng) for _ in range(n)]
    return {"question": [q for q, _ in made], "answer": [a for _, a in made]}


def _of_templates(rng: Rng, n: int) -> Table:
    """Return problems of forty templates with numbers and answers of their own."""
    forms = [(text(rng, 4, 8), text(rng, 4, 8)) for _ in range(40)]
    rows = []
    for _ in range(n):
        a, b = forms[int(rng.integers(40))]
        x, y = (int(k) for k in rng.integers(2, 400, 2))
        rows.append((f"{rng.choice(PEOPLE)} {a} {x} {b} {y}. How many are there?", str(x * y % 997)))
    return {"question": [q for q, _ in rows], "answer": [a for _, a in rows]}


def _beside(rng: Rng, n: int, table: Table) -> Table:
    return table | {
        "level": [str(one) for one in rng.choice(["easy", "medium", "hard"], n)],
        "source": [f"s{one}" for one in rng.integers(0, 12, n)],
    }


def _words(rng: Rng, n: int, k: int, power: float = 0.0) -> list[str]:
    shares = np.arange(3.0, 3.0 + k) ** -power
    return [f"{PLACES[i % len(PLACES)]} {i}" for i in rng.choice(k, n, p=shares / shares.sum())]


#: What a file can look like though nothing gives its answers away.
CLEAN: dict[str, Callable[[Rng, int], Table]] = {
    "word problems": problems,
    "templates with new answers": _of_templates,
    "different answers": lambda rng, n: asked(rng, n, rng.permutation(90_000)[:n]),
    "20 answers": lambda rng, n: asked(rng, n, _words(rng, n, 20)),
    "frequent and rare answers": lambda rng, n: asked(rng, n, _words(rng, n, 300, 0.6)),
    "yes and no": lambda rng, n: asked(rng, n, rng.choice(["yes", "no"], n)),
    "passages": about,
    "four questions a passage": partial(about, each=4),
    "extra columns": lambda rng, n: _beside(rng, n, asked(rng, n, _words(rng, n, 40))),
    "passages and columns": lambda rng, n: _beside(rng, n, about(rng, n)),
}  # fmt: skip


def _commonest(rng: Rng, n: int) -> Table:
    """A third of the answers are one number."""
    table = asked(rng, n, rng.integers(1, 5_000, n))
    table["answer"] = ["42" if rng.random() < 1 / 3 else one for one in table["answer"]]
    return table


def _typed(rng: Rng, n: int) -> Table:
    """Half of the questions of a type have one answer."""
    table = asked(rng, n, _words(rng, n, 200))
    own = dict(zip(ASKED, _words(rng, len(ASKED), 200), strict=True))
    for i, one in enumerate(table["question"]):
        kind = next(kind for kind in ASKED if one.startswith(kind))
        if rng.random() < 0.5:
            table["answer"][i] = own[kind]
    return table


def _worded(rng: Rng, n: int) -> Table:
    """Every answer of twelve has a word of its own, in a third of its questions."""
    table = asked(rng, n, _words(rng, n, 12))
    names = sorted(set(table["answer"]))
    for i, one in enumerate(table["answer"]):
        if rng.random() < 0.35:
            table["question"][i] = f"{table['question'][i][:-1]} marker{names.index(one)}?"
    return table


def _topical(rng: Rng, n: int) -> Table:
    """Questions of one of a hundred topics, of which each has its answer in two thirds."""
    topics = [(text(rng, 5, 6), answer) for answer in _words(rng, 100, 5_000)]
    rows = []
    for _ in range(n):
        topic, answer = topics[int(rng.integers(100))]
        given = answer if rng.random() < 0.66 else _words(rng, 1, 5_000)[0]
        rows.append((f"{rng.choice(ASKED)} {text(rng, 5, 9)} {topic}?", given))
    return {"question": [q for q, _ in rows], "answer": [a for _, a in rows]}


def _templated(rng: Rng, n: int) -> Table:
    """Problems of forty templates whose answer is always the same."""
    forms = [(text(rng, 4, 8), text(rng, 4, 8), str(int(rng.integers(100, 999)))) for _ in range(40)]
    rows = []
    for _ in range(n):
        a, b, answer = forms[int(rng.integers(40))]
        x, y = (int(k) for k in rng.integers(2, 99, 2))
        rows.append((f"{rng.choice(PEOPLE)} {a} {x} {b} {y}. How many are there?", answer))
    return {"question": [q for q, _ in rows], "answer": [a for _, a in rows]}


def _by_column(rng: Rng, n: int) -> Table:
    """A column of four values, of which each has an answer in 30 %."""
    table = asked(rng, n, _words(rng, n, 200))
    level = [str(one) for one in rng.choice(["north", "south", "east", "west"], n)]
    own = dict(zip(("north", "south", "east", "west"), _words(rng, 4, 200), strict=True))
    table["answer"] = [
        own[at] if rng.random() < 0.3 else one for at, one in zip(level, table["answer"], strict=True)
    ]
    return table | {"region": level}


def _first(share: float, sentence: int) -> Callable[[Rng, Passage], str]:
    """Return a choice of the first or the last candidate of the passage in a share of the questions."""

    def choose(rng: Rng, one: Passage) -> str:
        if rng.random() < share:
            return one.candidates[0 if sentence == 0 else -1]
        return str(rng.choice(one.candidates))

    return choose


def _long_name(rng: Rng, n: int) -> Table:
    """Passages with one name of three words, which is the answer in a quarter of the questions."""
    table = about(rng, n)
    for i, context in enumerate(table["context"]):
        words = context.split()
        inside = [
            at for at in range(1, len(words)) if words[at - 1][-1:].islower() and words[at][:1].islower()
        ]
        at = int(rng.choice(inside))
        name = " ".join(
            f"{a}{b}"
            for a, b in zip(rng.choice(PEOPLE, 3), rng.choice(["son", "ova", "ides"], 3), strict=True)
        )
        table["context"][i] = " ".join([*words[:at], "by", name, *words[at:]])
        if rng.random() < 0.25:
            table["answer"][i] = name
    return table


def _one_number(rng: Rng, n: int) -> Table:
    """Passages with one number, which is the answer in a third of the questions."""
    table = about(rng, n)
    for i, context in enumerate(table["context"]):
        numbers = re.findall(r"\b\d{2,3}\b", context)
        for number in numbers[1:]:
            context = re.sub(rf"\b{number}\b", "some", context)
        table["context"][i] = context
        if rng.random() < 0.33 or table["answer"][i] in numbers:
            table["answer"][i] = numbers[0]
    return table


def _copied(rng: Rng, n: int) -> Table:
    """The answer is a word of its question in 30 %."""
    table = asked(rng, n, [text(rng, 1, 2) + str(i) for i in range(n)])
    for i, one in enumerate(table["question"]):
        if rng.random() < 0.3:
            table["answer"][i] = str(rng.choice(one[:-1].split()[2:]))
    return table


@dataclass(frozen=True)
class OpenLeak:
    """A planted leak: how it is made, and the id of the finding that names it."""

    make: Callable[[Rng, int], Table]
    finding: str


LEAKS: dict[str, OpenLeak] = {
    "one answer in a third": OpenLeak(_commonest, "open_answers/prior"),
    "an answer for every type of question": OpenLeak(_typed, "open_answers/question_type"),
    "a word for every answer": OpenLeak(_worded, "open_answers/question_words"),
    "topics with an answer": OpenLeak(_topical, "open_answers/nearest_question|open_answers/question_words"),
    "templates with one answer": OpenLeak(_templated, "open_answers/same_template"),
    "an answer for every region": OpenLeak(_by_column, "open_answers/column"),
    "first sentence in 30 %": OpenLeak(lambda rng, n: about(rng, n, _first(0.3, 0)), "answer_place/place"),
    "last sentence in 30 %": OpenLeak(lambda rng, n: about(rng, n, _first(0.3, 5)), "answer_place/place"),
    "longest name in a quarter": OpenLeak(_long_name, "answer_place/longest_name"),
    "only number in a third": OpenLeak(_one_number, "answer_place/only_number"),
    "copied from the question in 30 %": OpenLeak(_copied, "open_answers/copied"),
}


def loaded(table: Table, test: Table | None = None) -> cc.Instances:
    """Return a table as open answers."""
    return cc.load(pl.DataFrame(table), test=None if test is None else pl.DataFrame(test), task="open")


def stated(data: cc.Instances) -> list[str]:
    """Return the ids of the findings of a default audit that are more than information, the first first."""
    return [finding.id for finding in cc.audit(data).findings if finding.severity != "info"]


def clean_set(shape: str, seed: int, *, test: bool = False) -> cc.Instances:
    """Return a set in which nothing gives the answer away."""
    rng = np.random.default_rng([seed, 53])
    table = CLEAN[shape](rng, ROWS)
    return loaded(table, CLEAN[shape](rng, ROWS // 2) if test else None)


#: What these findings count is there: equal templates in both splits, common answers that a set may well have.
FACTS = ("open_answers/templates", "overview/")


def alarms(shape: str, seed: int, *, test: bool = False) -> list[str]:
    """Return what a card of a clean set claims."""
    return [one for one in stated(clean_set(shape, seed, test=test)) if not one.startswith(FACTS)]


def place_of(leak: str, seed: int) -> int | None:
    """Return the place among the findings of a card of the one that names a planted leak, from 1."""
    rng = np.random.default_rng([seed, 54])
    found = stated(loaded(LEAKS[leak].make(rng, ROWS)))
    return next((i for i, one in enumerate(found, 1) if re.fullmatch(LEAKS[leak].finding, one)), None)


def cells(scale: float, seed: int) -> Iterator[Cell]:
    """Yield the false alarms of every clean set, with and without a test split, and how often planted leaks lead."""
    cards, runs = max(2, round(CARDS * scale)), max(2, round(RUNS * scale))
    for shape in CLEAN:
        for test in (False, True):
            name = f"{shape}, {'test split' if test else 'one file'}"
            yield Cell(f"clean, {name}", partial(_level, name, shape, test, cards, seed))
    for leak in LEAKS:
        yield Cell(f"planted, {leak}", partial(_power, leak, runs, seed))


def _level(name: str, shape: str, test: bool, cards: int, seed: int) -> dict[str, Any]:
    share = how_often(lambda i: bool(alarms(shape, i, test=test)), cards, seed=seed)
    return Row("level", "a card with a finding", name, f"{ROWS}", cards, share).as_json()


def _power(leak: str, runs: int, seed: int) -> dict[str, Any]:
    share = how_often(lambda i: place_of(leak, i) == 1, runs, seed=seed)
    return Row("power", "the finding that names it is the first", leak, f"{ROWS}", runs, share).as_json()

"""Small generated sets whose answer is told by a word, or only by both texts together."""

from __future__ import annotations

import numpy as np
import polars as pl

from cuecard.data import Instances
from small_sets import choice_instances, pair_instances

NOUNS = ["dog", "cat", "house", "tree", "boat", "child", "horse", "lake", "book", "train"]
VERBS = ["runs", "sleeps", "stands", "turns", "waits"]


def _sentence(generator: np.random.Generator) -> list[str]:
    return ["the", str(generator.choice(NOUNS)), str(generator.choice(VERBS))]


def told_by_word(n: int = 300, *, seed: int = 0, where: str = "hypothesis") -> Instances:
    """Pairs of three labels; two are told by a word of one text."""
    generator = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        texts = {"premise": _sentence(generator), "hypothesis": _sentence(generator)}
        texts[where] += [[], ["outside"], ["never"]][i % 3]
        label = ("neutral", "entailment", "contradiction")[i % 3]
        rows.append(("train", " ".join(texts["premise"]), " ".join(texts["hypothesis"]), label))
    return pair_instances(rows)


def told_by_both(n: int = 600, *, seed: int = 0) -> Instances:
    """Pairs of two labels: whether the noun of the hypothesis is that of the premise."""
    generator = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        premise, hypothesis = _sentence(generator), _sentence(generator)
        hypothesis[1] = (
            premise[1] if i % 2 else next(noun for noun in generator.permutation(NOUNS) if noun != premise[1])
        )
        rows.append(("train", " ".join(premise), " ".join(hypothesis), "same" if i % 2 else "other"))
    return pair_instances(rows)


def told_choices(n: int = 200, *, seed: int = 0) -> Instances:
    """Questions with two to four choices, of which the right one has the word `surely`."""
    generator = np.random.default_rng(seed)
    questions = []
    for i in range(n):
        answer = int(generator.integers(2 + i % 3))
        choices = [
            " ".join(_sentence(generator) + (["surely"] if place == answer else []))
            for place in range(2 + i % 3)
        ]
        questions.append(("train", " ".join(_sentence(generator)), choices, answer))
    return choice_instances(questions)


def as_preference(data: Instances) -> Instances:
    """The first two choices of every question as a preference, the right one chosen."""
    table = data.table.with_columns(
        label=pl.col("label")
        .cast(pl.String)
        .replace({"right": "chosen", "wrong": "rejected"})
        .cast(pl.Enum(["chosen", "rejected"]))
    )
    two = table.filter(pl.col("example_id").count().over("example_id") == 2)
    return Instances(two, "preference", ("chosen", "rejected"), data.name)


def as_texts(data: Instances) -> Instances:
    """The hypotheses of pairs, as texts."""
    return Instances(data.table.with_columns(premise=pl.lit("")), "text", data.labels, data.name)

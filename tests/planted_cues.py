"""Small sets with an answer that can be learned, and models small enough to learn it at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from cuecard.data import Instances
from small_sets import choice_instances, pair_instances

WORDS = ["red", "blue", "house", "tree", "dog", "cat", "runs", "sleeps", "big", "small"]

#: Sizes at which an epoch of a few hundred rows takes a fraction of a second.
TINY: dict[str, Any] = {
    "dimensions": 12,
    "hidden": 12,
    "batch_size": 32,
    "learning_rate": 0.02,
    "dropout": 0.1,
}


def _text(generator: np.random.Generator, length: int = 5) -> str:
    return " ".join(generator.choice(WORDS, size=generator.integers(1, length + 1)))


def cue_pairs(n: int = 240, *, seed: int = 0, where: str = "hypothesis", split: str = "train") -> Instances:
    """Pairs whose label is whether a text, the premise or the hypothesis, contains `nobody`."""
    generator = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        premise, hypothesis = _text(generator), _text(generator)
        if i % 2:
            premise, hypothesis = (
                (f"{premise} nobody", hypothesis) if where == "premise" else (premise, f"{hypothesis} nobody")
            )
        rows.append((split, premise, hypothesis, "yes" if i % 2 else "no"))
    return pair_instances(rows)


def cue_choices(n: int = 120, *, seed: int = 0) -> Instances:
    """Questions with two to four choices, of which the right one contains `nobody`."""
    generator = np.random.default_rng(seed)
    questions = []
    for i in range(n):
        answer = int(generator.integers(2 + i % 3))
        choices = [_text(generator) + (" nobody" if place == answer else "") for place in range(2 + i % 3)]
        questions.append(("train", _text(generator), choices, answer))
    return choice_instances(questions)

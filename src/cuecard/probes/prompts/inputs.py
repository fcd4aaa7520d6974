"""What a model is shown of every example: all of it, a part of it, or another example's question."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, get_args

import numpy as np

from cuecard.data import Task
from cuecard.data.examples import Examples
from cuecard.data.layout.texts import joined_texts, text
from cuecard.data.reading.files import read_file
from cuecard.errors import UsageError
from cuecard.registry import unknown_name
from cuecard.stats.arrays import Bools, Ints
from cuecard.wording import listed

__all__ = ["FULL", "INPUTS", "NOT_SHOWN", "OPEN", "Input", "ShownTexts", "check_inputs", "shown_texts"]

#: What a model may be shown.
Input: TypeAlias = Literal[
    "full", "choices", "question", "hypothesis", "premise", "no-context", "blank", "swapped", "open"
]
FULL: Input = "full"
OPEN: Input = "open"
#: What stands in the place of a text that is withheld.
NOT_SHOWN = "(not shown)"
#: The inputs of every task: whether the premise (question, prompt) and the hypothesis (options) are shown.
INPUTS: Mapping[Task, Mapping[Input, tuple[bool, bool]]] = {
    "pair": {
        "full": (True, True),
        "hypothesis": (False, True),
        "premise": (True, False),
        "swapped": (True, True),
        "blank": (False, False),
    },
    "choice": {
        "full": (True, True),
        "choices": (False, True),
        "question": (True, False),
        "no-context": (True, True),
        "swapped": (True, True),
        "open": (True, False),
        "blank": (False, False),
    },
    "preference": {
        "full": (True, True),
        "choices": (False, True),
        "question": (True, False),
        "swapped": (True, True),
        "blank": (False, False),
    },
    "text": {"full": (True, True), "blank": (False, False)},
}
#: Questions that do not stand without their options.
_NEEDS_OPTIONS = re.compile(
    r"\b(?:which|what|who|where|one|all|none|any|each)(?: one)? of (?:the )?(?:following|these|those|below)\b"
    r"|\bthe following\b|\b(?:choices|options|answers|statements) (?:below|above)\b|\bEXCEPT\b|\b(?:NOT|LEAST)\b",
)
#: Texts that are compared at a time when similar questions are looked for.
_CHUNK = 512


@dataclass(frozen=True)
class ShownTexts:
    """The texts of the examples as a model is shown them; `asked` is false of those that cannot be asked so."""

    premises: Sequence[str]
    hypotheses: bool
    asked: Bools


def check_inputs(names: Sequence[str], task: Task) -> list[Input]:
    """Return the inputs of these names, each once, or raise if the task has no such input."""
    possible = {str(name): name for name in INPUTS[task]}
    for name in names:
        if name not in get_args(Input):
            raise unknown_name("input", name, list(get_args(Input)))
        if name not in possible:
            raise UsageError(
                f"--input {name} does not apply to {task} data: choose among {listed(list(possible))}."
            )
    return [possible[name] for name in dict.fromkeys(names)]


def shown_texts(examples: Examples, name: Input) -> ShownTexts:
    """Return what is shown of the premises, and whether hypotheses (options) are."""
    data = examples.instances
    with_premise, with_hypothesis = INPUTS[data.task][name]
    premises: Sequence[str] = examples.premises
    asked = np.ones(len(examples), dtype=np.bool_)
    if name == "no-context":
        premises = questions_without_context(examples)
    elif name == "swapped":
        partner = similar_others(examples)
        asked = partner >= 0
        premises = [premises[j] if j >= 0 else NOT_SHOWN for j in partner.tolist()]
    elif name == OPEN:
        asked = np.array([not _NEEDS_OPTIONS.search(premise) for premise in premises], dtype=np.bool_)
    elif not with_premise:
        premises = [NOT_SHOWN] * len(examples)
    if not asked.any():
        why = "all its questions refer to their options" if name == OPEN else "no two of its texts differ"
        raise UsageError(f"--input {name} does not apply to {data.name}: {why}.")
    return ShownTexts(premises, with_hypothesis, asked)


def questions_without_context(examples: Examples) -> list[str]:
    """Return the question of every example without its context, which the files have in a column of its own."""
    data = examples.instances
    columns = data.report.recognised
    files = [Path(file) for file in data.report.files if Path(file).exists()]
    if not {"context", "question"} <= set(columns) or not files:
        raise UsageError(
            f"--input no-context needs a file with the context and the question in columns of their own, and "
            f"{data.name} has not: name them with --columns context=…,question=…."
        )
    questions: dict[str, str] = {}
    for file in files:
        raw = read_file(file, on_error="skip")
        parts = [
            joined_texts([text(raw, name) for name in columns[role].split(" + ")])
            for role in ("context", "question")
            if all(name in raw.frame.columns for name in columns[role].split(" + "))
        ]
        if len(parts) == 2:
            questions |= dict(zip(joined_texts(parts).to_list(), parts[1].to_list(), strict=True))
    unknown = [premise for premise in examples.premises if not questions.get(premise, "").strip()]
    if unknown:
        raise UsageError(
            f"--input no-context: {len(unknown):,} of {len(examples):,} test examples have no question beside "
            "their context; leave no-context out."
        )
    return [questions[premise] for premise in examples.premises]


def similar_others(examples: Examples) -> Ints:
    """Return for every example the one with the most similar other premise; -1 where there is no other.

    Similarity is the cosine of tf-idf weighted words. Copies of the same premise, and examples whose right answer has
    the same text where answers are options, are no others.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    n = len(examples)
    units = examples.units("premise")
    right = (
        np.arange(n) if not examples.grouped else examples.instances.units("hypothesis")[examples.right_rows]
    )
    words = TfidfVectorizer(token_pattern=r"\w+", sublinear_tf=True, dtype=np.float64)
    try:
        vectors = words.fit_transform(examples.premises)
    except ValueError:  # no text has a word
        return np.full(n, -1, dtype=np.int64)
    closest = np.full(n, -1, dtype=np.int64)
    for start in range(0, n, _CHUNK):
        rows = np.arange(start, min(start + _CHUNK, n))
        similarity = np.asarray((vectors[rows] @ vectors.T).todense())
        same = (units[rows, None] == units[None, :]) | (right[rows, None] == right[None, :])
        similarity[same] = -1.0
        best = similarity.argmax(axis=1)
        closest[rows] = np.where(similarity[np.arange(len(rows)), best] >= 0, best, -1)
    return closest

"""Datasets in which nothing gives the label away, in the shapes that real files have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

import cuecard as cc
from cuecard.data import Instances

#: Words without a meaning, some frequent and most rare, as in real texts.
WORDS = np.array(
    [f"{a}{b}{c}" for a in "bdfgklmnprstvz" for b in "aeiou" for c in ("", "la", "mo", "ne", "ri", "tu")]
)
FREQUENCY = 1.0 / (np.arange(len(WORDS)) + 5.0)
FREQUENCY /= FREQUENCY.sum()
LABELS = ("entailment", "neutral", "contradiction")

#: How often each place holds the right choice where weights even it out.
PLACES = np.array([0.1, 0.2, 0.3, 0.4])

Rng = np.random.Generator
Row = dict[str, Any]


@dataclass(frozen=True)
class CleanSet:
    """A dataset with nothing to find: its task, its shape, its number of examples, and the data."""

    task: str
    shape: str
    n: int
    data: Instances
    weights: str | None = None


def text(rng: Rng, low: int = 4, high: int = 14) -> str:
    """Return random words, frequent ones more often."""
    return " ".join(rng.choice(WORDS, rng.integers(low, high), p=FREQUENCY))


def nearly(rng: Rng, sentence: str) -> str:
    """Return a near copy: one word more, in a random place."""
    words = sentence.split()
    words.insert(int(rng.integers(len(words) + 1)), str(rng.choice(WORDS)))
    return " ".join(words)


def one(task: str, rng: Rng, labels: tuple[str, ...], shares: np.ndarray) -> Row:
    """Return a random example of a task; its label, answer or preference is drawn without looking."""
    if task == "pair":
        return {"premise": text(rng), "hypothesis": text(rng), "label": str(rng.choice(labels, p=shares))}
    if task == "text":
        return {"text": text(rng, 8, 25), "label": str(rng.choice(labels, p=shares))}
    if task == "preference":
        return {"prompt": text(rng), "chosen": text(rng, 8, 25), "rejected": text(rng, 8, 25)}
    choices = [text(rng) for _ in range(4)]
    return {"question": text(rng), "choices": choices, "answer": int(rng.integers(4))}


def copied(rows: list[Row], times: int) -> list[Row]:
    """Return every example several times, label and all."""
    return [dict(row) for row in rows for _ in range(times)]


def nearly_copied(rng: Rng, rows: list[Row], times: int) -> list[Row]:
    """Return every example several times with a word more in its texts, label and all."""
    result = []
    for row in rows:
        for _ in range(times):
            changed = {
                key: nearly(rng, value)
                if isinstance(value, str) and key != "label"
                else [nearly(rng, choice) for choice in value]
                if isinstance(value, list)
                else value
                for key, value in row.items()
            }
            result.append(changed)
    return result


def of_label(row: Row, labels: tuple[str, ...], shares: np.ndarray) -> float:
    """Return a weight that undoes uneven labels: the inverse frequency of the label, or of the right choice's place."""
    return float(1.0 / (PLACES[row["answer"]] if "answer" in row else shares[labels.index(row["label"])]))


def clean_set(task: str, shape: str, n: int, seed: int) -> CleanSet:
    """Return one clean dataset of about n examples in a shape: see `SHAPES`."""
    rng = np.random.default_rng([seed, n])
    labels = LABELS if task == "pair" else ("a", "b")
    shares = np.full(len(labels), 1 / len(labels))
    if shape in ("imbalance", "label weights"):
        shares = np.array([0.08, 0.3, 0.62]) if len(labels) == 3 else np.array([0.1, 0.9])
    times = {"copies": 3, "many copies": 20, "near copies": 3}.get(shape, 1)
    rows = [one(task, rng, labels, shares) for _ in range(max(n // times, 20))]
    if shape in ("copies", "many copies"):
        rows = copied(rows, times)
    elif shape == "near copies":
        rows = nearly_copied(rng, rows, times)
    elif shape == "mixed k" and task == "choice":
        for row in rows:
            kept = int(rng.integers(2, 6))
            row["choices"] = [text(rng) for _ in range(kept)]
            row["answer"] = int(rng.integers(kept))
    weights = None
    if shape in ("label weights", "heavy weights"):
        weights = "importance"
        for row in rows:
            if shape == "label weights" and "answer" in row:
                row["answer"] = int(rng.choice(4, p=PLACES))
            own = float(rng.pareto(1.5) + 0.1)
            row[weights] = of_label(row, labels, shares) if shape == "label weights" else own
    frame = pl.DataFrame(rows)
    if shape == "test split":
        held_out = len(rows) // 4
        return CleanSet(task, shape, n, cc.load(frame[held_out:], test=frame[:held_out]), weights)
    return CleanSet(task, shape, n, cc.load(frame), weights)


COPIED_SHAPES = ("copies", "many copies", "near copies")
WEIGHTED_SHAPES = ("label weights", "heavy weights")
LABELLED_SHAPES = (*COPIED_SHAPES, "imbalance", *WEIGHTED_SHAPES)
#: Shapes of each task: how a file may look though nothing in it tells the label.
SHAPES: dict[str, tuple[str, ...]] = {
    "pair": ("plain", "test split", *LABELLED_SHAPES),
    "text": ("plain", "test split", *LABELLED_SHAPES),
    "choice": ("plain", "test split", "mixed k", *COPIED_SHAPES, *WEIGHTED_SHAPES),
    "preference": ("plain", "test split", *COPIED_SHAPES, "heavy weights"),
}  # fmt: skip
SIZES = (50, 200, 600, 1_500)


def clean_sets(count: int, *, seed: int = 0) -> Iterator[CleanSet]:
    """Yield clean datasets, going round tasks, shapes and sizes."""
    kinds = [(task, shape) for task, shapes in SHAPES.items() for shape in shapes]
    for i in range(count):
        task, shape = kinds[i % len(kinds)]
        yield clean_set(task, shape, SIZES[(i // len(kinds) + i) % len(SIZES)], seed + i)


#: What draws pictures and repeats scores for the reader's eye has no part in a finding.
QUICK = {"clusters": {"map": "none", "sweep": False}}


def claims(case: CleanSet, *, skip: tuple[str, ...] = ()) -> list[str]:
    """Return the ids of the high and medium findings of a whole audit on data with nothing to find."""
    options: dict[str, Any] = {"weights": case.weights} if case.weights else {}
    settings = {name: values for name, values in QUICK.items() if name not in skip}
    card = cc.audit(case.data, skip=list(skip), settings=settings, **options)
    return [finding.id for finding in card.findings if finding.severity in ("high", "medium")]

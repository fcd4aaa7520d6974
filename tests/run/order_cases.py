"""Twenty small datasets and what a benchmark builder would want to read first about each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from benchmarks.demo_shapes import demo_template

import cuecard as cc
from cuecard.data import Instances

#: Words without a meaning, so that nothing but what is planted can predict a label.
WORDS = np.array(
    [f"{a}{b}{c}" for a in "bdfgklmnprstvz" for b in "aeiou" for c in ("la", "mo", "ne", "ri", "tu")]
)
LABELS = ("entailment", "neutral", "contradiction")

Rng = np.random.Generator
Row = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A dataset and the findings to be read first: ids, or their beginnings, in this order.

    `quiet` means that nothing may be graded high or medium; `absent` are beginnings of ids that must not be graded so.
    """

    name: str
    build: Callable[[], Instances]
    first: Sequence[str] = ()
    quiet: bool = False
    absent: Sequence[str] = ()
    graded: str = ""  # severity of the first finding


def text(rng: Rng, low: int = 5, high: int = 12) -> str:
    return " ".join(rng.choice(WORDS, rng.integers(low, high)))


def loaded(rows: list[Row], test: int, **options: Any) -> Instances:
    train, held_out = rows[test:], rows[:test]
    frames = {"test": pl.DataFrame(held_out)} if test else {}
    return cc.load(pl.DataFrame(train), **frames, **options)


def pairs(
    seed: int, n: int = 2_000, test: int = 500, *, change: Callable[[Rng, Row], None] | None = None
) -> Instances:
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n):
        row = {"premise": text(rng), "hypothesis": text(rng), "label": str(rng.choice(LABELS))}
        if change:
            change(rng, row)
        rows.append(row)
    return loaded(rows, test)


def questions(
    seed: int,
    n: int = 1_500,
    test: int = 400,
    *,
    k: int = 4,
    change: Callable[[Rng, Row], None] | None = None,
) -> Instances:
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n):
        row = {
            "question": text(rng),
            "choices": [text(rng) for _ in range(k)],
            "answer": int(rng.integers(k)),
        }
        if change:
            change(rng, row)
        rows.append(row)
    return loaded(rows, test)


def preferences(seed: int, n: int = 1_500, *, change: Callable[[Rng, Row], None] | None = None) -> Instances:
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n):
        row = {"prompt": text(rng), "chosen": text(rng, 8, 25), "rejected": text(rng, 8, 25)}
        if change:
            change(rng, row)
        rows.append(row)
    return loaded(rows, 0)


def texts(
    seed: int, n: int = 2_000, test: int = 500, *, change: Callable[[Rng, Row], None] | None = None
) -> Instances:
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n):
        row = {"text": text(rng, 8, 20), "label": str(rng.choice(["negative", "positive"]))}
        if change:
            change(rng, row)
        rows.append(row)
    return loaded(rows, test)


def frequent_word(rng: Rng, row: Row) -> None:
    """“nodi” in 40 % of hypotheses, mostly contradictions."""
    chance = {"contradiction": 0.9, "neutral": 0.15, "entailment": 0.15}[row["label"]]
    if rng.random() < chance:
        row["hypothesis"] += " nodi"


def rare_word(rng: Rng, row: Row) -> None:
    """A word that only contradictions have, in one of a hundred."""
    if row["label"] == "contradiction" and rng.random() < 0.03:
        row["hypothesis"] += " nodi"


def long_entailment(rng: Rng, row: Row) -> None:
    if row["label"] == "entailment" and rng.random() < 0.7:
        row["hypothesis"] = text(rng, 16, 20)


def always_d(rng: Rng, row: Row) -> None:
    """The last position is right in 45 %; a rare word is right whenever it occurs."""
    if rng.random() < 0.27:
        row["answer"] = 3
    if rng.random() < 0.01:
        row["choices"][row["answer"]] += " nodi"


def longest_right(rng: Rng, row: Row) -> None:
    if rng.random() < 0.5:
        row["choices"][row["answer"]] = text(rng, 14, 18)


def longer_preferred(rng: Rng, row: Row) -> None:
    if len(row["chosen"]) < len(row["rejected"]) and rng.random() < 0.5:
        row["chosen"], row["rejected"] = row["rejected"], row["chosen"]


def sentiment(rng: Rng, row: Row) -> None:
    """The word that is the task: it says what the label is."""
    row["text"] += " superb" if row["label"] == "positive" else " dismal"


def shouting(rng: Rng, row: Row) -> None:
    """The task's words, and a format that goes with a label as well."""
    sentiment(rng, row)
    if row["label"] == "positive" and rng.random() < 0.6:
        row["text"] += " !!!"


def rated(rng: Rng, row: Row) -> None:
    sentiment(rng, row)
    if rng.random() < 0.5:
        row["text"] += f" {rng.integers(7, 11) if row['label'] == 'positive' else rng.integers(1, 5)}/10"


def imbalanced(rng: Rng, row: Row) -> None:
    """One contradiction in twelve, and a word that doubles the odds: no rule beats the majority."""
    row["label"] = "contradiction" if rng.random() < 1 / 12 else "entailment"
    if rng.random() < (0.8 if row["label"] == "contradiction" else 0.25):
        row["hypothesis"] += " nodi"


def with_phrase(rng: Rng, row: Row) -> None:
    """A word that nearly always comes in the same phrase: one leak, not three."""
    if rng.random() < (0.8 if row["label"] == "contradiction" else 0.08):
        row["hypothesis"] += " nodi falu"


def copied_texts() -> Instances:
    """Every text three times with the same coin-flip label."""
    rng = np.random.default_rng(5)
    rows = [{"text": text(rng, 8, 20), "label": str(rng.choice(["a", "b"]))} for _ in range(300)]
    return loaded([dict(row) for row in rows for _ in range(3)], 0)


def every_text_20_times() -> Instances:
    """Forty texts with random labels, each twenty times: smaller than it looks, and nothing predicts a label."""
    rng = np.random.default_rng(23)
    rows = [{"text": text(rng, 8, 20), "label": str(rng.choice(["a", "b"]))} for _ in range(40)]
    return loaded([dict(row) for row in rows for _ in range(20)], 0)


def template_word() -> Instances:
    """All hypotheses from one template, whose last word goes with the label."""
    return demo_template(600, strength=0.85, test_fraction=0.25, seed=24)


def reversed_in_test() -> Instances:
    """A word that goes with contradictions in train and with entailments in test."""
    rng = np.random.default_rng(6)
    rows = []
    for i in range(2_000):
        label = str(rng.choice(LABELS))
        cue = "entailment" if i < 500 else "contradiction"
        word = " nodi" if rng.random() < (0.3 if label == cue else 0.02) else ""
        rows.append({"premise": text(rng), "hypothesis": text(rng) + word, "label": label})
    return loaded(rows, 500)


def every_label_per_premise() -> Instances:
    """Every premise once with every label, two of them in train and one in test: elimination tells the third."""
    rng = np.random.default_rng(7)
    train, test = [], []
    for _ in range(500):
        premise = text(rng)
        held_out = int(rng.integers(3))
        for i, label in enumerate(rng.permutation(LABELS)):
            row = {"premise": premise, "hypothesis": text(rng), "label": str(label)}
            (test if i == held_out else train).append(row)
    return cc.load(pl.DataFrame(train), test=pl.DataFrame(test))


def rarer_choice() -> Instances:
    """Wrong choices are taken from a small pool; the right one is new."""
    rng = np.random.default_rng(8)
    pool = [text(rng) for _ in range(60)]

    def change(rng: Rng, row: Row) -> None:
        for i in range(4):
            if i != row["answer"] or rng.random() < 0.3:
                row["choices"][i] = str(rng.choice(pool))

    return questions(8, change=change)


def test_in_train() -> Instances:
    rng = np.random.default_rng(9)
    rows = [
        {"premise": text(rng), "hypothesis": text(rng), "label": str(rng.choice(LABELS))}
        for _ in range(2_000)
    ]
    return cc.load(pl.DataFrame(rows[400:]), test=pl.DataFrame(rows[:400] + rows[400:550]))


def longest_by_source() -> Instances:
    """“Take the longest” is right in all of one source and in none of another: nothing overall."""
    rng = np.random.default_rng(10)
    rows = []
    for i in range(1_200):
        answers = sorted([text(rng, 4, 9), text(rng, 10, 16)], key=len)
        source = "forum" if i % 2 else "wiki"
        chosen, rejected = answers[::-1] if source == "forum" else answers
        rows.append({"prompt": text(rng), "chosen": chosen, "rejected": rejected, "source": source})
    return loaded(rows, 0)


def source_tells() -> Instances:
    """Metadata that predict the label: most contradictions come from one source."""
    rng = np.random.default_rng(11)
    rows = []
    for _ in range(1_500):
        label = str(rng.choice(LABELS))
        source = "crowd" if rng.random() < (0.85 if label == "contradiction" else 0.2) else "news"
        rows.append({"premise": text(rng), "hypothesis": text(rng), "label": label, "source": source})
    return loaded(rows, 400)


def many_weak_words() -> Instances:
    """Forty frequent words, each a little likelier with one label: significant, and worth nothing."""
    rng = np.random.default_rng(12)
    rows = []
    for _ in range(12_000):
        label = int(rng.integers(2))
        chances = np.where(np.arange(40) % 2 == label, 0.105, 0.095)
        words = WORDS[:40][rng.random(40) < chances]
        rows.append({"premise": text(rng), "hypothesis": " ".join([*words, text(rng)]), "label": "ab"[label]})
    return loaded(rows, 3_000)


CASES = (
    Case("a frequent word of pairs", lambda: pairs(1, change=frequent_word),
         ["partial_input/hypothesis_only", "cues/nodi/contradiction"], graded="high"),
    Case("a rare word of pairs", lambda: pairs(2, change=rare_word), quiet=True),
    Case("length of the hypothesis", lambda: pairs(3, change=long_entailment), ["partial_input"], graded="high"),
    Case("clean pairs", lambda: pairs(4), quiet=True),
    Case("copied texts with coin-flip labels", copied_texts, quiet=True),
    Case("every text twenty times", every_text_20_times, quiet=True),
    Case("a word of a template", template_word,
         ["partial_input/hypothesis_only", "cues/"], graded="high"),
    Case("a cue that reverses in test", reversed_in_test, absent=["cues/nodi/contradiction"]),
    Case("every premise with every label", every_label_per_premise, ["partial_input/premise_least"], graded="high"),
    Case("the rarer choice", rarer_choice, ["partial_input"], graded="high"),
    Case("test examples in train", test_in_train, ["overview/test-examples-in-train"], graded="high"),
    Case("longest right in one source and wrong in the other", longest_by_source, ["slices/longest"], graded="high"),
    Case("metadata that predict the label", source_tells, ["columns/column"], graded="medium"),
    Case("many weak words", many_weak_words, absent=["cues/"]),
    Case("always D beside a rare word", lambda: questions(13, change=always_d), ["partial_input/position"]),
    Case("the longest choice", lambda: questions(14, change=longest_right), ["partial_input"], graded="high"),
    Case("clean questions", lambda: questions(15), quiet=True),
    Case("clean preferences", lambda: preferences(16), quiet=True),
    Case("the longer answer is preferred", lambda: preferences(17, change=longer_preferred),
         ["partial_input/longest"], graded="high"),
    Case("the words of a sentiment task", lambda: texts(18, change=sentiment), quiet=True),
    Case("a format beside the words of the task", lambda: texts(19, change=shouting), ["cues/format:"]),
    Case("a written rating beside the words of the task", lambda: texts(20, change=rated), ["cues/format:"]),
    Case("one label in twelve", lambda: pairs(21, 3_000, 0, change=imbalanced), ["partial_input/hypothesis_only"]),
    Case("a word inside its phrase", lambda: pairs(22, change=with_phrase),
         ["partial_input/hypothesis_only", "cues/"], graded="high"),
)  # fmt: skip

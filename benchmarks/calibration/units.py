"""Level and power of cues and clusters where texts repeat, rows have weights, and numbers of choices differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import polars as pl

from cuecard.audits import Clusters, Cues
from cuecard.data import Instances, Task
from cuecard.data.demo import repeated

Copies = Literal["none", "three", "one to fifty"]
LABELS = ("entailment", "neutral", "contradiction")


@dataclass(frozen=True)
class Rates:
    """Shares of runs with a significant test, and with a finding of high or medium severity."""

    significant: float
    finding: float


def random_words(
    task: Task, n: int, *, seed: int, k: int = 4, even: bool = True, words: int = 10
) -> Instances:
    """Return n examples of random words out of 300, Zipf-distributed, with labels that say nothing."""
    rng = np.random.default_rng(seed)
    vocabulary = np.array([f"w{i}" for i in range(300)])
    frequency = 1 / np.arange(3, 303)

    def texts(many: int) -> list[str]:
        drawn = rng.choice(vocabulary, size=(many, words), p=frequency / frequency.sum())
        return [" ".join(row) for row in drawn]

    labels: tuple[str, ...]
    if task in ("choice", "preference"):
        many = k if task == "choice" else 2
        labels = ("right", "wrong") if task == "choice" else ("chosen", "rejected")
        right = rng.integers(0, many, n)
        drawn = [labels[0] if j == right[i] else labels[1] for i in range(n) for j in range(many)]
        premises = [text for text in texts(n) for _ in range(many)]
        ids = np.repeat(np.arange(n), many)
        position = np.tile(np.arange(many), n)
    else:
        many, labels = 1, LABELS if task == "pair" else ("negative", "positive")
        share = np.ones(len(labels)) if even else np.arange(1, len(labels) + 1) ** 2.5
        drawn = rng.choice(labels, n, p=share / share.sum()).tolist()
        premises = texts(n) if task == "pair" else [""] * n
        ids, position = np.arange(n), np.zeros(n, dtype=np.int64)
    table = pl.DataFrame(
        {
            "example_id": pl.Series(ids).cast(pl.String),
            "position": pl.Series(position).cast(pl.Int32),
            "split": ["train"] * (n * many),
            "premise": premises,
            "hypothesis": texts(n * many),
            "label": pl.Series(drawn, dtype=pl.Enum(labels)),
        }
    )
    return Instances(table, task, labels, "random words")


def with_copies(data: Instances, copies: Copies, *, near: bool = False, seed: int = 0) -> Instances:
    """Return the data with its examples repeated: three times each, or one to fifty times."""
    if copies == "none":
        return data
    rng = np.random.default_rng([seed, 3])  # not the numbers that texts and labels were drawn by
    times = 3 if copies == "three" else rng.integers(1, 51, data.n_examples)
    return repeated(data, times, near=near, seed=int(rng.integers(2**31)))


def hypothesis_blocks(texts: int = 171, pairs: int = 2_126, *, seed: int = 0) -> Instances:
    """Return pairs with few distinct hypotheses and a label for each of those, at random."""
    rng = np.random.default_rng([seed, 1])
    few = random_words("pair", texts, seed=seed)
    share = rng.pareto(1.2, texts) + 0.2
    times = np.maximum(1, np.rint(share / share.sum() * pairs).astype(np.int64))
    data = repeated(few, times)
    premises = random_words("pair", len(data), seed=seed + 1).table["premise"]
    return replace(data, table=data.table.with_columns(premises))


def null_cues(
    draw: Callable[[int], Instances], runs: int, *, weights: str | None = None, seed: int = 0
) -> Rates:
    """Return how often the cue audit reports a cue, or a serious finding, on data whose labels say nothing."""
    cue = finding = 0
    audit = Cues(features=("word", "bigram"), weights=weights)
    for i in range(runs):
        result = audit.run(draw(seed + i))
        cue += bool(result.summary["significant"])
        finding += any(found.severity in ("high", "medium") for found in result.findings)
    return Rates(cue / runs, finding / runs)


def null_clusters(
    draw: Callable[[int], Instances], runs: int, *, weights: str | None = None, seed: int = 0
) -> Rates:
    """Return how often PECO is significant at 5 %, and how often a cluster is a serious finding."""
    score = finding = 0
    audit = Clusters(
        k=10, components=20, restarts=2, permutations=99, map="none", sweep=False, weights=weights
    )
    for i in range(runs):
        result = audit.run(draw(seed + i))
        score += result.summary["p_value"] <= 0.05
        finding += any(found.severity in ("high", "medium") for found in result.findings)
    return Rates(score / runs, finding / runs)


def significant_under_blocks(runs: int, *, seed: int = 0) -> list[tuple[int, int]]:
    """Return significant and tested features of 171 hypotheses in 2,126 pairs, labels blocked by hypothesis."""
    found = []
    for i in range(runs):
        summary = Cues(features=("word", "bigram")).run(hypothesis_blocks(seed=seed + i)).summary
        found.append((summary["significant"], summary["features"]))
    return found


def planted_power(
    runs: int,
    *,
    n: int = 600,
    copies: Copies = "none",
    strength: float = 0.75,
    share: float = 0.06,
    seed: int = 0,
) -> float:
    """Return how often a planted word is significant, in n texts of two labels."""
    seen = 0
    for i in range(runs):
        rng = np.random.default_rng([seed + i, 1])
        data = random_words("text", n, seed=seed + i)
        positive = data.label_codes == 1
        has = rng.random(len(data)) < 2 * share * np.where(positive, strength, 1 - strength)
        texts = pl.Series("hypothesis", data.table["hypothesis"].to_list())
        texts = pl.select(pl.when(pl.Series(has)).then(texts + " planted").otherwise(texts)).to_series()
        data = replace(data, table=data.table.with_columns(texts.alias("hypothesis")))
        cues = Cues(features=("word",)).run(with_copies(data, copies, seed=seed + i)).tables["cues"]
        seen += bool(cues.filter((pl.col("feature") == "planted") & pl.col("significant")).height)
    return seen / runs


def topics(n: int, strength: float, seed: int) -> Instances:
    """Return n pairs whose hypotheses have one of two topics; the label goes with the topic as often as `strength`."""
    rng = np.random.default_rng([seed, 1])
    topic = rng.integers(0, 2, n)
    words = rng.integers(0, 30, (n, 10))
    texts = [" ".join(f"t{t}w{w}" for w in row) for t, row in zip(topic, words, strict=True)]
    label = np.where(rng.random(n) < strength, topic, 1 - topic)
    names = ("no", "yes")
    table = random_words("pair", n, seed=seed).table.with_columns(
        pl.Series("hypothesis", texts), pl.Series("label", [names[y] for y in label], dtype=pl.Enum(names))
    )
    return Instances(table, "pair", names, "topics")

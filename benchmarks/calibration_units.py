"""Level and power where texts repeat and rows have weights: simulations to import, or to run for their table.

python -m benchmarks.calibration_units [RUNS]
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import polars as pl

from cuecard.audits import Clusters, Cues
from cuecard.data import Instances, Task
from cuecard.data.demo import mixed_choices, random_labels, repeated, with_weights
from cuecard.data.demo.shapes import WeightKind

Copies = Literal["none", "three", "one to fifty"]
SHAPES: tuple[tuple[Copies, bool], ...] = (
    ("none", False), ("three", False), ("three", True), ("one to fifty", False),
)  # fmt: skip
OFTEN: tuple[Copies, ...] = ("none", "three")
LABELS = ("entailment", "neutral", "contradiction")


@dataclass(frozen=True)
class Rates:
    """How often something that should not happen happened in so many runs."""

    what: str
    runs: int
    cue: float
    """Share of runs with a significant cue."""
    finding: float
    """Share of runs with a finding of high or medium severity."""


def random_words(task: Task, n: int, *, seed: int, k: int = 4, even: bool = True) -> Instances:
    """Return n examples of ten random words of a vocabulary of 300, Zipf-distributed, with labels that say nothing."""
    rng = np.random.default_rng(seed)
    words = np.array([f"w{i}" for i in range(300)])
    frequency = 1 / np.arange(3, 303)

    def texts(many: int) -> list[str]:
        drawn = rng.choice(words, size=(many, 10), p=frequency / frequency.sum())
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
    rng = np.random.default_rng(seed)
    times = 3 if copies == "three" else rng.integers(1, 51, data.n_examples)
    return repeated(data, times, near=near, seed=seed)


def hypothesis_blocks(texts: int = 171, pairs: int = 2_126, *, seed: int = 0) -> Instances:
    """Return pairs with few distinct hypotheses and a label for each of those, at random."""
    rng = np.random.default_rng(seed)
    few = random_words("pair", texts, seed=seed)
    share = rng.pareto(1.2, texts) + 0.2
    times = np.maximum(1, np.rint(share / share.sum() * pairs).astype(np.int64))
    data = repeated(few, times)
    premises = random_words("pair", len(data), seed=seed + 1).table["premise"]
    return replace(data, table=data.table.with_columns(premises))


def null_cues(draw: Callable[[int], Instances], runs: int, what: str, *, weights: str | None = None) -> Rates:
    """Return how often the cue audit reports a cue, or a serious finding, on data whose labels say nothing."""
    cue = finding = 0
    audit = Cues(features=("word", "bigram"), weights=weights)
    for seed in range(runs):
        result = audit.run(draw(seed))
        cue += bool(result.summary["significant"])
        finding += any(found.severity in ("high", "medium") for found in result.findings)
    return Rates(what, runs, cue / runs, finding / runs)


def null_clusters(draw: Callable[[int], Instances], runs: int, what: str) -> Rates:
    """Return how often PECO is significant at 5 %, and how often a cluster is a serious finding."""
    score = finding = 0
    audit = Clusters(k=10, components=20, restarts=2, permutations=99, map="none", sweep=False)
    for seed in range(runs):
        result = audit.run(draw(seed))
        score += result.summary["p_value"] <= 0.05
        finding += any(found.severity in ("high", "medium") for found in result.findings)
    return Rates(what, runs, score / runs, finding / runs)


def significant_under_blocks(runs: int) -> list[tuple[int, int]]:
    """Return significant and tested features of 171 hypotheses in 2,126 pairs, labels blocked by hypothesis."""
    found = []
    for seed in range(runs):
        summary = Cues(features=("word", "bigram")).run(hypothesis_blocks(seed=seed)).summary
        found.append((summary["significant"], summary["features"]))
    return found


def planted_power(
    runs: int, *, copies: Copies = "none", strength: float = 0.75, share: float = 0.06
) -> float:
    """Return how often a planted word is significant, in 600 texts of two labels."""
    seen = 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        data = random_words("text", 600, seed=seed)
        positive = data.label_codes == 1
        has = rng.random(len(data)) < 2 * share * np.where(positive, strength, 1 - strength)
        texts = pl.Series("hypothesis", data.table["hypothesis"].to_list())
        texts = pl.select(pl.when(pl.Series(has)).then(texts + " planted").otherwise(texts)).to_series()
        data = replace(data, table=data.table.with_columns(texts.alias("hypothesis")))
        cues = Cues(features=("word",)).run(with_copies(data, copies, seed=seed)).tables["cues"]
        seen += bool(cues.filter((pl.col("feature") == "planted") & pl.col("significant")).height)
    return seen / runs


def cases(runs: int) -> Iterator[Rates]:
    """Yield the rates of false alarms of every shape."""
    tasks: tuple[Task, ...] = ("text", "pair", "choice", "preference")
    for task in tasks:
        for copies, near in SHAPES:
            n = 60 if copies == "one to fifty" else 300

            def draw(
                seed: int, task: Task = task, copies: Copies = copies, near: bool = near, n: int = n
            ) -> Instances:
                return with_copies(random_words(task, n, seed=seed), copies, near=near, seed=seed)

            yield null_cues(draw, runs, f"cues, {task}, copies {copies}{', near' if near else ''}")
    for task in ("text", "pair"):
        kinds: tuple[WeightKind, ...] = ("inverse_frequency", "pareto")
        for kind in kinds:
            for copies in OFTEN:

                def weighted(
                    seed: int, task: Task = task, kind: WeightKind = kind, copies: Copies = copies
                ) -> Instances:
                    data = with_copies(random_words(task, 500, seed=seed, even=False), copies, seed=seed)
                    return with_weights(data, kind, seed=seed)

                yield null_cues(weighted, runs, f"cues, {task}, {kind}, copies {copies}", weights="weight")

    def mixed(seed: int) -> Instances:
        return random_labels(mixed_choices(random_words("choice", 300, seed=seed), seed=seed), seed=seed)

    yield null_cues(mixed, runs, "cues, choice, mixed number of choices")
    for task in tasks:

        def thrice(seed: int, task: Task = task) -> Instances:
            return with_copies(random_words(task, 300, seed=seed), "three", seed=seed)

        yield null_clusters(thrice, runs, f"clusters, {task}, copies three")


def main() -> None:
    """Print the table of all shapes."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    print("shape | runs | cue (or PECO p ≤ .05) | high or medium finding")
    for rates in cases(runs):
        print(f"{rates.what} | {rates.runs} | {rates.cue:.0%} | {rates.finding:.0%}", flush=True)
    blocks = significant_under_blocks(max(3, runs // 10))
    print("171 hypotheses in 2,126 pairs, significant of tested:", ", ".join(f"{k}/{n}" for k, n in blocks))
    for copies in OFTEN:
        print(
            f"power, planted word of 75 % in 6 % of texts, copies {copies}: {planted_power(runs, copies=copies):.0%}"
        )


if __name__ == "__main__":
    main()

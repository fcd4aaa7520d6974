"""Level and power of cues and clusters where texts repeat, rows have weights, and numbers of choices differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from benchmarks.demo_shapes import repeated
from cuecard.audits import Cues
from cuecard.audits.clusters.clustering import clusterings, moving_units, principal_components, scoped_tokens
from cuecard.data import Instances, Task
from cuecard.models import embed
from cuecard.stats.clusters.peco import SampleDesign
from cuecard.stats.clusters.peco_starts import peco_means

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


def peco_rejections(
    draw: Callable[[int], Instances],
    runs: int,
    *,
    labels: int = 0,
    weights: str | None = None,
    seed: int = 0,
) -> float:
    """Return how often PECO is significant at 5 %, by the audit's own vectors, clusters and shuffles.

    With `labels`, every dataset is labelled at random that number of times, copies of an example alike.
    """
    rejected = 0
    for i in range(runs):
        data = draw(seed + i)
        vectors, codes = embed(
            data.table["hypothesis"],
            "tfidf",
            tokens="default",
            tokenised=scoped_tokens(data, "hypothesis", "default"),
        )
        times = np.bincount(codes, minlength=len(vectors)).astype(np.int64)
        points = principal_components(vectors, times, 20)
        starts = [
            one.of_instances(codes).clusters for one in clusterings(points, times, 10, starts=2, seed=i)
        ]
        for j in range(max(labels, 1)):
            mean = peco_means(
                _labelled_again(data, [seed + i, j]) if labels else data.label_codes,
                [starts],
                design=SampleDesign(
                    groups=data.example_codes if data.grouped else None,
                    units=moving_units(data, "hypothesis"),
                    weights=None if weights is None else data.table[weights].to_numpy(),
                ),
                permutations=99,
                seed=j if labels else i,
            )[0]
            rejected += mean.p_value <= 0.05
    return rejected / (runs * max(labels, 1))


def _labelled_again(data: Instances, seed: list[int]) -> npt.NDArray[np.int64]:
    """Return random labels for data of `repeated`; all copies of a question have the same right choice."""
    rng = np.random.default_rng(seed)
    ids = data.table["example_id"].cast(pl.String).str.split("#").list.first()
    original = ids.rank("dense").to_numpy().astype(np.int64) - 1
    if not data.grouped:
        return np.asarray(
            rng.integers(0, len(data.labels), int(original.max()) + 1)[original], dtype=np.int64
        )
    right = rng.integers(0, int(data.table["position"].max()) + 1, int(original.max()) + 1)  # type: ignore[arg-type]
    wrong: npt.NDArray[np.int64] = (right[original] != data.table["position"].to_numpy()).astype(np.int64)
    return wrong


def share_coverage(runs: int, *, n: int = 2_000, fresh: int = 20_000, seed: int = 0) -> dict[str, float]:
    """Return how often intervals of shares of selected cues hold the share of fresh data, raw and corrected.

    A tenth of the words go with a label, each to its own degree; the cues are those that are significant.
    """
    held: dict[str, list[bool]] = {"raw": [], "corrected": []}
    for i in range(runs):
        rng = np.random.default_rng([seed + i, 2])
        lean = np.where(rng.random(300) < 0.1, rng.normal(0, 0.8, 300), 0.0)
        train, again = (leaning_words(many, lean, seed=[seed + i, many]) for many in (n, fresh))
        cues = Cues(features=("word",)).run(train).tables["cues"].filter("significant")
        words = again.table.select(
            pl.col("label").cast(pl.String), pl.col("hypothesis").str.split(" ").list.unique()
        )
        shares = (
            words.explode("hypothesis")
            .group_by("hypothesis")
            .agg(
                negative=(pl.col("label") == "negative").mean(),
                positive=(pl.col("label") == "positive").mean(),
            )
        )
        for row in cues.join(shares, left_on="feature", right_on="hypothesis").iter_rows(named=True):
            truth = row[row["label"]]
            held["raw"].append(row["share_low"] <= truth <= row["share_high"])
            held["corrected"].append(row["adjusted_low"] <= truth <= row["adjusted_high"])
    return {name: float(np.mean(values)) for name, values in held.items()} | {"cues": float(len(held["raw"]))}


def small_cue_shares(runs: int, *, most: int = 20, n: int = 400, seed: int = 0) -> dict[str, float]:
    """Return mean shares of significant cues with fewer than `most` instances: reported, corrected and in fresh data.

    Words are Zipf-distributed, and one in ten goes with a label to a degree of its own.
    """
    kept: dict[str, list[float]] = {"reported": [], "corrected": [], "fresh": []}
    for i in range(runs):
        rng = np.random.default_rng([seed + i, 5])
        lean = np.where(rng.random(300) < 0.1, rng.normal(0, 2.5, 300), 0.0)
        cues = Cues(features=("word",)).run(leaning_words(n, lean, seed=[seed + i, n])).tables["cues"]
        small = cues.filter(pl.col("significant") & (pl.col("train_count") < most))
        again = leaning_words(20_000, lean, seed=[seed + i, 6]).table if small.height else None
        for row in small.iter_rows(named=True):
            assert again is not None
            has = again.filter(pl.col("hypothesis").str.split(" ").list.contains(row["feature"]))
            kept["reported"].append(row["share"])
            kept["corrected"].append(row["adjusted_share"])
            kept["fresh"].append(float((has["label"].cast(pl.String) == row["label"]).mean() or 0.0))
    return {name: float(np.mean(values)) for name, values in kept.items()} | {
        "cues": float(len(kept["fresh"]))
    }


def leaning_words(n: int, lean: npt.NDArray[np.float64], *, seed: list[int]) -> Instances:
    """Return n texts of ten words of two labels; word j is exp(lean[j]) times as likely where the label is positive."""
    rng = np.random.default_rng(seed)
    frequency = 1 / np.arange(3, 303)
    positive = rng.random(n) < 0.5
    texts = np.empty(n, dtype=object)
    for label in (False, True):
        chance = frequency * np.exp(lean * (0.5 if label else -0.5))
        drawn = rng.choice(300, size=(int((positive == label).sum()), 10), p=chance / chance.sum())
        texts[positive == label] = [" ".join(f"w{word}" for word in row) for row in drawn]
    data = random_words("text", n, seed=seed[0])
    labels = pl.Series("label", np.where(positive, "positive", "negative"), dtype=pl.Enum(data.labels))
    return replace(data, table=data.table.with_columns(pl.Series("hypothesis", texts.tolist()), labels))


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

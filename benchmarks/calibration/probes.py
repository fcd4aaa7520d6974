"""Level of the probes' tests where test examples share texts, are copies, uneven or few: to import, or to run.

python -m benchmarks.calibration.probes [SETS]
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from benchmarks.calibration.units import random_words
from benchmarks.demo_shapes import repeated
from cuecard.audits import Cues
from cuecard.data import Examples, Instances
from cuecard.probes import (
    CueSet,
    DistributionTest,
    PermutationTest,
    Predictions,
    Reliance,
    choose_cues,
    counted_once,
)
from cuecard.probes.cues.accuracy import accuracy_table
from cuecard.probes.cues.permutation import usual_table
from cuecard.probes.cues.reliance import given_length
from cuecard.stats.arrays import Ints

#: Words to probe for: neither so frequent nor so rare that a test could not reject.
WORDS = tuple(f"w{i}" for i in range(4, 24, 2))
LOG_ALPHA = float(np.log10(0.05))
Tested = Callable[[int], tuple[Instances, Predictions]]


@dataclass(frozen=True)
class ProbeLevels:
    """Share of p-values of at most 5 % over sets and words, by test; neither labels nor answers depend on words."""

    accuracy: float
    distribution: float
    contrast: float
    usual: float
    permutation: float
    given_length: float


def _with_test(train: Instances, test: Instances) -> Instances:
    table = test.table.with_columns(split=pl.lit("test", pl.String), example_id="t" + pl.col("example_id"))
    return replace(train, table=pl.concat([train.table, table.select(train.table.columns)]))


def copied_test(seed: int, *, distinct: int = 120, most: int = 10) -> tuple[Instances, Predictions]:
    """Return random pairs with a test split of copies, each example 1 to `most` times, and answers of a coin.

    A model answers copies alike.
    """
    rng = np.random.default_rng([seed, 2])
    train = random_words("pair", 300, seed=seed)
    test = random_words("pair", distinct, seed=seed + 100_000)
    data = _with_test(train, repeated(test, rng.integers(1, most + 1, distinct)))
    assert data.test is not None
    unit = Examples(data.test).units("example")
    answers: Ints = rng.integers(0, 3, int(unit.max()) + 1)[unit]
    return data, Predictions("coin", answers)


def sharing_test(
    seed: int,
    *,
    n: int = 600,
    texts: int = 60,
    text: str = "hypothesis",
    alike: float = 1.0,
    even: bool = True,
) -> tuple[Instances, Predictions]:
    """Return random pairs whose test split has few distinct hypotheses or premises, and answers of a coin.

    Pairs that share a text get one answer with probability `alike`; labels differ between them.
    """
    rng = np.random.default_rng([seed, 9])
    train = random_words("pair", 300, seed=seed, even=even)
    test = random_words("pair", n, seed=seed + 100_000, even=even)
    drawn = rng.integers(0, texts, n)
    test = replace(test, table=test.table.with_columns(test.table[text].gather(pl.Series(drawn)).alias(text)))
    answers = np.where(rng.random(n) < alike, rng.integers(0, 3, texts)[drawn], rng.integers(0, 3, n))
    return _with_test(train, test), Predictions("coin", answers)


def levels(sets: int, draw: Tested = copied_test, *, once: bool = True, seed: int = 0) -> ProbeLevels:
    """Return the level of every test; with `once` false, every example counts as an independent one."""
    audit = Cues(features=("word",), min_count=1)
    rejected: list[list[float]] = [[] for _ in range(6)]
    for number in range(seed, seed + sets):
        data, model = draw(number)
        models = [model]
        if once:
            data, models, _ = counted_once(data, models)
        cues = choose_cues(data, audit, audit.run(data).tables["cues"], names=WORDS)
        if not once:
            vars(cues)["shared"] = []
        right = models[0].correct(cues.examples)
        leans = DistributionTest(draws=1).tested(models[0], cues)[1]
        usual = usual_table(models[0], cues.names, cues.members, right, alpha=0.05, shared=cues.shared)
        log_ps = (
            accuracy_table(models[0], cues)["log10_p"],
            leans["log10_p"],
            leans["contrast_log10_p"],
            usual["log10_p"],
            _permutation(data, models[0], cues),
            given_length(models[0], cues)["given_length_log10_p"],
        )
        for part, log_p in zip(rejected, log_ps, strict=True):
            part += (log_p.drop_nulls() <= LOG_ALPHA).cast(pl.Float64).to_list()
    return ProbeLevels(*(float(np.mean(part)) for part in rejected))


def _permutation(data: Instances, model: Predictions, cues: CueSet) -> pl.Series:
    summary = PermutationTest(per_label=8).run(data, [model], cues).summary
    return pl.Series([summary["models"][model.model]["log10_p"]])


def choice_test(
    seed: int,
    *,
    n: int = 400,
    accuracy: float = 0.6,
    longest: float = 0.0,
    copies: int = 1,
) -> tuple[Instances, Predictions]:
    """Return questions with a test split and a model that is right with a probability, whatever the choices.

    With `longest` above 0 it picks the longest choice that often, below 0 one of the others.
    """
    rng = np.random.default_rng([seed, 4])
    train, test = (
        _of_all_lengths(random_words("choice", m, seed=s), rng) for m, s in ((300, seed), (n, seed + 100_000))
    )
    data = _with_test(train, repeated(test, copies) if copies > 1 else test)
    assert data.test is not None
    examples = Examples(data.test)
    lengths = data.test.table["hypothesis"].str.count_matches(" ").to_numpy().reshape(len(examples), -1)
    k = lengths.shape[1]
    answers = np.where(rng.random(len(examples)) < accuracy, examples.gold, rng.integers(0, k, len(examples)))
    if longest > 0:
        answers = np.where(rng.random(len(examples)) < longest, lengths.argmax(axis=1), answers)
    elif longest < 0:
        other = (lengths.argmax(axis=1) + rng.integers(1, k, len(examples))) % k
        answers = np.where(rng.random(len(examples)) < -longest, other, answers)
    if copies > 1:
        unit = np.unique(examples.units("example"), return_inverse=True, return_index=True)
        answers = answers[unit[1]][unit[2]]
    return data, Predictions("model", answers.astype(np.int64))


def _of_all_lengths(data: Instances, rng: np.random.Generator) -> Instances:
    """Return the data with choices of four to ten words."""
    kept = rng.integers(4, 11, len(data))
    texts = zip(data.table["hypothesis"], kept, strict=True)
    shorter = pl.Series([" ".join(text.split()[:words]) for text, words in texts])
    return replace(data, table=data.table.with_columns(hypothesis=shorter))


def choice_verdicts(sets: int, *, seed: int = 0, **options: float) -> dict[str, float]:
    """Return in how many sets some property of choices (length, position) is used or avoided, and the longest is."""
    audit = Cues(features=("length", "position"))
    counted = {"any": 0, "relies or signs, longest": 0, "avoids, longest": 0}
    for number in range(seed, seed + sets):
        data, model = choice_test(number, **options)  # type: ignore[arg-type]
        data, [model], _ = counted_once(data, [model])
        cues = choose_cues(data, audit, audit.run(data).tables["cues"])
        table = Reliance(draws=1).run(data, [model], cues).tables["reliance"]
        uses = table.filter(pl.col("verdict").is_in(["relies", "signs", "avoids"]))
        longest = set(uses.filter(pl.col("feature") == "longest")["verdict"])
        counted["any"] += uses.height > 0
        counted["relies or signs, longest"] += bool(longest & {"relies", "signs"})
        counted["avoids, longest"] += "avoids" in longest
    return {name: count / sets for name, count in counted.items()}


def main() -> None:
    """Print the levels with copies as they are, and counted once."""
    sets = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    for once in (False, True):
        print("copies count once" if once else "copies as they are", levels(sets, once=once), flush=True)


if __name__ == "__main__":
    main()

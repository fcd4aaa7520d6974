"""Level of the probes' tests where test examples are copies of each other: simulations to import, or to run.

python -m benchmarks.calibration.probes [SETS]
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from benchmarks.calibration.units import random_words
from cuecard.audits import Cues
from cuecard.data import Examples, Instances
from cuecard.data.demo import repeated
from cuecard.probes import DistributionTest, Predictions, choose_cues, counted_once
from cuecard.probes.given_length import given_length
from cuecard.probes.tests.accuracy import accuracy_table
from cuecard.probes.tests.permutation import usual_table

#: Words to probe for: neither so frequent nor so rare that a test could not reject.
WORDS = tuple(f"w{i}" for i in range(4, 24, 2))


@dataclass(frozen=True)
class ProbeLevels:
    """Share of p-values of at most 5 % over sets and words, by test; neither labels nor answers depend on words."""

    accuracy: float
    distribution: float
    usual: float
    given_length: float


def copied_test(seed: int, *, distinct: int = 120, most: int = 10) -> tuple[Instances, Predictions]:
    """Return random pairs with a test split of copies, each example 1 to `most` times, and answers of a coin.

    A model answers copies alike.
    """
    rng = np.random.default_rng([seed, 2])
    train = random_words("pair", 300, seed=seed)
    test = random_words("pair", distinct, seed=seed + 100_000)
    test = repeated(test, rng.integers(1, most + 1, distinct))
    table = test.table.with_columns(split=pl.lit("test", pl.String), example_id="t" + pl.col("example_id"))
    data = replace(train, table=pl.concat([train.table, table]))
    assert data.test is not None
    unit = Examples(data.test).units("example")
    answers: npt.NDArray[np.int64] = rng.integers(0, 3, int(unit.max()) + 1)[unit]
    return data, Predictions("coin", answers)


def levels(sets: int, *, once: bool, distinct: int = 120, most: int = 10) -> ProbeLevels:
    """Return the level of every test, with copies as they are or counted once."""
    audit = Cues(features=("word",), min_count=1)
    rejected: list[list[float]] = [[], [], [], []]
    for seed in range(sets):
        data, model = copied_test(seed, distinct=distinct, most=most)
        models = [model]
        if once:
            data, models, _ = counted_once(data, models)
        cues = choose_cues(data, audit, audit.run(data).tables["cues"], names=WORDS)
        right = models[0].correct(cues.examples)
        found = (
            accuracy_table(models[0], cues)["log10_p"],
            DistributionTest(draws=1).tested(models[0], cues)[1]["log10_p"],
            usual_table(models[0], cues.names, cues.members, right, alpha=0.05)["log10_p"],
            given_length(models[0], cues)["given_length_log10_p"],
        )
        for part, log_p in zip(rejected, found, strict=True):
            part += (log_p.drop_nulls() <= np.log10(0.05)).cast(pl.Float64).to_list()
    return ProbeLevels(*(float(np.mean(part)) for part in rejected))


def main() -> None:
    """Print the levels with copies as they are, and counted once."""
    sets = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    for once in (False, True):
        print("copies count once" if once else "copies as they are", levels(sets, once=once), flush=True)


if __name__ == "__main__":
    main()

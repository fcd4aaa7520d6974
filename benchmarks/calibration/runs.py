"""Many models on one benchmark: planted wrong keys, differences, what items resolve, and reliability."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from benchmarks.calibration.rows import Row
from cuecard.probes.runs import BenchmarkRuns, Runs
from cuecard.stats.arrays import Bools, Floats, Ints
from cuecard.stats.many_models import (
    failed_by_better,
    kr20,
    listed_within,
    paired_differences,
    smallest_difference,
    split_half,
    wrong_keys,
)

OPTIONS, ITEMS, FLIPPED, RATE = 4, 300, 10, 0.1
#: How wrong answers fall on the options: evenly, as unevenly as three random numbers, or that and one item in 20 whose
#: wrong answer attracts nearly all who do not know it.
WRONG_ANSWERS = ("even", "uneven", "misleading")


def runs(
    models: int, rng: np.random.Generator, *, wrong: str = "uneven", flipped: int = FLIPPED, n: int = ITEMS
) -> tuple[Runs, Ints]:
    """Return runs of models whose ability varies, and the items whose key is flipped."""
    ability = rng.normal(size=models)
    slope, ease = np.exp(rng.normal(0, 0.3, n)), rng.normal(0.8, 1.2, n)
    popular: Floats = rng.dirichlet(np.full(OPTIONS - 1, 1.0), n)
    if wrong == "even":
        popular = np.full_like(popular, 1 / (OPTIONS - 1))
    p = 0.125 + 0.875 / (1 + np.exp(-(ability * slope[:, None] + ease[:, None])))
    if wrong == "misleading":
        hard = rng.random(n) < 0.05
        popular[hard] = rng.dirichlet(np.full(OPTIONS - 1, 0.1), int(hard.sum()))
        p[hard] = 1 / (1 + np.exp(-(ability * slope[hard, None] - 1.5)))
    truth = rng.integers(0, OPTIONS, n)
    drawn = (rng.random((n, models, 1)) > np.cumsum(popular, axis=1)[:, None, :-1]).sum(axis=2)
    answers = np.where(rng.random((n, models)) < p, truth[:, None], (truth[:, None] + 1 + drawn) % OPTIONS)
    gold, bad = truth.copy(), rng.permutation(n)[:flipped]
    gold[bad] = (truth[bad] + rng.integers(1, OPTIONS, flipped)) % OPTIONS
    table = Runs(
        tuple(f"model {m}" for m in range(models)),
        pl.Series([f"q{i}" for i in range(n)]),
        answers == gold[:, None],
        answers,
        gold,
        (tuple("ABCD"),) * n,
    )
    return table, bad


def listed(table: Runs) -> Ints:
    """Return the items that are listed as having a wrong key."""
    assert table.answers is not None
    assert table.gold is not None
    return listed_within(wrong_keys(table.answers, table.gold, table.sizes).probability, RATE)


def wrong_key_rows(scale: float, seed: int) -> Iterator[Row]:
    """Yield how many flipped keys are found, and the share of the lists that is in error."""
    times = max(10, round(100 * scale))
    for models, wrong in [(30, wrong) for wrong in WRONG_ANSWERS] + [(10, "uneven"), (60, "uneven")]:
        found, precision, clean = [], [], 0
        for run in range(times):
            rng = np.random.default_rng([seed, run, models])
            table, bad = runs(models, rng, wrong=wrong)
            items = listed(table)
            found.append(np.isin(bad, items).mean())
            precision.append(np.isin(items, bad).mean() if len(items) else 1.0)
            clean += not len(listed(runs(models, rng, wrong=wrong, flipped=0)[0]))
        case = f"{models} models, {wrong} wrong answers"
        yield Row(
            "power", f"of {FLIPPED} flipped keys, found", case, f"{ITEMS}", times, float(np.mean(found))
        )
        yield Row(
            "power",
            "of those listed, wrong keys (90 % or more)",
            case,
            f"{ITEMS}",
            times,
            float(np.mean(precision)),
        )
        yield Row("power", "no key flipped: none is listed", case, f"{ITEMS}", times, clean / times)


def declined(models: int, seed: int) -> bool:
    """Return whether nothing is said of keys."""
    result = BenchmarkRuns().run(None, runs(models, np.random.default_rng(seed))[0])  # type: ignore[arg-type]
    return result.summary["keys"]["wrong"] is None and not any("key" in f.key for f in result.findings)


def difference_rows(scale: float, seed: int) -> Iterator[Row]:
    """Yield level over all pairs, coverage of differences, and the power at the smallest difference."""
    times = max(50, round(1000 * scale))
    for n, per_unit in ((200, 1), (400, 1), (400, 4)):
        false, held, total = 0, 0, 0
        for run in range(times):
            rng = np.random.default_rng([seed, run, n, per_unit])
            right = same_models(n, 6, per_unit, rng)
            kinds = [np.arange(n) // per_unit] if per_unit > 1 else []
            pairs = paired_differences(right, kinds)
            false += bool((pairs.p_adjusted <= 0.05).any())
            held += int(((pairs.low <= 0) & (pairs.high >= 0)).sum())
            total += len(pairs.low)
        case = "6 equal models" + (f", {per_unit} items of a passage" if per_unit > 1 else "")
        yield Row("level", "any pair of equal models differs", case, f"{n}", times, false / times)
        yield Row("coverage", "differences of all pairs", case, f"{n}", times, held / total)
    for n, discordance in ((300, 0.3), (1000, 0.2)):
        size = smallest_difference(discordance, n)
        shares = [(discordance + size) / 2, (discordance - size) / 2, 1 - discordance]
        hits = 0
        for run in range(times):
            a, b, _ = np.random.default_rng([seed, run, n]).multinomial(n, shares)
            two = np.zeros((n, 2))
            two[:a, 0] = two[a : a + b, 1] = 1
            hits += bool(paired_differences(two).p_adjusted[0] <= 0.05)
        case = f"discordance {discordance:.0%}, planted difference {100 * size:.1f} points"
        yield Row("power", "smallest difference found (planned: 80 %)", case, f"{n}", times, hits / times)


def same_models(n: int, models: int, per_unit: int, rng: np.random.Generator) -> Bools:
    """Return answers of equally able models; on the items of a unit, each is better or worse as a whole."""
    hard = rng.normal(size=(n, 1))
    own = rng.normal(size=(n // per_unit, models)).repeat(per_unit, axis=0) * (1.5 if per_unit > 1 else 0.0)
    return np.asarray(rng.random((n, models)) < 1 / (1 + np.exp(-(0.5 + hard + own))))


def reliability_rows(scale: float, seed: int) -> Iterator[Row]:
    """Yield how often intervals of KR-20 and split halves hold the reliability over very many models."""
    times = max(50, round(400 * scale))
    for models, n in ((10, 100), (30, 100), (30, 300)):
        held = {"KR-20": 0, "split halves": 0}
        for run in range(times):
            rng = np.random.default_rng([seed, run, n])
            ease, slope = rng.normal(0.3, 1, n), np.full(n, 0.6)

            def answers(
                many: int,
                ease: Floats = ease,
                slope: Floats = slope,
                rng: np.random.Generator = rng,
                n: int = n,
            ) -> Bools:
                p = 1 / (1 + np.exp(-(rng.normal(size=many) * slope[:, None] + ease[:, None])))
                return np.asarray(rng.random((n, many)) < p)

            truth = kr20(answers(4000))[0]
            table = answers(models)
            for name, (_, low, high) in (("KR-20", kr20(table)), ("split halves", split_half(table))):
                held[name] += low <= truth <= high
        for name, hits in held.items():
            yield Row("coverage", f"reliability by {name}", f"{models} models", f"{n}", times, hits / times)


def failed_rows(scale: float, seed: int) -> Iterator[Row]:
    """Yield the level of the test of items that better models fail, where right answers are chance."""
    times = max(20, round(100 * scale))
    for models in (10, 30):
        hits = [
            float(
                (
                    failed_by_better(np.random.default_rng([seed, run]).random((200, models)) < 0.5) <= 0.05
                ).mean()
            )
            for run in range(times)
        ]
        yield Row(
            "level",
            "better models fail the item",
            f"{models} models, answers by chance",
            "200",
            times,
            float(np.mean(hits)),
        )


def many_runs(scale: float, seed: int) -> Iterator[Row]:
    """Yield all rows about runs of many models."""
    for rows in (wrong_key_rows, difference_rows, reliability_rows, failed_rows):
        yield from rows(scale, seed)


RUN_SECTIONS = {"runs of many models": many_runs}

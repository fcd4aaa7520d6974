"""How often a verdict flips on resampled data: the verdict by interval beside a rule on the measured value.

``python -m benchmarks.gate.flips`` simulates shares around a limit. ``python -m benchmarks.gate.flips CARD…`` draws the
test examples of cards again (bootstrap of the examples that their partial inputs solve) and checks every excess against
some limits.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.card import Card, load_card
from cuecard.stats.intervals import wilson

Codes = npt.NDArray[np.int64]
#: Verdicts as numbers.
PASS, UNDECIDED, FAIL = 0, 1, 2
DRAWS = 2_000


def verdicts(k: Codes, n: int, limit: float) -> tuple[Codes, Codes]:
    """Return the verdicts by value and by interval of k of n correct answers, of which a share up to `limit` passes."""
    low, high = wilson(k, n)
    by_value = np.where(k / n <= limit, PASS, FAIL)
    by_interval = np.where(high <= limit, PASS, np.where(low > limit, FAIL, UNDECIDED))
    return by_value, by_interval


def flips(codes: Codes) -> float:
    """Return how often two draws contradict each other: one passes and one fails."""
    passed, failed = np.mean(codes == PASS), np.mean(codes == FAIL)
    return float(2 * passed * failed)


def exit_flips(codes: Codes) -> float:
    """Return how often the exit codes of two draws differ; undecided passes."""
    failed = np.mean(codes == FAIL)
    return float(2 * failed * (1 - failed))


def simulated(n: int, limit: float, distances: Sequence[float]) -> None:
    """Print the flips for truths at some distances from the limit, in standard errors."""
    rng = np.random.default_rng(0)
    error = np.sqrt(limit * (1 - limit) / n)
    print(
        "| truth − limit (standard errors) | value: flips | interval: pass ↔ fail | exit code differs | undecided |"
    )
    print("|---|---|---|---|---|")
    for distance in distances:
        value, interval = verdicts(rng.binomial(n, limit + distance * error, DRAWS * 10), n, limit)
        shown = [flips(value), flips(interval), exit_flips(interval), float(np.mean(interval == UNDECIDED))]
        print(f"| {distance:+g} | {' | '.join(f'{100 * share:.1f} %' for share in shown)} |")


def resampled(card: Card, limits: Sequence[float]) -> None:
    """Print the flips of every partial input of a card under draws of its examples with replacement."""
    examples = card.tables["examples"]
    split = "test" if "test" in examples["split"].unique() else "train"
    rng = np.random.default_rng(0)
    for measure in card.all_measures():
        shortcut = measure.name.removeprefix("partial_input.").removesuffix(".accuracy")
        column = f"solved_{shortcut}"
        if measure.name != f"partial_input.{shortcut}.accuracy" or column not in examples.columns:
            continue
        solved = examples.filter(pl.col("split") == split)[column].drop_nulls().to_numpy()
        k = np.round(solved[rng.integers(0, len(solved), (DRAWS, len(solved)))].sum(axis=1)).astype(np.int64)
        for limit in limits:
            value, interval = verdicts(k, len(solved), (measure.chance or 0.0) + limit)
            shown = [
                flips(value),
                flips(interval),
                exit_flips(interval),
                float(np.mean(interval == UNDECIDED)),
            ]
            line = " | ".join(f"{100 * share:.1f} %" for share in shown)
            excess = f"{100 * (float(solved.mean()) - (measure.chance or 0.0)):+.1f}".replace("-", "−")
            print(
                f"| {card.dataset.name}, {shortcut.replace('_', '-')} | {excess} | {100 * limit:g} | {line} |"
            )


def main(paths: Sequence[str]) -> None:
    """Simulate, or resample the cards in some folders."""
    if not paths:
        simulated(500, 0.30, (-4, -3, -2, -1, 0, 1, 2, 3, 4))
        return
    print(
        "| data, input | excess | limit | value: flips | interval: pass ↔ fail | exit code differs | undecided |"
    )
    print("|---|---|---|---|---|---|---|")
    for path in paths:
        resampled(load_card(path), (0.05, 0.10, 0.20))


if __name__ == "__main__":
    main(sys.argv[1:])

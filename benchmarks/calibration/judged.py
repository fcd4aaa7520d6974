"""Coverage of what is said of judges, by position, style and agreement, and of scores net of a leak, with ties."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import polars as pl
from scipy.special import expit

from benchmarks.calibration.net_scores import answers_of
from benchmarks.calibration.rows import Row
from cuecard.data import load
from cuecard.probes import NetScores, Predictions
from cuecard.probes.judge.biases import agreement, position, style_reliance

#: Log odds of a judge's verdict for its reasons: quality, a unit of log length, being shown first.
QUALITY, LENGTH, FIRST = 1.0, 0.8, 0.5
#: Comparisons that share a prompt, and the spread of what the prompt adds to all of them.
PER_PROMPT, SPREAD = 4, 1.0
MANY = 400_000


def verdicts(
    n: int, rng: np.random.Generator, *, both_orders: bool = False, ties: float = 0.0
) -> pl.DataFrame:
    """Return verdicts about comparisons, several of a prompt, with texts of known length."""
    prompt = np.arange(n) // PER_PROMPT
    quality = rng.choice([-1.0, 1.0], n)
    words = rng.integers(10, 60, (n, 2))
    log_length = np.log1p(words[:, 0]) - np.log1p(words[:, 1])
    own = SPREAD * rng.standard_normal(prompt[-1] + 1)[prompt]
    shown = rng.choice([0.0, 1.0], n)
    parts = []
    for first in (shown, 1 - shown) if both_orders else (shown,):
        lean = (
            QUALITY * quality + LENGTH * log_length + (FIRST + (own if both_orders else 0)) * (2 * first - 1)
        )
        preferred = (rng.random(n) < expit(lean)).astype(np.float64)
        preferred[rng.random(n) < ties] = 0.5
        parts.append(
            pl.DataFrame({"item": [f"c{i}" for i in range(n)], "judge": "j", "first": first, "preferred": preferred})
            .with_columns(
                prompt=pl.Series(prompt.astype(str)),
                human=pl.Series((quality + 1) / 2),
                text_a=pl.Series([" ".join(["w"] * k) for k in words[:, 0].tolist()]),
                text_b=pl.Series([" ".join(["w"] * k) for k in words[:, 1].tolist()]),
            )
        )  # fmt: skip
    return pl.concat(parts)


def _position(table: pl.DataFrame) -> dict[str, tuple[float, float, float]]:
    found = position(table)
    assert found is not None
    return {
        "verdicts that stay if the order is swapped": (found["consistency"], found["low"], found["high"]),
        "share of flips to the first": (found["first_share"], found["first_low"], found["first_high"]),
    }


def _style(table: pl.DataFrame) -> dict[str, tuple[float, float, float]]:
    found = style_reliance(table)
    assert found is not None
    return {
        f"log odds of {row['feature']}": (row["coefficient"], row["low"], row["high"])
        for row in found["covariates"]
    }


def _agreement(table: pl.DataFrame) -> dict[str, tuple[float, float, float]]:
    found = agreement(table)
    assert found is not None
    names = {
        "kappa": "κ with people",
        "accuracy": "accuracy against people",
        "gap": "accuracy, longer minus shorter",
        "balanced": "accuracy, lengths held equal",
    }
    return {name: (found[key]["value"], found[key]["low"], found[key]["high"]) for key, name in names.items()}


Measured = Callable[[pl.DataFrame], dict[str, tuple[float, float, float]]]
CASES: tuple[tuple[str, Measured, bool, float], ...] = (
    ("judge, both orders", _position, True, 0.0),
    ("judge, no ties", _style, False, 0.0),
    ("judge, no ties", _agreement, False, 0.0),
    ("judge, 20 % ties", _agreement, False, 0.2),
)


def judge_coverage(
    measured: Measured, both: bool, ties: float, n: int, runs: int, seed: int
) -> dict[str, float]:
    """Return how often each interval holds the value of very many comparisons."""
    truth = measured(verdicts(MANY // 4, np.random.default_rng([seed, 1]), both_orders=both, ties=ties))
    held = dict.fromkeys(truth, 0)
    for run in range(runs):
        found = measured(verdicts(n, np.random.default_rng([seed, 2, run]), both_orders=both, ties=ties))
        for name, (_, low, high) in found.items():
            held[name] += low <= truth[name][0] <= high
    return {name: hits / runs for name, hits in held.items()}


#: The share of answers that models know, and whether they take the longest choice otherwise.
MODELS = {"knows 60 %": (0.6, False), "follows 40 %": (0.4, True)}


def tied_questions(
    n: int, leak: float, rng: np.random.Generator
) -> tuple[pl.DataFrame, np.ndarray, np.ndarray]:
    """Return questions whose longest choice is one of two; in a share `leak`, the right one is among these."""
    right = rng.integers(0, 4, n)
    sizes = np.stack([rng.permutation([4, 4, 6, 6]) for _ in range(n)])
    for i in np.flatnonzero(rng.random(n) < leak):
        long = int(rng.choice(np.flatnonzero(sizes[i] == 6)))
        if sizes[i, right[i]] == 4:
            sizes[i, [long, right[i]]] = sizes[i, [right[i], long]]
    choices = [[" ".join(f"w{w:04d}" for w in rng.integers(0, 3_000, k)) for k in row] for row in sizes]
    table = pl.DataFrame(
        {"question": [f"q{i} of {n}" for i in range(n)], "choices": choices, "answer": right}
    )
    longest = np.array([rng.choice(np.flatnonzero(row == 6)) for row in sizes])
    return table, longest, right


def score_coverage(leak: float, runs: int, seed: int, n: int = 600) -> dict[str, float]:
    """Return how often raw and neutral accuracies of models hold theirs."""
    hits: dict[str, int] = {}
    total: dict[str, int] = {}
    for run in range(runs):
        rng = np.random.default_rng([seed, run])
        train = tied_questions(200, leak, rng)[0]
        test, longest, right = tied_questions(n, leak, rng)
        models = [Predictions(name, answers_of(*kind, longest, right, rng)) for name, kind in MODELS.items()]
        for row in NetScores(seed=run).run(load(train, test=test), models).summary["models"]:
            known, follows = MODELS[row["model"]]
            raw = known + (1 - known) * ((1 + leak) / 4 if follows else 1 / 4)
            found = {"raw accuracy": (row["accuracy_low"], raw, row["accuracy_high"])}
            if "neutral" in row:
                found["accuracy net of the leak"] = (
                    row["neutral_low"],
                    known + (1 - known) / 4,
                    row["neutral_high"],
                )
            for name, (low, truth, high) in found.items():
                total[name] = total.get(name, 0) + 1
                hits[name] = hits.get(name, 0) + int(low <= truth <= high)
    return {name: hits[name] / total[name] for name in total}


def judged(scale: float, seed: int) -> Iterator[Row]:
    """Coverage of judges' biases and of scores."""
    runs = max(20, round(400 * scale))
    for name, measured, both, ties in CASES:
        for n in (100, 400):
            for what, held in judge_coverage(measured, both, ties, n, runs, seed).items():
                yield Row(
                    "coverage", what, f"{name}; {PER_PROMPT} comparisons of a prompt", f"{n}", runs, held
                )
    few = max(4, round(40 * scale))
    for leak in (0.0, 0.5):
        for what, held in score_coverage(leak, few, seed).items():
            data = f"choice, two longest choices each, the right one among them in {0.5 + leak / 2:.0%}"
            yield Row("coverage", what, data, "600", 2 * few, held)


JUDGED_SECTIONS = {"judges and scores": judged}

"""Planted judges: is each named for what moves its scores, and a fair one left alone?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from benchmarks.calibration.rows import Row
from cuecard.probes.judge.fairness import JudgeFairness
from cuecard.probes.judge.forms import BATCH, BATCHED, HIGHEST, LOWEST, PAIRS
from cuecard.probes.judge.perturbations import PERTURBATIONS
from cuecard.probes.judge.scored import Scored, read_scored

#: Spread of the quality of responses and of what every request adds, what people's preference adds, what a real flaw
#: takes, and what a bias adds, in points of a score from 1 to 10.
QUALITY, NOISE, PREFERRED, FLAW, BIAS = 1.2, 0.8, 1.5, 2.0, 1.2
#: What is planted, and the tests that should say so.
PLANTED: dict[str, set[str]] = {
    "fair": set(),
    "padding": {"padding"},
    "flattery": {"flattery"},
    "negation": {"negation"},
    "number": {"number"},
    "place": {"place"},
    "length": {"length"},
    "own family": {"own family"},
    "wording": {"wording"},
}


def scores(planted: str, n: int, rng: np.random.Generator) -> Scored:
    """Return what a judge scores: single responses in two wordings, in batches, and pairs in both orders."""
    quality = rng.normal(6.0, QUALITY, (n, 1)) + PREFERRED / 2 * np.array([1.0, -1.0])
    words = rng.integers(20, 120, (n, 2))
    own = rng.random((n, 2)) < 0.5
    base = quality.copy()
    if planted == "length":
        base += BIAS * (np.log(words) - np.log(words).mean())
    if planted == "own family":
        base += BIAS * own
    rows: list[dict[str, Any]] = []

    def judged(
        i: int, k: int, form: str, extra: float, perturbation: str = "", place: int | None = None
    ) -> None:
        value = np.clip(np.rint(base[i, k] + extra + rng.normal(0, NOISE)), LOWEST, HIGHEST)
        rows.append(_row(i, k, form, perturbation, place, float(value), words, own))

    for i in range(n):
        for form in ("score", "rubric"):
            drift = BIAS if planted == "wording" and form == "rubric" else 0.0
            for k in range(2):
                judged(i, k, form, drift)
            for name, rule in PERTURBATIONS.items():
                k, extra = (1, 0.0) if rule.expected == "same" else (0, -FLAW)
                if planted == name:
                    extra = BIAS if rule.expected == "same" else 0.0
                judged(i, k, form, drift + extra, name)
        for k in range(2):
            for place in range(1, BATCHED + 1):
                judged(i, k, BATCH, BIAS if planted == "place" and place == 1 else 0.0, place=place)
        for place in (1, 2):
            lead = base[i, 0] - base[i, 1] + rng.normal(0, 2 * NOISE)
            lead += (2 * BIAS if planted == "place" else 0.0) * (3 - 2 * place)
            rows.append(_row(i, 0, PAIRS, "", place, float(lead > 0), words, own))
            rows.append(_row(i, 1, PAIRS, "", 3 - place, float(lead <= 0), words, own))
    return read_scored("judge", pl.DataFrame(rows, infer_schema_length=None))[0]


def _row(
    i: int, k: int, form: str, perturbation: str, place: int | None, score: float, words: Any, own: Any
) -> dict[str, Any]:
    return {
        "id": f"p{i}",
        "form": form,
        "perturbation": perturbation,
        "response": ("chosen", "rejected")[k],
        "place": place,
        "score": score,
        "human": float(k == 0),
        "author": "judge-2" if own[i, k] else "other",
        "text": "w " * int(words[i, k]),
    }


def named(planted: str, n: int, seed: int) -> set[str]:
    """Return the tests that call a planted judge biased in one run."""
    judge = scores(planted, n, np.random.default_rng([seed, list(PLANTED).index(planted)]))
    rows = JudgeFairness().run(None, [judge]).summary["rows"]  # type: ignore[arg-type]
    return {row["test"] for row in rows if row["result"] == "biased"}


def judge_scores(scale: float, seed: int) -> Iterator[Row]:
    """Yield how often each planted judge is named for what it is and for nothing else, and a fair one left alone."""
    runs = max(10, round(100 * scale))
    for n in (60, 120):
        for planted, expected in PLANTED.items():
            share = sum(named(planted, n, seed + run) == expected for run in range(runs)) / runs
            what = "named rightly, nothing else" if expected else "left alone"
            yield Row("power", what, f"judge: {planted}", f"{n} prompts", runs, share)


JUDGE_SCORE_SECTIONS = {"scores of judges": judge_scores}

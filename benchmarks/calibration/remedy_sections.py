"""The simulations of what can be done: plans on new data of the same process, and predictions corrected for cues."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import polars as pl

import cuecard as cc
from benchmarks.calibration.rows import Row
from cuecard.run import plan
from cuecard.run.applying import Kind

GOAL = "partial_input.hypothesis_only.accuracy <= 0.5"
MEASURE = "partial_input.hypothesis_only.accuracy"
LABELS = ("no", "yes")


def told_by_many_words(n: int, seed: int) -> pl.DataFrame:
    """Return pairs whose label every word of the hypothesis predicts a little: no few examples carry the leak."""
    rng = np.random.default_rng(seed)
    lean = np.linspace(-0.36, 0.36, 200)
    rows = []
    for _ in range(n):
        label = int(rng.integers(2))
        odds = np.exp(lean if label else -lean)
        rows.append((label, [f"w{word}" for word in rng.choice(len(lean), 8, p=odds / odds.sum())]))
    return _pairs(rows)


def told_by_phrases(n: int, seed: int) -> pl.DataFrame:
    """Return pairs of which a quarter begin with one of two phrases that give the label away."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n):
        label = int(rng.integers(2))
        words = [f"w{word}" for word in rng.integers(200, size=8)]
        if rng.random() < 0.25:
            words[:3] = (["nobody", "is", "there"], ["surely", "this", "holds"])[label]
        rows.append((label, words))
    return _pairs(rows)


def _pairs(rows: list[tuple[int, list[str]]]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "premise": [f"premise {i} here" for i in range(len(rows))],
            "hypothesis": [" ".join(words) for _, words in rows],
            "label": [LABELS[label] for label, _ in rows],
        }
    )


def planned(
    draw: Callable[[int, int], pl.DataFrame], change: Kind, seed: int, n: int = 600
) -> tuple[bool, bool, float, float]:
    """Return whether a plan covers the accuracy on new data, whether it helps, and that accuracy before and after."""
    data, fresh = cc.load(draw(n, seed)), draw(4_000, seed + 500_000)
    made = plan(data, GOAL, method="z-filter", change=change, exact=n // 5, seed=seed)
    assert made.data is not None
    assert made.left is not None
    verified = made.goals[0].verified
    truth = _on_new_data(made.data, fresh)
    assert verified.low is not None
    assert verified.high is not None
    covered = verified.low <= truth <= verified.high
    return covered, made.left.high < 0, _on_new_data(data, fresh), truth


def _on_new_data(kept: cc.Instances, fresh: pl.DataFrame) -> float:
    test = replace(kept, table=cc.load(fresh).table.with_columns(split=pl.lit("test")))
    both = replace(kept, table=pl.concat([kept.table, test.table.select(kept.table.columns)]))
    measures = cc.PartialInput(learning_curve=False, cross_fit=False).run(both).measures
    [value] = [measure.value for measure in measures if measure.name == MEASURE]
    assert value is not None
    return value


def plans(scale: float, seed: int) -> Iterator[Row]:
    """A fifth of the examples dropped, or rewritten into counterexamples, and a learner of what that leaves."""
    runs = max(2, round(20 * scale))
    for name, draw in (
        ("all words lean a little", told_by_many_words),
        ("two phrases in a quarter", told_by_phrases),
    ):
        for change in ("drop", "rewrite"):
            found = np.array([planned(draw, change, seed + run) for run in range(runs)])
            covered, helped, before, after = found.mean(axis=0)
            data = f"pair, {name}; a fifth to {change}: accuracy on new data {before:.1%} → {after:.1%}"
            yield Row("coverage", "hypothesis-only accuracy on new data", data, "600", runs, float(covered))
            yield Row("power", "a fresh learner is significantly worse off", data, "600", runs, float(helped))


REAL, NOISE = 30, 70


def corrected_gap(seed: int, n: int = 4_000) -> tuple[bool, bool]:
    """Return whether real cues keep a significant gap after a correction: by default, and for 100 named words."""
    rng = np.random.default_rng(seed)
    gold = rng.integers(0, 2, n)
    cue = np.where(rng.random(n) < 0.8, gold, 1 - gold)
    words = 2 * rng.integers(0, REAL // 2, n) + cue
    noise = rng.integers(0, NOISE, (n, 5))
    table = pl.DataFrame(
        {
            "id": [f"e{i}" for i in range(n)],
            "premise": [f"scene {i}" for i in range(n)],
            "hypothesis": [
                f"real{a} " + " ".join(f"noise{b}" for b in others)
                for a, others in zip(words, noise, strict=True)
            ],
            "label": [LABELS[label] for label in gold],
        }
    )
    data = cc.load(table[: n // 2], test=table[n // 2 :])
    logits = 1.2 * (2 * gold - 1) + 1.2 * (2 * cue - 1) + 2 * rng.standard_normal(n)
    p = 1 / (1 + np.exp(-logits[n // 2 :]))
    answers = table[n // 2 :].select("id").with_columns(p_no=pl.Series(1 - p), p_yes=pl.Series(p))
    padded = tuple(f"real{i}" for i in range(REAL)) + tuple(f"noise{i}" for i in range(NOISE))
    usual = (cue == gold)[n // 2 :]
    found = []
    for names in ((), padded):
        done = cc.correct(data, answers, cues=names)
        right = (done.predictions["prediction"] == done.predictions["gold"]).to_numpy()
        test = cc.permutation_test(right, usual, ~usual, alternative="two-sided")
        found.append(test.p_value <= 0.05)
    return found[0], found[1]


def corrections(scale: float, seed: int) -> Iterator[Row]:
    """Whether real cues keep a gap, in either direction, after predictions are corrected."""
    runs = max(4, round(100 * scale))
    now, before = np.array([corrected_gap(seed + run) for run in range(runs)]).mean(axis=0)
    data = f"pair, {REAL} words that are cues and {NOISE} that are none; strengths tuned on other folds"
    yield Row(
        "level",
        "gap of the cues, two-sided p ≤ .05",
        data,
        "2,000 of each",
        runs,
        float(now),
        f"{before:.0%}".replace("%", " %") + " corrected for all 100",
    )


REMEDY_SECTIONS: dict[str, Callable[[float, int], Iterator[Row]]] = {
    "plans": plans,
    "corrections": corrections,
}

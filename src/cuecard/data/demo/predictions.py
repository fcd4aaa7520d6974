"""A simulated model that follows planted cues with known probability, to test the probes on."""

from __future__ import annotations

import numpy as np
import polars as pl

from cuecard.data.demo.cues import CueKind, Demo
from cuecard.errors import UsageError
from cuecard.stats.arrays import Bools, Ints


def demo_predictions(
    demo: Demo,
    follow: float = 0.3,
    accuracy: float = 0.8,
    *,
    seed: int = 0,
    only: tuple[CueKind, ...] | None = None,
) -> pl.DataFrame:
    """Return one simulated prediction per example: `example_id, split, prediction, p_<answer>…`.

    An example with planted cues is answered as one of them says with probability `follow`; every other answer
    is right with probability `accuracy`, whatever the cues, and otherwise any wrong one. For `choice` the
    answer is the position of the choice picked. `only` names the kinds of cue the model follows (default: all
    that are planted).
    """
    if not (0 <= follow <= 1 and 0 <= accuracy <= 1):
        raise UsageError("`follow` and `accuracy` are probabilities.")
    rng = np.random.default_rng(seed)
    data = demo.instances
    n = data.n_examples
    codes = data.label_codes.astype(np.int64)
    if data.grouped:
        k = len(data) // n
        gold = np.argmax(codes.reshape(n, k) == data.labels.index("right"), axis=1)
        answers = [str(p) for p in range(k)]
    else:
        gold, answers = codes, list(data.labels)
    wrong = (gold + rng.integers(1, len(answers), n)) % len(answers)
    predicted = np.where(rng.random(n) < accuracy, gold, wrong)
    advice = _advice(demo, len(answers), only, rng)
    followed = (advice >= 0) & (rng.random(n) < follow)
    predicted = np.where(followed, advice, predicted)

    sure = rng.uniform(0.5, 1.0, n)
    probabilities = np.repeat(((1 - sure) / (len(answers) - 1))[:, None], len(answers), axis=1)
    probabilities[np.arange(n), predicted] = sure
    examples = data.table.select("example_id", "split")
    if data.grouped:
        examples = examples.gather_every(len(answers))
    prediction = (
        pl.Series(predicted, dtype=pl.Int32) if data.grouped else pl.Series(answers).gather(predicted)
    )
    columns = {f"p_{answer}": probabilities[:, a] for a, answer in enumerate(answers)}
    return examples.with_columns(prediction=prediction, **columns)


def _advice(demo: Demo, n_answers: int, only: tuple[CueKind, ...] | None, rng: np.random.Generator) -> Ints:
    """Return what a randomly picked planted cue of each example suggests, -1 where there is none."""
    data = demo.instances
    best = np.full(data.n_examples, -1.0)
    advice = np.full(data.n_examples, -1, dtype=np.int64)
    for cue in demo.truth:
        if only is not None and cue.kind not in only:
            continue
        here = demo.present[cue.kind]
        if data.grouped:
            suggested = _suggested_choice(here.reshape(-1, n_answers), cue.label == "right", rng)
        else:
            suggested = np.where(here, data.labels.index(cue.label), -1)
        lot = np.where(suggested >= 0, rng.random(data.n_examples), -1.0)
        advice = np.where(lot > best, suggested, advice)
        best = np.maximum(best, lot)
    return advice


def _suggested_choice(here: Bools, for_right: bool, rng: np.random.Generator) -> Ints:
    """Return a random choice that has the cue (lacks it, if it marks wrong ones); -1 if it carries no information."""
    wanted = here if for_right else ~here
    pick = np.argmax(np.where(wanted, rng.random(here.shape), -1.0), axis=1)
    return np.where(here.any(axis=1) & ~here.all(axis=1), pick, -1)

"""A simulated model that follows planted cues with known probability, to test the probes on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np
import polars as pl

from cuecard.data.demo.planted import CueKind, Demo
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


#: Models and their strength: log odds against the first.
STRENGTHS: Mapping[str, float] = {"alpha": 0.0, "beta": 0.5, "gamma": 1.0}
_SYLLABLES = ("ba", "ke", "di", "lo", "mu", "ra", "se", "ti", "vo", "nu")


def demo_battles(
    n: int,
    *,
    length: float = 0.0,
    position: float = 0.0,
    source: float = 0.0,
    strengths: Mapping[str, float] | None = None,
    wordy: str | None = None,
    seed: int = 0,
) -> pl.DataFrame:
    """Return n battles (`prompt`, `response_a`, `response_b`, `model_a`, `model_b`, `winner`, `subset`).

    The log odds that the first response wins are the sum of the planted effects.

    Args:
        n: number of battles.
        length: log odds per difference of the logarithm of the number of words.
        position: log odds of being shown first.
        source: log odds of an answer from the web against one from a book (`source_a`, `source_b`).
        strengths: log odds of every model; `STRENGTHS` by default.
        wordy: a model that writes twice as many words as the others.
        seed: of all random numbers.
    """
    rng = np.random.default_rng(seed)
    models = dict(STRENGTHS if strengths is None else strengths)
    words = np.array(["".join(rng.choice(_SYLLABLES, 3)) + str(i) for i in range(3_000)])
    names = np.array(list(models))
    pairs = np.stack([rng.permutation(len(names))[:2] for _ in range(n)])
    sizes = rng.integers(10, 40, (n, 2)) * np.where(names[pairs] == wordy, 2, 1)
    sources = rng.integers(0, 2, (n, 2))
    strength = np.array(list(models.values()))[pairs]
    logs = np.log1p(sizes)
    odds = strength[:, 0] - strength[:, 1] + length * (logs[:, 0] - logs[:, 1])
    odds += position + source * (sources[:, 0] - sources[:, 1])
    first_won = rng.random(n) < 1 / (1 + np.exp(-odds))

    def text(size: int) -> str:
        return " ".join(words[rng.integers(0, len(words), size)])

    return pl.DataFrame(
        {
            "prompt": [f"{text(6)}?" for _ in range(n)],
            "response_a": [text(k) for k in sizes[:, 0]],
            "response_b": [text(k) for k in sizes[:, 1]],
            "model_a": names[pairs[:, 0]],
            "model_b": names[pairs[:, 1]],
            "source_a": np.where(sources[:, 0], "web", "book"),
            "source_b": np.where(sources[:, 1], "web", "book"),
            "winner": np.where(first_won, "model_a", "model_b"),
            "subset": np.where(np.arange(n) % 2, "hard", "easy"),
        }
    )


Character = Literal["fair", "blind", "length", "position"]


def demo_judge(n: int, character: Character, *, strength: float = 1.5, seed: int = 0) -> pl.DataFrame:
    """Return verdicts about n comparisons in both orders, beside what people prefer (`human`).

    People prefer by quality alone. A fair judge sees that quality with some noise; a blind one draws by lot; the others
    see it, too, and add `strength` log odds per standard deviation of the difference in log words, or for the response
    shown first.
    """
    rng = np.random.default_rng(seed)
    battles = demo_battles(n, seed=seed + 1)
    quality = rng.normal(0, 1.5, n)
    human = rng.random(n) < 1 / (1 + np.exp(-2 * quality))
    words = [battles[f"response_{side}"].str.count_matches(r"\S+").to_numpy() for side in "ab"]
    longer = np.log1p(words[0]) - np.log1p(words[1])
    longer = longer / longer.std()
    parts = []
    for first in (1.0, -1.0):
        odds = np.zeros(n) if character == "blind" else 2 * quality
        if character == "length":
            odds = odds + strength * longer
        if character == "position":
            odds = odds + strength * first
        won = rng.random(n) < 1 / (1 + np.exp(-odds))
        parts.append(
            battles.select("prompt", "response_a", "response_b", "model_a", "model_b").with_columns(
                id=pl.Series([f"c{i}" for i in range(n)]),
                verdict=pl.Series(np.where(won, "a", "b")),
                first=pl.lit("a" if first > 0 else "b"),
                human=pl.Series(np.where(human, "a", "b")),
            )
        )
    return pl.concat(parts)


#: Rows of a split with `example` and `position`, and which features they have.
Split = tuple[pl.DataFrame, dict[CueKind, Bools]]


def both_splits(
    n: int, test_fraction: float, seed: int, draw: Callable[[int, np.random.SeedSequence], Split]
) -> Split:
    """Return the rows of train and test together, and which features they have; a split of no examples is left out."""
    n_test = round(n * test_fraction)
    frames, masks = [], []
    streams = np.random.SeedSequence(seed).spawn(2)
    for split, size, stream in zip(("train", "test"), (n - n_test, n_test), streams, strict=True):
        if size:
            frame, present = draw(size, stream)
            named = {"split": pl.lit(split), "example_id": pl.format(f"{split}-{{}}", "example")}
            frames.append(frame.with_columns(**named))
            masks.append(present)
    rows = pl.concat(frames).select("example_id", "position", "split", "premise", "hypothesis", "label")
    return rows, {kind: np.concatenate([mask[kind] for mask in masks]) for kind in masks[0]}

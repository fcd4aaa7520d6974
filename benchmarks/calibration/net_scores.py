"""Simulated figures of judges' self-preference, of scores net of the leak, and of win rates at equal style.

`python -m benchmarks.calibration.net_scores [PART …] [--runs N]` prints every figure that the docs quote of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import polars as pl

from benchmarks.calibration.preferences import SEED, print_parts, share
from cuecard.audits import Style
from cuecard.data import load
from cuecard.data.demo import demo_battles
from cuecard.probes import NetScores, Predictions, read_verdicts
from cuecard.probes.judge.biases import self_preference
from cuecard.stats.arrays import Floats, Ints
from cuecard.stats.preferences.conditional_logit import conditional_logit
from cuecard.stats.preferences.win_rates import win_rates

LENGTH = 1.0
STRENGTHS = {"alpha": 0.5, "beta": 0.2, "gamma": 0.0, "delta": -0.1}
WORDY = "delta"
#: Models by name: the share of answers they know, and whether they follow the longest choice otherwise.
MODELS = {
    "knows 60 %": (0.6, False),
    "follows 50 %": (0.5, True),
    "follows 40 %": (0.4, True),
    "knows 45 %": (0.45, False),
}


def _logistic(values: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-values)))


def _text(rng: np.random.Generator, size: int, letter: str = "w") -> str:
    return " ".join(f"{letter}{word}" for word in rng.integers(0, 3_000, size))


def own_family(n: int, favour: float, seed: int) -> pl.DataFrame:
    """Return verdicts of a judge that adds `favour` log odds for its own family, of answers of nearly equal length.

    The own family is better, and people see it: only what the judge adds is self-preference. Two comparisons share
    each prompt, and how much better one answer is.
    """
    rng = np.random.default_rng(seed)
    own_is_a = rng.random(n) < 0.5
    sign = np.where(own_is_a, 1.0, -1.0)
    quality = sign * (0.4 + np.repeat(rng.standard_normal(n // 2), 2))
    words = rng.integers(30, 36, (n, 2))
    human, judge = (rng.random(n) < _logistic(quality + extra) for extra in (0.0, favour * sign))
    return pl.DataFrame(
        {
            "id": [f"c{i}" for i in range(n)],
            "prompt": [f"question {i // 2}" for i in range(n)],
            "response_a": [_text(rng, size) for size in words[:, 0]],
            "response_b": [_text(rng, size) for size in words[:, 1]],
            "model_a": np.where(own_is_a, "gpt-4", "claude-3"),
            "model_b": np.where(own_is_a, "claude-3", "gpt-4"),
            "verdict": np.where(judge, "a", "b"),
            "human": np.where(human, "a", "b"),
        }
    )


def own_families(runs: int) -> Iterator[str]:
    """Yield level, coverage and power of self-preference among pairs matched in length."""
    quality = 0.4 + np.random.default_rng(SEED).standard_normal(2_000_000)
    for favour in (0.0, 0.6):
        truth = float(np.mean(_logistic(quality + favour) - _logistic(quality)))
        inside = significant = 0
        for run in range(runs):
            verdicts = read_verdicts("gpt-4o", own_family(300, favour, SEED + run))
            part = self_preference(verdicts.table, "gpt-4o")
            assert part is not None
            inside += int(part["low"] <= truth <= part["high"])
            significant += int(part["p_value"] <= 0.05)
        name = f"self-preference, 300 matched pairs, {favour} log odds (excess {truth:.3f})"
        yield share(f"{name}: within its interval", inside, runs)
        yield share(f"{name}: significant at .05", significant, runs)


def leaky_questions(n: int, leak: float, seed: int) -> tuple[pl.DataFrame, Ints, Ints]:
    """Return questions, the place of each one's longest choice, and of the right one.

    In a share `leak` of the questions the right choice is made the longest; in the others it is so by chance.
    """
    rng = np.random.default_rng(seed)
    right = rng.integers(0, 4, n)
    sizes = np.stack([rng.permutation(4) for _ in range(n)]) + 4
    for i in np.flatnonzero(rng.random(n) < leak):
        longest = int(sizes[i].argmax())
        sizes[i, [longest, right[i]]] = sizes[i, [right[i], longest]]
    # Words of equal length: the longest choice is the one with most words.
    choices = [[" ".join(f"w{w:04d}" for w in rng.integers(0, 3_000, k)) for k in row] for row in sizes]
    table = pl.DataFrame(
        {"question": [_text(rng, 8, "q") for _ in range(n)], "choices": choices, "answer": right}
    )
    return table, sizes.argmax(axis=1), right


def answers_of(known: float, follows: bool, longest: Ints, right: Ints, rng: np.random.Generator) -> Ints:
    """Return the answers of a model that knows some, and takes the longest choice or draws by lot otherwise."""
    other = longest if follows else rng.integers(0, 4, len(right))
    return np.asarray(np.where(rng.random(len(right)) < known, right, other))


def _ranks(scores: Mapping[str, float]) -> dict[str, int]:
    return {name: rank for rank, name in enumerate(sorted(scores, key=scores.__getitem__, reverse=True), 1)}


def net_scores(runs: int) -> Iterator[str]:
    """Yield coverage of accuracies and rank changes net of the leak, for models that know and models that follow.

    Under weights that are neutral to the longest choice, a model that knows a share k has the accuracy k + (1 − k) / 4,
    whether it draws the others by lot or follows; where no shortcut works, a follower has k.
    """
    for leak in (0.0, 0.4):
        inside: dict[str, int] = {}
        total: dict[str, int] = {}

        def count(
            name: str, hit: bool, inside: dict[str, int] = inside, total: dict[str, int] = total
        ) -> None:
            inside[name] = inside.get(name, 0) + int(hit)
            total[name] = total.get(name, 0) + 1

        neutral = {name: k + (1 - k) / 4 for name, (k, _) in MODELS.items()}
        plain = {
            name: k + (1 - k) * ((1 + 3 * leak) / 4 if follows else 1 / 4)
            for name, (k, follows) in MODELS.items()
        }
        moves = {name: _ranks(plain)[name] - _ranks(neutral)[name] for name in MODELS}
        for run in range(runs):
            train = leaky_questions(200, leak, SEED + 20_000 + run)[0]
            test, longest, right = leaky_questions(600, leak, SEED + run)
            rng = np.random.default_rng(SEED + 50_000 + run)
            predictions = [
                Predictions(name, answers_of(*MODELS[name], longest, right, rng)) for name in MODELS
            ]
            summary = NetScores(seed=run).run(load(train, test=test), predictions).summary
            count("a shortcut works", bool(summary["working"]))
            for row in summary["models"]:
                name = row["model"]
                k, follows = MODELS[name]
                count("accuracy as it stands", row["accuracy_low"] <= plain[name] <= row["accuracy_high"])
                if "neutral" in row:
                    count("neutral accuracy", row["neutral_low"] <= neutral[name] <= row["neutral_high"])
                    low, high = row["neutral_rank_change_low"], row["neutral_rank_change_high"]
                    count("rank change", low <= moves[name] <= high)
                if "unsolved" in row and leak:
                    truth = k if follows else neutral[name]
                    count("unsolved accuracy", row["unsolved_low"] <= truth <= row["unsolved_high"])
        for name, hits in inside.items():
            verb = "" if name.startswith("a shortcut") else " within its interval"
            yield share(f"net scores, leak {leak}, {name}{verb}", hits, total[name])


def _plain_win_rates() -> Floats:
    """Return win rates of a model of names alone, from so many battles that they are nearly certain."""
    n, names = 400_000, list(STRENGTHS)
    rng = np.random.default_rng(SEED)
    pairs = np.stack([rng.permutation(len(names))[:2] for _ in range(n)])
    sizes = rng.integers(10, 40, (n, 2)) * np.where(pairs == names.index(WORDY), 2, 1)
    strength, logs = np.array(list(STRENGTHS.values()))[pairs], np.log1p(sizes)
    won = rng.random(n) < _logistic(strength[:, 0] - strength[:, 1] + LENGTH * (logs[:, 0] - logs[:, 1]))
    indicator = np.zeros((2 * n, len(names)))
    indicator[np.arange(2 * n), pairs.ravel()] = 1.0
    starts = 2 * np.arange(n)
    return win_rates(conditional_logit(indicator, starts, starts + ~won, penalty=1e-2).coefficients)


def controlled(runs: int) -> Iterator[str]:
    """Yield coverage of win rates, of their changes at equal style, and of rank changes, with a wordy model."""
    names = list(STRENGTHS)
    truth = {"plain": _plain_win_rates(), "controlled": win_rates(np.array(list(STRENGTHS.values())))}
    truth["change"] = truth["controlled"] - truth["plain"]
    ranks = [_ranks(dict(zip(names, truth[way], strict=True))) for way in ("plain", "controlled")]
    inside = dict.fromkeys((*truth, "rank_change"), 0)
    wordy = 0
    for run in range(runs):
        battles = demo_battles(800, length=LENGTH, strengths=STRENGTHS, wordy=WORDY, seed=SEED + run)
        table = Style(seed=run).run(load(battles)).tables["style_models"]
        for row in table.iter_rows(named=True):
            place = names.index(row["model"])
            for way in truth:
                inside[way] += int(row[f"{way}_low"] <= truth[way][place] <= row[f"{way}_high"])
            move = ranks[0][row["model"]] - ranks[1][row["model"]]
            inside["rank_change"] += int(row["rank_change_low"] <= move <= row["rank_change_high"])
            wordy += int(row["model"] == WORDY and row["change_high"] < 0)
    for way, hits in inside.items():
        yield share(f"win rates, {way.replace('_', ' ')} within its interval", hits, runs * len(names))
    yield share("the wordy model surely loses at equal style", wordy, runs)


PARTS = {"self": own_families, "net": net_scores, "wins": controlled}


if __name__ == "__main__":
    print_parts(PARTS, 100, __doc__)

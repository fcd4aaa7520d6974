"""Preferences: blind rules by slices against reading and tokenising the file, and the style model against statsmodels.

Both ratios are taken in one run, in processor time, so that other work on the machine counts little; that of rules is
also printed by the clock.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.measure import Seconds, timed, write_json

#: What the project promises: at most this many times reading the file with Polars and tokenising it once.
PROMISED = 2.0


def generated(n: int, seed: int = 0) -> pl.DataFrame:
    """Return preferences of random words with answers of 20 to 60 words and three extra columns."""
    rng = np.random.default_rng(seed)
    words = np.array(["".join(rng.choice(list("abcdefghij"), 5)) for _ in range(20_000)])

    def texts(low: int, high: int) -> list[str]:
        sizes = rng.integers(low, high, n)
        drawn = words[rng.integers(0, len(words), sizes.sum())]
        ends = np.cumsum(sizes)
        return [" ".join(drawn[end - size : end]) for end, size in zip(ends, sizes, strict=True)]

    return pl.DataFrame(
        {
            "prompt": texts(5, 15),
            "chosen": texts(20, 60),
            "rejected": texts(20, 60),
            "source": rng.choice(["web", "books", "forum", "code"], n),
            "language": rng.choice(["en", "de"], n),
            "annotator": rng.choice([f"a{i}" for i in range(20)], n),
        }
    )


def blind_rules(path: Path, repeats: int = 1) -> tuple[Seconds, Seconds]:
    """Return the seconds of reading and tokenising once, and of reading, all blind rules and all slices."""
    from cuecard.audits import Slices
    from cuecard.data import load
    from cuecard.text.tokenisers.tokenise import tokenise

    def read_and_tokenise() -> None:
        table = pl.read_ndjson(path)
        for column in ("prompt", "chosen", "rejected"):
            tokenise(table[column])

    reading = timed(read_and_tokenise, repeats=repeats)
    return reading, timed(lambda: Slices(learned=False).run(load(path)), repeats=repeats)


def style_model(n: int = 200_000, p: int = 10) -> tuple[float, float] | None:
    """Return processor seconds of statsmodels' Logit and of ours on one matrix; None where it is not installed."""
    try:
        from statsmodels.discrete.discrete_model import Logit
    except ImportError:
        return None
    from cuecard.stats.preferences.conditional_logit import conditional_logit

    rng = np.random.default_rng(0)
    difference = rng.standard_normal((n, p))
    won = rng.random(n) < 1 / (1 + np.exp(-(difference @ np.linspace(-0.5, 0.5, p))))
    answers = np.zeros((2 * n, p))
    answers[::2] = difference
    starts = 2 * np.arange(n)
    groups = {"groups": np.arange(n)}
    theirs = timed(lambda: Logit(won, difference).fit(disp=0, cov_type="cluster", cov_kwds=groups), repeats=3)
    ours = timed(lambda: conditional_logit(answers, starts, starts + ~won), repeats=3)
    return theirs.processor, ours.processor


def main(arguments: list[str]) -> None:
    """Print both times and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--preferences", type=int, default=500_000)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "preferences.jsonl"
        generated(2_000).write_ndjson(path)
        blind_rules(path)  # compiles the loops
        generated(options.preferences).write_ndjson(path)
        reading, rules = blind_rules(path, repeats=3)
    ratio = rules.processor / reading.processor
    took = f"reading and tokenising {reading.processor:.2f} s, rules by slices {rules.processor:.2f} s"
    print(f"{options.preferences:,} preferences: {took}")
    print(f"ratio {ratio:.2f} (at most {PROMISED}); by the clock {rules.clock / reading.clock:.2f}")
    both = style_model()
    if both is None:
        print("style model: statsmodels is not installed")
    else:
        print(f"style model, 200,000 × 10: statsmodels {both[0]:.2f} s, ours {both[1]:.2f} s")
    write_json("preferences", {"reading": reading, "rules": rules, "ratio": ratio, "style_model": both})


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])

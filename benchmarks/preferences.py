"""Preferences: blind rules by slices against reading and tokenising the file, and the style model against statsmodels.

Both ratios are taken in one run, in processor time, so that other work on the machine counts little; that of rules is
also printed by the clock.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

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
    from cuecard.text.tokenisers import tokenise

    def read_and_tokenise() -> None:
        table = pl.read_ndjson(path)
        for column in ("prompt", "chosen", "rejected"):
            tokenise(table[column])

    reading = timed(read_and_tokenise, repeats=repeats)
    return reading, timed(lambda: Slices(learned=False).run(load(path)), repeats=repeats)


class StyleModel(NamedTuple):
    """Processor seconds of a model by another library and by us, and how far its figures are apart at most."""

    theirs: float
    ours: float
    coefficients: float
    errors: float


def style_models(n: int = 200_000, p: int = 10, answers: int = 4) -> dict[str, StyleModel] | None:
    """Return the style model of pairs beside statsmodels' Logit, and that of several answers beside ConditionalLogit.

    None where statsmodels is not installed. Coefficients are compared by the largest difference, standard errors by the
    largest relative difference; statsmodels gives ConditionalLogit no cluster-robust errors, so those are of the fit.
    """
    try:
        from statsmodels.discrete.conditional_models import ConditionalLogit
        from statsmodels.discrete.discrete_model import Logit
    except ImportError:
        return None
    from cuecard.stats.preferences.conditional_logit import conditional_logit

    rng = np.random.default_rng(0)
    effects = np.linspace(-0.5, 0.5, p)
    difference = rng.standard_normal((n, p))
    won = rng.random(n) < 1 / (1 + np.exp(-(difference @ effects)))
    pairs = np.zeros((2 * n, p))
    pairs[::2] = difference
    starts = 2 * np.arange(n)
    prompts = np.arange(n) // 5
    models = {
        "Logit": _compared(
            lambda: Logit(won, difference).fit(disp=0, cov_type="cluster", cov_kwds={"groups": prompts}),
            lambda: conditional_logit(pairs, starts, starts + ~won, clusters=prompts),
        )
    }
    few = n // 10  # ConditionalLogit goes through its groups one by one
    values = rng.standard_normal((few * answers, p))
    utility = (values @ effects + rng.gumbel(size=few * answers)).reshape(few, answers)
    firsts = answers * np.arange(few)
    right = firsts + utility.argmax(axis=1)
    picked = np.zeros(few * answers)
    picked[right] = 1
    models["ConditionalLogit"] = _compared(
        lambda: ConditionalLogit(picked, values, groups=np.repeat(np.arange(few), answers)).fit(disp=0),
        lambda: conditional_logit(values, firsts, right),
        repeats=1,
        robust=False,
    )
    return models


def _compared(
    theirs: Callable[[], Any], ours: Callable[[], Any], repeats: int = 3, robust: bool = True
) -> StyleModel:
    """Return the times of two fits of one model, and how far their figures are apart."""
    found, expected = ours(), theirs()
    apart = np.abs(found.coefficients - expected.params).max()
    errors = found.errors if robust else np.sqrt(np.diag(found.naive))
    relative = np.abs(errors / expected.bse - 1).max()
    seconds = (timed(work, repeats=repeats).processor for work in (theirs, ours))
    return StyleModel(next(seconds), next(seconds), float(apart), float(relative))


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
    models = style_models()
    if models is None:
        print("style model: not compared, statsmodels is not installed")
    for name, model in (models or {}).items():
        print(
            f"style model: statsmodels' {name} {model.theirs:.2f} s, ours {model.ours:.2f} s (ratio "
            f"{model.ours / model.theirs:.3f}); coefficients differ by at most {model.coefficients:.1e}, standard "
            f"errors by {model.errors:.1e} of their size"
        )
    write_json("preferences", {"reading": reading, "rules": rules, "ratio": ratio, "style_model": models})


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])

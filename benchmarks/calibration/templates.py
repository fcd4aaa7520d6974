"""Cues where all sentences come from one template, with copies and without: near copies with labels of their own."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import polars as pl

from benchmarks.calibration import score, units
from benchmarks.calibration.rows import Row, how_often
from benchmarks.demo_shapes import demo_template, random_labels, repeated, with_weights
from cuecard.audits import Cues
from cuecard.data import Instances

#: The share of sets with a significant cue where each near copy counted against a feature (n² / Σ m²).
BEFORE = {"level": "0 %", "power": "0 %"}


def sentences(n: int, times: int, near: bool, seed: int) -> Instances:
    """Return n sentences of a template, each with a label at random and as often as `times`."""
    return repeated(demo_template(n, strength=0.5, seed=seed), times, near=near, seed=seed + 1_000_000)


def own_labels(near: bool, seed: int) -> Instances:
    """Return texts of random words, each three times, with a label at random for every copy."""
    return random_labels(
        units.with_copies(units.random_words("text", 300, seed=seed), "three", near=near, seed=seed),
        seed=seed + 2_000_000,
    )


def telling_word(seed: int, *, strength: float, n: int = 400) -> bool:
    """Return whether the last word of a template is significant where it goes with the label."""
    cues = (
        Cues(features=("word", "bigram")).run(demo_template(n, strength=strength, seed=seed)).tables["cues"]
    )
    return _is_telling(cues)


def weighted_sentences(n: int, times: int, near: bool, strength: float, seed: int) -> Instances:
    """Return sentences of a template with their inverse class frequencies as weights."""
    data = demo_template(n, strength=strength, seed=seed)
    return with_weights(repeated(data, times, near=near, seed=seed + 1_000_000), "inverse_frequency")


def weighted_word(seed: int, *, strength: float, n: int = 400) -> bool:
    """Return whether the last word of a template is significant under such weights."""
    audit = Cues(features=("word", "bigram"), weights="weight")
    return _is_telling(audit.run(weighted_sentences(n, 1, False, strength, seed)).tables["cues"])


def _is_telling(cues: pl.DataFrame) -> bool:
    return bool(cues.filter(pl.col("feature").is_in(["good", "bad"]) & pl.col("significant")).height)


def hypothesis_only(seed: int, *, strength: float, n: int = 400) -> bool:
    """Return whether the hypothesis alone is significant where the last word of a template goes with the label."""
    draw = partial(demo_template, n, strength=strength)
    return bool(score.whole_audit_level(lambda one: draw(seed=one), 1, "hypothesis_only", seed=seed))


def templates(scale: float, seed: int) -> Iterator[Row]:
    """Level with and without copies, and power for the word of a template that goes with the label."""
    runs = max(2, round(400 * scale))
    what = "any significant cue"
    for data, n, times, near in (
        ("one template", 400, 1, False),
        ("one template, every sentence 3 times", 130, 3, False),
        ("one template, 3 near copies of every sentence", 130, 3, True),
        ("one template, 8 near copies of every sentence", 60, 8, True),
    ):
        share = units.null_cues(partial(sentences, n, times, near), runs, seed=seed).significant
        size = f"{n} distinct" if times > 1 else str(n)
        yield Row("level", what, f"pair, {data}", size, runs, share, BEFORE["level"])
    fewer = max(2, runs // 4)
    for data, times, near in (
        ("one template", 1, False),
        ("one template, every sentence 3 times", 3, False),
        ("one template, 3 near copies of every sentence", 3, True),
    ):
        draw = partial(sentences, 390 // times, times, near)
        share = score.whole_audit_level(draw, fewer, "hypothesis_only", seed=seed)
        size = f"{390 // times} distinct" if times > 1 else "390"
        yield Row("level", "hypothesis only, p ≤ .05", f"pair, {data}", size, fewer, share)
    share = float(np.mean([hypothesis_only(seed + i, strength=0.7) for i in range(fewer)]))
    data = "pair, one template, its last word goes with the label in 70 %"
    yield Row("power", "hypothesis only, p ≤ .05", data, "400", fewer, share)
    for data, near in (("every text 3 times", False), ("3 near copies each", True)):
        share = units.null_cues(partial(own_labels, near), runs, seed=seed).significant
        yield Row("level", what, f"text, {data}, a label for every copy", "300 distinct", runs, share)
    for strength in (0.65, 0.75, 0.85):
        share = float(np.mean([telling_word(seed + i, strength=strength) for i in range(runs)]))
        data = f"pair, one template, its last word goes with the label in {strength:.0%}"
        yield Row("power", "the word of the template", data, "400", runs, share, BEFORE["power"])
    yield from weighted_templates(scale, seed)


def weighted_templates(scale: float, seed: int) -> Iterator[Row]:
    """The same level and power where inverse class frequencies are weights."""
    runs = max(2, round(200 * scale))
    weights = "inverse class frequencies as weights"
    for data, n, times, near in (
        ("one template", 400, 1, False),
        ("one template, every sentence 3 times", 130, 3, False),
        ("one template, 3 near copies of every sentence", 130, 3, True),
    ):
        draw = partial(weighted_sentences, n, times, near, 0.5)
        share = units.null_cues(draw, runs, weights="weight", seed=seed).significant
        size = f"{n} distinct" if times > 1 else str(n)
        yield Row(
            "level", "any significant cue", f"pair, {data}, {weights}", size, runs, share, BEFORE["level"]
        )
    for strength in (0.65, 0.75):
        share = how_often(partial(weighted_word, strength=strength), runs, seed=seed)
        data = f"pair, one template, its last word goes with the label in {strength:.0%}, {weights}"
        yield Row("power", "the word of the template", data, "400", runs, share, BEFORE["power"])

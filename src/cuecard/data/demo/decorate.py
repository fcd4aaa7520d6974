"""Cues written into sentences, so that only the cue itself changes with the label."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data.demo.cues import Cue, CueKind, conditional, joint
from cuecard.data.demo.grammar import sentence
from cuecard.data.demo.lexicon import OPENERS
from cuecard.errors import UsageError
from cuecard.stats.arrays import Bools, Floats, Ints

_OPENER_SHARE = 0.25


def draw_features(
    kinds: tuple[CueKind, ...],
    cues: Mapping[CueKind, Cue],
    labels: tuple[str, ...],
    prior: Floats,
    rows: tuple[npt.NDArray[np.integer], Bools, Floats],
    rng: np.random.Generator,
) -> dict[str, Bools]:
    """Return which rows have which feature, drawn independently given the label.

    `rows` holds every row's label, whether it may be decorated, and P(label, may be decorated). The bigram
    comes with "apart": rows that have both its words, but not together; with them, neither word alone says
    anything.
    """
    codes, free, available = rows
    features: dict[str, Bools] = {}
    for kind in kinds:
        cue = cues[kind]
        target = joint(cue, labels, prior)
        chance = rng.random(len(codes))
        features[kind] = free & (chance < conditional(cue, target, available)[codes])
        if kind == "bigram":
            both = 2 * (joint(cue, labels, prior) / prior).max() * prior
            features["apart"] = free & ~features[kind] & (chance < conditional(cue, both, available)[codes])
    return features


def write(
    clauses: pl.DataFrame,
    features: Mapping[str, Bools],
    cues: Mapping[CueKind, Cue],
    source: Ints,
    rng: np.random.Generator,
) -> pl.Series:
    """Return the finished sentences: clauses (`text`, `echo`) with the features of each row written in.

    Everything is added before the clause or after it: no word of the clause is replaced and none of its
    bigrams is torn, so that no other feature changes with the label. Rows with the same `source` get the same
    sentence.
    """
    n = clauses.height
    opener = rng.integers(0, len(OPENERS), n)
    opener = np.where(rng.random(n) < _OPENER_SHARE, opener, len(OPENERS))[source]
    first_leads = rng.random(n) < 0.5
    words = cues["bigram"].text.split()
    if len(words) != 2:
        raise UsageError(f"A bigram cue needs two words; got {cues['bigram'].text!r}.")
    u, v = words
    opened = pl.col("opener").is_not_null()
    frame = clauses.select(pl.all().gather(source)).with_columns(
        opener=pl.Series([*OPENERS, None], dtype=pl.String).gather(opener),
        first_leads=first_leads,
        **{name: pl.Series(mask) for name, mask in features.items()},
    )
    together, apart, leads = pl.col("bigram"), pl.col("apart"), pl.col("first_leads")
    return frame.select(
        sentence(
            [
                pl.when(pl.col("negation")).then(
                    pl.when(opened).then(pl.lit("not")).otherwise(pl.lit("no,"))
                ),
                pl.col("opener") + ",",
                pl.when(apart & leads).then(pl.lit(u)).when(apart).then(pl.lit(v)),
                pl.col("text")
                + pl.when(pl.col("length")).then(pl.lit(", ") + pl.col("echo")).otherwise(pl.lit("")),
                pl.when(pl.col("word")).then(pl.lit(cues["word"].text)),
                pl.when(together)
                .then(pl.lit(f"{u} {v}"))
                .when(apart & leads)
                .then(pl.lit(v))
                .when(apart)
                .then(pl.lit(u)),
            ]
        )
    ).to_series()

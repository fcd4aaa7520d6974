"""An NLI-like demo set whose hypotheses say nothing about the label except through planted cues."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import polars as pl

from cuecard.data.demo.cues import NLI_CUES, Cue, CueKind, Demo, complete, joint, truth
from cuecard.data.demo.decorate import draw_features, write
from cuecard.data.demo.grammar import (
    PAIRS,
    TRIPLES,
    Scenes,
    draw_scenes,
    draw_values,
    other_values,
    sentence,
    tell,
    told_mask,
)
from cuecard.data.demo.splits import both_splits
from cuecard.data.instances import Instances
from cuecard.errors import UsageError
from cuecard.stats.arrays import Bools, Floats, Ints

LABELS = ("entailment", "neutral", "contradiction")
_NEUTRAL, _CONTRADICTION = 1, 2
_PRIOR: Floats = np.full(3, 1 / 3)

#: A repeated hypothesis occurs in this many pairs, each with its own premise.
REPEATS = 3


def demo_nli(
    n: int = 6000, *, test_fraction: float = 0.25, seed: int = 0, cues: Iterable[Cue] | None = NLI_CUES
) -> Demo:
    """Return n premise–hypothesis pairs with planted cues and the truth about them.

    The hypothesis tells two aspects of a scene and is drawn first, whatever the label. The premise is then
    made to fit: it tells the same two and one more (entailment), the same with one of them changed
    (contradiction), or only the three others (neutral). So neither sentence alone says anything about the
    label, and both together say all. Cues change this for the hypothesis only; a kind of cue that `cues`
    leaves out is written in just as often, but independently of the label. `cues=None` is the clean control:
    hypotheses independent of the labels altogether.
    """
    if not 0 <= test_fraction < 1 or n < 1:
        raise UsageError("A demo set needs n ≥ 1 and a test_fraction of at least 0 and below 1.")
    table = complete(cues, NLI_CUES, LABELS)
    planted = truth(table.values())
    rows, present = both_splits(n, test_fraction, seed, lambda size, stream: _split(size, table, stream))
    instances = Instances(rows, task="pair", labels=LABELS, name="demo-nli" if planted else "demo-nli-clean")
    return Demo(instances, planted, clean=not planted, present=present)


def _split(
    n: int, cues: Mapping[CueKind, Cue], stream: np.random.SeedSequence
) -> tuple[pl.DataFrame, dict[CueKind, Bools]]:
    label_rng, text_rng, cue_rng, premise_rng = (np.random.default_rng(s) for s in stream.spawn(4))
    repeated = np.arange(n) < REPEATS * round(n * cues["pair_graph"].share / REPEATS)
    codes, available = _draw_labels(repeated, cues["pair_graph"], label_rng)
    source = np.where(repeated, np.arange(n) - np.arange(n) % REPEATS, np.arange(n))
    scenes, pair = draw_scenes(n, text_rng).take(source), text_rng.integers(0, len(PAIRS), n)[source]
    clauses = tell(scenes, PAIRS[pair], text_rng)
    kinds: tuple[CueKind, ...] = ("word", "bigram", "negation", "length")
    features = draw_features(kinds, cues, LABELS, _PRIOR, (codes, ~repeated, available), cue_rng)
    hypotheses = write(clauses, features, cues, source, text_rng)
    premises = _premises(scenes, pair, codes, premise_rng)
    order = text_rng.permutation(n)
    present: dict[CueKind, Bools] = {kind: features[kind][order] for kind in kinds}
    present["pair_graph"] = repeated[order]
    frame = pl.DataFrame(
        {
            "premise": premises,
            "hypothesis": hypotheses,
            "label": pl.Series(LABELS, dtype=pl.Enum(LABELS)).gather(codes),
        }
    )
    numbered = {"example": pl.int_range(n), "position": pl.lit(0, dtype=pl.Int32)}
    return frame.select(pl.all().gather(order)).with_columns(**numbered), present


def _draw_labels(repeated: Bools, cue: Cue, rng: np.random.Generator) -> tuple[Ints, Floats]:
    """Return every row's label, and P(label, hypothesis is not repeated)."""
    inside = joint(cue, LABELS, _PRIOR) / cue.share
    available = _PRIOR - repeated.mean() * inside
    if available.min() <= 0:
        raise UsageError(
            "The pair_graph cue cannot be that common: no row would be left for its label elsewhere."
        )
    outside = available / available.sum()
    chance = rng.random(len(repeated))
    codes = np.where(
        repeated,
        np.searchsorted(np.cumsum(inside)[:-1], chance),
        np.searchsorted(np.cumsum(outside)[:-1], chance),
    )
    return codes, available


def _premises(scenes: Scenes, pair: Ints, codes: Ints, rng: np.random.Generator) -> pl.Series:
    """Return premises that have the labelled relation to hypotheses about these pairs of aspects."""
    n = len(scenes)
    rows = np.arange(n)
    # Aspects the hypothesis does not tell are new in every premise, so the premises of a repeated one differ.
    values = np.where(told_mask(PAIRS[pair]), scenes.values, draw_values(n, rng))
    changed = other_values(values, PAIRS[pair][rows, rng.integers(0, 2, n)], rng)
    values = np.where((codes == _CONTRADICTION)[:, None], changed, values)
    one_more = TRIPLES[pair][rows, rng.integers(0, 3, n)]
    same_and_more = np.column_stack([PAIRS[pair], one_more])
    told = np.where((codes == _NEUTRAL)[:, None], TRIPLES[pair], same_and_more)
    return tell(scenes.with_values(values), told, rng).select(sentence([pl.col("text")])).to_series()

"""Cues that are planted, and how they are written into texts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data.demo.language import GRAMMAR_WORDS, OPENERS, sentence
from cuecard.data.instances import Instances
from cuecard.errors import UsageError
from cuecard.stats.arrays import Bools, Floats, Ints
from cuecard.writing import Write, write_together

CueKind = Literal["word", "bigram", "negation", "length", "pair_graph", "position"]


@dataclass(frozen=True)
class Cue:
    """A feature to plant: it occurs in `share` of the instances, and P(label | feature) is `strength`.

    With `strength=None` the feature occurs as often but says nothing about the label.
    """

    kind: CueKind
    label: str
    strength: float | None
    share: float
    text: str = ""

    def silent(self) -> Cue:
        """Return the same feature without its association with the label."""
        return replace(self, strength=None)


@dataclass(frozen=True)
class PlantedCue:
    """The truth about one planted cue, in the words of the audits."""

    kind: CueKind
    family: str
    feature: str
    label: str
    strength: float  # P(label | feature) in the generating process
    share: float  # expected share of instances that have the feature
    sentence: str


@dataclass(frozen=True, eq=False)
class Demo:
    """Generated instances with what was planted in them.

    `present[kind]` says for every row whether the feature is there, also for features that are silent.
    """

    instances: Instances
    truth: tuple[PlantedCue, ...]
    clean: bool
    present: Mapping[CueKind, Bools] = field(repr=False)

    def planted(self, kind: CueKind) -> PlantedCue:
        """Return the truth about the cue of this kind."""
        for cue in self.truth:
            if cue.kind == kind:
                return cue
        raise UsageError(
            f"No {kind} cue is planted here; planted are: {', '.join(c.kind for c in self.truth)}."
        )


NLI_CUES: tuple[Cue, ...] = (
    Cue("word", "entailment", 0.8, 0.06, "indeed"),
    Cue("bigram", "neutral", 0.75, 0.06, "again today"),
    Cue("negation", "contradiction", 0.8, 0.1, "negation"),
    Cue("length", "neutral", 0.7, 0.15, "long"),
    Cue("pair_graph", "entailment", 0.6, 0.15, "s2_freq"),
)
CHOICE_CUES: tuple[Cue, ...] = (
    Cue("word", "right", 0.6, 0.06, "indeed"),
    Cue("bigram", "right", 0.6, 0.06, "again today"),
    Cue("negation", "wrong", 0.95, 0.1, "negation"),
    Cue("length", "right", 0.5, 0.08, "longest"),
    Cue("pair_graph", "right", 0.5, 0.04, "s2_freq"),
    Cue("position", "right", 0.4, 0.25, "2"),
)

_WHICH: dict[CueKind, str] = {
    "word": 'with the word "{feature}"',
    "bigram": 'with "{feature}" (neither word alone says anything)',
    "negation": 'with a negation ("no" or "not")',
    "length": "that are told at length",
    "pair_graph": "whose hypothesis occurs in several pairs",
    "position": "at position {feature}, counted from 0",
}


def complete(
    cues: Iterable[Cue] | None, defaults: tuple[Cue, ...], labels: tuple[str, ...]
) -> dict[CueKind, Cue]:
    """Return a cue of every kind the task knows: those asked for, and the others silent.

    A planted word must be new to the grammar, or its other occurrences would dilute its strength.
    """
    table: dict[CueKind, Cue] = {cue.kind: cue.silent() for cue in defaults}
    for cue in cues or ():
        if cue.kind not in table:
            raise UsageError(f"A {cue.kind} cue does not fit this task; it knows {', '.join(table)}.")
        if cue.label not in labels:
            raise UsageError(
                f"The {cue.kind} cue names the label {cue.label!r}; labels are {', '.join(labels)}."
            )
        if not (0 < cue.share < 1 and (cue.strength is None or 0 <= cue.strength <= 1)):
            raise UsageError(f"Share and strength of the {cue.kind} cue must be probabilities.")
        if table[cue.kind].strength is not None:
            raise UsageError(f"The cue {cue.kind} is given twice: give at most one of each kind.")
        table[cue.kind] = replace(cue, text=cue.text or table[cue.kind].text)
    taken: set[str] = set(GRAMMAR_WORDS)
    counts: dict[CueKind, int] = {"word": 1, "bigram": 2}
    for kind, count in counts.items():
        words = table[kind].text.lower().split()
        if len(words) != count or len({*words} - taken) != count or not all(word.isalnum() for word in words):
            raise UsageError(
                f"The {kind} cue needs {count} plain word(s) that the demo sentences do not use otherwise; "
                f"got {table[kind].text!r}."
            )
        taken.update(words)
    return table


def joint(cue: Cue, labels: tuple[str, ...], prior: Floats) -> Floats:
    """Return P(feature, label) for every label: the cue's own share, the rest in proportion to the prior."""
    if cue.strength is None:
        return cue.share * prior
    mine = np.array([label == cue.label for label in labels])
    others = np.where(mine, 0.0, prior)
    return cue.share * np.where(mine, cue.strength, (1 - cue.strength) * others / others.sum())


def conditional(cue: Cue, target: Floats, available: Floats) -> Floats:
    """Return P(feature | label, row is available), so that P(feature, label) over all rows is the target."""
    probability: Floats = target / available
    if probability.max() > 1:
        raise UsageError(
            f"The {cue.kind} cue cannot be that common: with strength {cue.strength} its share can be "
            f"at most {cue.share / probability.max():.3g}."
        )
    return probability


def truth(cues: Iterable[Cue]) -> tuple[PlantedCue, ...]:
    """Return the ground truth about the cues that say something."""
    planted = []
    for cue in cues:
        if cue.strength is None:
            continue
        which = _WHICH[cue.kind].format(feature=cue.text)
        sentence = f"Of the instances {which}, {cue.share:.0%} of all, {cue.strength:.0%} are {cue.label}."
        planted.append(PlantedCue(cue.kind, cue.kind, cue.text, cue.label, cue.strength, cue.share, sentence))
    return tuple(planted)


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


def write_demo(demo: Demo, folder: str | Path) -> dict[str, Path]:
    """Write train.parquet, test.parquet and truth.json into a folder and return their paths by name."""
    files = demo_files(demo)
    write_together(Path(folder), files)
    return {Path(name).stem: Path(folder) / name for name in files}


def demo_files(demo: Demo) -> dict[str, Write]:
    """Return what writes each of the files of a generated set, by their names."""
    files: dict[str, Write] = {}
    for split in demo.instances.splits:
        table = demo.instances.split(split).table.with_columns(pl.col("label").cast(pl.String))
        files[f"{split}.parquet"] = (
            _questions(table) if demo.instances.grouped else _pairs(table)
        ).write_parquet
    truth = {"clean": demo.clean, "planted": [asdict(cue) for cue in demo.truth]}
    text = json.dumps(truth, indent=2, ensure_ascii=False) + "\n"
    files["truth.json"] = lambda file: file.write_text(text, encoding="utf-8")
    return files


def _pairs(table: pl.DataFrame) -> pl.DataFrame:
    return table.select("premise", "hypothesis", "label", id="example_id")


def _questions(table: pl.DataFrame) -> pl.DataFrame:
    return (
        table.group_by("example_id", maintain_order=True)
        .agg(
            question=pl.col("premise").first(),
            choices=pl.col("hypothesis"),
            answer=pl.col("position").filter(pl.col("label") == "right").first(),
        )
        .rename({"example_id": "id"})
    )

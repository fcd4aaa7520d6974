"""Scenes and the sentences that tell part of them, for millions of rows at once."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl

from cuecard.data.demo.lexicon import ACTIVITIES, CLOTHES, COMPANIONS, PLACES, TIMES, subjects
from cuecard.stats.arrays import Bools, Ints

#: What a scene says about its subject; a sentence tells some of these aspects.
ASPECTS = ("clothes", "activity", "place", "companion", "time")
_VALUES = {
    "clothes": CLOTHES,
    "activity": ACTIVITIES,
    "place": PLACES,
    "companion": COMPANIONS,
    "time": TIMES,
}
N_VALUES: Ints = np.array([len(_VALUES[aspect]) for aspect in ASPECTS])

#: The ten ways to tell two of five aspects; row i of `TRIPLES` is what row i of `PAIRS` leaves out.
PAIRS: Ints = np.array(list(combinations(range(5), 2)))
TRIPLES: Ints = np.array([[a for a in range(5) if a not in pair] for pair in combinations(range(5), 2)])

_SUBJECT_KINDS = subjects()
_SUBJECTS = pl.Series([s for kind in _SUBJECT_KINDS for s in kind])
_KIND_SIZES: Ints = np.array([len(kind) for kind in _SUBJECT_KINDS])
_KIND_STARTS: Ints = np.concatenate([[0], np.cumsum(_KIND_SIZES)[:-1]])
_KIND_SHARES = (0.35, 0.4, 0.25)

_TENSES = 3
#: Auxiliary by tense, then number, then whether an activity follows.
_AUXILIARIES = pl.Series(
    [
        "can be seen", "is", "can be seen", "are",
        "was seen", "was", "were seen", "were",
        "will be seen", "will be", "will be seen", "will be",
    ]
)  # fmt: skip
_CLOTHES_LINKS = ("in", "wearing", "dressed in")


@dataclass(frozen=True, eq=False)
class Scenes:
    """Who the rows are about, when in grammar they happen, and a value for each of the five aspects."""

    subject: Ints
    tense: Ints
    values: Ints  # rows × aspects

    def __len__(self) -> int:
        return len(self.subject)

    def take(self, rows: Ints) -> Scenes:
        """Return the scenes of these rows."""
        return Scenes(self.subject[rows], self.tense[rows], self.values[rows])

    def with_values(self, values: Ints) -> Scenes:
        """Return the same people with other things said about them."""
        return Scenes(self.subject, self.tense, values)

    def names(self) -> pl.Series:
        """Return the subject of every row as text."""
        return _SUBJECTS.gather(self.subject)


def draw_subjects(n: int, rng: np.random.Generator) -> Ints:
    """Return n subjects: a named person, one person or several."""
    kind = rng.choice(len(_KIND_SHARES), size=n, p=_KIND_SHARES)
    return _KIND_STARTS[kind] + rng.integers(0, _KIND_SIZES[kind])


def draw_values(n: int, rng: np.random.Generator) -> Ints:
    """Return n rows of one uniformly drawn value per aspect."""
    return rng.integers(0, N_VALUES, size=(n, len(ASPECTS)))


def draw_scenes(n: int, rng: np.random.Generator) -> Scenes:
    """Return n independent scenes."""
    return Scenes(draw_subjects(n, rng), rng.integers(0, _TENSES, n), draw_values(n, rng))


def other_values(values: Ints, aspect: Ints, rng: np.random.Generator) -> Ints:
    """Return the values with one aspect of each row changed to any other value, all equally likely."""
    rows = np.arange(len(values))
    sizes = N_VALUES[aspect]
    changed = values.copy()
    changed[rows, aspect] = (values[rows, aspect] + 1 + rng.integers(0, sizes - 1)) % sizes
    return changed


def told_mask(told: Ints) -> Bools:
    """Return rows × aspects booleans from the aspect numbers each row tells."""
    mask = np.zeros((len(told), len(ASPECTS)), dtype=np.bool_)
    np.put_along_axis(mask, told, True, axis=1)
    return mask


def tell(scenes: Scenes, told: Ints, rng: np.random.Generator) -> pl.DataFrame:
    """Return one clause per row, without capital or full stop, as `text` and its `echo`.

    The word order and the link to the clothes vary. The echo is what was said after the subject once more: it
    makes a sentence longer without any new word.
    """
    n = len(scenes)
    mask = told_mask(told)
    link = rng.integers(0, len(_CLOTHES_LINKS), n)
    front = rng.integers(0, 4, n)  # 0: the time first, 1: the place first, otherwise neither
    plural = scenes.subject >= _KIND_STARTS[2]
    auxiliary = scenes.tense * 4 + plural * 2 + mask[:, 1]
    parts: dict[str, pl.Series] = {}
    for a, aspect in enumerate(ASPECTS):
        texts = pl.Series(_VALUES[aspect], dtype=pl.String).gather(scenes.values[:, a])
        if aspect == "clothes":
            texts = pl.Series(_CLOTHES_LINKS).gather(link) + " " + texts
        parts[aspect] = pl.select(pl.when(pl.lit(pl.Series(mask[:, a]))).then(texts)).to_series()
    frame = pl.DataFrame(
        {
            "subject": scenes.names(),
            "auxiliary": _AUXILIARIES.gather(auxiliary),
            "front": front,
            **parts,
        }
    )
    time_first, place_first = pl.col("front") == 0, pl.col("front") == 1
    order = [
        pl.when(time_first).then("time"),
        pl.when(place_first).then("place"),
        "subject",
        "clothes",
        "auxiliary",
        "activity",
        pl.when(~place_first).then("place"),
        "companion",
        pl.when(~time_first).then("time"),
    ]
    echo = ["clothes", "activity", "place", "companion", "time"]
    return frame.select(
        text=pl.concat_str(order, separator=" ", ignore_nulls=True),
        echo=pl.concat_str(echo, separator=" ", ignore_nulls=True),
    )


def sentence(parts: list[pl.Expr]) -> pl.Expr:
    """Return the parts joined by blanks, with a capital and a full stop; missing parts are left out."""
    joined = pl.concat_str(parts, separator=" ", ignore_nulls=True)
    return joined.str.slice(0, 1).str.to_uppercase() + joined.str.slice(1) + "."

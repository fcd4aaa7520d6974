"""Which near copies are nearest to each other: copies of a sentence that a template made, among its other sentences."""

from __future__ import annotations

import numpy as np
import polars as pl

from cuecard.data.units.copies import FoldedTexts, band_keys, distinct, in_order, long_texts
from cuecard.stats import _native
from cuecard.stats.arrays import Array, Ints

#: Units of up to this many rows are not divided: a text and its copies.
SMALL = 3
#: A text is compared with all others of its unit; of a larger unit, with those of a part of this size.
BLOCK = 2_000
#: A unit of this many groups of nearest copies is that of a template: a set of its own, rather than one observation.
TEMPLATE_GROUPS = 20


def closest_copies(texts: pl.Series, units: Ints) -> Ints:
    """Return a number for every row that the nearest of its near copies share, 0, 1, 2, … in order of first occurrence.

    `units` are those of `copies`. A template links hundreds of sentences to one unit, in which copies of one sentence
    are still closer to each other than to the rest: each text of a unit is joined with the one that shares most of its
    words. Copies with the same words stay together, and units of at most `SMALL` rows are not divided.
    """
    rows = np.flatnonzero((np.bincount(units, minlength=1) > SMALL)[units])
    if not len(rows):
        return units
    folded = FoldedTexts()
    folded.add(texts.gather(rows))
    codes = units.copy()
    codes[rows] = int(units.max()) + 1 + closest_folded(folded, units[rows])
    return in_order(codes)


def divided_templates(near: Ints, closest: Ints) -> tuple[Ints, Ints | None]:
    """Return units in which a template's sentences are not one, and what is only comparable within templates.

    `near` and `closest` are codes of `copies` and `closest_copies` for the same rows. The second array has a code for
    the rows of each template and another one for all other rows; None without templates.
    """
    # Only units of at least as many rows can have as many groups; most texts have few copies.
    rows = np.flatnonzero((np.bincount(near, minlength=1) >= TEMPLATE_GROUPS)[near])
    if not len(rows):
        return near, None
    base = int(closest.max(initial=0)) + 1
    pairs = np.unique(near[rows] * base + closest[rows]) // base
    templated = np.bincount(pairs, minlength=int(near.max(initial=0)) + 1)[near] >= TEMPLATE_GROUPS
    if not templated.any():
        return near, None
    return np.where(templated, int(near.max()) + 1 + closest, near), np.where(templated, near, -1)


def closest_folded(folded: FoldedTexts, units: Ints) -> Ints:
    """Return such numbers for texts that are given as hashes of their words."""
    whole, words, starts = folded.arrays()
    rows = np.flatnonzero((np.bincount(units, minlength=1) > SMALL)[units])
    first, code = distinct(whole[rows])
    joined = nearest_texts(words, starts, rows[first], units[rows[first]])
    codes = units.copy()
    codes[rows] = int(units.max(initial=-1)) + 1 + joined[code]
    return in_order(codes)


def nearest_texts(words: Array, starts: Ints, rows: Ints, units: Ints) -> Ints:
    """Return the place of the text that leads the group of nearest texts, for every text of `rows`.

    These are distinct texts of whole units, by rising hash.
    """
    long, bits = long_texts(words, starts, rows)
    sets, bounds = _native.word_sets(words, starts, rows[long], np.ones(len(long), dtype=np.bool_))
    unit = units[long]
    # Like texts stand near each other in a unit that is too large for one part.
    keys = band_keys(sets, bounds, bands=1, height=1)[0]
    order = np.lexsort((keys, unit))
    ordered = unit[order]
    begins = np.ones(len(order) + 1, dtype=np.bool_)
    begins[1:-1] = ordered[1:] != ordered[:-1]
    leaders = _native.nearest(sets, bounds, bits, order, np.flatnonzero(begins), BLOCK)
    joined = np.arange(len(rows), dtype=np.int64)
    joined[long] = long[leaders]
    return joined

"""Copies of texts that occur in different parts of a dataset too large for memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import polars as pl

from cuecard.data import Instances
from cuecard.data.instances import first_rows
from cuecard.data.units import FoldedTexts, UnitScope, closest_folded, column_units, question_units
from cuecard.features import CueCounts, Family, count_cues
from cuecard.features.units import SQUARES, TEXTS, unit_scopes
from cuecard.stats.arrays import Ints
from cuecard.text import Encoded, Scope


def repeated_rows(parts: Iterable[Instances], families: Sequence[Family], scope: Scope) -> Instances | None:
    """Return the train examples of all parts of which some text has copies, with the units of their rows.

    Only hashes of words are kept of all texts, and those examples; None where no text has copies.
    """
    first = next(iter(parts))
    scopes = {name for family in families for name in unit_scopes(family, first, scope)}
    units, closest = _train_units(parts, scopes)
    touched = np.zeros(len(next(iter(units.values()))), dtype=np.bool_)
    for codes in units.values():
        touched |= np.bincount(codes)[codes] > 1
    if not touched.any():
        return None
    tables, chosen, start = [], [], 0
    for part in parts:
        train = part.train
        of_part = touched[start : start + len(train)]
        # An example stays whole.
        rows = np.flatnonzero(np.isin(train.example_codes, train.example_codes[of_part]))
        tables.append(train.table[rows])
        chosen.append(start + rows)
        start += len(train)
    kept = np.concatenate(chosen)
    whole = replace(first, table=pl.concat(tables))
    for kind, each in (("units", units), ("closest units", closest)):
        for name, codes in each.items():
            of_rows = codes[kept]
            of_rows.flags.writeable = False
            whole.derived((kind, name), partial(np.asarray, of_rows))
    return whole


def _train_units(
    parts: Iterable[Instances], scopes: set[UnitScope]
) -> tuple[dict[UnitScope, Ints], dict[UnitScope, Ints]]:
    """Return the units of the train rows of all parts, as one dataset would have them, and the closest of texts."""
    train_texts = {"hypothesis": FoldedTexts(), "premise": FoldedTexts()}
    other_texts = {"hypothesis": FoldedTexts(), "premise": FoldedTexts()}
    wanted = [name for name in train_texts if name in scopes or name == "hypothesis"]
    sizes: dict[bool, list[Ints]] = {True: [], False: []}
    columns: list[pl.DataFrame] = []
    column: str | None = None
    n_train = 0
    for part in parts:
        column = part.cluster
        if column is not None:
            columns.append(part.train.table.select(column))
            continue
        n = len(part.train)  # train rows stand before those of other splits
        for name in wanted:
            train_texts[name].add(part.table[name][:n])
            other_texts[name].add(part.table[name][n:])
        for in_train in (True, False):
            codes = part.example_codes[:n] if in_train else part.example_codes[n:]
            sizes[in_train].append(np.diff(first_rows(codes)))
        n_train += n
    if column is not None:
        return dict.fromkeys(scopes, column_units(pl.concat(columns), column)), {}
    copies: dict[str, Ints] = {}
    for name in wanted:
        train_texts[name].extend(other_texts[name])
        copies[name] = train_texts[name].copies()
    if "choices" in scopes:
        rows = np.concatenate(sizes[True] + sizes[False])
        examples = np.repeat(np.arange(len(rows)), rows)
        copies["choices"] = question_units(examples, copies["hypothesis"], train_texts["hypothesis"])
    closest: dict[UnitScope, Ints] = {}
    if "choices" not in scopes:
        closest = {scope: closest_folded(train_texts[scope], copies[scope])[:n_train] for scope in scopes}
    return {scope: copies[scope][:n_train] for scope in scopes}, closest


def count_copies_once(counts: CueCounts, repeated: Encoded, families: Sequence[Family]) -> CueCounts:
    """Return the counts of all parts with texts and squares as if the parts were one dataset.

    `counts` took every instance as a text of its own; copies make a difference to features of the repeated rows.
    """
    keys = ["family", "feature"]
    once = count_cues(repeated, families, whole=counts)
    change = once.features.select(*keys, TEXTS, SQUARES)
    if repeated.instances.grouped:  # counts of examples, of which those with copies make a difference
        apart = count_cues(repeated, families, copies=False).features.select(*keys, TEXTS, SQUARES)
        change = change.join(apart, on=keys, suffix="_apart").join(
            counts.features.select(*keys, TEXTS, SQUARES), on=keys, suffix="_all"
        )
        change = change.with_columns(
            pl.col(name) + pl.col(f"{name}_all") - pl.col(f"{name}_apart") for name in (TEXTS, SQUARES)
        ).select(*keys, TEXTS, SQUARES)
    joined = counts.features.join(change, on=keys, how="left", suffix="_once", maintain_order="left")
    features = joined.with_columns(
        pl.coalesce(f"{name}_once", name).alias(name) for name in (TEXTS, SQUARES)
    ).select(counts.features.columns)
    return replace(
        counts, features=features, text_priors=once.text_priors, copy_correlation=once.copy_correlation
    )

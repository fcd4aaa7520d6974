"""Copies of texts that occur in different parts of a dataset too large for memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import polars as pl

from cuecard.data import Instances
from cuecard.data.instances import first_rows
from cuecard.data.units import FoldedTexts, UnitScope, column_units, question_units
from cuecard.features import CueCounts, Family, count_cues
from cuecard.features.units import SQUARES, TEXTS, most_correlated, text_prior, unit_scopes
from cuecard.stats.arrays import Ints
from cuecard.stats.units import has_repeats
from cuecard.text import Encoded, Scope


def repeated_rows(parts: Iterable[Instances], families: Sequence[Family], scope: Scope) -> Instances | None:
    """Return the train examples of all parts of which some text has copies, with the units of their rows.

    Only hashes of words are kept of all texts, and those examples; None where no text has copies.
    """
    first = next(iter(parts))
    scopes = {name for family in families for name in unit_scopes(family, first, scope)}
    units = _train_units(parts, scopes)
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
    for name, codes in units.items():
        of_rows = codes[kept]
        of_rows.flags.writeable = False
        whole.derived(("units", name), partial(np.asarray, of_rows))
    return whole


def _train_units(parts: Iterable[Instances], scopes: set[UnitScope]) -> dict[UnitScope, Ints]:
    """Return the units of the train rows of all parts, as one dataset would have them."""
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
        return dict.fromkeys(scopes, column_units(pl.concat(columns), column))
    copies: dict[str, Ints] = {}
    for name in wanted:
        train_texts[name].extend(other_texts[name])
        copies[name] = train_texts[name].copies()
    if "choices" in scopes:
        rows = np.concatenate(sizes[True] + sizes[False])
        examples = np.repeat(np.arange(len(rows)), rows)
        copies["choices"] = question_units(examples, copies["hypothesis"], train_texts["hypothesis"])
    return {scope: copies[scope][:n_train] for scope in scopes}


def count_copies_once(counts: CueCounts, repeated: Encoded, families: Sequence[Family]) -> CueCounts:
    """Return the counts of all parts with texts and squares as if the parts were one dataset.

    `counts` took every instance as a text of its own; the difference that copies make is that of the repeated rows.
    """
    keys = ["family", "feature"]
    apart, once = (count_cues(repeated, families, copies=copies).features for copies in (False, True))
    change = once.select(*keys, TEXTS, SQUARES).join(
        apart.select(*keys, TEXTS, SQUARES), on=keys, suffix="_apart"
    )
    features = (
        counts.features.join(change, on=keys, how="left", suffix="_once", maintain_order="left")
        .with_columns(
            (pl.col(name) + (pl.col(f"{name}_once") - pl.col(f"{name}_apart")).fill_null(0)).alias(name)
            for name in (TEXTS, SQUARES)
        )
        .select(counts.features.columns)
    )
    instances = repeated.instances
    if instances.grouped:
        return replace(counts, features=features)
    scopes = dict.fromkeys(
        scope for family in families for scope in unit_scopes(family, instances, repeated.scope)
    )
    every = [instances.units(scope) for scope in scopes]
    priors = [
        text_prior(codes, instances.label_codes, counts.totals[0].astype(np.int64))
        for codes in every
        if has_repeats(codes)
    ]
    if not priors:
        return replace(counts, features=features)
    correlation = most_correlated(
        [codes for codes in every if has_repeats(codes)],
        instances.label_codes,
        counts.totals[0].astype(np.int64),
    )
    return replace(counts, features=features, text_priors=np.stack(priors), copy_correlation=correlation)

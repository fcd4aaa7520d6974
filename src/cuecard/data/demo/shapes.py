"""What real files have and generated ones lack: copies, near copies, telling weights, mixed numbers of choices."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data.instances import Instances
from cuecard.errors import UsageError

WeightKind = Literal["inverse_frequency", "pareto"]


def repeated(
    data: Instances, times: int | npt.NDArray[np.int64], *, near: bool = False, seed: int = 0
) -> Instances:
    """Return the data with every example as often as `times` says, copies right after the first.

    Copies have the label of the first. With `near`, one word of each text of a copy is replaced by a word of the data.
    """
    rng = np.random.default_rng(seed)
    often = np.broadcast_to(np.asarray(times, dtype=np.int64), (data.n_examples,))
    starts = np.searchsorted(data.example_codes, np.arange(data.n_examples))
    sizes = np.bincount(data.example_codes)
    examples = np.repeat(np.arange(data.n_examples), often)
    rows = np.concatenate([np.arange(starts[e], starts[e] + sizes[e]) for e in examples])
    copy = np.arange(len(examples)) - np.repeat(np.cumsum(often) - often, often)
    of_row = np.repeat(copy, sizes[examples])
    table = data.table[rows]
    ids = pl.select(
        pl.concat_str(table["example_id"].cast(pl.String), pl.lit("#"), pl.Series(of_row + 1))
    ).to_series()
    table = table.with_columns(example_id=ids)
    if near:
        vocabulary = (
            data.table["hypothesis"].str.split(" ").explode().unique(maintain_order=True).drop_nulls()
        )
        alone = np.concatenate([[True], ids.to_numpy()[1:] != ids.to_numpy()[:-1]])
        for name in ("premise", "hypothesis"):
            texts = table[name].to_list()
            for i in np.flatnonzero(of_row):
                if name == "premise" and not alone[i]:  # the choices of a question have one premise
                    texts[i] = texts[i - 1]
                elif texts[i]:
                    words = texts[i].split(" ")
                    words[rng.integers(len(words))] = vocabulary[int(rng.integers(len(vocabulary)))]
                    texts[i] = " ".join(words)
            table = table.with_columns(pl.Series(name, texts))
    return replace(data, table=table)


def random_labels(data: Instances, *, seed: int = 0) -> Instances:
    """Return the data with labels that say nothing: shuffled over examples, or a random choice of each made right."""
    rng = np.random.default_rng(seed)
    codes = data.label_codes.copy()
    if data.grouped:
        # Sorting by example plus a random fraction mixes the choices of each.
        order = np.argsort(data.example_codes + rng.random(len(codes)), kind="stable")
        codes = codes[order]
    else:
        for split in data.splits:
            rows = np.flatnonzero((data.table["split"].cast(pl.String) == split).to_numpy())
            codes[rows] = codes[rng.permutation(rows)]
    labels = pl.Series(
        "label", np.array(data.labels, dtype=object)[codes].tolist(), dtype=pl.Enum(data.labels)
    )
    return replace(data, table=data.table.with_columns(labels))


def with_weights(data: Instances, kind: WeightKind, *, column: str = "weight", seed: int = 0) -> Instances:
    """Return the data with a column of weights: inverse class frequencies, or heavy-tailed ones of any label."""
    if kind == "inverse_frequency":
        weights = len(data) / np.bincount(data.label_codes, minlength=len(data.labels))[data.label_codes]
    elif kind == "pareto":
        drawn = np.random.default_rng(seed).pareto(1.5, data.n_examples) + 1
        weights = drawn[data.example_codes]
    else:
        raise UsageError(f"kind must be 'inverse_frequency' or 'pareto', not {kind!r}.")
    return data.with_columns(**{column: pl.Series(weights / weights.mean())})


def mixed_choices(data: Instances, fewest: int = 2, *, seed: int = 0) -> Instances:
    """Return multiple-choice data whose questions have from `fewest` to all of their choices, the right one kept."""
    if not data.grouped:
        raise UsageError("mixed_choices needs data with several choices per example.")
    rng = np.random.default_rng(seed)
    sizes = np.bincount(data.example_codes)
    wanted = rng.integers(fewest, sizes + 1)[data.example_codes]
    # The right choice comes first in a random order of each example's choices.
    chance = np.where(data.label_codes == 0, -1.0, rng.random(len(data)))
    order = np.lexsort((chance, data.example_codes))
    place = np.empty(len(data), dtype=np.int64)
    place[order] = np.arange(len(data)) - np.searchsorted(data.example_codes, data.example_codes[order])
    table = data.table.filter(pl.Series(place < wanted))
    position = pl.int_range(pl.len()).over("split", "example_id").cast(table.schema["position"])
    return replace(data, table=table.with_columns(position=position))

"""What a card says about the dataset itself, its examples and the versions its numbers depend on."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from platform import python_version

import numpy as np
import polars as pl

from cuecard._version import __version__
from cuecard.card.card import DatasetInfo, SplitInfo
from cuecard.data import Instances
from cuecard.errors import InputError
from cuecard.run.finishing.checking_results import EXAMPLE_KEYS
from cuecard.wording import listed

REPORTED_PACKAGES = ("numpy", "scipy", "polars", "scikit-learn", "numba")


def check_labels(data: Instances) -> None:
    """Raise if there is nothing to give away: no train rows, or a single label."""
    present = data.train.table["label"].drop_nulls().unique().cast(pl.String).to_list()
    if len(present) < 2:
        labels = f"only the label {present[0]!r}" if present else "no labelled rows"
        raise InputError(
            f"{data.name}: the train split has {labels}, and an audit needs at least two labels; "
            "choose another label column with --columns label=NAME."
        )


def _unseen_labels(data: Instances) -> list[str]:
    """Return a sentence for every label that only examples outside of the training set have."""
    if data.grouped:
        return []
    seen = set(data.train.table["label"].unique().cast(pl.String).drop_nulls())
    sentences = []
    for split in (name for name in data.splits if name != "train"):
        counts = data.split(split).table["label"].drop_nulls().value_counts(sort=True)
        counts = counts.cast({"label": pl.String})
        sentences += [
            f"{n:,} {split} examples have the label {label!r}, which no training example has: there are no cues for "
            "it, and no model can predict it."
            for label, n in counts.iter_rows()
            if label not in seen
        ]
        if counts.height > 1 and not seen & set(counts["label"]):
            names = ",".join(f"{label}=NAME" for label in counts["label"].sort())
            sentences.append(
                f"No label of the {split} set occurs in the training set, which has {listed(sorted(seen))}: if "
                f"they mean the same, name them alike with --labels {names}."
            )
    return sentences


def describe(data: Instances, notes: Sequence[str] = ()) -> DatasetInfo:
    """Return what the card says about the dataset itself."""
    splits = {}
    for name in data.splits:
        part = data.split(name)
        counts = dict(part.table["label"].value_counts().cast({"label": pl.String}).iter_rows())
        splits[name] = SplitInfo(
            examples=part.n_examples,
            instances=len(part),
            labels={label: counts.get(label, 0) for label in data.labels},
        )
    return DatasetInfo(
        name=data.name,
        task=data.task,
        labels=list(data.labels),
        splits=splits,
        fingerprint=data.fingerprint,
        files=list(data.report.files),
        columns=dict(data.report.recognised),
        dropped=dict(data.report.dropped),
        notes=[*data.report.notes, *_unseen_labels(data), *notes],
    )


def examples_table(data: Instances) -> pl.DataFrame:
    """Return one row per example: its id, split, answer and content.

    `content` is a hash of its texts and its answer, by which versions of a dataset are compared example by example.
    """
    texts = pl.struct("premise", "hypothesis", pl.col("label").cast(pl.String), "position")
    table = data.table.select(
        *EXAMPLE_KEYS, pl.col("label").cast(pl.String), "position", content=texts.hash(seed=0)
    ).with_columns(pl.col("split").cast(pl.String))
    if data.grouped:
        whole = pl.Series(np.bitwise_xor.reduceat(table["content"].to_numpy(), data.first_rows[:-1]))
        right = table.filter(pl.col("label") == data.labels[0]).unique(EXAMPLE_KEYS, keep="first")
        examples = table[data.first_rows[:-1]].select(EXAMPLE_KEYS).with_columns(content=whole)
        answers = right.select(*EXAMPLE_KEYS, answer="position")
        table = examples.join(answers, on=EXAMPLE_KEYS, how="left", maintain_order="left")
        table = table.select(*EXAMPLE_KEYS, "answer", "content")
    else:
        table = table.drop("position")
    return table


def with_examples(table: pl.DataFrame, part: pl.DataFrame) -> pl.DataFrame:
    """Return the table of examples with the columns that a section has about them."""
    return table.join(part, on=EXAMPLE_KEYS, how="left", maintain_order="left")


def versions() -> dict[str, str]:
    """Return the versions that a card's numbers may depend on."""
    packages = {"cuecard": __version__, "python": python_version()}
    for package in REPORTED_PACKAGES:
        try:
            packages[package] = version(package)
        except PackageNotFoundError:
            continue
    return packages

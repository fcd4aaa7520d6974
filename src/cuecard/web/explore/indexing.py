"""The index of a card's texts: any example by its number, and the examples of every strong cue."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.audits import Cues
from cuecard.card.card import Card
from cuecard.data import Instances, load, parse_columns
from cuecard.errors import CueCardError
from cuecard.web.commands import Reading, inside, reading_of_card
from cuecard.web.explore.places import CUE_ROWS, EXAMPLES, table_folder
from cuecard.web.explore.stored import write_table
from cuecard.web.explore.texts import spread, write_texts

#: Cues whose examples are indexed, the strongest first.
MOST_CUES = 3_000


class TextIndexError(Exception):
    """The texts of a card cannot be shown; the message says why."""


def write_index(card: Card, card_folder: Path, folder: Path, root: Path) -> dict[str, Any]:
    """Write the texts, the columns to filter by and the examples of every cue, and return what is there."""
    data = read_again(card, card_folder, root)
    examples = card.tables["examples"]
    texts = example_texts(data)
    if texts.height != examples.height:
        raise TextIndexError("the card is about another part of this dataset")
    write_texts(texts, folder)
    light = examples if "label" in examples.columns else examples.with_columns(texts["label"])
    write_table(light, table_folder(folder, EXAMPLES))
    cues = cue_rows(card, data)
    if cues is not None:
        write_cue_rows(cues, folder)
    return {"texts": True, "reason": "", "columns": light.columns, "cues": cues is not None}


def read_again(card: Card, card_folder: Path, root: Path) -> Instances:
    """Return the dataset of a card from its files, if they are below the root and have not changed."""
    reading = reading_of_card(card.provenance.command, card_folder)
    if reading is None:
        raise TextIndexError("the card does not say how its data was read")
    for path in reading.files:
        place = inside(root, path)
        if place is None or not os.path.exists(place):
            raise TextIndexError(f"{path} is not below the folder that the app was started with")
    try:
        data = load_reading(reading, root)
    except CueCardError as error:
        raise TextIndexError(f"the data cannot be read again: {error}") from None
    if data.fingerprint != card.dataset.fingerprint:
        raise TextIndexError("the data files have changed since the audit")
    return data


def load_reading(reading: Reading, root: Path) -> Instances:
    """Return the instances that a command reads."""
    options: dict[str, Any] = dict(reading.options)
    label_files = [str(inside(root, value)) for name, value in reading.options if name == "--label-file"]
    typed: dict[str, Any] = {
        "test": str(inside(root, options["--test"])) if "--test" in options else None,
        "columns": parse_columns(options["--columns"]) if "--columns" in options else None,
        "label_file": label_files or None,
        "keep_unlabelled": "--keep-unlabelled" in reading.flags or None,
        "holdout": float(options["--holdout"]) if "--holdout" in options else None,
        "max_skipped": float(options["--max-skipped"]) if "--max-skipped" in options else None,
        **{name: options.get(f"--{name}") for name in ("task", "labels", "header", "cluster")},
        "on_error": options.get("--on-error"),
    }
    return load(
        str(inside(root, reading.train)),
        **{name: value for name, value in typed.items() if value is not None},
    )


def example_texts(data: Instances) -> pl.DataFrame:
    """Return one row per example: id, split, gold label, premise, and the text or the choices."""
    table = data.table.select(
        "example_id",
        pl.col("split").cast(pl.String),
        pl.col("label").cast(pl.String),
        "premise",
        "hypothesis",
    )
    if not data.grouped:
        return table.with_columns(texts=pl.concat_list("hypothesis")).drop("hypothesis")
    right = (pl.col("label") == data.labels[0]).arg_max()
    return table.group_by("example_id", "split", maintain_order=True).agg(
        (right + 1).cast(pl.String).alias("label"),
        pl.col("premise").first(),
        pl.col("hypothesis").alias("texts"),
    )


def cue_rows(card: Card, data: Instances) -> pl.DataFrame | None:
    """Return which examples have each of the strongest cues: family, feature, total, rows (numbers of examples)."""
    section = card.sections.get("cues")
    if section is None or section.status != "done" or "cues" not in card.tables:
        return None
    strongest = (
        card.tables["cues"]
        .filter(pl.col("significant"))
        .sort(pl.col("z").abs(), descending=True, maintain_order=True)
        .head(MOST_CUES)
    )
    settings = {k: v for k, v in section.parameters.items() if v is not None} | {
        name: value for name, value in section.settled.items() if name in ("tokens", "language")
    }
    settings["features"] = tuple(settings["features"]) if "features" in settings else None
    settings["regex"] = tuple((str(name), str(pattern)) for name, pattern in settings.get("regex", ()))
    encoded, families = Cues(**settings).prepared(data)
    example = _example_numbers(encoded.instances)
    rows = []
    for family in families:
        names = strongest.filter(pl.col("family") == family.name)["feature"].to_list()
        if not names:
            continue
        try:
            presence = family.presence(encoded)
        except CueCardError:
            continue
        numbered = pl.DataFrame({"feature": presence.names}).with_row_index("number")
        wanted = numbered.filter(pl.col("feature").is_in(names))
        part = presence.columns(wanted["number"].cast(pl.Int64).to_numpy())
        by_feature = part.matrix().tocsc()
        for i, name in enumerate(part.names.to_list()):
            where = np.unique(example[by_feature.indices[by_feature.indptr[i] : by_feature.indptr[i + 1]]])
            rows.append((family.name, name, len(where), spread(where).tolist()))
    schema = {"family": pl.String, "feature": pl.String, "total": pl.Int64, "rows": pl.List(pl.UInt32)}
    return pl.DataFrame(rows, schema=schema, orient="row")  # type: ignore[arg-type]


def write_cue_rows(cues: pl.DataFrame, folder: Path) -> None:
    """Write which examples have each cue, sorted, so that a reader skips the parts without the one it needs."""
    cues.sort("family", "feature").write_parquet(folder / CUE_ROWS, row_group_size=64, statistics=True)


def _example_numbers(data: Instances) -> npt.NDArray[np.int64]:
    """Return the number of every instance's example, in the order of the dataset."""
    keys = data.table.select("example_id", pl.col("split").cast(pl.String))
    changed = keys.select(
        (pl.struct("example_id", "split") != pl.struct("example_id", "split").shift()).fill_null(True)
    )
    if not data.grouped:
        return np.arange(keys.height, dtype=np.int64)
    return np.cumsum(changed.to_series().to_numpy()).astype(np.int64) - 1

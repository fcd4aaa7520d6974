"""Concepts of real datasets, and of the same with shuffled labels: what they add to words and to clusters."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from cuecard import audit
from cuecard.audits import Concepts
from cuecard.data import Instances, load

#: Training file of every set, and how many of its texts are read by an encoder.
SETS = {
    "snli": ("train_partial", 6_000),
    "sst2": ("train", 6_000),
    "ocnli": ("train_10k", 0),
    "reclor": ("train", 20_000),
    "hh_rlhf_harmless_base": ("test", 5_000),
}
CONTROLS = 3


def with_shuffled_labels(data: Instances, seed: int) -> Instances:
    """Return the data with labels shuffled between distinct texts; of choices, another right one is drawn."""
    rng = np.random.default_rng((36_500, seed))
    table = data.table
    if data.grouped:
        order = pl.Series("order", rng.random(len(table)))
        first_one = pl.col("order").rank("ordinal").over("example_id") == 1
        drawn = pl.when(first_one).then(pl.lit(data.labels[0])).otherwise(pl.lit(data.labels[1]))
        label = table.with_columns(order).select(drawn.cast(table.schema["label"])).to_series()
        return replace(data, table=table.with_columns(label=label))
    texts = data.units("hypothesis")
    _, first = np.unique(texts, return_index=True)
    labels = table["label"].gather(first[rng.permutation(len(first))])
    codes = np.unique(texts, return_inverse=True)[1]
    return replace(data, table=table.with_columns(label=labels.gather(codes)))


def cards(
    name: str, embed: str, folder: Path
) -> Iterator[tuple[str, dict[str, object], pl.DataFrame, pl.DataFrame]]:
    """Yield the summary, concepts and examples of a dataset as it is, and with shuffled labels."""
    file, most = SETS[name]
    data = load(folder / name / f"{file}.parquet")
    options = {} if embed == "tfidf" else {"most_texts": most}
    for control in range(CONTROLS + 1):
        read = data if not control else with_shuffled_labels(data, control)
        card = audit(read, audits=[Concepts(embed=embed, **options)])  # type: ignore[arg-type]
        kind = "as it is" if not control else f"shuffled {control}"
        yield kind, card["concepts"].summary, card.tables["concept_cues"], card.tables["concept_examples"]


def main(names: str, embed: str, folder: Path) -> None:
    """Print what is found in some sets."""
    for name in names.split(","):
        for kind, summary, concepts, examples in cards(name, embed, folder):
            bits = {key: " ".join(f"{value:.3f}" for value in one) for key, one in summary["bits"].items()}  # type: ignore[attr-defined]
            found, tested = summary["texts_found_on"], summary["texts_tested_on"]
            print(
                f"{name}, {embed}, {kind}: {found:,} / {tested:,} texts, {summary['tested']} tested, "
                f"{summary['significant']} significant, {summary['beyond_words']} add to words; bits {bits}",
                flush=True,
            )
            for row in concepts.filter("significant").iter_rows(named=True):
                adds = "adds" if row["beyond_words"] else ""
                print(
                    f"    {row['concept']} [{row['words']}] {row['direction']} {row['label']}: {row['share']:.1%} "
                    f"(chance {row['chance']:.1%}) of {row['train_count']:,} {adds}"
                )
                for one in examples.filter(pl.col("concept") == row["concept"], pl.col("kind") == "clear")[
                    "text"
                ]:
                    print(f"        {one[:110]}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))

"""A folder with a card of millions of generated examples, prepared for its pages, and a small dataset to audit."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import numpy as np
import polars as pl

from cuecard.card import save_card
from cuecard.data import load
from cuecard.run import audit
from cuecard.web.preparing import prepare, write_cue_rows
from cuecard.web.tables import EXAMPLES, stored_table, write_rows, write_texts

WORDS = 4_000
#: Features of the large card: as many as words and bigrams of millions of texts have.
FEATURES = 400_000
LABELS = ("contradiction", "entailment", "neutral")


def small_dataset(folder: Path, n: int, seed: int) -> Path:
    """Write pairs in which some words go with a label, and return the file."""
    draw = random.Random(seed)
    words = _words()
    rows = []
    for _ in range(n):
        label = draw.choice(LABELS)
        cue = words[LABELS.index(label)] if draw.random() < 0.6 else draw.choice(words)
        rows.append((" ".join(draw.sample(words, 9)), " ".join([cue, *draw.sample(words, 6)]), label))
    file = folder / f"pairs{seed}.csv"
    pl.DataFrame(rows, schema=["premise", "hypothesis", "label"], orient="row").write_csv(file)
    return file


def generated_root(root: Path, examples: int) -> Path:
    """Return a folder with the card, made once: another start with the same number of examples uses it again."""
    mark = root / f"generated-{examples}"
    if mark.exists():
        return root
    shutil.rmtree(root, ignore_errors=True)
    (root / "data").mkdir(parents=True)
    for seed in (0, 1):
        small_dataset(root / "data", 60_000, seed)
    source = small_dataset(root / "data", 4_000, 2)
    data = load(source, holdout=0.2)
    command = "cuecard audit data/pairs2.csv --holdout 0.2 --out cards/large"
    card = audit(data, only=["overview", "cues"], command=command)
    save_card(card, root / "cards" / "large")
    prepared = prepare(root / "cards" / "large", root)
    # The pages are those of a small audit; what is browsed is as large as said.
    _write_examples(prepared, examples)
    _write_cues(root / "cards" / "large", prepared, card.tables["cues"], examples)
    mark.touch()
    return root


def _words() -> list[str]:
    draw = random.Random(7)
    return [
        "".join(draw.choice("bdfgklmnprst") + draw.choice("aeiou") for _ in range(3)) for _ in range(WORDS)
    ]


def _write_examples(prepared: Path, n: int) -> None:
    rng = np.random.default_rng(0)
    words = np.array(_words())

    def sentences(length: int, distinct: int) -> pl.Series:
        pool = [" ".join(row) for row in words[rng.integers(0, WORDS, (distinct, length))]]
        return pl.Series(pool).gather(pl.Series(rng.integers(0, distinct, n)))

    labels = pl.Series(LABELS).gather(pl.Series(rng.integers(0, 3, n)))
    ids = pl.select(pl.int_range(n).cast(pl.String)).to_series()
    split = pl.Series(["train", "dev", "test"]).gather(pl.Series(rng.choice(3, n, p=[0.9, 0.05, 0.05])))
    examples = pl.DataFrame(
        {
            "example_id": ids, "split": split, "label": labels,
            "leak_score": rng.random(n).astype(np.float32), "cluster": rng.integers(0, 100, n),
            "solved_by_hypothesis": rng.random(n) < 0.5,
        }
    )  # fmt: skip
    examples.write_parquet(prepared / EXAMPLES)
    write_rows(examples, stored_table(prepared, "examples"))
    del examples
    texts = pl.DataFrame(
        {
            "example_id": ids, "split": split, "label": labels, "premise": sentences(12, 500_000),
            "texts": pl.select(pl.concat_list(sentences(7, 1_000_000))).to_series(),
        }
    )  # fmt: skip
    write_texts(texts, prepared)


def _write_cues(card: Path, prepared: Path, cues: pl.DataFrame, examples: int) -> None:
    rng = np.random.default_rng(1)
    few = cues.height
    many = cues[rng.integers(0, few, FEATURES)].with_columns(
        feature=pl.col("feature") + "-" + pl.int_range(FEATURES).cast(pl.String),
        z=pl.Series(rng.normal(0, 5, FEATURES)),
    )
    both = pl.concat([cues, many])
    both.write_parquet(card / "tables" / "cues.parquet")
    write_rows(both, stored_table(prepared, "cues"))
    strongest = cues.filter("significant")["feature"].to_list()
    chosen = [
        ("word", feature, 5_000, np.sort(rng.choice(examples, min(5_000, examples), replace=False)).tolist())
        for feature in [*strongest, *(f"word-{i}" for i in range(2_000))]
    ]
    schema = {"family": pl.String, "feature": pl.String, "total": pl.Int64, "rows": pl.List(pl.UInt32)}
    write_cue_rows(pl.DataFrame(chosen, schema=schema, orient="row"), prepared)  # type: ignore[arg-type]

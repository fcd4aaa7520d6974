"""The texts of a card: any example by its number, and the examples that share a sentence with it."""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from cuecard.errors import UsageError

TEXTS = "texts.arrow"
_SENTENCES, _STARTS, _EXAMPLES = "sentences.npy", "starts.npy", "examples.npy"
#: Rows of a batch of texts: one is the least that is read.
BATCH = 8_192


def write_texts(texts: pl.DataFrame, folder: Path) -> None:
    """Write one row per example (id, split, label, premise, texts), and which examples hold the same sentence."""
    texts.write_ipc(
        folder / TEXTS,
        compression="uncompressed",
        record_batch_size=BATCH,
        compat_level=pl.CompatLevel.oldest(),
    )
    numbered = texts.select("premise", "texts").with_row_index("example")
    premises = numbered.select("example", text="premise")
    others = numbered.select("example", text="texts").explode("text")
    long = pl.concat([premises, others]).filter(pl.col("text").str.len_bytes() > 0)
    long = long.select("example", sentence=pl.col("text").rank("dense").cast(pl.UInt32) - 1)
    # By example: its sentences. By sentence: its examples.
    by_example = long.sort("example", maintain_order=True)
    np.save(folder / _SENTENCES, by_example.select("example", "sentence").to_numpy().astype(np.uint32))
    by_sentence = long.unique().sort("sentence", "example")
    counts = by_sentence["sentence"].value_counts().sort("sentence")["count"].to_numpy()
    np.save(folder / _STARTS, np.concatenate([[0], np.cumsum(counts)]).astype(np.int64))
    np.save(folder / _EXAMPLES, by_sentence["example"].to_numpy())


class Texts:
    """The texts of a card by the number of the example, read from files that stay on disk."""

    def __init__(self, file: Path) -> None:
        self._file = pa.memory_map(str(file), "r")
        self._reader = pa.ipc.open_file(self._file)
        ends, total = [], 0
        for i in range(self._reader.num_record_batches):
            total += self._reader.get_batch(i).num_rows
            ends.append(total)
        self._ends, self.total = ends, total
        self._sentences, self._starts, self._examples = (
            np.load(file.parent / name, mmap_mode="r") for name in (_SENTENCES, _STARTS, _EXAMPLES)
        )

    def sharing(self, number: int) -> list[int]:
        """Return the examples that hold one of the sentences of an example: its neighbours in the pair graph."""
        self.at(number)
        first, last = np.searchsorted(self._sentences[:, 0], [number, number + 1])
        rows = {number}
        for sentence in self._sentences[first:last, 1].tolist():
            rows |= set(self._examples[self._starts[sentence] : self._starts[sentence + 1]].tolist())
        return sorted(rows)

    def at(self, number: int) -> dict[str, Any]:
        """Return one example: id, split, label, premise, texts."""
        if not 0 <= number < self.total:
            raise UsageError(f"There is no example in row {number}; the last is in row {self.total - 1}.")
        batch = bisect_right(self._ends, number)
        start = self._ends[batch - 1] if batch else 0
        row: dict[str, Any] = self._reader.get_batch(batch).slice(number - start, 1).to_pylist()[0]
        return row


@lru_cache(maxsize=32)
def texts_of(file: Path) -> Texts:
    """Return the texts in a file, opened once."""
    return Texts(file)

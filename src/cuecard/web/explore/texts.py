"""The texts of a card: any example by its number, and the examples that share a sentence with it."""

from __future__ import annotations

from bisect import bisect_left
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.errors import UsageError
from cuecard.web.explore.stored import BATCH, Parts, write_arrow

TEXTS = "texts.arrow"
_SENTENCES, _STARTS, _EXAMPLES = "sentences.npy", "starts.npy", "examples.npy"
_TOTAL = "examples.txt"
#: Examples with a cue or a text that pages list, filter and sort; a text can be in millions.
MOST_EXAMPLES = 5_000


def spread(rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return at most `MOST_EXAMPLES` of the rows, evenly over the dataset."""
    if len(rows) <= MOST_EXAMPLES:
        return rows
    return rows[np.linspace(0, len(rows) - 1, MOST_EXAMPLES).astype(np.int64)]


def write_texts(texts: pl.DataFrame, folder: Path) -> None:
    """Write one row per example (id, split, label, premise, texts), and which examples hold the same sentence."""
    write_arrow(texts, folder / TEXTS, BATCH)
    (folder / _TOTAL).write_text(str(texts.height))
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
        self._rows = Parts(file, BATCH)
        self._sentences, self._starts, self._examples = (
            np.load(file.parent / name, mmap_mode="r") for name in (_SENTENCES, _STARTS, _EXAMPLES)
        )
        self.total = int((file.parent / _TOTAL).read_text())

    def sharing(self, number: int) -> tuple[list[int], int]:
        """Return examples that hold one of the sentences of an example, and how many do: a text can be in millions.

        These are its neighbours in the pair graph, itself among them; at most as many as a page can filter.
        """
        self.at(number)
        owners = self._sentences[:, 0]  # bisecting reads a few of them, searchsorted would copy the column
        first, last = bisect_left(owners, number), bisect_left(owners, number + 1)
        holds = np.zeros(self.total, dtype=np.bool_)
        for sentence in self._sentences[first:last, 1].tolist():
            holds[self._examples[self._starts[sentence] : self._starts[sentence + 1]]] = True
        holds[number] = True
        rows = np.flatnonzero(holds)
        listed = spread(rows)
        if listed.size < rows.size:
            listed = np.union1d(listed[listed != number][: len(listed) - 1], [number])
        return listed.tolist(), int(rows.size)

    def at(self, number: int) -> dict[str, Any]:
        """Return one example: id, split, label, premise, texts."""
        if not 0 <= number < self.total:
            raise UsageError(f"There is no example in row {number}; the last is in row {self.total - 1}.")
        return self._rows.at(number)


@lru_cache(maxsize=32)
def texts_of(file: Path) -> Texts:
    """Return the texts in a file, opened once."""
    return Texts(file)

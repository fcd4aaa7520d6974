"""The prepared files of a card: where they are, and its texts by the number of the example."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.errors import UsageError
from cuecard.web.state import OWN_FOLDER
from cuecard.web.tables import stored_rows, write_rows

PAGE, CHARTS = "page.json", "charts"
CUE_ROWS, EXAMPLES = "cue_rows.parquet", "examples.parquet"
#: Changes when pages need other files than before.
LAYOUT = 7
TEXTS, _TOTAL, _SENTENCES = "texts.arrow", "texts.txt", "sentences.parquet"
#: Examples with a cue or a text that pages list, filter and sort; a text can be in millions.
MOST_EXAMPLES = 5_000


def prepared_folder(root: Path, key: str) -> Path:
    """Return where the pages of a card are kept, by the hash of its content."""
    return root / OWN_FOLDER / "prepared" / f"{LAYOUT}-{key}"


def stored_table(folder: Path, name: str) -> Path:
    """Return where the rows of a large table are stored by position, below the folder of a card's pages."""
    return folder / "tables" / f"{name}.arrow"


def spread(rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return at most `MOST_EXAMPLES` of the rows, evenly over the dataset."""
    if len(rows) <= MOST_EXAMPLES:
        return rows
    return rows[np.linspace(0, len(rows) - 1, MOST_EXAMPLES).astype(np.int64)]


def write_texts(texts: pl.DataFrame, folder: Path) -> None:
    """Write one row per example (id, split, label, premise, texts), and which examples hold the same sentence."""
    write_rows(texts, folder / TEXTS)
    (folder / _TOTAL).write_text(str(texts.height))
    numbered = texts.select("premise", "texts").with_row_index("example")
    premises = numbered.select("example", text="premise")
    others = numbered.select("example", text="texts").explode("text")
    long = pl.concat([premises, others]).filter(pl.col("text").str.len_bytes() > 0)
    sentences = long.select("example", sentence=pl.col("text").rank("dense").cast(pl.UInt32)).unique()
    sentences.sort("sentence", "example").write_parquet(folder / _SENTENCES)


@dataclass(frozen=True)
class ExampleTexts:
    """The texts of an example: its premise, and its hypothesis or all of its choices."""

    example_id: str
    premise: str | None
    texts: Sequence[str | None]


class Texts:
    """The texts of a card by the number of the example; the file stays on disk."""

    def __init__(self, file: Path) -> None:
        self._rows = stored_rows(file)
        self._sentences = pl.scan_parquet(file.parent / _SENTENCES)
        self.total = int((file.parent / _TOTAL).read_text(encoding="utf-8"))

    def sharing(self, number: int) -> tuple[list[int], int]:
        """Return examples that hold one of the sentences of an example, and how many do: a text can be in millions.

        These are its neighbours in the pair graph, itself among them; at most as many as a page can filter.
        """
        self._check(number)
        of_example = self._sentences.filter(pl.col("example") == number).select("sentence")
        sharing = self._sentences.join(of_example, on="sentence", how="semi").select("example").unique()
        found = sharing.collect(engine="streaming")["example"].to_numpy()
        rows = np.union1d(found.astype(np.int64), [number])
        listed = spread(rows)
        if listed.size < rows.size:
            listed = np.union1d(listed[listed != number][: len(listed) - 1], [number])
        return listed.tolist(), int(rows.size)

    def at(self, numbers: Sequence[int]) -> list[ExampleTexts]:
        """Return the texts of some examples."""
        for number in numbers:
            self._check(number)
        rows = map(self._rows.at, numbers)
        return [ExampleTexts(row["example_id"], row["premise"], row["texts"]) for row in rows]

    def _check(self, number: int) -> None:
        if not 0 <= number < self.total:
            raise UsageError(f"There is no example in row {number}; the last is in row {self.total - 1}.")


@lru_cache(maxsize=32)
def texts_of(file: Path) -> Texts:
    """Return the texts in a file, opened once."""
    return Texts(file)

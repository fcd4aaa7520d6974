"""Copies and near copies in a dataset in pieces: which rows are one unit."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from cuecard.data import GROUPED_TASKS, Instances
from cuecard.data.exact import SIDES
from cuecard.data.fingerprint import Hashes
from cuecard.data.units import FoldedTexts
from cuecard.data.units.buckets import number_in_order
from cuecard.data.units.find import QUESTIONS_ALIKE, QUESTIONS_LOOSELY, joined_questions
from cuecard.data.units.in_parts import Texts, TextsHere, Words
from cuecard.data.units.on_disk import closest_on_disk, copies_on_disk, pair_keys
from cuecard.engines.store import Summary, new_array
from cuecard.engines.verification import SURVEY
from cuecard.stats.arrays import Bools

if TYPE_CHECKING:
    from cuecard.engines.stream import Stream

#: Which texts are compared: those of a side, or all choices of a question as one text, in any order.
Scope = Literal["premise", "hypothesis", "choices"]
#: The table of the survey with the hashes of words.
WORDS = "words"
#: Rows of units that are looked at at a time.
CHUNK = 1 << 20

Columns = Mapping[str, npt.NDArray[Any]]


class Folded(NamedTuple):
    """Texts of one side: the hash of each, the hashes of all words, and how many words each has."""

    whole: Hashes
    words: Hashes
    sizes: npt.NDArray[np.uint32]


@dataclass(frozen=True)
class FoldedRows:
    """The texts of some rows as hashes, by side, and which rows begin an example."""

    begins: Bools
    sides: Mapping[str, Folded]

    @classmethod
    def of(cls, rows: Mapping[str, npt.NDArray[Any]], words: pl.DataFrame) -> FoldedRows:
        """Return the texts of columns of the survey and a table of words, which may have one side alone."""
        sides: dict[str, Folded] = {}
        for side in SIDES:
            if f"{side}_words" in words.columns:
                lists = words[f"{side}_words"]
                own, sizes = lists.explode(empty_as_null=False).to_numpy(), lists.list.len().to_numpy()
                sides[side] = Folded(rows[f"{side}_folded"], own, sizes)
        return cls(rows["begins"], sides)

    def texts(self, scope: Scope) -> Words:
        """Return the texts that are compared."""
        whole, words, sizes = self.sides[_side(scope)]
        starts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
        if scope != "choices":
            return Words(whole, words, starts)
        first = np.flatnonzero(self.begins)
        return Words(np.add.reduceat(whole, first), words, starts[np.append(first, len(whole))])


def folded(part: Instances, _start: int) -> Summary:
    """Return the hashes of every text and of its words, and which rows begin an example."""
    begins = np.zeros(len(part), dtype=np.bool_)
    begins[part.first_rows[:-1]] = len(part) > 0
    rows: dict[str, pl.Series] = {"begins": pl.Series(begins)}
    words: dict[str, pl.Series] = {}
    for side in SIDES:
        texts = FoldedTexts()
        texts.add(part.table[side])
        whole, own, offsets = texts.arrays()
        rows[f"{side}_folded"] = pl.Series(whole)
        words[f"{side}_words"] = pl.Series(pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(own)))
    return {"rows": pl.DataFrame(rows), WORDS: pl.DataFrame(words)}


def write_units(stream: Stream, columns: Columns, folder: Path) -> None:
    """Write the units of every row, and the closest of texts.

    `columns` are the numbers of every row: the hashes of its texts, and its example.
    """
    examples = columns["example"]
    n = len(examples)
    scratch = folder / ".scratch"
    units = {side: new_array(folder, side, np.int64, n) for side in SIDES}
    sides: tuple[Scope, Scope] = ("premise", "hypothesis")
    for side in sides:
        texts = _texts(stream, columns, side)
        copies_on_disk(texts, units[side], scratch / side)
        closest_on_disk(
            texts, units[side], new_array(folder, f"closest_{side}", np.int64, n), scratch / f"closest {side}"
        )
        stream.store.release()
    if stream.scan.task in GROUPED_TASKS:
        near = np.empty(int(examples[-1]) + 1, dtype=np.int64)
        texts = _texts(stream, columns, "choices")
        copies_on_disk(texts, near, scratch / "choices", alike=QUESTIONS_ALIKE, loosely=QUESTIONS_LOOSELY)
        new_array(folder, "choices", np.int64, n)[:] = joined_questions(examples, units["hypothesis"], near)
    else:
        pairs = (
            pair_keys(*(units[side][start : start + CHUNK] for side in SIDES)) for start in range(0, n, CHUNK)
        )
        number_in_order(pairs, new_array(folder, "example", np.int64, n), scratch / "example")
    shutil.rmtree(scratch, ignore_errors=True)
    if forget := getattr(stream.mapping, "forget_texts", None):
        forget()


def _texts(stream: Stream, columns: Columns, scope: Scope) -> Texts:
    """Return the texts that are compared, on this machine or on the cluster that has surveyed them."""
    first = stream.first_rows
    pieces = [int(piece) for piece in np.flatnonzero(np.diff(first))]

    def begins(piece: int) -> Bools:
        own = columns["example"][first[piece] : first[piece + 1]]
        return np.asarray(np.diff(own, prepend=-1) != 0)

    def hashes() -> Iterator[Hashes]:
        for piece in pieces:
            whole = columns[f"{_side(scope)}_folded"][first[piece] : first[piece + 1]]
            yield whole if scope != "choices" else np.add.reduceat(whole, np.flatnonzero(begins(piece)))
            stream.store.release()

    def parts() -> Iterator[Words]:
        for piece in pieces:
            words = stream.store.table(SURVEY, piece, WORDS, [f"{_side(scope)}_words"])
            if words is None:  # the machine that has surveyed it has kept them
                words = stream.summary(piece, folded)[WORDS]
            rows = {
                f"{side}_folded": columns[f"{side}_folded"][first[piece] : first[piece + 1]] for side in SIDES
            }
            yield FoldedRows.of({**rows, "begins": begins(piece)}, words).texts(scope)
            stream.store.release()

    size = int(columns["example"][-1]) + 1 if scope == "choices" else int(first[-1])
    if on_cluster := getattr(stream.mapping, "texts", None):
        there: Texts = on_cluster(stream, pieces, scope, size, hashes)
        return there
    return TextsHere(parts, size, hashes)


def _side(scope: Scope) -> Literal["premise", "hypothesis"]:
    return "hypothesis" if scope == "choices" else scope

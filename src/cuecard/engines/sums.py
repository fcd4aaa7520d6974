"""Tables of all pieces added up by their keys: on this machine in slices, or as a tree on the machines of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import count, takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import numpy as np
import polars as pl

from cuecard.data.fingerprint import text_hashes
from cuecard.engines.store import Store, Summary

T = TypeVar("T")

#: Rows of tables that are added up at a time, at the end and before they are divided: files of few rows take long.
AT_A_TIME = 1_000_000
BEFORE = 4 * AT_A_TIME
#: The most files that such tables are divided into.
MOST_BUCKETS = 256
#: The table of a checkpoint that lists its pieces.
PIECES = "pieces"


@dataclass(frozen=True)
class Sum:
    """How a table is added up: rows with equal keys become one, and what is left of them then.

    Attributes:
        keys: columns that tell rows apart; all others are summed.
        by: a text among the keys: rows that differ in it are never needed together.
        left: returns what is kept of sums, such as those that are large enough; no two rows of one `by` may be apart.
    """

    keys: tuple[str, ...]
    by: str
    left: Callable[[pl.DataFrame], pl.DataFrame] | None = None

    def of(self, table: pl.LazyFrame, *, last: bool) -> pl.DataFrame:
        """Return the sums of a table, or what is left of them where no other table is to come."""
        summed = table.group_by(self.keys).agg(pl.all().sum()).collect()
        return self.left(summed) if last and self.left is not None else summed


#: How tables are added up, by name; others are kept for every piece.
Sums = Mapping[str, Sum]


def sums_of(stage: str) -> str:
    """Return the name of the stage that has the sums of a stage."""
    return f"{stage} sums"


def checkpoints_of(stage: str) -> str:
    """Return the name of the stage that has the sums of some pieces of a stage, before all are done."""
    return f"{stage} checkpoints"


def put_checkpoint(store: Store, stage: str, kept: Mapping[int, Summary], summed: Summary) -> None:
    """Keep the sums of some pieces, and what is kept for each of them, whole or not at all."""
    tables = {f"piece {i} {name}": table for i, own in kept.items() for name, table in own.items()}
    pieces = {PIECES: pl.DataFrame({"piece": list(kept)}, schema={"piece": pl.Int64})}
    number = next(i for i in count() if not store.has(checkpoints_of(stage), i))
    store.put(checkpoints_of(stage), number, {**pieces, **tables, **summed})


def checkpoints(store: Store, stage: str) -> Iterator[tuple[dict[int, Summary], Summary]]:
    """Yield what is kept for the pieces of every checkpoint, and their sums."""
    for number in takewhile(lambda i: store.has(checkpoints_of(stage), i), count()):
        tables = store.summary(checkpoints_of(stage), number)
        kept: dict[int, Summary] = {}
        for piece in tables.pop(PIECES)["piece"]:
            own = f"piece {piece} "
            kept[piece] = {n.removeprefix(own): tables.pop(n) for n in list(tables) if n.startswith(own)}
        yield kept, tables


def checkpointed(store: Store, stage: str) -> set[int]:
    """Return the pieces whose sums are in checkpoints."""
    if not store.has(checkpoints_of(stage), 0):
        return set()
    return {i for table in store.tables(checkpoints_of(stage), PIECES) for i in table["piece"]}


def parted(summary: Summary, sums: Sums, n: int) -> tuple[Summary, list[Summary]]:
    """Return what is kept for a piece, and the sums of its other tables in n parts: no key is in two parts."""
    kept = {name: table for name, table in summary.items() if name not in sums}
    parts: list[dict[str, pl.DataFrame]] = [{} for _ in range(n)]
    for name, table in summary.items():
        if name in sums:
            summed = sums[name].of(table.lazy(), last=False)
            # Not the hash of polars, which differs between processors.
            part = (text_hashes(summed[sums[name].by]) % np.uint64(n)).astype(np.int64)
            for i in range(n):
                parts[i][name] = summed.filter(pl.Series(part == i))
    return kept, list(parts)


def added(summaries: Sequence[Summary], sums: Sums, *, last: bool) -> Summary:
    """Return the sums of the tables of several summaries."""
    names = dict.fromkeys(name for summary in summaries for name in summary)
    return {
        name: sums[name].of(pl.concat(s[name].lazy() for s in summaries if name in s), last=last)
        for name in names
    }


def sums_in(store: Store, stage: str, name: str, how: Sum) -> Iterator[pl.DataFrame]:
    """Yield the sums of a table over all pieces, in parts of bounded size: no key is in two parts.

    They are those that a cluster has made. Otherwise pieces are added up as long as they fit, and divided into files by
    hash; then every file is added up. Nothing is yielded where no piece has the table.
    """
    if store.has(sums_of(stage), 0):
        yield from store.tables(sums_of(stage), name)
        return
    files = store.files(stage, name)
    if not files:
        return
    whole = pl.scan_parquet(files)
    n = min(MOST_BUCKETS, max(1, -(-int(whole.select(pl.len()).collect().item()) // AT_A_TIME)))
    if n == 1:
        yield how.of(whole, last=True)
        return
    bucket = (pl.col(how.by).hash() % n).alias("bucket")
    with TemporaryDirectory(dir=store.folder) as place:
        for run, tables in enumerate(_some(store.tables(stage, name), BEFORE)):
            summed = how.of(pl.concat(tables).lazy(), last=False).with_columns(bucket)
            for (number,), part in summed.partition_by("bucket", as_dict=True, include_key=False).items():
                part.write_parquet(Path(place) / f"{number}-{run}.parquet", compression="lz4")
        for number in range(n):
            own = sorted(Path(place).glob(f"{number}-*.parquet"))
            if own:
                yield how.of(pl.concat(map(pl.read_parquet, own)).lazy(), last=True)


def _some(tables: Iterable[pl.DataFrame], rows: int) -> Iterator[list[pl.DataFrame]]:
    """Yield as many tables at a time as have that many rows together, and at least one."""
    some: list[pl.DataFrame] = []
    for table in tables:
        some.append(table)
        if sum(each.height for each in some) >= rows:
            yield some
            some = []
    if some:
        yield some


def reduced(values: Iterable[T | None], merge: Callable[[T, T], T]) -> T | None:
    """Return values merged, None where there are none.

    >>> reduced([1, None, 2], int.__add__), reduced([None], int.__add__)
    (3, None)
    """
    there = [value for value in values if value is not None]
    return reduce(merge, there) if there else None

"""Texts of different parts that share a hash: read again, compared, and told apart where they differ."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data import Instances
from cuecard.data.exact import KINDS, SIDES, Kind, changed_hashes, form, none_sharing, sharing, told_apart
from cuecard.data.fingerprint import Hashes, text_hashes
from cuecard.data.units.buckets import Buckets, repeated
from cuecard.data.units.copies import distinct
from cuecard.engines.store import Summary, new_array
from cuecard.stats.arrays import Bools, Ints

if TYPE_CHECKING:
    from cuecard.engines.stream import Stream

SURVEY, COMPARED, CHANGED = "survey", "compared texts", "changed hashes"
#: Texts that are compared at a time, about.
TEXTS = 1 << 20
#: Hashes that are looked at at a time.
CHUNK = 1 << 20
_COLUMNS = [f"{side}_{kind}" for kind in KINDS for side in SIDES]
_TEXT = np.dtype([("hash", np.uint64), ("text", np.uint64), ("place", np.int64)])


def changes(stream: Stream) -> Iterator[tuple[str, Ints, Hashes]]:
    """Yield columns of the survey, rows, and the numbers that they have there instead of their hashes.

    Equal numbers then mean equal texts. The survey has compared the texts of each part. Of texts that have a hash of
    another part, one of each is marked, read again and compared with the others, in files by hash.
    """
    shared = pl.concat([none_sharing(), *stream.store.tables(SURVEY, "shared")])
    several = shared.filter(pl.col("kind") == "text")["hash"].unique().to_numpy()
    marks = stream.store.arrays("marks", partial(_write_marks, stream, several))["marks"]
    n = sum(int(np.unpackbits(marks[i : i + CHUNK]).sum()) for i in range(0, len(marks), CHUNK))
    if n:
        bits = (max(n - 1, 0) // TEXTS).bit_length()
        reading = partial(_marked_texts, marks, bits)
        stream.each(COMPARED, reading, title="Comparison of texts with equal hashes")
        shared = _compared(stream, shared, bits)
    if shared.is_empty():
        return
    apart = told_apart(shared, partial(_occurring, stream))
    stream.each(CHANGED, partial(_changed, apart), title="Different texts with equal hashes")
    for table in stream.store.tables(CHANGED, "changed"):
        for (column,), own in table.partition_by("column", as_dict=True).items():
            yield str(column), own["row"].to_numpy(), own["new"].to_numpy()


def part_sizes(part: Instances) -> pl.DataFrame:
    """Return the table that says how many rows a part has, which the survey has compared with each other."""
    return pl.DataFrame({"rows": [len(part)]}, schema={"rows": pl.Int64})


def _write_marks(stream: Stream, several: Hashes, folder: Path) -> None:
    """Write a byte for every row: a bit for each side and kind whose text is to be compared.

    `several` are hashes that different texts of one part share.
    """
    marks = new_array(folder, "marks", np.uint8, int(stream.first_rows[-1]))
    sizes = [table["rows"].to_numpy() for table in stream.store.tables(SURVEY, "parts")]
    if sum(int((size > 0).sum()) for size in sizes) < 2:
        return
    with TemporaryDirectory(dir=stream.store.folder) as place:
        buckets = {kind: Buckets(Path(place) / kind, _TEXT, 2 * len(marks)) for kind in KINDS}
        tables = stream.store.tables(SURVEY, "rows", _COLUMNS)
        for start, table, size in zip(stream.first_rows, tables, sizes, strict=False):
            for end, n in zip(np.cumsum(size), size, strict=True):
                of_part = _distinct_texts(table.slice(int(end - n), int(n)), int(start + end - n), several)
                for kind, records in of_part.items():
                    buckets[kind].add(records["hash"], records)
        for bit, kind in enumerate(KINDS):
            for records in buckets[kind]:
                # Most texts share no hash with another one.
                own = records[repeated(records["hash"], buckets[kind].bits)]
                own = own[buckets[kind].order(own["hash"])]
                places = own["place"][_candidates(own, kind)]
                for side in range(2):
                    rows = places[places % 2 == side] // 2
                    marks[rows] |= np.uint8(1 << (2 * bit + side))
            stream.store.release()


def _distinct_texts(part: pl.DataFrame, start: int, several: Hashes) -> dict[Kind, npt.NDArray[Any]]:
    """Return a record for every different text of a part: its hash, and where it is first."""
    text, key = (np.concatenate([part[f"{side}_{kind}"].to_numpy() for side in SIDES]) for kind in KINDS)
    first, _ = distinct(text)
    if len(several):
        first = np.union1d(first, np.flatnonzero(np.isin(text, several)))
    records = np.empty(len(first), dtype=_TEXT)
    records["hash"] = records["text"] = text[first]
    records["place"] = (start + first % part.height) * 2 + first // part.height
    by_key = records.copy()
    by_key["hash"] = key[first]
    return {"text": records, "key": by_key}


def _candidates(records: npt.NDArray[Any], kind: Kind) -> Bools:
    """Return which records of rising hash are to be compared: those of one hash, with different texts for a key.

    Equal texts of different parts are compared as texts.
    """
    code = np.cumsum(np.diff(records["hash"], prepend=~records["hash"][:1]) != 0)
    if kind == "text":
        return np.asarray((np.bincount(code) > 1)[code])
    first = np.searchsorted(code, code)
    several = np.bincount(code, weights=records["text"] != records["text"][first]) > 0
    return np.asarray(several[code])


def _marked_texts(marks: npt.NDArray[np.uint8], bits: int, part: Instances, start: int) -> Summary:
    """Return the marked texts of a part with their hashes, in tables by the first bits of the hash."""
    own = marks[start : start + len(part)]
    tables: dict[str, list[pl.DataFrame]] = {}
    for bit, kind in enumerate(KINDS):
        for side, name in enumerate(SIDES):
            rows = np.flatnonzero(own & np.uint8(1 << (2 * bit + side)))
            texts = form(part.table[name].gather(rows), kind)
            for bucket, table in _by_bucket(_hashed(texts), bits):
                tables.setdefault(_name(kind, bucket), []).append(table)
    return {name: pl.concat(each) for name, each in tables.items()}


def _name(kind: Kind, bucket: int) -> str:
    return f"{kind} {bucket}"


def _hashed(texts: pl.Series) -> pl.DataFrame:
    return pl.DataFrame(
        {"hash": text_hashes(texts), "text": texts}, schema={"hash": pl.UInt64, "text": pl.String}
    )


def _by_bucket(table: pl.DataFrame, bits: int) -> Iterator[tuple[int, pl.DataFrame]]:
    """Yield the rows of every bucket: those of one hash are in one."""
    if not bits:
        yield 0, table
        return
    bucket = table["hash"].to_numpy() >> np.uint64(64 - bits)
    for number in np.unique(bucket):
        yield int(number), table.filter(pl.Series(bucket == number))


def _compared(stream: Stream, shared: pl.DataFrame, bits: int) -> pl.DataFrame:
    """Return all texts that share a hash: those that parts had themselves, and those of different parts."""
    for kind in KINDS:
        own = [shared]
        # Texts that share a hash may also share the hash of what is left of them without case and punctuation.
        found = shared.filter(pl.col("kind") == "text")["text"]
        more = dict(_by_bucket(_hashed(form(found, "key")), bits)) if kind == "key" and len(found) else {}
        for bucket in range(1 << bits):
            tables = [*stream.store.tables(COMPARED, _name(kind, bucket))]
            tables += [more[bucket]] if bucket in more else []
            if tables:
                table = pl.concat(tables)
                own.append(sharing(kind, table["hash"].to_numpy(), table["text"]))
        shared = pl.concat(own)
    return shared.unique()


def _occurring(stream: Stream, kind: Kind, hashes: Hashes) -> Bools:
    """Return which numbers are hashes of texts."""
    hit = np.zeros(len(hashes), dtype=np.bool_)
    for side in SIDES:
        for table in stream.store.tables(SURVEY, "rows", [f"{side}_{kind}"]):
            hit |= np.isin(hashes, table.to_series().to_numpy())
    return hit


def _changed(apart: pl.DataFrame, part: Instances, start: int) -> Summary:
    """Return the rows of a part whose hash is replaced, and by what."""
    numbers = pl.DataFrame(
        {f"{side}_{kind}": text_hashes(form(part.table[side], kind)) for kind in KINDS for side in SIDES}
    )
    tables = [
        pl.DataFrame({"row": start + rows, "new": new}).select(pl.lit(column).alias("column"), "row", "new")
        for column, rows, new in changed_hashes(numbers, part.table, apart)
    ]
    schema = {"column": pl.String, "row": pl.Int64, "new": pl.UInt64}
    return {"changed": pl.concat([pl.DataFrame(schema=schema), *tables])}

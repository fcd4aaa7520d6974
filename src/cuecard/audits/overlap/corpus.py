"""A corpus as parts of bounded size: files and folders of text, JSON lines, compressed or parquet."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from cuecard.data.files.guard import guarded
from cuecard.errors import InputError

#: Bytes that are searched at once, and bytes of the part before that are searched again with the next one.
PART, AGAIN = 8_000_000, 20_000
_JSON = (".jsonl", ".ndjson", ".json")


@dataclass(frozen=True)
class Part:
    """Some bytes of a file: where they begin, and whether they are JSON, in which line ends are escaped."""

    file: str
    offset: int
    data: bytes
    escapes: bool


def corpus_files(sources: Sequence[str | Path]) -> list[Path]:
    """Return the files of a corpus, those of folders by name; a place without any is an error."""
    files: list[Path] = []
    for source in sources:
        path = Path(source)
        inside = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
        if not inside or not inside[0].exists():
            raise InputError(f"{source} has no file to search: type --with FILE or a folder of files.")
        files += inside
    if not files:
        raise InputError("There is no corpus to search: type --with FILE or a folder of files.")
    return files


def parts(path: Path, size: int = PART, again: int = AGAIN) -> Iterator[Part]:
    """Yield the parts of a file, each with the end of the one before, so that no run of words is cut.

    Offsets count the bytes of the text itself, after decompression; in parquet files, those of all texts in turn.
    """
    suffixes = [s.lower() for s in path.suffixes]
    escapes = any(s in _JSON for s in suffixes)
    if suffixes[-1:] == [".parquet"]:
        yield from _parquet(path, again)
        return
    with _opened(path) as file:
        offset, kept = 0, b""
        while True:
            block = guarded(lambda: file.read(size), str(path))
            if not block:
                return
            data = kept + block
            yield Part(str(path), offset - len(kept), data, escapes)
            offset += len(block)
            kept = _from_word(data[-again:]) if len(data) > again else data


def _from_word(data: bytes) -> bytes:
    """Return the bytes from the first white space on, so that no part begins within a word or a character."""
    places = [place for mark in (b" ", b"\n") if (place := data.find(mark)) >= 0]
    return data[min(places) :] if places else data


def _opened(path: Path) -> IO[bytes]:
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rb")  # type: ignore[return-value]
    return path.open("rb")


def _parquet(path: Path, again: int) -> Iterator[Part]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = guarded(lambda: pq.ParquetFile(path), str(path))
    texts = [
        f.name for f in file.schema_arrow if pa.types.is_string(f.type) or pa.types.is_large_string(f.type)
    ]
    offset = 0
    for batch in file.iter_batches(batch_size=2_000, columns=texts):
        for column in batch.columns:
            data = "\n\n".join(t for t in column.to_pylist() if t).encode()
            if data:
                yield Part(str(path), offset, data, False)
                offset += len(data) + 2
    del again

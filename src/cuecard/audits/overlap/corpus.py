"""A corpus as parts of bounded size: files and folders of text, JSON lines, compressed or parquet."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from cuecard.data.files.guard import guarded
from cuecard.data.files.paths import check_regular
from cuecard.errors import InputError

#: Bytes that are searched at once, and bytes of the part before that are searched again with the next one.
PART, AGAIN = 8_000_000, 20_000
_JSON = (".jsonl", ".ndjson", ".json")
_COMPRESSED: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_ZSTD = ".zst"
#: Files whose bytes are not their text, and which are not unpacked here.
_PACKED = {".zip", ".7z", ".lz4", ".br", ".rar", ".arrow", ".feather", ".avro", ".orc"}
#: Between the texts of a parquet file: a word that no text has, so that no run of words goes from one into the next.
_BETWEEN = "\n\ue000\n"
_ESCAPES = re.compile(rb"(?:\\u[0-9a-fA-F]{4})+|\\.", re.DOTALL)


@dataclass(frozen=True)
class Part:
    """Some bytes of a file: where they begin, and whether they are JSON, in which line ends are escaped.

    The first `again` bytes are the end of the part before.
    """

    file: str
    offset: int
    data: bytes
    escapes: bool
    again: int = 0


def corpus_files(sources: Sequence[str | Path]) -> list[Path]:
    """Return the files of a corpus, those of folders by name; a place without any is an error."""
    files: list[Path] = []
    for source in sources:
        path = Path(source)
        check_regular(path, rows=False)
        inside = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
        if not inside or not inside[0].exists():
            raise InputError(f"{source} has no file to search: type --with FILE or a folder of files.")
        files += inside
    packed = next((path for path in files if path.suffix.lower() in _PACKED), None)
    if packed is not None:
        raise InputError(f"{packed} cannot be searched as it is: unpack it to text, JSON lines or parquet.")
    if not files:
        raise InputError("There is no corpus to search: type --with FILE or a folder of files.")
    return files


def parts(path: Path, size: int = PART, again: int = AGAIN) -> Iterator[Part]:
    """Yield the parts of a file, each with the end of the one before, so that no run of words is cut.

    Offsets count the bytes of the text itself, after decompression and with characters in the place of their escapes
    (JSON's \\u00e9); in parquet files, those of all texts in turn, with five bytes between two.
    """
    suffixes = [s.lower() for s in path.suffixes]
    escapes = any(s in _JSON for s in suffixes)
    if suffixes[-1:] == [".parquet"]:
        yield from _parquet(path)
        return
    with _opened(path) as file:
        offset, kept, cut, block = 0, b"", b"", b" "
        while block:
            block = guarded(lambda: file.read(size), str(path))
            # The last word may continue in the next block.
            whole, cut = _whole_words(cut + block, again) if block else (cut, b"")
            text = _unescaped(whole) if escapes else whole
            if text:
                data = kept + text
                yield Part(str(path), offset - len(kept), data, escapes, len(kept))
                offset += len(text)
                kept = _from_word(data[-again:]) if len(data) > again else data


def _whole_words(data: bytes, most: int) -> tuple[bytes, bytes]:
    """Return the bytes up to the last white space, and the rest; where that is longer than a word can be, all."""
    end = max(data.rfind(b" "), data.rfind(b"\n")) + 1
    return (data[:end], data[end:]) if len(data) - end <= most else (data, b"")


def _unescaped(data: bytes) -> bytes:
    """Return JSON with characters in the place of their numbers; other escapes stay.

    >>> _unescaped(rb'"caf\\u00e9\\n"') == '"café\\\\n"'.encode()
    True
    """
    if b"\\u" not in data:
        return data

    def character(match: re.Match[bytes]) -> bytes:
        escape = match[0]
        if not escape.startswith(b"\\u") or len(escape) < 6:
            return escape
        # A backslash of the text itself would look like another escape.
        return str(json.loads(b'"' + escape + b'"')).replace("\\", " ").encode("utf-8", "replace")

    return _ESCAPES.sub(character, data)


def _from_word(data: bytes) -> bytes:
    """Return the bytes from the first white space on, so that no part begins within a word or a character."""
    places = [place for mark in (b" ", b"\n") if (place := data.find(mark)) >= 0]
    return data[min(places) :] if places else data


def _opened(path: Path) -> IO[bytes]:
    if path.suffix.lower() == _ZSTD:
        import pyarrow as pa

        return pa.input_stream(str(path), compression="zstd")  # type: ignore[no-any-return]
    opened: IO[bytes] = _COMPRESSED.get(path.suffix.lower(), open)(path, "rb")
    return opened


def _parquet(path: Path) -> Iterator[Part]:
    import pyarrow.parquet as pq

    file = guarded(lambda: pq.ParquetFile(path), str(path))
    texts = [f.name for f in file.schema_arrow if "string" in str(f.type)]
    if not texts:
        raise InputError(f"{path} has no column with texts to search: leave it out of --with.")
    offset = 0
    for batch in file.iter_batches(batch_size=2_000, columns=texts):
        for column in batch.columns:
            data = _BETWEEN.join(_strings(column.to_pylist())).encode("utf-8", "replace")
            if data:
                yield Part(str(path), offset, data, False)
                offset += len(data) + len(_BETWEEN.encode())


def _strings(value: Any) -> Iterator[str]:
    """Yield the texts of lists and records, such as the messages of a conversation."""
    if isinstance(value, str):
        if value:
            yield value
    elif isinstance(value, list | dict):
        for part in value if isinstance(value, list) else value.values():
            yield from _strings(part)

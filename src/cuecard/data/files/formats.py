"""File formats by extension and by first bytes, and the bytes of a file after decompression."""

from __future__ import annotations

import codecs
import math
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from cuecard.data.files.paths import check_regular, shown
from cuecard.errors import InputError, UsageError, printable

Format = Literal["parquet", "csv", "tsv", "jsonl", "json", "txt"]
Compression = Literal["none", "gz", "zst"]

_FORMATS: dict[str, Format] = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".txt": "txt",
}
_COMPRESSIONS: dict[str, Compression] = {".gz": "gz", ".zst": "zst"}
_MAGIC: dict[bytes, str] = {
    b"PAR1": "parquet",
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"ARROW1": "Arrow",
    b"PK\x03\x04": "zip (or Excel)",
    b"\x89PNG": "PNG image",
    b"%PDF": "PDF",
    b"SQLite": "SQLite",
    b"\x89HDF": "HDF5",
}
EXTENSIONS = ".parquet, .csv, .tsv, .jsonl, .ndjson or .json, plain or with .gz or .zst"
#: Gigabytes that a compressed file may expand to, and the environment variable that allows another number.
DEFAULT_GB, MAX_GB = 2, "CUECARD_MAX_GB"
#: Bytes decompressed at a time: what is damaged loses no more than that.
_CHUNK = 1 << 16
#: Formats that rows are written in.
WRITTEN: tuple[Format, ...] = ("parquet", "csv", "tsv", "jsonl")


def format_of(path: Path) -> tuple[Format, Compression] | None:
    """Return the format and compression that a file's name says, or None if it names none we read."""
    suffixes = [s.lower() for s in path.suffixes]
    compression: Compression = "none"
    if suffixes and suffixes[-1] in _COMPRESSIONS:
        compression = _COMPRESSIONS[suffixes.pop()]
    if suffixes and suffixes[-1] in _FORMATS:
        return _FORMATS[suffixes[-1]], compression
    return None


def stem(name: str) -> str:
    """Return a file's name without the suffixes of its format and compression: "snli_1.0_train" of .jsonl.gz."""
    for suffixes in (_COMPRESSIONS, _FORMATS):
        if Path(name).suffix.lower() in suffixes:
            name = Path(name).stem
    return name


def checked_format(path: Path, *, damaged: bool = False) -> tuple[Format, Compression]:
    """Return the format and compression of a file, or raise an error if name and first bytes disagree.

    With `damaged`, a parquet file of other bytes is one that cannot be opened: what is damaged is to be left out.
    """
    check_regular(path)
    named = format_of(path)
    if named is None:
        raise InputError(
            f"{shown(path)} has an unsupported extension: convert it to, or rename it as, {EXTENSIONS}."
        )
    try:
        with path.open("rb") as file:
            start = file.read(16)
    except OSError as error:
        raise InputError(
            f"{shown(path)} cannot be opened ({error.strerror}); check its path and permissions."
        ) from None
    if damaged and named == ("parquet", "none"):
        return named
    if not start:
        raise InputError(f"{shown(path)} is empty (0 bytes): give a file with at least one row.")
    expected = {"gz": "gzip", "zst": "zstd"}.get(named[1]) or ("parquet" if named[0] == "parquet" else None)
    actual = magic(start)
    if actual != expected:
        looks = f"it starts like a {actual} file" if actual else "its first bytes do not match"
        wanted = f"not a {expected} file" if expected else f"not a plain {named[0]} file"
        raise InputError(
            f"{shown(path)} is {wanted} ({looks}); give it the right extension or export it again."
        )
    return named


def magic(start: bytes) -> str | None:
    """Return the kind of file that the first bytes are typical of, None for text."""
    return next((kind for first, kind in _MAGIC.items() if start.startswith(first)), None)


def check_encoding(data: bytes, where: str) -> None:
    """Raise if text is in an encoding of two or four bytes a character, as spreadsheets save "Unicode text"."""
    start = data[:64]
    # ASCII characters in two bytes have a zero in one of them.
    marked = start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE))
    if marked or (len(start) >= 16 and not (any(start[::2]) and any(start[1::2]))):
        raise InputError(f"{where} is text in UTF-16 or UTF-32: save the file as UTF-8.")


def text_format(data: bytes) -> Format:
    """Return the format that text is in, recognised by its content: JSON, tabs, commas or plain lines."""
    start = data.lstrip(b"\xef\xbb\xbf \t\r\n")
    if start[:1] == b"[":
        return "json"
    if start[:1] == b"{":
        return "jsonl"
    lines = [line for line in data[:100_000].splitlines()[:20] if line.strip()]
    for kind, separator in (("tsv", b"\t"), ("csv", b","), ("csv", b";")):
        counts = {line.count(separator) for line in lines}
        if min(counts, default=0) and (len(counts) == 1 or (kind == "csv" and b'"' in data)):
            return "tsv" if kind == "tsv" else "csv"
    return "txt"


def content(path: Path, compression: Compression, *, allow_cut: bool = False) -> tuple[bytes, bool]:
    """Return the decompressed bytes of a file and whether it is whole.

    A file cut short is an error unless `allow_cut`; then what could be decompressed comes back.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise InputError(
            f"{shown(path)} cannot be opened ({error.strerror}); check its path and permissions."
        ) from None
    if compression == "none":
        return raw, True
    parts: list[bytes] = []
    whole = _unpack(raw, compression, parts, shown(path))
    data = b"".join(parts)
    if not whole and not allow_cut:
        lines = data.count(b"\n")
        kind = "gzip" if compression == "gz" else "zstd"
        raise InputError(
            f"{shown(path)} is damaged or cut short after about {lines:,} lines (the {kind} stream ends early): "
            "copy it again, or keep the rows before the cut with --on-error skip."
        )
    return data, whole


def most_bytes() -> int:
    """Return how many bytes a file may expand to: a small file can hold more than the memory."""
    chosen = os.environ.get(MAX_GB, "")
    if not chosen:
        return DEFAULT_GB * 10**9
    try:
        gigabytes = float(chosen)
    except ValueError:
        gigabytes = math.nan
    if not 0 < gigabytes < math.inf:
        raise UsageError(
            f"{MAX_GB}={printable(chosen, 40)} is not a number of gigabytes: set it to such as 8."
        )
    return int(gigabytes * 10**9)


def check_size(size: int, where: str) -> None:
    """Raise if what a file expands to is larger than the limit."""
    if size > most_bytes():
        raise InputError(
            f"{where} expands to more than {most_bytes() / 10**9:g} GB: split it, or allow more with the environment "
            f"variable {MAX_GB}, such as {MAX_GB}={max(8, math.ceil(most_bytes() / 5e8))}."
        )


def _unpack(raw: bytes, compression: Compression, parts: list[bytes], where: str) -> bool:
    """Add the decompressed bytes to `parts` and return whether the stream is whole; what precedes damage stays."""
    size = 0
    try:
        for part in _gz_parts(raw) if compression == "gz" else _zstd_parts(raw):
            size += len(part)
            check_size(size, where)
            parts.append(part)
    except (EOFError, OSError, zlib.error):
        return False
    return True


def _gz_parts(raw: bytes) -> Iterator[bytes]:
    """Give what a gzip file holds, a part at a time; one that ends early gives all before the cut, then raises."""
    rest = raw
    while rest:
        stream = zlib.decompressobj(wbits=31)
        while not stream.eof:
            part = stream.decompress(rest, _CHUNK)
            rest = stream.unconsumed_tail
            if part:
                yield part
            elif not stream.eof:
                raise EOFError
        rest = stream.unused_data.lstrip(b"\0")  # files may be padded


def _zstd_parts(raw: bytes) -> Iterator[bytes]:
    import pyarrow as pa

    with pa.CompressedInputStream(pa.BufferReader(raw), "zstd") as stream:
        while part := stream.read(_CHUNK):
            yield part

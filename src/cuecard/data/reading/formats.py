"""Formats of files: which one a file is in, what of it can be read, and where it is."""

from __future__ import annotations

import codecs
import json
import math
import os
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, TypeVar

from cuecard.errors import CueCardError, InputError, UsageError, printable

#: Addresses that Arrow has a file system for.
_ADDRESS = re.compile(r"(s3|gs|gcs|abfss?|hdfs)://", re.IGNORECASE)
#: Longer paths are shown by their end.
SHOWN = 300


def is_address(source: object) -> bool:
    """Return whether a source is an address of object storage."""
    return isinstance(source, str) and _ADDRESS.match(source) is not None


def typed_path(source: str | Path) -> Path:
    """Return the path that was typed, with `~` expanded, or raise an error if it can be no path."""
    if not str(source).strip():
        raise UsageError("The path is empty: name a file or folder (the current folder is ./).")
    if "\0" in str(source):
        raise InputError(f"{shown(source)} is not a valid path (it has a NUL character): check the spelling.")
    try:
        path = Path(source).expanduser()
        path.exists()
    except RuntimeError:
        raise InputError(
            f"{shown(source)} names a user without a home folder: write the full path."
        ) from None
    except OSError as error:
        raise InputError(
            f"{shown(source)} cannot be read ({error.strerror}): check the path and its permissions."
        ) from None
    return path


def check_regular(path: Path, *, rows: bool = True) -> None:
    """Raise if a path names a pipe, a socket or a device: files are read more than once, and these cannot be.

    Args:
        path: what is to be read.
        rows: whether it holds rows of data, which can be piped in.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        instead = ", or pipe the rows in as - instead" if rows else ""
        raise InputError(f"{shown(path)} is a pipe or a device: save its content as a file{instead}.")


def shown(path: str | Path) -> str:
    """Return a path as text that can be printed and written: bytes that are no UTF-8 appear as `\\udc..`."""
    text = str(path).encode("utf-8", "backslashreplace").decode()
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return text if len(text) <= SHOWN else "…" + text[-SHOWN:]


def files_below(path: Path) -> list[Path]:
    """Return the files of a folder, or the file itself, in the order of their names."""
    return sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]


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


Read = TypeVar("Read")


def guarded(call: Callable[[], Read], where: str, remedy: str = "copy or export it again") -> Read:
    """Return what a reading call returns, or raise an `InputError` whatever the library raises.

    Interrupts pass: they are not the file's fault. Damaged sizes ask for more memory than there is, as large files do.
    """
    try:
        return call()
    except (CueCardError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except MemoryError as error:
        raise InputError(
            f"{where} is damaged or larger than the memory ({reason(error)}): {remedy}, or read fewer rows."
        ) from None
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise InputError(f"{where} is damaged or cut short ({reason(error)}): {remedy}.") from None


#: How the names of types begin that Arrow reads and polars cannot hold: it panics, or takes the file for damaged.
_FOREIGN_TYPES = (
    *("decimal256", "list_view", "large_list_view", "sparse_union", "dense_union", "run_end_encoded"),
    "month_day_nano_interval",
)


def check_schema(schema: Any, where: str) -> None:
    """Raise where an Arrow schema repeats a name, or has a column of a type that tables here cannot hold."""
    if repeated := [name for name, times in Counter(schema.names).items() if times > 1]:
        raise InputError(
            f"{where} has two columns with the name {printable(repeated[0], 60)!r}: write it with distinct names."
        )
    for field in schema:
        if kind := _foreign_type(field.type):
            raise InputError(
                f"Column {printable(field.name, 60)!r} of {where} has values of the type {printable(kind, 60)}, which "
                "cannot be read: write the file without the column, or with its values as text."
            )
        if not _has_text_metadata(field):
            raise InputError(
                f"Column {printable(field.name, 60)!r} of {where} has metadata that is not UTF-8: copy the file again "
                "if it is damaged, or write it without metadata."
            )


def _foreign_type(kind: Any) -> str:
    if str(kind).startswith(_FOREIGN_TYPES):
        return str(kind)
    return next(filter(None, (_foreign_type(kind.field(i).type) for i in range(kind.num_fields))), "")


def _has_text_metadata(field: Any) -> bool:
    """Return whether the metadata of a field and of those within it is text: polars panics over any other."""
    try:
        for part in [*(field.metadata or {}).keys(), *(field.metadata or {}).values()]:
            part.decode()
    except UnicodeDecodeError:
        return False
    return all(_has_text_metadata(field.type.field(i)) for i in range(field.type.num_fields))


def reason(error: BaseException, limit: int = 200) -> str:
    """Return the first line of an error in printable characters, without the name of its library."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return printable(lines[0].removeprefix("parquet: "), limit)


def class_names(metadata: str | None) -> dict[str, tuple[str, ...]]:
    """Return column → class names from the JSON that Hugging Face datasets write about their features.

    What is no description of features says nothing about classes.
    """
    described = _object(parsed(metadata))
    features = {
        column: _in_lists(feature)
        for column, feature in _object(_object(described.get("info", described)).get("features")).items()
    }
    names = {column: feature.get("names") for column, feature in features.items() if _is_class(feature)}
    return {
        column: tuple(listed)
        for column, listed in names.items()
        if isinstance(listed, list)
        and listed
        and all(isinstance(name, str) and _writable(name) for name in listed)
    }


def parsed(text: str | None) -> object:
    """Return the value of a JSON text, None where it is none."""
    try:
        return json.loads(text) if text else None
    except (ValueError, RecursionError):
        return None


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _in_lists(feature: object) -> dict[str, Any]:
    """Return the description of what lists hold, or of a value that is no list."""
    described = _object(feature)
    return _object(described.get("feature")) if described.get("_type") in ("Sequence", "List") else described


def _is_class(feature: dict[str, Any]) -> bool:
    return feature.get("_type") == "ClassLabel"


def _writable(text: str) -> bool:
    """Whether a text has whole characters only: JSON can escape half of one."""
    return not any("\ud800" <= char <= "\udfff" for char in text)

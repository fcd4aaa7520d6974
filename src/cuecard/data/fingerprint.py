"""Texts in one form, and hashes of content that do not depend on its file: of texts, rows and a whole dataset."""

from __future__ import annotations

import hashlib
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.stats import _native
from cuecard.stats.arrays import chunks, rows_where

# Marks that open or close a word and say nothing by themselves. Signs that carry meaning are not among them:
# + - < > = % $ # & @ * / keep C apart from C++, 5 from -5, and 1 < 2 from 1 > 2.
_OPENING = r"(^|\s)(?:[\p{Ps}\p{Pi}\p{Pf}\"'`´¡¿…—―]|\.\.+)+"
_CLOSING = r"[\p{Pe}\p{Pf}\p{Pi}\p{Po}`´—―--[#%&@*/\\‰‱′″†‡§¶·]]+(\s|$)"
_SPACES = r"\s{2,}|[^\S ]"


def normalised(texts: pl.Series) -> pl.Series:
    """Return texts without case, doubled spaces and the punctuation around words.

    What is left is equal for texts that a reader would call the same sentence. A text of nothing but marks
    keeps them, so only a text without any visible character becomes empty.
    """
    lower = composed(texts).str.to_lowercase()
    bare = _spaced(lower.str.replace_all(_OPENING, " ").str.replace_all(_CLOSING, " "))
    nothing_left = bare == ""
    if not nothing_left.any():
        return bare
    marks = _spaced(lower.filter(nothing_left))
    return bare.scatter(nothing_left.arg_true(), marks)


def composed(texts: pl.Series) -> pl.Series:
    """Return texts with every accent joined to its letter (NFC), however it was typed."""
    beyond_ascii = (texts.str.len_bytes() != texts.str.len_chars()).fill_null(False)
    if not beyond_ascii.any():
        return texts
    joined = texts.filter(beyond_ascii).str.normalize("NFC")
    return texts.clone().scatter(beyond_ascii.arg_true(), joined)


def _spaced(texts: pl.Series) -> pl.Series:
    return texts.str.replace_all(_SPACES, " ").str.strip_chars()


#: What stands where a text is missing; `<noinput>` and `[NS]` are read without their brackets.
PLACEHOLDERS = frozenset(
    {
        "ns",
        "n/a",
        "#n/a",
        "nan",
        "null",
        "noinput",
        "no input",
        "tbd",
        "todo",
        "lorem ipsum",
        "undefined",
        "removed",
    }
    | {"deleted", "missing", "placeholder", "-", "--", "---", "?", "…"}
)
#: Placeholders that are also ordinary answers; they count in brackets only, such as "[removed]".
_WORDS = ("deleted", "missing", "placeholder", "removed", "undefined")
_BRACKETS = " \t\r\n<>[](){}\"'`.!"


def is_placeholder(texts: pl.Series) -> pl.Series:
    """Return which texts only say that there is no text."""
    bare = texts.str.to_lowercase().str.strip_chars(_BRACKETS)
    marked = texts.str.contains(r"^\s*[<\[({]") | ~bare.is_in(_WORDS)
    return (bare.is_in(sorted(PLACEHOLDERS)) & marked).fill_null(False)


Scalar = TypeVar("Scalar", bound=np.generic)


def utf8(texts: pl.Series) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """Return the bytes of all texts and where each begins and ends; a missing text is empty."""
    if texts.null_count():
        texts = texts.fill_null("")
    array = texts.to_arrow(compat_level=pl.CompatLevel.oldest())
    _, offset_buffer, data_buffer = array.buffers()
    if offset_buffer is None or len(array) == 0:
        offsets = np.zeros(len(array) + 1, dtype=np.int64)
    else:
        offsets = np.frombuffer(offset_buffer, dtype=np.int64)[array.offset : array.offset + len(array) + 1]
    data = np.frombuffer(data_buffer if data_buffer is not None else b"", dtype=np.uint8)
    return read_only(data[: offsets[-1]]), read_only(offsets)


def read_only(array: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    """Return the array closed for writing: always so, one compiled version of a loop serves all callers."""
    array.flags.writeable = False
    return array


Hashes = npt.NDArray[np.uint64]

#: Texts of an instance, hashed byte by byte; columns of few values are hashed once per value.
_TEXTS = ("premise", "hypothesis")
_NAMES = ("split", "label")
#: Texts whose bytes are read at a time.
HASHED = 1 << 18
#: Characters of a text that tell it from most others.
BEGINNING = 24
#: Hashes that are compared at a time, about.
COMPARED = 1 << 24
_PRIME = np.uint64(0x100000001B3)
_START = np.uint64(0xCBF29CE484222325)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_A = np.uint64(0xBF58476D1CE4E5B9)
_MIX_B = np.uint64(0x94D049BB133111EB)
_S27, _S30, _S31 = np.uint64(27), np.uint64(30), np.uint64(31)


def row_hashes(table: pl.DataFrame) -> Hashes:
    """Return a number for every instance that changes with its texts, label, split and position.

    Neither ids nor extra columns are part of it, and neither is where the row stands.
    """
    hashes: Hashes = np.empty(table.height, dtype=np.uint64)
    for rows in chunks(table.height, HASHED):
        hashes[rows] = _row_hashes(table.slice(rows.start, rows.stop - rows.start))
    return hashes


def _row_hashes(table: pl.DataFrame) -> Hashes:
    hashes = mixed(table["position"].cast(pl.Int64).to_numpy().astype(np.uint64) + _START)
    for column in _NAMES:
        names = table[column].cast(pl.String)
        different = names.unique()
        code = dict(zip(different.to_list(), text_hashes(different).tolist(), strict=True))
        of_rows = names.replace_strict(code, return_dtype=pl.UInt64).to_numpy()
        hashes = mixed(hashes * _GOLDEN ^ of_rows)
    for column in _TEXTS:
        hashes = mixed(hashes * _GOLDEN ^ text_hashes(table[column]))
    return hashes


def text_hashes(texts: pl.Series) -> Hashes:
    """Return the hash of every text's bytes; a missing text is none of those that are there."""
    hashes: Hashes = np.empty(len(texts), dtype=np.uint64)
    for rows in chunks(len(texts), HASHED):
        some = texts.slice(rows.start, rows.stop - rows.start)
        hashes[rows] = _native.byte_hashes(*utf8(some))
        if some.null_count():
            hashes[rows][some.is_null().to_numpy()] = ~_START
    return hashes


def made_distinct(first: Hashes, second: Hashes) -> None:
    """Make the first hashes of texts differ wherever the second ones do, in place: together they are 128 bits.

    Of different texts that share the first hash, that of the smallest second one keeps it.
    """
    n_parts = -(-len(first) // COMPARED)
    size = np.uint64((1 << 64) // max(n_parts, 2) + 1)
    for part in range(n_parts):
        if n_parts == 1:
            rows = np.arange(len(first))
        else:  # equal hashes are in one part
            rows = rows_where(len(first), lambda chunk: first[chunk] // size == part)  # noqa: B023
        own = first[rows]
        order = np.argsort(own, kind="stable")
        rising, other = own[order], second[rows[order]]
        same = rising[1:] == rising[:-1]
        if not (same & (other[1:] != other[:-1])).any():
            continue
        begins = np.flatnonzero(np.append(True, ~same))
        least = np.repeat(np.minimum.reduceat(other, begins), np.diff(begins, append=len(order)))
        changed = other != least
        first[rows[order[changed]]] = mixed(rising[changed] ^ mixed(other[changed]))


def beginning_hashes(texts: pl.Series) -> Hashes:
    """Return the hash of every text's first characters, which tell most texts apart."""
    return text_hashes(texts.str.head(BEGINNING))


def fingerprint(rows: Hashes, *, task: str, examples: npt.NDArray[np.int64]) -> str:
    """Return 16 hex digits that change whenever a text, a label, a split or the order of the rows does.

    `rows` are the hashes of the rows. `examples` numbers the example of every row, so what counts is which rows belong
    together, not what their example is called.
    """
    digest = hashlib.blake2b(task.encode(), digest_size=8)
    digest.update(np.ascontiguousarray(examples, dtype="<i8").data)
    digest.update(np.ascontiguousarray(rows, dtype="<u8").data)
    return digest.hexdigest()


def mixed(values: Hashes) -> Hashes:
    """Return numbers whose bits all depend on all bits of the given ones (the finaliser of SplitMix64)."""
    values = (values ^ (values >> _S30)) * _MIX_A
    values = (values ^ (values >> _S27)) * _MIX_B
    return np.asarray(values ^ (values >> _S31))

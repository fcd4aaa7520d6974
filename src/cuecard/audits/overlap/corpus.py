"""A corpus in chunks of bounded size, and the index of a benchmark's n-grams that they are searched for."""

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

import numpy as np
import numpy.typing as npt

from cuecard.data.reading.formats import check_regular, guarded
from cuecard.errors import InputError
from cuecard.stats import _native
from cuecard.stats.arrays import Floats, Ints

#: Bytes that are searched at once, and bytes of the chunk before that are searched again with the next one.
CHUNK, AGAIN = 8_000_000, 20_000
_JSON = (".jsonl", ".ndjson", ".json")
_COMPRESSED: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_ZSTD = ".zst"
#: Files whose bytes are not their text, and which are not unpacked here.
_PACKED = {".zip", ".7z", ".lz4", ".br", ".rar", ".arrow", ".feather", ".avro", ".orc"}
#: Between the texts of a parquet file: a word that no text has, so that no run of words goes from one into the next.
_BETWEEN = "\n\ue000\n"
_ESCAPES = re.compile(rb"(?:\\u[0-9a-fA-F]{4})+|\\.", re.DOTALL)


@dataclass(frozen=True)
class Chunk:
    """Some bytes of a file: where they begin, and whether they are JSON, in which line ends are escaped.

    The first `again` bytes are the end of the chunk before.
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


def chunks(path: Path, size: int = CHUNK, again: int = AGAIN) -> Iterator[Chunk]:
    """Yield the chunks of a file, each with the end of the one before, so that no run of words is cut.

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
                yield Chunk(str(path), offset - len(kept), data, escapes, len(kept))
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
    """Return the bytes from the first white space on, so that no chunk begins within a word or a character."""
    places = [place for mark in (b" ", b"\n") if (place := data.find(mark)) >= 0]
    return data[min(places) :] if places else data


def _opened(path: Path) -> IO[bytes]:
    if path.suffix.lower() == _ZSTD:
        import pyarrow as pa

        return pa.input_stream(str(path), compression="zstd")  # type: ignore[no-any-return]
    opened: IO[bytes] = _COMPRESSED.get(path.suffix.lower(), open)(path, "rb")
    return opened


def _parquet(path: Path) -> Iterator[Chunk]:
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
                yield Chunk(str(path), offset, data, False)
                offset += len(data) + len(_BETWEEN.encode())


def _strings(value: object) -> Iterator[str]:
    """Yield the texts of lists and records, such as the messages of a conversation."""
    if isinstance(value, str):
        if value:
            yield value
    elif isinstance(value, list | dict):
        for part in value if isinstance(value, list) else value.values():
            yield from _strings(part)


#: Bits of a hash that are compared before the words themselves are.
BITS = 0xFFFFFFFFFFFFFFFF
#: Hashes of runs are polynomials in this number.
_BASE = 0x9E3779B97F4A7C15
#: More spans of one text than this are counted and not listed.
MOST_SPANS = 20


@dataclass(frozen=True)
class Hit:
    """A run of words that a text of the benchmark and the corpus share: which words, and where in the corpus."""

    text: int
    first: int
    last: int
    """Words `first` to `last` − 1 of the text."""
    start: int
    end: int
    """Bytes of the corpus, counted in the chunk that was searched."""


class NgramIndex:
    """The n-grams of texts, equal ones once; n is the number of words of a text where that is less than `n`.

    Texts with fewer than `shortest` words are not searched: a name or a number occurs everywhere. Time and memory grow
    with the words of the texts and of the corpus, not with how many texts share an n-gram: an n-gram of the corpus is
    counted once for all texts that have it. Whatever a hash says is compared word by word.
    """

    def __init__(
        self, texts: Sequence[str], n: int = 13, shortest: int = 5, most_spans: int = MOST_SPANS
    ) -> None:
        encoded = [text.encode() for text in texts]
        self._data = np.frombuffer(b"\n".join(encoded) + b"\n", np.uint8)
        hashes, self._starts, self._ends = _native.word_hashes(self._data, False)
        bounds = np.cumsum([0, *(len(text) + 1 for text in encoded)])
        first_words = np.searchsorted(self._starts, bounds)
        self._first_word = first_words[:-1]
        self.lengths: Ints = np.diff(first_words)
        self.n, self.shortest, self._most_spans = n, shortest, most_spans
        size = np.minimum(self.lengths, n)
        self.sizes: list[int] = [int(s) for s in np.unique(size) if s >= shortest]
        # A text's runs of n words, then those of n + 1: where both occur, two of the first are one longer run.
        runs = np.where(self.searched, self.lengths - size + 1, 0)
        longer = np.where(self.searched & (self.lengths > n), self.lengths - n, 0)
        self._owner = np.repeat(np.arange(len(texts)), runs)
        self._place = _within(runs)
        self._longer_owner = np.repeat(np.arange(len(texts)), longer)
        first = self._first_word[self._owner] + self._place
        longer_first = self._first_word[self._longer_owner] + _within(longer)
        self._first = np.concatenate([first, longer_first])
        self._sizes = np.concatenate([size[self._owner], np.full(len(longer_first), n + 1)])
        powers = [pow(_BASE, power, 1 << 64) for power in range(n + 2)]
        self._power = np.array(powers, dtype=np.uint64)
        numbers, self._keys, self._held, self._occurs, self._leaders = _native.number_runs(
            self._data, self._starts, self._ends, _native.prefix_hashes(hashes), self._power, self._first,
            self._sizes, BITS,
        )  # fmt: skip
        self._numbers, self._longer_numbers = numbers[: len(first)], numbers[len(first) :]
        self._counts: Ints = np.zeros(len(self._leaders), np.int64)
        self._listed: Ints = np.zeros(len(texts), np.int64)
        order = np.argsort(self._numbers, kind="stable")
        ends = np.cumsum(np.bincount(self._numbers, minlength=len(self._leaders)))
        self._posts = (np.concatenate([[0], ends[:-1]]), ends, self._owner[order], self._place[order])
        self._widths = np.unique(self._sizes)

    @property
    def searched(self) -> npt.NDArray[np.bool_]:
        """Which texts are long enough to be searched for."""
        return np.asarray(self.lengths >= self.shortest)

    def hits(self, data: bytes, *, escapes: bool = False, again: int = 0) -> Iterator[Hit]:
        """Yield the longest runs of words that a chunk of the corpus shares with a text, each verified word by word.

        The first `again` bytes are the end of the chunk before: a run that began there is yielded again with all its
        words. A text has at most `most_spans` hits over all chunks; `occurrences` counts the others, too.
        """
        hashes, starts, ends = _native.word_hashes(np.frombuffer(data, np.uint8), escapes)
        spans = _native.search_runs(
            np.frombuffer(data, np.uint8), starts, ends, _native.prefix_hashes(hashes), self._power, again,
            self._widths, BITS, self._keys, self._held, self._occurs, self._first, self._sizes, self._leaders,
            self._data, self._starts, self._ends, self._first_word, self.lengths, *self._posts, self._counts,
            self._listed, self._most_spans, self.n + 1,
        )  # fmt: skip
        for span in spans.tolist():
            yield Hit(*span)

    def occurrences(self) -> Ints:
        """Return how many runs of words of every text the corpus holds: n-grams less those that continue another."""
        n = len(self.lengths)
        counts = np.bincount(self._owner, self._counts[self._numbers], n)
        counts -= np.bincount(self._longer_owner, self._counts[self._longer_numbers], n)
        return counts.astype(np.int64)

    def covered(self) -> Floats:
        """Return the share of every text's words that are in a run of the corpus."""
        hit = self._counts[self._numbers] > 0
        first, size = self._first[: len(hit)][hit], self._sizes[: len(hit)][hit]
        change = np.bincount(first, minlength=len(self._starts) + 1)
        change -= np.bincount(first + size, minlength=len(self._starts) + 1)
        inside = np.concatenate([[0], np.cumsum(np.cumsum(change)[:-1] > 0)])
        words = inside[self._first_word + self.lengths] - inside[self._first_word]
        return np.asarray(words / np.maximum(self.lengths, 1))


def _within(sizes: Ints) -> Ints:
    """Return 0, 1, 2, … within each of some runs."""
    return np.asarray(np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes))

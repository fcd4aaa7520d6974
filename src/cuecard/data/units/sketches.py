"""Texts as hashes of their words, by a compiled loop over all bytes, and as short sketches of those."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data.fingerprint import normalised, utf8
from cuecard.data.parallel import on_threads, running_total
from cuecard.data.space import MEMORY, Space
from cuecard.stats import _native
from cuecard.stats.arrays import Bools, Ints

#: Rows of a part in which texts are read, so that the copy of their bytes lies in memory that is used again.
ROWS_AT_ONCE = 20_000

#: Signs that belong to a word, beside letters and digits: they keep C apart from C++ and 5 from -5.
_SIGNS = b"+-<>=%$#&@*/_"
#: What each byte does to the loop: letters are read in lower case.
_ACTIONS = np.zeros(256, dtype=np.uint64)
for _byte in range(256):
    if chr(_byte).isalpha() and _byte < 128:
        _ACTIONS[_byte] = ord(chr(_byte).lower())
    elif (chr(_byte).isdigit() and _byte < 128) or _byte >= 128 or _byte in _SIGNS:
        _ACTIONS[_byte] = _byte + _native.SIGN
# Chinese and Japanese are written without spaces: every character (U+3000 to U+9FFF) is a word.
_ACTIONS[0xE3:0xEA] = _native.CHARACTER_ALONE


def room_for(n_bytes: int, n_texts: int) -> int:
    """Return how many words texts of `n_bytes` have at most, and one more per text."""
    return (n_bytes + n_texts) // 2 + n_texts + 1


def folded(
    texts: pl.Series,
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64], npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Return the hash of every text, the hashes of its words in compressed rows, and which texts may have signs."""
    n_parts = max(1, min(pl.thread_pool_size(), len(texts) // ROWS_AT_ONCE))
    bounds = np.linspace(0, len(texts), n_parts + 1).astype(np.int64)
    parts = [texts.slice(int(first), int(last - first)) for first, last in pairwise(bounds)]
    rooms = [room_for(int(part.str.len_bytes().sum() or 0), len(part)) for part in parts]
    # Arrays of numpy lie in large pages, which are much quicker to fill than those that compiled code asks for.
    words, begins = np.empty(sum(rooms), dtype=np.uint64), running_total(np.array(rooms, np.int64))
    done = on_threads(lambda i: folded_part(parts[i], words[begins[i] : begins[i + 1]]), n_parts)
    if n_parts == 1:
        return done[0]
    ends = running_total(np.array([len(own) for _, own, _, _ in done]))
    if (
        ends > begins
    ).any():  # texts in one form may be longer than they were: no part may cover the next one
        words = np.empty(ends[-1], dtype=np.uint64)
    for first, last, (_, own, _, _) in zip(ends[:-1], ends[1:], done, strict=True):
        words[first:last] = own
    starts = [
        np.zeros(1, np.int64),
        *(first + own[1:] for first, (_, _, own, _) in zip(ends, done, strict=False)),
    ]
    whole, signs = (np.concatenate([part[i] for part in done]) for i in (0, 3))
    return whole, words[: ends[-1]], np.concatenate(starts), signs


def folded_part(
    texts: pl.Series, words: npt.NDArray[np.uint64]
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64], npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Return what `folded` does of some texts; the hashes are written into `words`, or a longer array if need be."""
    n = len(texts)
    whole, starts, signs = np.empty(n, np.uint64), np.zeros(n + 1, np.int64), np.empty(n, np.bool_)
    for first in range(0, n, ROWS_AT_ONCE):
        part = texts.slice(first, ROWS_AT_ONCE)
        data, offsets = utf8(part)
        beyond_ascii = pl.Series([False])
        if data.max(initial=0) > 127:
            # Case, accents and quotation marks beyond ASCII are brought to one form before the loop over bytes.
            beyond_ascii = (part.str.len_bytes() != part.str.len_chars()).fill_null(False)
            part = part.clone().scatter(beyond_ascii.arg_true(), normalised(part.filter(beyond_ascii)))
            data, offsets = utf8(part)
        used = int(starts[first])
        if used + room_for(len(data), len(part)) > len(words):
            # A text in one form may be longer than it was.
            words = np.concatenate([words[:used], np.empty(len(words) + len(data), dtype=np.uint64)])
        rows = slice(first, first + len(part))
        whole[rows], own, signs[rows] = _native.fold_rows(data, offsets, _ACTIONS, words[used:])
        starts[first + 1 : first + len(part) + 1] = used + own[1:]
        signs[rows] |= beyond_ascii.to_numpy()
    return whole, words[: starts[-1]], starts, signs


Hashes = npt.NDArray[np.uint64]

#: With bands of three hashes, two texts at the threshold are compared with a probability of 1 − (1 − .7³)¹⁰ = .985.
BANDS = 10
HEIGHT = 3
#: Texts of fewer different words resemble each other by chance: they have no near copies, and no keys.
LEAST_WORDS = 6
#: Words for which 64 bits tell most texts apart; longer ones take more bits, at most 64 times as many.
WORDS_PER_64_BITS = 40
#: A word and the space behind it have about this many bytes.
BYTES_PER_WORD = 6


@dataclass(frozen=True, eq=False)
class Sketch:
    """What is kept of texts, or of runs of texts such as the choices of a question.

    `whole` is the hash of each one's words in order, of a run in any order of its texts. `sizes` are numbers of words,
    `keys` has a row per band, and `bits` sets a bit for each word. `words` returns the words of some texts, in
    compressed rows.
    """

    whole: Hashes
    sizes: Ints
    keys: Hashes
    bits: Hashes
    words: Callable[[Ints], tuple[Hashes, Ints]]
    space: Space = MEMORY


@dataclass(frozen=True, eq=False)
class Sketches:
    """Texts and their runs, which texts may have signs, and how many words each shares with its run's prompt."""

    texts: Sketch
    runs: Sketch
    marks: Marks


@dataclass(frozen=True, eq=False)
class Marks:
    """Which texts may have a digit, a sign such as # or a character beyond ASCII, and how many words of a prompt.

    Words of a text are counted once each; where no prompts are given, `shared` is empty.
    """

    signs: Bools
    shared: Ints


def sketch(
    texts: pl.Series,
    runs: Ints | None = None,
    prompts: pl.Series | None = None,
    *,
    space: Space = MEMORY,
) -> Sketches:
    """Return what is kept of texts, and of their runs: texts from `runs[i]` to `runs[i + 1]`, with the prompt i.

    Texts are read in parts of whole runs. The words of a part lie in memory that the next one uses again: to fill fresh
    memory with the words of all texts takes longer than to hash them.
    """
    n, bounds = len(texts), np.zeros(1, dtype=np.int64) if runs is None else runs
    n_runs = len(bounds) - 1
    width = _width(texts, n_runs or n)
    least_words = 0 if n_runs else LEAST_WORDS
    whole, sizes = space.array(np.uint64, n), space.array(np.int64, n)
    keys, run_keys = (space.array(np.uint64, (BANDS, count)) for count in (n, n_runs))
    bits, run_bits = (space.array(np.uint64, (count, width)) for count in (n, n_runs))

    def keep(first: int, first_run: int, own_runs: Ints, part: _Part) -> None:
        whole[first : first + len(part.whole)] = part.whole
        sizes[first : first + len(part.whole)] = np.diff(part.starts)
        _native.band_keys(
            part.words,
            part.starts,
            own_runs,
            HEIGHT,
            keys,
            run_keys,
            bits,
            run_bits,
            first,
            first_run,
            least_words,
        )

    marks = _read(texts, bounds, prompts, keep)

    def words(rows: Ints) -> tuple[Hashes, Ints]:
        # Only the texts around those that are asked for are looked at: of many chunks, all would be copied.
        first, last = (int(rows.min()), int(rows.max()) + 1) if len(rows) else (0, 0)
        return folded(texts.slice(first, last - first).gather(rows - first))[1:3]

    def run_words(rows: Ints) -> tuple[Hashes, Ints]:
        in_runs = np.diff(bounds)[rows]
        ends = running_total(in_runs)
        of_texts, starts = words(np.repeat(bounds[rows] - ends[:-1], in_runs) + np.arange(ends[-1]))
        return of_texts, starts[ends]

    run_whole = np.add.reduceat(whole, bounds[:-1]) if n_runs else whole[:0]
    run_sizes = np.add.reduceat(sizes, bounds[:-1]) if n_runs else sizes[:0]
    return Sketches(
        Sketch(whole, sizes, keys, bits, words, space),
        Sketch(run_whole, run_sizes, run_keys, run_bits, run_words, space),
        marks,
    )


def read_marks(texts: pl.Series, runs: Ints, prompts: pl.Series) -> Marks:
    """Return the marks of texts, of which those from `runs[i]` to `runs[i + 1]` have the prompt i."""
    return _read(texts, runs, prompts, lambda *_: None)


@dataclass(frozen=True, eq=False)
class _Part:
    whole: Hashes
    words: Hashes
    starts: Ints


def _read(
    texts: pl.Series,
    runs: Ints,
    prompts: pl.Series | None,
    keep: Callable[[int, int, Ints, _Part], None],
) -> Marks:
    """Return the marks of all texts; `keep` is given the words of every part, the texts and the runs before it."""
    n = len(texts)
    signs, shared = np.empty(n, dtype=np.bool_), np.zeros(0 if prompts is None else n, dtype=np.int64)
    goals = np.arange(0, n + ROWS_AT_ONCE, ROWS_AT_ONCE)
    edges = np.minimum(goals, n)
    if len(runs) > 1:
        edges = runs[np.minimum(np.searchsorted(runs, goals), len(runs) - 1)]
    parts = [(int(first), int(last)) for first, last in pairwise(np.unique(edges))]
    free: deque[Hashes] = deque()

    def read(i: int) -> None:
        first, last = parts[i]
        own_runs, first_run = runs[:1], 0
        if len(runs) > 1:
            first_run, last_run = np.searchsorted(runs, (first, last)).tolist()
            own_runs = runs[first_run : last_run + 1] - first
        words, part = _folded_into(free, texts.slice(first, last - first), signs[first:last])
        keep(first, first_run, own_runs, part)
        if prompts is not None:
            own_prompts = prompts.slice(first_run, len(own_runs) - 1)
            prompt_words, prompt = _folded_into(free, own_prompts, np.empty(len(own_prompts), dtype=np.bool_))
            shared[first:last] = _native.shared_words(
                part.words, part.starts, prompt.words, prompt.starts, own_runs
            )
            free.append(prompt_words)
        free.append(words)

    on_threads(read, len(parts))
    return Marks(signs, shared)


def _folded_into(free: deque[Hashes], texts: pl.Series, signs: Bools) -> tuple[Hashes, _Part]:
    """Return the words of texts, and the memory in which they are: a free piece of it, where one is large enough."""
    room = room_for(int(texts.str.len_bytes().sum() or 0), len(texts))
    try:
        words = free.pop()
    except IndexError:
        words = np.empty(0, dtype=np.uint64)
    if len(words) < room:
        words = np.empty(room, dtype=np.uint64)
    whole, own, starts, signs[:] = folded_part(texts, words)
    return words, _Part(whole, own, starts)


def _width(texts: pl.Series, count: int) -> int:
    """Return how many times 64 bits tell most of `count` texts apart."""
    size = int(texts.str.len_bytes().sum() or 0) / BYTES_PER_WORD / max(count, 1)
    width = 1
    while width < min(size / WORDS_PER_64_BITS, 64):
        width *= 2
    return width

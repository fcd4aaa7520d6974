"""Texts in one pass: little enough of each to hold of all, and enough to find those that may be near copies."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data.parallel import on_threads, running_total
from cuecard.data.space import MEMORY, Space
from cuecard.data.units import folding
from cuecard.stats import _native
from cuecard.stats.arrays import Bools, Ints

Hashes = npt.NDArray[np.uint64]

#: With bands of three hashes, two texts at the threshold are compared with a probability of 1 − (1 − .7³)¹⁰ = .985.
BANDS = 10
HEIGHT = 3
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
    whole, sizes = space.array(np.uint64, n), space.array(np.int64, n)
    keys, run_keys = (space.array(np.uint64, (BANDS, count)) for count in (n, n_runs))
    bits, run_bits = (space.array(np.uint64, (count, width)) for count in (n, n_runs))

    def keep(first: int, first_run: int, own_runs: Ints, part: _Part) -> None:
        whole[first : first + len(part.whole)] = part.whole
        sizes[first : first + len(part.whole)] = np.diff(part.starts)
        _native.band_keys(
            part.words, part.starts, own_runs, HEIGHT, keys, run_keys, bits, run_bits, first, first_run
        )

    marks = _read(texts, bounds, prompts, keep)

    def words(rows: Ints) -> tuple[Hashes, Ints]:
        return folding.folded(texts.gather(rows))[1:3]

    def run_words(rows: Ints) -> tuple[Hashes, Ints]:
        in_runs = np.diff(bounds)[rows]
        ends = running_total(in_runs)
        of_texts, starts = words(np.repeat(bounds[rows] - ends[:-1], in_runs) + np.arange(ends[-1]))
        return of_texts, starts[ends]

    run_whole = np.add.reduceat(whole, bounds[:-1]) if n_runs else whole[:0]
    run_sizes = np.add.reduceat(sizes, bounds[:-1]) if n_runs else sizes[:0]
    return Sketches(
        Sketch(whole, sizes, keys, bits, words),
        Sketch(run_whole, run_sizes, run_keys, run_bits, run_words),
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
    goals = np.arange(0, n + folding.ROWS_AT_ONCE, folding.ROWS_AT_ONCE)
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
    room = folding.room_for(int(texts.str.len_bytes().sum() or 0), len(texts))
    try:
        words = free.pop()
    except IndexError:
        words = np.empty(0, dtype=np.uint64)
    if len(words) < room:
        words = np.empty(room, dtype=np.uint64)
    whole, own, starts, signs[:] = folding.folded_part(texts, words)
    return words, _Part(whole, own, starts)


def _width(texts: pl.Series, count: int) -> int:
    """Return how many times 64 bits tell most of `count` texts apart."""
    size = int(texts.str.len_bytes().sum() or 0) / BYTES_PER_WORD / max(count, 1)
    width = 1
    while width < min(size / WORDS_PER_64_BITS, 64):
        width *= 2
    return width

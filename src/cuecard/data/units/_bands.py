"""Compiled loops that make the numbers of bands: texts that share most of their words often share one."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from cuecard._compiled import njit
from cuecard.data.units._folding import MIX_A, MIX_B, PRIME, START, begin_mixed, end_mixed

Array = npt.NDArray[Any]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_LARGEST = np.uint64(0xFFFFFFFFFFFFFFFF)
_ONE = np.uint64(1)
_S6 = np.uint64(6)
_LAST_6 = np.uint64(63)

#: The processor makes this many hashes at a time.
LANES = 8


@intrinsic
def lower_hashes(_typing: Any, least: Any, salts: Any, layer: Any, word: Any) -> Any:
    """Lower `LANES` of the least hashes, from `layer` on, to `inner_mixed(word ^ salt)` where that is less; in place.

    Written as operations on vectors: left to itself, the compiler takes vectors of half the size.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vector = ir.VectorType(ir.IntType(64), LANES)

        def address(i: int) -> Any:
            data = context.make_array(signature.args[i])(context, builder, arguments[i]).data
            return builder.bitcast(builder.gep(data, [arguments[2]]), vector.as_pointer())

        def everywhere(number: Any) -> Any:
            return ir.Constant(vector, [int(number)] * LANES)

        nothing = ir.Constant(vector, ir.Undefined)
        one = builder.insert_element(nothing, arguments[3], ir.Constant(ir.IntType(32), 0))
        every = builder.shuffle_vector(
            one, nothing, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        )
        value = builder.mul(builder.xor(every, builder.load(address(1), align=8)), everywhere(MIX_A))
        value = builder.mul(builder.xor(value, builder.lshr(value, everywhere(27))), everywhere(MIX_B))
        target = address(0)
        before = builder.load(target, align=8)
        builder.store(
            builder.select(builder.icmp_unsigned("<", value, before), value, before), target, align=8
        )
        return context.get_dummy_value()

    return types.void(least, salts, types.intp, types.uint64), generate


@njit(cache=True, nogil=True)
def band_keys(
    words: Array,
    starts: Array,
    runs: Array,
    height: int,
    keys: Array,
    run_keys: Array,
    bits: Array,
    run_bits: Array,
    first: int,
    first_run: int,
) -> None:
    """Write a number per band for every text and every run of texts, made of words in any order, and bits of the words.

    Two texts share a number with probability (Jaccard index) ^ height. Texts from `runs[i]` to `runs[i + 1]` are one
    run, such as the choices of a question: the least hash of its words is the least of its texts'. All hashes of a
    word are made at once, eight at a time. `first` texts and `first_run` runs stand before these. Of 64 × `width` bits
    of a text, a power of two, one is set for each word; where the width is 0, none are written.
    """
    bands, width = len(keys), bits.shape[1]
    n_runs = len(runs) - 1
    # A few more than needed, so that none is left to be made alone.
    hashes = -(-bands * height // LANES) * LANES
    salts = np.arange(1, hashes + 1).astype(np.uint64) * _GOLDEN
    # The first step of `mixed` is the same for a word and a salt apart, and the last keeps the order: neither is done
    # for every word and salt.
    for layer in range(hashes):
        salts[layer] = begin_mixed(salts[layer])
    shift = first_bits_of(width)
    least = np.empty(hashes, dtype=np.uint64)
    least_of_run = np.full(hashes, _LARGEST)
    set_bits = np.zeros(max(width, 1), dtype=np.uint64)
    set_of_run = np.zeros(max(width, 1), dtype=np.uint64)
    run = 0
    for i in range(len(starts) - 1):
        least[:] = _LARGEST
        set_bits[:] = 0
        for j in range(starts[i], starts[i + 1]):
            word = begin_mixed(words[j])
            for layer in range(0, hashes, LANES):
                lower_hashes(least, salts, layer, word)
            place = words[j] >> shift
            set_bits[place >> _S6] |= _ONE << (place & _LAST_6)
        _write_keys(least, keys, first + i, bands, height)
        bits[first + i] = set_bits[:width]
        if run < n_runs:
            for layer in range(hashes):
                least_of_run[layer] = min(least_of_run[layer], least[layer])
            set_of_run |= set_bits
            if i + 1 == runs[run + 1]:
                _write_keys(least_of_run, run_keys, first_run + run, bands, height)
                run_bits[first_run + run] = set_of_run[:width]
                least_of_run[:] = _LARGEST
                set_of_run[:] = 0
                run += 1


@njit(cache=True, nogil=True)
def first_bits_of(width: int) -> np.uint64:
    """Return how far a word is shifted so that its first bits name one of 64 × `width` bits."""
    first_bits = 6
    while 1 << first_bits < 64 * width:
        first_bits += 1
    return np.uint64(64 - first_bits)


@njit(cache=True, nogil=True)
def _write_keys(least: Array, keys: Array, place: int, bands: int, height: int) -> None:
    for band in range(bands):
        key = START
        for layer in range(band * height, (band + 1) * height):
            key = (key ^ end_mixed(least[layer])) * PRIME
        keys[band, place] = key

"""The compiled loops: arrays in, arrays out, with a plain Python signature each.

They are the only compiled code. Each file in `native/` holds those of one idea, and `mapped.pxi` what tells numpy to keep
large arrays in files. The tests compare every loop with a few lines of numpy. Counting is exact and sums run in the order
of the rows, so that results are the same everywhere.
"""

import numpy as np

cimport numpy as cnp
from libc.math cimport INFINITY, NAN, exp, expf, expm1, fabs, floor, isinf, isnan, lgamma, log, log1p, sqrt
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, qsort
from libc.string cimport memmove, memset

cdef extern from *:
    """
    #include <stdint.h>
    #define GOLDEN 0x9E3779B97F4A7C15ULL
    #define MIX_A 0xBF58476D1CE4E5B9ULL
    #define MIX_B 0x94D049BB133111EBULL
    #define MIX_C 0xC2B2AE3D27D4EB4FULL
    #if defined(__GNUC__)
    #define cuecard_prefetch(place) __builtin_prefetch(place)
    #define cuecard_lowest_bit(bits) __builtin_ctzll(bits)
    #define cuecard_count_bits(bits) __builtin_popcountll(bits)
    #else
    #include <intrin.h>
    #define cuecard_prefetch(place) ((void)(place))
    static int cuecard_lowest_bit(uint64_t bits) {
        int place = 0;
        while (!(bits & 1)) { bits >>= 1; place++; }
        return place;
    }
    static int cuecard_count_bits(uint64_t bits) {
        int count = 0;
        while (bits) { bits &= bits - 1; count++; }
        return count;
    }
    #endif
    /* Compiled for several processors, of which the right one is taken when the module is loaded. */
    #if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
    #if __GNUC__ >= 12  /* older ones know the widest instructions by the name of one maker's processor alone */
    #define WIDEST __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
    #else
    #define WIDEST __attribute__((target_clones("arch=skylake-avx512", "avx2", "default")))
    #endif
    #else
    #define WIDEST
    #endif
    """
    uint64_t GOLDEN
    uint64_t MIX_A
    uint64_t MIX_B
    uint64_t MIX_C
    void prefetch "cuecard_prefetch" (const void* place) noexcept nogil
    int lowest_bit "cuecard_lowest_bit" (uint64_t bits) noexcept nogil
    int count_bits "cuecard_count_bits" (uint64_t bits) noexcept nogil

cnp.import_array()

include "native/tails.pxi"
include "native/tokens.pxi"
include "native/english.pxi"
include "native/units.pxi"
include "native/strata.pxi"
include "native/forest.pxi"
include "native/linear.pxi"
include "native/ngram_model.pxi"
include "native/graph.pxi"
include "native/map.pxi"
include "native/mapped.pxi"
include "native/copies.pxi"
include "native/overlap.pxi"
include "native/similar.pxi"

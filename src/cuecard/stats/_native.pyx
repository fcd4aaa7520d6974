"""The compiled loops: arrays in, arrays out, with a plain Python signature each.

They are the only compiled code. Each file in `native/` holds those of one idea; the tests compare every loop with a
few lines of numpy. Counting is exact and sums run in the order of the rows, so that results are the same everywhere.
"""

import numpy as np

from libc.math cimport INFINITY, NAN, exp, expf, expm1, fabs, floor, isinf, isnan, lgamma, log, log1p, sqrt
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

cdef extern from *:
    """
    #define GOLDEN 0x9E3779B97F4A7C15ULL
    """
    uint64_t GOLDEN

include "native/tails.pxi"
include "native/tokens.pxi"
include "native/english.pxi"
include "native/scores.pxi"

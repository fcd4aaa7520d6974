"""Memory of the server: what a request needed for a moment goes back to the system after it."""

from __future__ import annotations

import ctypes

import pyarrow as pa

#: Names of glibc's options, and what they are set to: arrays above a megabyte are given back when they are freed,
#: and threads share two heaps.
_MMAP_THRESHOLD, _ARENA_MAX = -3, -8
_LARGE, _ARENAS = 1 << 20, 2


def give_back_memory() -> None:
    """Make this process return memory that it no longer needs, where its allocator can be told to."""
    pa.set_memory_pool(pa.system_memory_pool())
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # another C library than glibc
        return
    mallopt(_MMAP_THRESHOLD, _LARGE)
    mallopt(_ARENA_MAX, _ARENAS)

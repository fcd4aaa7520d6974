"""Commands where address space is limited (`ulimit -v`): refused below a floor, and a sentence where it ends.

Libraries reserve address space when they are imported, and end the process where there is none. What is here runs
before them, and imports nothing.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable

#: What imports and the threads of two processors reserve, and those of each further processor.
FLOOR, PER_PROCESSOR, HIGHEST_FLOOR = 3 << 30, 64 << 20, 7 << 30
#: How libraries end a process that gets no memory.
_WITHOUT_MEMORY = {signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGTRAP}
#: Arguments that need no libraries.
_LIGHT = {"--version", "--help", "-h"}


def limit() -> int | None:
    """Return the limit of address space in bytes, None where there is none."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if soft == resource.RLIM_INFINITY else soft


def floor() -> int:
    """Return the bytes of address space that commands need on this machine."""
    return min(HIGHEST_FLOOR, FLOOR + PER_PROCESSOR * max(0, (os.cpu_count() or 1) - 2))


def guarded(run: Callable[[], int]) -> int:
    """Return the exit code of a command; where address space is limited, it runs in a process that may be ended."""
    space = limit()
    if space is None or set(sys.argv[1:]) & _LIGHT:
        return run()
    if space < floor():
        return _refused(f"is {_size(space)}; commands need {_size(floor())} on this machine")
    child = os.fork()
    if child == 0:
        try:
            code = run()
        except BaseException as error:
            if not _of_memory(error):
                raise
            code = _refused(
                f"is {_size(space)}, which is not enough for this command ({type(error).__name__})"
            )
        os._exit(code)
    return _code_of(child, space)


def _of_memory(error: BaseException) -> bool:
    """Return whether memory, a library that needs it, or a thread's stack could not be had."""
    kinds = (MemoryError, ImportError, BlockingIOError)
    return (
        isinstance(error, kinds)
        or type(error).__name__ == "PanicException"
        or "start new thread" in str(error)
    )


def _code_of(child: int, space: int) -> int:
    """Return the exit code of the process, or end as it did."""
    asked_by_keyboard = sys.stdin is not None and sys.stdin.isatty()  # then the process has the signal, too
    for number in (signal.SIGTERM, signal.SIGINT):
        forwarded = number != signal.SIGINT or not asked_by_keyboard
        signal.signal(number, lambda n, _: os.kill(child, n) if forwarded else None)  # noqa: B023
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        return code
    if -code in _WITHOUT_MEMORY:
        return _refused(f"is {_size(space)}, which is not enough for this command")
    signal.signal(-code, signal.SIG_DFL) if -code != signal.SIGKILL else None
    os.kill(os.getpid(), -code)
    return 128 - code


def _refused(why: str) -> int:
    print(
        f"cuecard: the limit of address space {why}: raise it (ulimit -v), or limit memory with --memory instead.",
        file=sys.stderr,
        flush=True,
    )
    return 2


def _size(count: int) -> str:
    return f"{count / (1 << 30):.1f} GB"

"""The one place where errors of the libraries that read files become sentences.

Damaged bytes reach code in C++ and Rust. It raises its own exceptions there, or panics: a panic arrives as
pyo3's `PanicException`, which is a `BaseException` and passes every `except Exception`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from cuecard.errors import CueCardError, InputError, printable

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


def reason(error: BaseException, limit: int = 200) -> str:
    """Return the first line of an error in printable characters, without the name of its library."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return printable(lines[0].removeprefix("parquet: "), limit)

"""The one place where errors of the libraries that read files become sentences.

Damaged bytes reach code in C++ and Rust. It raises its own exceptions there, or panics: a panic arrives as
pyo3's `PanicException`, which is a `BaseException` and passes every `except Exception`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, TypeVar

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


#: How the names of types begin that Arrow reads and polars cannot hold: it panics, or takes the file for damaged.
_FOREIGN_TYPES = (
    *("decimal256", "list_view", "large_list_view", "sparse_union", "dense_union", "run_end_encoded"),
    "month_day_nano_interval",
)


def check_schema(schema: Any, where: str) -> None:
    """Raise where an Arrow schema repeats a name, or has a column of a type that tables here cannot hold."""
    if repeated := [name for name, times in Counter(schema.names).items() if times > 1]:
        raise InputError(
            f"{where} has two columns with the name {printable(repeated[0], 60)!r}: write it with distinct names."
        )
    for field in schema:
        if kind := _foreign_type(field.type):
            raise InputError(
                f"Column {printable(field.name, 60)!r} of {where} has values of the type {printable(kind, 60)}, which "
                "cannot be read: write the file without the column, or with its values as text."
            )
        if not _has_text_metadata(field):
            raise InputError(
                f"Column {printable(field.name, 60)!r} of {where} has metadata that is not UTF-8: copy the file again "
                "if it is damaged, or write it without metadata."
            )


def _foreign_type(kind: Any) -> str:
    if str(kind).startswith(_FOREIGN_TYPES):
        return str(kind)
    return next(filter(None, (_foreign_type(kind.field(i).type) for i in range(kind.num_fields))), "")


def _has_text_metadata(field: Any) -> bool:
    """Return whether the metadata of a field and of those within it is text: polars panics over any other."""
    try:
        for part in [*(field.metadata or {}).keys(), *(field.metadata or {}).values()]:
            part.decode()
    except UnicodeDecodeError:
        return False
    return all(_has_text_metadata(field.type.field(i)) for i in range(field.type.num_fields))


def reason(error: BaseException, limit: int = 200) -> str:
    """Return the first line of an error in printable characters, without the name of its library."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return printable(lines[0].removeprefix("parquet: "), limit)

"""Errors meant for people: what happened, what was expected, what to type.

Every error a user can cause derives from `CueCardError`; the command line prints it as one sentence and ends
with exit code 2. Anything else is a bug and keeps its traceback.
"""

from __future__ import annotations


class CueCardError(Exception):
    """Base of all errors that the input or the call causes; anything else is a bug."""


class InputError(CueCardError):
    """The data cannot be used as it is; the message names the file, the row and the remedy."""


class UsageError(CueCardError):
    """An argument or option is unknown, or does not fit the others."""


class MissingExtraError(CueCardError):
    """An optional package is missing; the message ends with the command that installs it."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        self.package = package
        self.extra = extra
        super().__init__(
            f"{purpose} needs the package {package!r}, which is not installed: pip install 'cuecard[{extra}]'"
        )

"""Users' own features: a regular expression or a Python function."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from cuecard.errors import UsageError
from cuecard.features.family import Presence
from cuecard.features.format import matching
from cuecard.text import Encoded

#: What is wrong with a pattern, by what the library of regular expressions calls it.
_REASONS = {
    "unclosed group": "an opening parenthesis has no closing one",
    "unopened group": "a closing parenthesis has no opening one",
    "unclosed character class": "an opening bracket has no closing one",
    "repetition operator missing": "nothing stands before a sign of repetition (*, + or ?)",
    "invalid repetition": "the numbers of a repetition {a,b} are not in order",
    "escape sequence": "a backslash has no letter after it, or one that means nothing",
}
#: A user's function: the table of instances in, one boolean column per feature out.
FeatureFunction = Callable[[pl.DataFrame], Mapping[str, pl.Series]]


@dataclass(frozen=True)
class Regexes:
    """Named regular expressions, each one a feature of the texts it matches."""

    name: ClassVar[str] = "regex"
    description: ClassVar[str] = "a regular expression of yours matches"
    phrase: ClassVar[str] = "a match of {}"
    content_blind: ClassVar[bool] = True
    languages: ClassVar[frozenset[str] | None] = None

    patterns: tuple[tuple[str, str], ...]

    def __post_init__(self) -> None:
        for name, pattern in self.patterns:
            try:
                pl.Series([""]).str.contains(pattern)
            except pl.exceptions.ComputeError as error:
                raise UsageError(_invalid(name, pattern, str(error))) from None

    def presence(self, data: Encoded) -> Presence:
        """Return which instances match which pattern."""
        return matching(data, dict(self.patterns))


def _invalid(name: str, pattern: str, error: str) -> str:
    """Return what is wrong with a pattern, where, and what to type instead."""
    if re.search(r"\(\?<?[=!]|\\[1-9]", pattern):
        reason = "look-around and back-references are not supported: write the pattern without them"
    else:
        reason = next((ours for theirs, ours in _REASONS.items() if theirs in error), "it cannot be read")
        place = re.search(
            r"^ {4}( *)\^", error, re.MULTILINE
        )  # the library quotes the pattern, indented by four
        reason += f" (character {len(place.group(1)) + 1})" if place else ""
        reason += r". Put a backslash before a sign that stands for itself, such as \( or \["
    return f"The regular expression {name}={pattern} is not valid: {reason}."


@dataclass(frozen=True)
class Function:
    """Features computed by a function from the table of instances to named boolean columns."""

    name: str
    function: FeatureFunction
    description: str = "a function of yours"
    phrase: ClassVar[str] = "{}"
    content_blind: ClassVar[bool] = True
    languages: ClassVar[frozenset[str] | None] = None

    def presence(self, data: Encoded) -> Presence:
        """Return what the function said, after checking its shape."""
        columns = {}
        for name, values in self.function(data.instances.table).items():
            array = np.asarray(values)
            if array.shape != (len(data.instances),) or array.dtype != np.bool_:
                raise UsageError(
                    f"The feature {name!r} of {self.name!r} must be one boolean per instance, "
                    f"not an array of shape {array.shape} and type {array.dtype}."
                )
            columns[name] = array
        return Presence.from_columns(columns, len(data.instances))

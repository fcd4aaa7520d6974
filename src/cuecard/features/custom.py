"""Users' own features: a regular expression or a Python function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from cuecard.errors import UsageError
from cuecard.features.family import Presence
from cuecard.features.format import matching
from cuecard.text import Encoded

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
                reason = str(error).strip().splitlines()[-1].removeprefix("error: ")
                raise UsageError(
                    f"The regular expression {name}={pattern} is not valid ({reason}); look-around and "
                    "back-references are not supported."
                ) from None

    def presence(self, data: Encoded) -> Presence:
        """Return which instances match which pattern."""
        return matching(data, dict(self.patterns))


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

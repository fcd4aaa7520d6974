"""Numbers that parameters can take, wherever they are typed: out of range is an error before any work."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import MISSING, fields
from numbers import Integral, Real
from typing import Any

from cuecard.errors import UsageError

#: What every library that draws numbers accepts.
LARGEST_SEED = 2**32 - 1
#: Whole numbers that a parameter of that name can be, in every analysis.
_RANGES = {"seed": (0, LARGEST_SEED), "folds": (2, 1000), "ngrams": (1, 10), "components": (2, 10**6)}
#: Numbers that must be above zero.
_POSITIVE = {"strength"}
#: Whole numbers beyond this do not fit into the arrays that they size.
_LARGEST = 2**53


def check_seed(seed: object) -> None:
    """Raise if a number is not a random seed."""
    _check_range("seed", seed, "seed")


def check_numbers(analyses: Iterable[Any]) -> None:
    """Raise if a parameter of an analysis is a number that it cannot be, or no number where it must be one."""
    for analysis in analyses:
        for field in fields(analysis):
            value, name = getattr(analysis, field.name), f"{analysis.name}.{field.name}"
            default = field.default if field.default is not MISSING else None
            whole = isinstance(default, int) and not isinstance(default, bool)
            if value is None or isinstance(value, bool) or not (whole or isinstance(value, Real)):
                continue
            if whole or isinstance(value, Integral):
                _check_range(field.name, value, name)
            elif not math.isfinite(float(value)) and value != default:
                raise UsageError(f"{name} must be a finite number, not {value}.")
            elif field.name in _POSITIVE and value <= 0:
                raise UsageError(f"{name} must be above 0, not {value}.")


def _check_range(parameter: str, value: object, shown: str) -> None:
    low, high = _RANGES.get(parameter, (-_LARGEST, _LARGEST))
    if isinstance(value, Integral):
        number = int(value)
    elif isinstance(value, Real) and float(value).is_integer():
        number = int(float(value))
    else:
        raise UsageError(f"{shown} must be a whole number, not {value!r}.")
    if not low <= number <= high:
        expected = f"from {low} to {high}" if parameter in _RANGES else f"of at most {high}"
        raise UsageError(f"{shown} must be a whole number {expected}, not {value}.")

"""The examples that predictions are about."""

from __future__ import annotations

from cuecard.data import Examples, Instances
from cuecard.errors import InputError

#: Stands where a model gave no answer that can be read; it is counted, and never right.
UNANSWERED = -1


def check_test(data: Instances) -> Examples:
    """Return the test examples, or raise if there is no test split to probe a model on."""
    if data.test is None or not len(data.test):
        raise InputError(
            f"{data.name} has no test split, and a model is probed on one: give it with --test, "
            "or draw one with --holdout 0.2."
        )
    return Examples(data.test)

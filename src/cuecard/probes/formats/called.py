"""Predictions from a Python function that is called with the texts of the test examples."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import polars as pl

from cuecard.data.examples import Examples
from cuecard.errors import InputError
from cuecard.probes.formats.settling import Unmatched


def called_predictions(function: Callable[..., Any], examples: Examples) -> Unmatched:
    """Return what a function answers for the test examples, all given to it at once.

    It is called with lists of texts: `(premises, hypotheses)` for pairs, `(questions, choices)` for multiple
    choice and preferences (choices are lists of texts), `(texts)` for single texts. It returns one answer per
    example, or a matrix of probabilities with a column per possible answer.
    """
    name = getattr(function, "__name__", type(function).__name__)
    task = examples.instances.task
    hypotheses = examples.instances.table["hypothesis"].to_list()
    if task == "text":
        returned = function(hypotheses)
    elif task == "pair":
        returned = function(examples.premises, hypotheses)
    else:
        returned = function(examples.premises, examples.choices.to_list())
    source = f"the function {name}"
    try:
        matrix = np.asarray(returned)
    except ValueError:
        raise InputError(
            f"{source} returned rows of different lengths; for probabilities give every example "
            f"{len(examples.answer_names)} numbers, 0 for an answer that it does not have."
        ) from None
    if not isinstance(returned, Iterable):
        raise InputError(
            f"{source} returned {type(returned).__name__}; return a list with one answer per example."
        )
    if matrix.ndim == 2:
        wanted = (len(examples), len(examples.answer_names))
        if matrix.shape != wanted:
            raise InputError(
                f"{source} returned an array of shape {matrix.shape}; for probabilities it must be {wanted}."
            )
        return Unmatched(name, source, None, probabilities=matrix.astype(np.float64))
    answers = [None if answer is None or answer != answer else str(answer) for answer in returned]
    return Unmatched(name, source, pl.Series(answers, dtype=pl.String))

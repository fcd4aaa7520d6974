"""The examples in the docstrings of the solvers are true."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest


@pytest.mark.parametrize("name", ["peco", "permutation", "entropy_balancing.balance"])
def test_examples_run(name: str) -> None:
    outcome = doctest.testmod(import_module(f"cuecard.stats.{name}"))
    assert outcome.attempted > 0
    assert outcome.failed == 0

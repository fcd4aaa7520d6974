"""The examples in the docstrings of the solvers are true."""

from __future__ import annotations

import doctest
from types import ModuleType

import pytest

from cuecard.stats import peco, permutation
from cuecard.stats.entropy_balancing import balance


@pytest.mark.parametrize("module", [peco, permutation, balance])
def test_examples_run(module: ModuleType) -> None:
    outcome = doctest.testmod(module)
    assert outcome.attempted > 0
    assert outcome.failed == 0

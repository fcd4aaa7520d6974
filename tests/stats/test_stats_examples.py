import doctest
import importlib
import pkgutil

import pytest

import cuecard.stats

MODULES = [module.name for module in pkgutil.walk_packages(cuecard.stats.__path__, "cuecard.stats.")]
#: Modules whose functions users call first: they must keep a worked example.
WITH_EXAMPLES = (
    "cuecard.stats.clusters.peco",
    "cuecard.stats.models.permutation",
    "cuecard.stats.entropy_balancing.balance",
)


@pytest.mark.parametrize("name", MODULES)
def test_worked_examples_in_docstrings_are_true(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0
    assert result.attempted > 0 or name not in WITH_EXAMPLES


def test_public_names_exist_and_have_docstrings() -> None:
    for name in cuecard.stats.__all__:
        assert getattr(cuecard.stats, name).__doc__, name

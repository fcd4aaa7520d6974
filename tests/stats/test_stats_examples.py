import doctest
import importlib
import pkgutil

import pytest

import cuecard.stats

MODULES = [module.name for module in pkgutil.iter_modules(cuecard.stats.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_worked_examples_in_docstrings_are_true(name: str) -> None:
    result = doctest.testmod(importlib.import_module(f"cuecard.stats.{name}"))
    assert result.failed == 0


def test_public_names_exist_and_have_docstrings() -> None:
    for name in cuecard.stats.__all__:
        assert getattr(cuecard.stats, name).__doc__, name

"""Every public name is documented with an example, and what the API page documents exists."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

import cuecard

PAGE = (Path(__file__).parents[2] / "docs" / "api.md").read_text(encoding="utf-8")
EXAMPLES = "".join(re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))
PUBLIC = [name for name in cuecard.__all__ if not name.startswith("__")]


def documented() -> list[object]:
    paths = re.findall(r"^::: (\S+)$", PAGE, re.MULTILINE)
    return [
        getattr(import_module(module), name) for module, _, name in (path.rpartition(".") for path in paths)
    ]


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_has_an_example(name):
    assert re.search(rf"\bcc\.{name}\b", EXAMPLES)


def test_every_public_name_is_in_the_reference():
    reference = documented()
    # Public functions are wrapped, so that their errors name arguments of Python.
    public = {name: getattr(cuecard, name) for name in PUBLIC}
    inner = {name: getattr(value, "__wrapped__", value) for name, value in public.items()}
    assert [name for name in PUBLIC if public[name] not in reference and inner[name] not in reference] == []


def test_every_audit_probe_and_remedy_is_a_public_name():
    from cuecard.audits import AUDITS
    from cuecard.probes import PROBES
    from cuecard.remedies import REMEDIES

    for kind in (*AUDITS, *PROBES, *REMEDIES):
        assert getattr(cuecard, kind.__name__) is kind

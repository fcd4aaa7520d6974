from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import cuecard
from cuecard._lazy import _imported_for_types, lazy_names

#: The packages whose names are imported when they are first used.
LAZY = [
    ".".join(path.parent.relative_to(Path(cuecard.__file__).parents[1]).parts)
    for path in Path(cuecard.__file__).parent.rglob("__init__.py")
    if "lazy_names(__name__)" in path.read_text()
]


@pytest.mark.parametrize("package", LAZY)
def test_every_public_name_of_a_lazy_package_can_be_imported(package):
    module = import_module(package)
    assert module.__all__
    for name in module.__all__:
        assert getattr(module, name) is not None


@pytest.mark.parametrize("package", LAZY)
def test_no_lazy_name_is_hidden_by_a_submodule_of_the_same_name(package):
    file = Path(str(import_module(package).__file__))
    submodules = {path.stem for path in file.parent.iterdir() if not path.name.startswith("_")}
    lazy = set(_imported_for_types(file.read_text()))
    assert lazy
    assert not submodules & lazy


def test_a_name_that_no_import_statement_brings_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"module 'cuecard\.stats' has no attribute 'nothing'"):
        import_module("cuecard.stats").nothing  # noqa: B018


def test_the_module_of_a_name_is_imported_with_the_name_and_not_before():
    code = (
        "import sys, cuecard.stats; place = 'cuecard.stats.clusters.peco'; before = place in sys.modules; "
        "cuecard.stats.peco; print(before, place in sys.modules, 'peco' in vars(cuecard.stats))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.split() == ["False", "True", "True"]


def test_only_imports_for_type_checkers_are_read(tmp_path, monkeypatch):
    (tmp_path / "lazy_example.py").write_text(
        "from typing import TYPE_CHECKING\n"
        "from json import loads\n"
        "if TYPE_CHECKING:\n    from json import dumps as write\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import_module("lazy_example")
    attribute = lazy_names("lazy_example")
    assert attribute("write")({"a": 1}) == '{"a": 1}'
    for absent in ("dumps", "loads", "TYPE_CHECKING"):
        with pytest.raises(AttributeError, match=absent):
            attribute(absent)


def test_audits_import_nothing_that_takes_long_before_they_need_it():
    code = (
        "import sys; from cuecard.run.auditing import selected_audits; selected_audits(options={}); "
        "print(*{'scipy.stats', 'scipy.optimize', 'sklearn', 'pandas', 'torch'} & set(sys.modules))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.split() == []

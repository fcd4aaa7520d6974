from __future__ import annotations

import re
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path

import pytest

import cuecard
from cuecard.errors import UsageError
from cuecard.features.family import FAMILIES
from cuecard.registry import Registry, lacking, unknown_name
from process_state import REGISTRIES, differences, process_state, registries

METADATA = "Metadata-Version: 2.1\nName: {}\nVersion: 1.0\n"


def install(folder, package: str, code: str, entries: str) -> None:
    """Put a package with entry points of the group `things` into a folder."""
    (folder / f"{package}.py").write_text(code)
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(METADATA.format(package))
    (info / "entry_points.txt").write_text(f"[things]\n{entries}\n")


def test_a_broken_plugin_is_named_and_the_others_work(tmp_path, monkeypatch):
    install(tmp_path, "broken_plugin", "import no_such_package", "bad = broken_plugin:Bad")
    install(tmp_path, "working_plugin", "class Good: phrase = ''", "good = working_plugin:Good")
    install(tmp_path, "odd_plugin", "class Odd: pass", "odd = odd_plugin:Odd")
    monkeypatch.syspath_prepend(tmp_path)
    things: Registry[type] = Registry("thing", group="things", check=lacking("phrase"))
    for _ in range(2):  # the answer is the same at every look-up
        assert things.names() == ["good"]
        assert things.get("good").__name__ == "Good"
        with pytest.raises(UsageError, match=r"'bad'.*broken_plugin.*no_such_package"):
            things.get("bad")
        with pytest.raises(UsageError, match=r"'odd'.*odd_plugin.*no phrase"):
            things.get("odd")
        assert set(things.broken) == {"bad", "odd"}


def test_what_does_not_satisfy_the_contract_cannot_be_registered():
    things: Registry[type] = Registry("thing", group="nothing", check=lacking("phrase", "presence"))
    with pytest.raises(UsageError, match="the class int has no phrase and no presence"):
        things.add("number", int)
    with pytest.raises(UsageError, match="not a class"):
        things.add("object", 1)  # type: ignore[arg-type]
    assert things.names() == []


def test_a_declared_thing_is_named_at_once_and_imported_when_it_is_used(tmp_path, monkeypatch):
    (tmp_path / "declared_thing.py").write_text("Thing = 'thing'\n")
    monkeypatch.syspath_prepend(tmp_path)
    things: Registry[str] = Registry("thing", group="cuecard.nothing")
    things.declare("one", "declared_thing:Thing")
    with pytest.raises(UsageError, match="already registered"):
        things.declare("one", "declared_thing:Other")
    with pytest.raises(UsageError, match="already registered"):
        things.add("one", "other")
    assert things.names() == ["one"]
    assert "declared_thing" not in sys.modules
    assert things.get("one") == "thing"
    assert list(things) == ["thing"]


def test_a_thread_that_looks_up_while_another_loads_waits_for_all_plugins(tmp_path, monkeypatch):
    install(
        tmp_path, "slow_plugin", "import time\ntime.sleep(0.2)\nclass Slow: pass", "slow = slow_plugin:Slow"
    )
    monkeypatch.syspath_prepend(tmp_path)
    things: Registry[type] = Registry("thing", group="things")
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(lambda _: things.names(), range(2))) == [["slow"], ["slow"]]


def test_every_registry_is_known_to_the_check_of_what_tests_leave_behind():
    root = Path(cuecard.__file__).parent
    declared = {
        (".".join(["cuecard", *path.relative_to(root).with_suffix("").parts]).removesuffix(".__init__"), name)
        for path in root.rglob("*.py")
        for name in re.findall(r"^(\w+)(?:: [^=\n]+)? = Registry\(", path.read_text("utf-8"), re.MULTILINE)
    }
    assert declared == set(REGISTRIES.items())
    [import_module(module) for module in REGISTRIES]
    assert len(list(registries())) == len(REGISTRIES)


def test_what_a_test_leaves_behind_is_named(monkeypatch, tmp_path):
    class Mine:
        pass

    before = process_state()
    assert differences(before, process_state()) == []
    monkeypatch.setitem(FAMILIES._items, "mine", Mine)
    monkeypatch.setenv("CUECARD_LEFT", "1")
    monkeypatch.chdir(tmp_path)
    left = " ".join(differences(before, process_state()))
    assert all(
        word in left for word in ("feature family: set() became {'mine'}", "CUECARD_LEFT", str(tmp_path))
    )


def test_an_unknown_name_among_none_is_said() -> None:
    assert str(unknown_name("cue", "b", [])) == "Unknown cue 'b'. None is known."

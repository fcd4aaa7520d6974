from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from cuecard.errors import UsageError
from cuecard.registry import Registry, lacking

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

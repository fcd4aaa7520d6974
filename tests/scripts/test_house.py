"""The table of the house counts what it says."""

from __future__ import annotations

from pathlib import Path

from scripts.house import measure, table

import cuecard

SOURCE = """\
from typing import Any

def wide(a, b, c, d, e, f, g, h, *, i: Any) -> dict[str, Any]:
    if isinstance(a, (NumberedInstances, str)):
        return {}
"""


def test_counts_of_a_small_package(tmp_path: Path) -> None:
    package = tmp_path / "src" / "small"
    (package / "audits").mkdir(parents=True)
    (package / "audits" / "style.py").write_text(SOURCE)
    (package / "kernels.pyx").write_text("def f(int x):\n    return x\n")
    house = measure(package)
    assert (house.files, house.lines, house.uses_of_any) == (2, 7, 2)
    assert house.switches == ["audits/style.py:4"]
    assert house.wide == ["audits/style.py:3 wide (9)"]
    assert house.lengths == [3]
    rows = dict(table(package, ["audits/style.py"]))
    assert rows["lines in these files"] == "5"
    assert rows["files, lines of a new audit (style)"] == "1, 5"


def test_the_package_itself_is_measured() -> None:
    house = measure(Path(cuecard.__file__).parent)
    assert house.files > 100
    assert house.lines > 10_000

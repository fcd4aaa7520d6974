"""Write the table of ratios into docs/performance.md, from what `make bench` measured last."""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.measure import recorded, table, was_busy  # noqa: E402

PAGE = ROOT / "docs" / "performance.md"
BEGIN, END = "<!-- ratios: written by scripts/write_performance.py -->", "<!-- end of ratios -->"


def with_table(page: str, lines: list[str]) -> str:
    """Return the page with these lines between its marks."""
    before, _, rest = page.partition(BEGIN)
    _, mark, after = rest.partition(END)
    if not mark:
        raise ValueError(f"the page lacks {BEGIN} and {END}")
    return "\n".join([f"{before}{BEGIN}", "", *lines, "", f"{END}{after}"])


def main() -> None:
    """Write the page; end with an error where nothing was measured."""
    ratios = recorded()
    if not ratios:
        sys.exit("nothing was measured yet: run `make bench`, or `python -m benchmarks commands`")
    said = f"Measured in one run on {os.cpu_count()} cores"
    if was_busy():
        said += ", which had other work: only ratios of CPU time mean something"
    said += "."
    PAGE.write_text(
        with_table(PAGE.read_text(encoding="utf-8"), [*table(ratios), "", said]), encoding="utf-8"
    )


if __name__ == "__main__":
    main()

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console

from cuecard.cli.show import print_place


def test_a_path_with_brackets_is_printed_as_it_is():
    out = io.StringIO()
    print_place(Path("x[/b]/report.html"), Console(file=out))
    assert out.getvalue().strip() == f"Report: {Path('x[/b]/report.html')}"

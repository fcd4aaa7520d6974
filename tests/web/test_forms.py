"""The forms come from a process that prints nothing but JSON."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from cuecard._lazy import PYTHON


def test_a_plug_in_that_prints_when_it_is_imported_does_not_spoil_the_forms(tmp_path: Path) -> None:
    (tmp_path / "noisy.py").write_text(
        "from cuecard.audits import Overview\n"
        "print('noisy 1.0 says hello')\n"
        "class Noisy(Overview):\n"
        "    name = 'noisy'\n"
    )
    about = tmp_path / "noisy-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: noisy\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[cuecard.audits]\nnoisy = noisy:Noisy\n")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    printed = subprocess.run(
        [*PYTHON, "-m", "cuecard.web.forms"], capture_output=True, env={**os.environ, "PYTHONPATH": path}
    )
    assert b"noisy 1.0 says hello" in printed.stderr
    assert "noisy" in [audit["name"] for audit in json.loads(printed.stdout)["audits"]]

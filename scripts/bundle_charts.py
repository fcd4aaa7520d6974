"""Put the chart library into the package when it is built, so that no report needs a JavaScript engine.

Hatchling calls this while it builds a wheel, a source distribution or an editable installation.
"""

from __future__ import annotations

import base64
import hashlib
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PLACE = "src/cuecard/report/html/templates/vega.js"
#: In a process of its own: the engine aborts where its memory is limited.
BUNDLE = """
import sys, vl_convert
from importlib.metadata import version
sys.stdout.buffer.write(f"{version('vl-convert-python')}\\n{vl_convert.javascript_bundle()}".encode())
"""


class ChartLibrary(BuildHookInterface):  # type: ignore[misc]
    """Bundles the library with vl-convert; without it, reports bundle their own when they are written."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the script, with the version that made it and its hash in the first line."""
        done = subprocess.run([sys.executable, "-c", BUNDLE], capture_output=True)
        if done.returncode:
            self.app.display_warning("The chart library was not bundled: vl-convert cannot run here.")
            return
        maker, script = done.stdout.decode().split("\n", 1)
        script = script.replace("</script", "<\\/script").replace("<!--", "<\\!--")
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        content = f"// vl-convert {maker} 'sha256-{digest}'\n{script}"
        Path(self.root, PLACE).write_bytes(content.encode())
        build_data["artifacts"].append(PLACE)

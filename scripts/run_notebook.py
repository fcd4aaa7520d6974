"""Run docs/first-audit.ipynb from top to bottom and store what its cells print and show.

A card is stored as the line that names it, not as the report that a notebook shows, which is a megabyte.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import os
import tempfile
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).parents[1] / "docs" / "first-audit.ipynb"


def main() -> None:
    """Write the notebook with its outputs."""
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        os.environ["CUECARD_CACHE"] = folder
        for number, (cell, outputs) in enumerate(
            zip(cells, run_cells(["".join(cell["source"]) for cell in cells]), strict=True), 1
        ):
            cell["execution_count"], cell["outputs"] = number, outputs
            for output in outputs:
                if output["output_type"] == "execute_result":
                    output["execution_count"] = number
    NOTEBOOK.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def run_cells(sources: list[str]) -> list[list[dict[str, Any]]]:
    """Return the outputs of cells that share their names, as a notebook stores them."""
    namespace: dict[str, Any] = {}
    return [_outputs(source, namespace) for source in sources]


def _outputs(source: str, namespace: dict[str, Any]) -> list[dict[str, Any]]:
    tree, value = ast.parse(source), None
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, NOTEBOOK.name, "exec"), namespace)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), NOTEBOOK.name, "eval"), namespace)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        lines = printed.getvalue().splitlines(keepends=True)
        outputs.append({"output_type": "stream", "name": "stdout", "text": lines})
    if value is not None:
        outputs.append({"output_type": "execute_result", "metadata": {}, "data": _shown(value)})
    return outputs


def _shown(value: Any) -> dict[str, Any]:
    """Return a value as a notebook stores it: a chart as a picture, a frame as a table, everything else as text."""
    if type(value).__module__.startswith("altair"):
        drawn = io.BytesIO()
        value.save(drawn, format="png")
        return {"image/png": base64.b64encode(drawn.getvalue()).decode(), "text/plain": ["a chart"]}
    data: dict[str, Any] = {"text/plain": repr(value).splitlines(keepends=True)}
    if type(value).__name__ == "DataFrame":
        data["text/html"] = value._repr_html_().splitlines(keepends=True)
    return data


if __name__ == "__main__":
    main()

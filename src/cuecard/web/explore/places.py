"""Where the files of a prepared card are, and what they are called."""

from __future__ import annotations

from pathlib import Path

from cuecard.web.settings import OWN_FOLDER

PAGE, CHARTS = "page.json", "charts"
CUE_ROWS, EXAMPLES = "cue_rows.parquet", "examples"
#: Changes when pages need other files than before.
LAYOUT = 4


def prepared_folder(root: Path, key: str) -> Path:
    """Return where the pages of a card are kept, by the hash of its content."""
    return root / OWN_FOLDER / "prepared" / f"{LAYOUT}-{key}"


def table_folder(folder: Path, name: str) -> Path:
    """Return where a table of a card is prepared, below the folder of its pages."""
    return folder / "tables" / name

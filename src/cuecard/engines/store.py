"""What was learned from every piece of a dataset, on disk until the audit is done, so that it can be continued."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from cuecard.writing import writing_to

#: The summary of a piece: tables by name.
Summary = Mapping[str, pl.DataFrame]
#: How the names of folders begin that are being written.
_STAGED = "."


@dataclass(frozen=True)
class Store:
    """A folder with a folder for every stage and, in it, for every piece that is done."""

    folder: Path

    def has(self, stage: str, piece: int) -> bool:
        """Return whether a piece is done."""
        return self._place(stage, piece).is_dir()

    def put(self, stage: str, piece: int, summary: Summary) -> None:
        """Keep the summary of a piece, whole or not at all."""
        place = self._place(stage, piece)
        with writing_to(place):
            place.parent.mkdir(parents=True, exist_ok=True)
            staged = Path(tempfile.mkdtemp(prefix=_STAGED, dir=place.parent))
            try:
                for name, table in summary.items():
                    table.write_parquet(staged / f"{name}.parquet", compression="lz4")
                os.replace(staged, place)
            except BaseException:
                shutil.rmtree(staged, ignore_errors=True)
                raise

    def tables(self, stage: str, name: str, columns: list[str] | None = None) -> Iterator[pl.DataFrame]:
        """Yield one table of every piece that has it, in the order of the pieces."""
        for file in self.files(stage, name):
            yield pl.read_parquet(file, columns=columns, memory_map=False)

    def files(self, stage: str, name: str) -> list[Path]:
        """Return the files of one table, in the order of the pieces."""
        # What a killed run has staged is no piece.
        places = sorted(p for p in (self.folder / stage).iterdir() if not p.name.startswith(_STAGED))
        return [file for place in places if (file := place / f"{name}.parquet").is_file()]

    def remove(self) -> None:
        """Delete everything."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _place(self, stage: str, piece: int) -> Path:
        return self.folder / stage / f"{piece:06d}"

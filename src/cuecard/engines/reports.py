"""What reading the pieces of a dataset decided and left out, added up over all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl

from cuecard.data import LoadReport, Scan
from cuecard.data.files.paths import shown
from cuecard.data.files.raw import named_files
from cuecard.data.files.sources import which_files
from cuecard.data.layout.shaping import empty_note, group_note
from cuecard.data.units.buckets import Buckets
from cuecard.engines.store import Store
from cuecard.engines.verification import SURVEY
from cuecard.errors import InputError


@dataclass(frozen=True, eq=False)
class Reports:
    """The reports of all pieces, after a survey that found `n_rows` rows."""

    scan: Scan
    store: Store
    n_rows: int

    @cached_property
    def merged(self) -> LoadReport:
        """What reading decided and left out, over all pieces."""
        dropped: Counter[str] = Counter()
        files = {split: [str(path) for path in paths] for split, paths in self.scan.paths.items()}
        notes = dict.fromkeys(which_files(files, self.scan.named - {"train"}))
        for split in self.scan.paths:
            about = self._about(split)
            lost = {text: n for (kind, text), n in about.items() if kind == "dropped"}
            where = named_files([shown(path) for path in self.scan.paths[split]])
            if not any(len(table) for table in self._of_split("ids", split)):
                if split in self.scan.named:
                    reasons = ", ".join(f"{reason}: {n:,}" for reason, n in lost.items())
                    raise InputError(
                        f"No row of {where} can be used for {split} ({reasons}): give labelled rows."
                    )
                notes[f"The {split} split has no labels and is not used."] = None
                continue
            dropped.update(lost)
            for (kind, text), n in about.items():
                if kind in ("note", "empty"):
                    notes[text if kind == "note" else empty_note(text, where, n)] = None
        notes.update(dict.fromkeys(group_note(self._id_column(split)) for split in self.numbered))
        numbered = self.numbered or ("numbered", "") in self._about("train")
        recognised = {k: v for k, v in self.scan.report.recognised.items() if k != "id" or not numbered}
        return LoadReport(self.scan.report.files, recognised, dict(dropped), tuple(notes))

    def _about(self, split: str) -> Counter[tuple[str, str]]:
        """Return what the parts of a split say about reading them, added up: (kind, text) -> number."""
        about: Counter[tuple[str, str]] = Counter()
        for table in self._of_split("left_out", split):
            for kind, text, n in table.iter_rows():
                about[kind, text] += n
        return about

    def _of_split(self, name: str, split: str) -> Iterator[pl.DataFrame]:
        """Yield a table of the survey for every piece of a split."""
        for piece, table in zip(self.scan.pieces, self.store.tables(SURVEY, name), strict=True):
            if piece.split == split:
                yield table

    def _id_column(self, split: str) -> str:
        return self.scan.schemes[split].columns.one("id")

    @cached_property
    def numbered(self) -> tuple[str, ...]:
        """The splits whose id column repeats values, so that their rows are numbered."""
        return tuple(
            split
            for split, scheme in self.scan.schemes.items()
            if "id" in scheme.columns and self._repeats_ids(split)
        )

    def _repeats_ids(self, split: str) -> bool:
        about = self._about(split)
        if ("numbered", "") not in about and not self._has_equal_ids(split):
            return False
        if "id" in self.scan.schemes[split].columns.explicit or ("dropped", "duplicate id") in about:
            raise InputError(
                f"Column {self._id_column(split)!r} repeats values in different parts of {split}: name another id "
                "column with --columns id=OTHER, or number the rows with --columns id=none."
            )
        return True

    def _has_equal_ids(self, split: str) -> bool:
        with TemporaryDirectory(dir=self.store.folder) as place:
            ids = Buckets(
                Path(place) / "ids",
                np.uint64,
                self.n_rows,
            )
            for table in self._of_split("ids", split):
                ids.add(table["id"].to_numpy(), table["id"].to_numpy())
            return any(len(np.unique(some)) < len(some) for some in ids)

    def check_skipped(self) -> None:
        """Raise if more rows of a split were skipped than are allowed."""
        for split in self.scan.paths:
            about = self._about(split)
            dropped = {text: n for (kind, text), n in about.items() if kind == "dropped"}
            self.scan.check_skipped(split, dropped, about["read", ""])


def left_out_table(report: LoadReport) -> pl.DataFrame:
    """Return what the survey keeps of the report on a part."""
    rows = [("read", "", report.n_read)]
    rows += [("dropped", reason, n) for reason, n in report.dropped.items()]
    empty = {empty_note(name, named_files(report.files), n): (name, n) for name, n in report.empty.items()}
    rows += [("empty", *empty[note]) if note in empty else ("note", note, 0) for note in report.notes]
    rows += [] if "id" in report.recognised else [("numbered", "", 0)]
    return pl.DataFrame(rows, schema={"kind": pl.String, "text": pl.String, "n": pl.Int64}, orient="row")

"""What is refused before anything is computed: one file for two splits, and too many rows skipped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from cuecard.data.layout.shaping import NO_FAULT
from cuecard.errors import InputError, UsageError
from cuecard.wording import DAMAGED_FILE


def refuse_shared_files(files: Mapping[str, Sequence[str]]) -> None:
    """Raise if a file is read for two splits: what is learned from it would be tested on it."""
    owner: dict[Path, str] = {}
    for split, names in files.items():
        for name in names:
            path = Path(name)
            if not path.exists():
                continue  # a table in memory, standard input or a name on the Hub
            first = owner.setdefault(path.resolve(), split)
            if first != split:
                raise UsageError(
                    f"{name} is both the {first} and the {split} file: give another file for one of them, or split "
                    "off a test set with --holdout 0.2."
                )


def check_skipped(dropped: Mapping[str, int], n_read: int, most: float, where: str, files: int) -> None:
    """Raise if more rows of a split were skipped than are allowed; rows without a label are not skipped.

    How many rows a file has that cannot be opened, nobody knows: it counts as one, but most files must be readable.
    """
    damaged = sum(n for reason, n in dropped.items() if reason.startswith(DAMAGED_FILE))
    if 2 * damaged > files:
        raise InputError(
            f"{damaged:,} of the {files:,} files {where} cannot be opened: copy or export them again, or name the "
            "others."
        )
    bad = {reason: n for reason, n in dropped.items() if reason not in NO_FAULT}
    skipped = sum(bad.values())
    allowed = most * n_read if most < 1 else most
    if skipped > allowed:
        reasons = ", ".join(f"{reason}: {n:,}" for reason, n in bad.items())
        limit = f"{100 * most:g} %" if most < 1 else f"{most:,.0f} rows"
        raise InputError(
            f"{skipped:,} of {n_read:,} rows of {where} cannot be used ({reasons}), but at most {limit} may be "
            f"skipped: correct them, or allow more with --max-skipped {skipped}."
        )

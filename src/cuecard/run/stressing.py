"""Write test sets that shortcuts do not solve: the examples that no partial input solves, and identical pairs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from cuecard.data.loading import LoadedRows
from cuecard.data.output import check_not_read, check_writable, write_rows
from cuecard.errors import UsageError
from cuecard.limits import check_folder, check_seed
from cuecard.probes import matching_label
from cuecard.probes.identical_pair_scores import identical_pairs
from cuecard.remedies import StressSet, stress_set, write_stress_set
from cuecard.remedies.stress_sets import STRESS_FILES
from cuecard.run.auditing import audit
from cuecard.run.finishing import check_labels
from cuecard.run.running import Data, ProgressOption, ensure_loaded, require_done
from cuecard.wording import only_applies_to


@dataclass(frozen=True, eq=False)
class WrittenStressSet:
    """Hard and easy examples, and the files they were written to, by split and part ("test_hard")."""

    set: StressSet
    files: Mapping[str, Path]


def hard_examples(
    data: Data | LoadedRows | Callable[[], LoadedRows],
    out: Path,
    *,
    balanced: bool = False,
    seed: int = 0,
    progress: ProgressOption = None,
) -> WrittenStressSet:
    """Write the examples that no partial input solves, and the rest, one file of each per split.

    Args:
        data: what `cuecard.load` returned, or what `load_rows` did: then the rows are written as they came; or a
            function that returns one of them.
        out: the folder to write to.
        balanced: drop hard examples until every label has equally many.
        seed: seed of the audit and of what is dropped.
        progress: True for a line about every step that takes long, or a function from its title to a context
            manager that it runs in.
    """
    check_seed(seed)
    check_folder(out, STRESS_FILES)
    read = data() if callable(data) else data
    source = read if isinstance(read, LoadedRows) else None
    data = ensure_loaded(read.data if isinstance(read, LoadedRows) else read)
    check_labels(data)
    check_folder(out, STRESS_FILES, inputs=data.report.files)
    card = audit(data, only=["partial_input"], progress=progress, seed=seed)
    require_done(card["partial_input"])
    parts = stress_set(data, card.tables["examples"], balanced=balanced, seed=seed)
    return WrittenStressSet(parts, write_stress_set(parts, out, source=source))


def identical_pairs_file(
    data: Data, out: Path, *, match: str | None = None, sample: int | None = None, seed: int = 0
) -> int:
    """Write every train sentence paired with itself to a file, whole or not at all, and return how many there are.

    Args:
        data: what `cuecard.load` returned, or a function that returns it.
        out: the file to write.
        match: the label that says that two sentences match; known by its name by default.
        sample: at most this many pairs, of rare and frequent sentences alike.
        seed: seed of the sample.
    """
    kind = check_writable(out)
    data = ensure_loaded(data)
    check_labels(data)
    check_not_read(out, data)
    if data.task != "pair":
        raise UsageError(f"The set of identical pairs {only_applies_to({'pair'}, data.task)}.")
    label = matching_label(data, match)
    pairs = identical_pairs(data, sample=sample, seed=seed)
    write_rows(pairs.with_columns(label=pl.lit(label)), out, kind)
    return pairs.height

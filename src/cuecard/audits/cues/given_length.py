"""Cues of choices and preferences given length: where longer answers are right, every word looks like a cue."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.analysis import Finding
from cuecard.audits.cues.overall import ALL_FEATURES
from cuecard.audits.cues.rows import CueRows
from cuecard.data import Instances, Task
from cuecard.features.structure import example_starts
from cuecard.stats import q_values
from cuecard.stats.cues.given_properties import Choices, score_tests
from cuecard.wording import of_responses, plural

#: The family that is length itself.
LENGTH = "length"
#: Examples that are looked at at a time.
AT_A_TIME = 16_384


def given_length(
    cues: pl.DataFrame,
    train: Instances,
    having: Callable[[pl.DataFrame], CueRows],
    lengths: npt.NDArray[np.int64],
    *,
    alpha: float,
) -> pl.DataFrame:
    """Return the cues with z and q-value given length, and whether length explains them.

    Where length itself is significant, a cue goes with length (`by_length`) if it is not significant given length.
    Length is whether a choice is the longest or the shortest, and its log length, plain and squared with its sign. Only
    significant cues are tested, and the others counted with a p-value of 1, so that q-values are of all features as
    before; the columns are null for other features and for length itself. `having` returns which instances have some of
    the cues, training rows first; `lengths` are the numbers of tokens of these rows.
    """
    tested = cues.with_row_index("row").filter(pl.col("significant") & (pl.col("family") != LENGTH))
    starts = np.append(example_starts(train), len(train))
    edges = np.append(np.arange(0, len(starts) - 1, AT_A_TIME), len(starts) - 1)
    units = train.units("choices")

    def blocks() -> Iterator[Choices]:
        for first, last in pairwise(edges.tolist()):
            rows, own = slice(starts[first], starts[last]), starts[first:last] - starts[first]
            right = (train.label_codes[rows] == 0).astype(np.float64)
            yield Choices(right, own, length_properties(lengths[rows], own), units[rows])

    # Blocks have bounds of their own, so that sums do not depend on how a dataset on disk is divided.
    present = having(tested).blocks(starts[edges])
    tests = score_tests(blocks, present, tested.height, np.bincount(units))
    # The second label is the first one turned round.
    sign = np.where((tested["label"] == train.labels[0]).to_numpy(), 1.0, -1.0)
    log_p = np.concatenate([tests.log_p, np.zeros(cues.height - tested.height)])
    z, q = sign * tests.z, q_values(log_p)[: tested.height]
    matters = cues.filter((pl.col("family") == LENGTH) & pl.col("significant")).height > 0
    explained = ~(q <= alpha) & matters
    about = pl.DataFrame(
        {
            "row": tested["row"],
            "z_given_length": pl.Series(z, dtype=pl.Float64).fill_nan(None),
            "q_given_length": pl.Series(q, dtype=pl.Float64).fill_nan(None),
            "by_length": explained,
        }
    )
    return (
        cues.with_row_index("row")
        .join(about, on="row", how="left", maintain_order="left")
        .with_columns(pl.col("by_length").fill_null(False))
        .drop("row")
    )


def length_properties(
    lengths: npt.NDArray[np.int64], starts: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """Return for every choice: among the longest, among the shortest, and its log length within its example."""
    sizes = np.diff(np.append(starts, len(lengths)))
    code = np.repeat(np.arange(len(starts)), sizes)
    longest = lengths == np.maximum.reduceat(lengths, starts)[code]
    shortest = lengths == np.minimum.reduceat(lengths, starts)[code]
    logs = np.log1p(lengths.astype(np.float64))
    size = logs - (np.add.reduceat(logs, starts) / sizes)[code]
    return np.column_stack([longest, shortest, size, size * np.abs(size)]).astype(np.float64)


def with_length(findings: Sequence[Finding], explained: int, task: Task) -> list[Finding]:
    """Return the findings with how many cues length explains: told over all features, and as parts of length."""
    if not explained:
        return list(findings)
    one = explained == 1
    told = [
        replace(
            finding,
            text=f"{finding.text} {plural(explained, 'more feature goes', 'more features go')} with length: given the "
            f"length of the {of_responses('answers', task)}, {'it is' if one else 'they are'} not significant.",
        )
        if finding.key == ALL_FEATURES
        else finding
        for finding in findings
    ]
    place = next((i for i, one in enumerate(told) if one.cue.startswith(f"{LENGTH}:")), None)
    if place is not None:
        part = f"{plural(explained, 'feature')} that go with length"
        told[place] = replace(told[place], parts=(*told[place].parts, part))
    return told

"""The rows of the strongest cues: slices of any size say what the whole says."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
import pytest
from scipy import sparse

from cuecard.audits.cues.overall import given_away
from cuecard.audits.cues.redundancy import redundancy_table
from cuecard.audits.cues.replication import CueRows, held_shares
from cuecard.data import Instances, load


def in_slices(matrix: sparse.csr_matrix, ends: list[int]) -> CueRows:
    """Return the rows of a matrix in slices that end there."""

    def read() -> Iterator[sparse.csr_matrix]:
        for start, end in zip([0, *ends], [*ends, matrix.shape[0]], strict=True):
            yield matrix[start:end]

    return CueRows(matrix.shape[1], read)


def some_cues(rng: np.random.Generator, n: int) -> sparse.csr_matrix:
    """Return rows of cues of which the second is nearly the first, and the third lies within the first two."""
    strong = rng.random((n, 3)) < [0.4, 0.3, 0.2]
    alike = strong[:, 0] & (rng.random(n) < 0.9)
    within = (strong[:, 0] | strong[:, 1]) & (rng.random(n) < 0.5)
    return sparse.csr_matrix(np.column_stack([strong[:, 0], alike, strong[:, 1:], within]).astype(np.int64))


def question(i: int) -> dict[str, object]:
    """Return a question of two or three choices."""
    choices = [f"choice {i} {j}" for j in range(2 + i % 2)]
    return {"question": f"Question {i}?", "choices": choices, "answer": i % 2}


def statistics(cues: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
    """Return the columns of a table of cues that a second sample is compared with."""
    share = rng.uniform(0.4, 0.9, cues.height)
    adjusted = {"adjusted_share": share, "adjusted_low": share - 0.1, "adjusted_high": share + 0.1}
    return cues.with_columns(share=share + 0.02, **adjusted, effective_n=200, chance=0.4)


@pytest.fixture
def pairs() -> Instances:
    rows = [{"text": f"text {i // 3}", "label": "ab"[i % 2]} for i in range(300)]
    return load(pl.DataFrame(rows))


@pytest.mark.parametrize("ends", [[1], [7, 50, 51, 200], list(range(1, 300))])
def test_redundancy_of_slices_is_that_of_the_whole(ends: list[int]) -> None:
    rng = np.random.default_rng(0)
    matrix = some_cues(rng, 300)
    codes = rng.integers(0, 2, 260).astype(np.int32)  # the last rows are those of another split
    units = rng.integers(0, 120, 260)  # thirds, sixths and sevenths of a text
    cues = pl.DataFrame({"family": "word", "feature": list("abcde"), "label": list("ababb")})
    whole = redundancy_table(cues, CueRows.of([matrix], matrix.shape[1]), ("a", "b"), codes, units=units)
    parts = redundancy_table(cues, in_slices(matrix, ends), ("a", "b"), codes, units=units)
    assert whole.equals(parts)
    assert whole["z_given"].drop_nulls().len() >= 2


@pytest.mark.parametrize("test_rows", [0, 20])
@pytest.mark.parametrize("task", ["text", "choice"])
def test_what_holds_again_in_slices_is_what_holds_in_the_whole(task: str, test_rows: int) -> None:
    rng = np.random.default_rng(1)
    if task == "text":
        table = pl.DataFrame([{"text": f"text {i // 2}", "label": "ab"[i * 7 % 5 % 2]} for i in range(100)])
    else:
        table = pl.DataFrame([question(i) for i in range(100)])
    cut = 100 - test_rows
    data = load(table[:cut], test=table[cut:] if test_rows else None)
    ends = data.first_rows[[3, 10, 11, 70]].tolist()
    matrix = some_cues(rng, len(data))
    labels = [data.labels[i] for i in (0, 1, 0, 1, 1)]
    cues = statistics(pl.DataFrame({"family": "word", "feature": list("abcde"), "label": labels}), rng)
    units = data.units("choices") if data.grouped else data.units()
    whole, parts = (
        held_shares(cues, rows, data, units)
        for rows in (CueRows.of([matrix], matrix.shape[1]), in_slices(matrix, ends))
    )
    assert whole.equals(parts)
    assert whole["coverage"].min() > 0
    notable = cues.with_columns(
        given_away=pl.Series([0.3, 0.1, 0.3, 0.0, 0.05]), coverage=whole["coverage"]
    ).with_row_index("column")
    away = [
        given_away(notable, rows, data)
        for rows in (CueRows.of([matrix], matrix.shape[1]), in_slices(matrix, ends))
    ]
    assert away[0] == away[1]
    assert 0 < away[0][1] < away[0][0] * 2 <= 2


def test_the_share_given_away_is_that_of_the_strongest_cue_of_every_example(pairs: Instances) -> None:
    """Against the loop that one would write."""
    rng = np.random.default_rng(2)
    matrix = some_cues(rng, 300)
    strength = np.array([0.5, 0.4, 0.3, 0.2, 0.1])
    coverage = np.full(5, 0.5)
    notable = pl.DataFrame({"column": range(5), "given_away": strength * coverage, "coverage": coverage})
    best = [
        max([s for s, there in zip(strength, row, strict=True) if there], default=0.0)
        for row in matrix.toarray()
    ]
    covered, away = given_away(notable, CueRows.of([matrix], matrix.shape[1]), pairs)
    assert covered == np.mean(np.array(best) > 0)
    assert away == pytest.approx(np.mean(best))


def test_the_first_rows_of_cues_are_found_across_slices() -> None:
    matrix = sparse.csr_matrix(np.array([[0, 1], [1, 0], [0, 1], [1, 1], [1, 1], [1, 0]]))
    even = np.arange(6) % 2 == 0
    for rows in (CueRows.of([matrix], matrix.shape[1]), in_slices(matrix, [2, 4])):
        found = rows.first([1, 0], lambda i, where: even[where] == (i == 0), stop=5, n=2)
        assert [some.tolist() for some in found] == [[0, 2], [1, 3]]

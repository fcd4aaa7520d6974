from __future__ import annotations

import json

import polars as pl
import pytest


@pytest.fixture
def pairs(tmp_path):
    path = tmp_path / "pairs.csv"
    rows = range(60)
    pl.DataFrame(
        {
            "premise": [f"premise {i}" for i in rows],
            "hypothesis": [f"nobody text {i}" if i % 2 else f"somebody text {i}" for i in rows],
            "label": [None if i == 0 else "no" if i % 2 else "yes" for i in rows],
        }
    ).write_csv(path)
    return path


def test_explain_takes_the_options_of_an_audit_that_change_what_a_cue_is(cuecard, pairs):
    ran = cuecard(
        "explain", "regex:odd", pairs, "--regex", "odd=[13579]$", "--holdout", "0.2", "--seed", "3",
        "--keep-unlabelled", "--no-stop-words", "--json",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    document = json.loads(ran.out)
    assert document["family"] == "regex"
    assert set(document["touched"]) == {"train", "test"}
    assert len({row["label"] for row in document["shares"]}) == 3

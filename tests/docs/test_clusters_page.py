"""A row of the table of real datasets is computed again: a page that is no longer true fails here."""

from __future__ import annotations

from pathlib import Path

from scripts.make_clusters import DATASETS, table_row

import cuecard as cc
from cuecard.audits import Clusters

PAGE = Path(__file__).parents[2] / "docs" / "clusters.md"


def test_a_row_of_the_table_is_what_the_audit_gives(real_data):
    name = "FEVER-symmetric test, claims"
    file, scope = DATASETS[name]
    result = Clusters(scope=scope, permutations=999).run(cc.load(real_data(f"{file}.parquet")))
    assert table_row(name, result.summary) in PAGE.read_text(encoding="utf-8").splitlines()

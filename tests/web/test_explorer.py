"""The explorer: tables page by page, one cue in depth, examples with their texts."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from cuecard.audits.cues.explain import explain
from cuecard.errors import InputError, UsageError
from cuecard.web import AppSettings
from cuecard.web.service import Service
from cuecard.web.tables import (
    MOST_EXAMPLES,
    PAGE,
    TEXTS,
    Query,
    prepared_folder,
    table_page,
    texts_of,
    write_texts,
)
from web.conftest import HOSTILE, Client


@pytest.fixture
def table(tmp_path: Path) -> Path:
    file = tmp_path / "table.parquet"
    names = [f"word {i}" for i in range(1000)]
    pl.DataFrame(
        {"name": names, "z": [(-1.0) ** i * i for i in range(1000)], "cue": [i % 2 == 0 for i in range(1000)]}
    ).write_parquet(file, row_group_size=64)
    return file


def test_a_page_is_sorted_filtered_and_counted(table: Path) -> None:
    page = table_page(table, Query(sort="z", limit=3))
    assert [row["z"] for row in page.rows] == [998.0, 996.0, 994.0]
    assert page.total == 1000
    by_size = table_page(table, Query(sort="z", by_size=True, limit=2))
    assert [row["z"] for row in by_size.rows] == [-999.0, 998.0]
    below = table_page(table, Query(where=(("z", "<", "0"), ("cue", "=", "false")), limit=2, offset=499))
    assert (below.total, [row["name"] for row in below.rows]) == (500, ["word 999"])
    assert table_page(table, Query(search="WORD 99", limit=20)).total == 19  # 99, 199, …, 999 and 990 to 998


@pytest.mark.parametrize(
    ("query", "kept", "order"),
    [
        (Query(offset=700, limit=200), lambda row: True, lambda row: 0),
        (Query(sort="z", limit=7), lambda row: True, lambda row: (row["z"] is None, -(row["z"] or 0))),
        (
            Query(sort="z", descending=False, offset=890, limit=60),
            lambda row: True,
            lambda row: (row["z"] is None, row["z"] or 0),
        ),
        (
            Query(sort="z", by_size=True, offset=3, limit=9),
            lambda row: True,
            lambda row: (row["z"] is None, -abs(row["z"] or 0)),
        ),
        (
            Query(sort="kind", descending=False, search="99", limit=30),
            lambda row: "99" in row["name"],
            lambda row: (row["kind"] is None, row["kind"] or ""),
        ),
        (
            Query(where=(("kind", "=", "b"), ("z", ">", "0")), sort="z", limit=20),
            lambda row: row["kind"] == "b" and (row["z"] or 0) > 0,
            lambda row: -row["z"],
        ),
        (Query(where=(("kind", "=", "nothing"),)), lambda row: False, lambda row: 0),
        (
            Query(where=(("cue", "=", "true"), ("kind", ">=", "b")), limit=9),
            lambda row: row["cue"] and (row["kind"] or "") >= "b",
            lambda row: 0,
        ),
        (
            Query(numbers=(5, 900, 17), sort="z", descending=False),
            lambda row: row["row"] in (5, 17, 900),
            lambda row: row["z"],
        ),
    ],
)
def test_a_page_holds_the_rows_that_the_filters_keep_in_their_order(
    table, tmp_path, query, kept, order
) -> None:
    kinds = [None if i % 7 == 0 else "abc"[i % 3] for i in range(1000)]
    z = [None if i % 11 == 0 else (-1.0) ** i * i for i in range(1000)]
    frame = pl.read_parquet(table).with_columns(kind=pl.Series(kinds, dtype=pl.Categorical), z=pl.Series(z))
    frame.write_parquet(tmp_path / "wider.parquet", row_group_size=100)
    page = table_page(tmp_path / "wider.parquet", query)
    plain = frame.with_columns(pl.col("kind").cast(pl.String)).to_dicts()
    rows = sorted(filter(kept, ({"row": i, **row} for i, row in enumerate(plain))), key=order)
    assert page.total == len(rows)
    assert page.rows == rows[query.offset : query.offset + query.limit]


@pytest.mark.parametrize(
    "query",
    [
        Query(sort="nothing"),
        Query(where=(("z", "~", "1"),)),
        Query(where=(("z", "=", "x"),)),
        Query(where=(("no", "=", "1"),)),
    ],
)
def test_a_query_that_makes_no_sense_is_a_sentence(table: Path, query: Query) -> None:
    with pytest.raises(UsageError):
        table_page(table, query)


def test_a_filter_by_a_column_of_another_file_reads_the_same_rows(table: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.parquet"
    beside = Query(beside=((other, ("z", "<", "0")),))
    pl.read_parquet(table).head(3).write_parquet(table)
    for first, z in ((0, (-1.0, 1.0, 1.0)), (2, (1.0, 1.0, -1.0))):
        pl.DataFrame({"z": z}).write_parquet(other)
        assert [row["row"] for row in table_page(table, beside).rows] == [first]


def test_a_number_beyond_all_bounds_is_shown_as_missing(table: Path) -> None:
    frame = pl.read_parquet(table).with_columns(z=pl.lit(float("inf")))
    frame.write_parquet(table)
    for query in (Query(limit=1), Query(sort="name", limit=1)):
        page = table_page(table, query)
        assert json.loads(json.dumps(page.json(), allow_nan=False))["rows"][0]["z"] is None


def test_a_card_without_a_table_of_examples_says_so(root: Path) -> None:
    (root / "cards" / "houses" / "tables" / "examples.parquet").unlink()
    service = Service(AppSettings(root))
    [entry] = service.library.refresh().values()
    folder = prepared_folder(root, entry.key)
    folder.mkdir(parents=True)
    (folder / PAGE).write_text("{}")
    with pytest.raises(InputError, match="examples"):
        service.explorer.examples(entry, Query())


def test_limits_of_a_page_are_kept() -> None:
    with pytest.raises(UsageError):
        Query(limit=100_000)


def test_a_cue_has_its_counts_and_its_examples_with_the_cue_marked(client: Client) -> None:
    card = client.prepared()
    cue = client.get(f"/cards/{card}/cues/word/nobody")
    assert cue["cue"]["label"] == "no"
    page = client.get(f"/cards/{card}/examples?family=word&feature=nobody&limit=200")
    assert page["with_cue"] == page["total"] == cue["cue"]["train_count"] + cue["cue"]["test_count"]
    for row in page["rows"]:
        assert [piece["text"] for piece in row["texts"][0] if piece["marked"]] == ["nobody"]
    assert client.http.get(f"/api/cards/{card}/cues/word/zebra").status_code == 404
    assert client.http.get(f"/api/cards/{card}/examples?family=word&feature=zebra").status_code == 422


def test_examples_are_filtered_and_keep_hostile_texts_as_texts(client: Client) -> None:
    card = client.prepared()
    assert client.get(f"/cards/{card}/examples?where=split:=:test")["total"] == 200
    page = client.get(f"/cards/{card}/examples?where=split:=:train&where=label:=:no&limit=50")
    hostile = [row for row in page["rows"] if row["row"] == 3]
    assert "".join(piece["text"] for piece in hostile[0]["premise"]) == HOSTILE


def test_neighbours_of_an_example_share_a_text(client: Client) -> None:
    card = client.prepared()
    page = client.get(f"/cards/{card}/examples?same=3")
    assert [row["row"] for row in page["rows"]] == [3, 403]  # the same row in train and in test
    assert client.http.get(f"/api/cards/{card}/examples?same=100000").status_code == 422


def test_a_text_that_most_examples_share_is_counted_and_listed_in_part(tmp_path: Path) -> None:
    n = 3 * MOST_EXAMPLES
    premises = ["one premise"] * n + [f"premise {i}" for i in range(10)]
    texts = [[f"text {i}"] for i in range(n + 10)]
    texts[n + 3] = ["text 7"]  # shares its text, not its premise
    ids = [str(i) for i in range(n + 10)]
    frame = pl.DataFrame(
        {"example_id": ids, "split": "train", "label": "yes", "premise": premises, "texts": texts}
    )
    write_texts(frame, tmp_path)
    rows, total = texts_of(tmp_path / TEXTS).sharing(7)
    assert total == n + 1
    assert len(rows) == len(set(rows)) == MOST_EXAMPLES
    assert rows == sorted(rows)
    assert 7 in rows
    assert max(rows) > 2 * MOST_EXAMPLES  # spread over the dataset, not its beginning
    assert texts_of(tmp_path / TEXTS).sharing(n + 3) == ([7, n + 3], 2)


def test_a_card_whose_files_changed_says_so_and_shows_no_texts(client: Client, root: Path) -> None:
    with (root / "data" / "houses_train.csv").open("a") as file:
        file.write("a new premise,a new hypothesis,no\n")
    card = client.prepared()
    index = client.get(f"/cards/{card}")["page"]["index"]
    assert not index["texts"]
    assert "changed" in index["reason"]
    assert client.get(f"/cards/{card}/examples?limit=1")["rows"][0]["split"] == "train"


def test_every_chart_and_table_of_a_card_can_be_fetched(client: Client) -> None:
    card = client.prepared()
    page = client.get(f"/cards/{card}")["page"]
    charts = [chart["id"] for section in page["sections"] for chart in section["charts"]]
    assert charts
    for chart in charts:
        assert "$schema" in client.get(f"/cards/{card}/charts/{chart}")
    for table in client.get(f"/cards/{card}/tables")["tables"]:
        rows = client.get(f"/cards/{card}/tables/{table}?limit=5")
        assert len(rows["rows"]) == min(5, rows["total"]) > 0, table
    assert client.http.get(f"/api/cards/{card}/charts/..%2Fpage").status_code == 404


def test_a_cue_shows_what_any_probe_says_of_it_and_reads_no_table_elsewhere(
    client: Client, root: Path
) -> None:
    folder = root / "cards" / "models"
    (folder / "tables").mkdir(parents=True)
    row = pl.DataFrame({"model": ["m"], "family": ["word"], "feature": ["nobody"], "gap": [0.5]})
    row.write_parquet(folder / "tables" / "of_a_plugin.parquet")
    row.write_parquet(root / "elsewhere.parquet")
    card = json.loads((root / "cards" / "houses" / "card.json").read_text())
    done = card["sections"]["overview"] | {"measures": [], "summary": {}}
    names = {"a": "of_a_plugin", "b": "../../../elsewhere"}
    card["sections"] = {name: done | {"tables": [table]} for name, table in names.items()}
    (folder / "card.json").write_text(json.dumps(card))
    service = Service(AppSettings(root))
    [entry] = [one for one in service.library.refresh().values() if one.place == "cards/houses"]
    shown = service.explorer.cue(entry, "word", "nobody")["models"]
    assert [(one["test"], one["model"], one["gap"]) for one in shown] == [("of_a_plugin", "m", 0.5)]


def test_a_cue_has_one_interval_in_the_app_and_in_explain(client: Client, root: Path) -> None:
    card = client.prepared()
    for feature in ("nobody", "somebody"):
        cue = client.get(f"/cards/{card}/cues/word/{feature}")["cue"]
        explained = explain(
            root / "data" / "houses_train.csv", feature, test=root / "data" / "houses_test.csv"
        )
        [row] = explained.shares.filter(split="train", label=cue["label"]).iter_rows(named=True)
        assert [row["share"], row["share_low"], row["share_high"]] == pytest.approx(
            [cue["share"], cue["share_low"], cue["share_high"]]
        )

from __future__ import annotations

import json

import polars as pl
import pytest

from cuecard.card import Card, audit, load_card, save_card
from cuecard.errors import InputError
from small_sets import pair_instances

ROWS = [("train", f"premise {i}", f"hypothesis {i % 7}", "yes" if i % 2 else "no") for i in range(60)]


@pytest.fixture
def card() -> Card:
    return audit(pair_instances(ROWS))


def test_a_saved_card_reads_back_equal_with_its_tables(card, tmp_path):
    file = save_card(card, tmp_path / "out")
    again = load_card(file.parent)
    assert again.model_dump() == card.model_dump()
    assert again["cues"].table.equals(card["cues"].table)
    assert again["cues"]["associations"].height == card.tables["associations"].height
    assert again.tables["examples"].height == len(ROWS)


def test_saving_again_leaves_no_stale_table_and_no_temporary_files(card, tmp_path):
    save_card(card, tmp_path)
    card.attach({**card.tables, "stale": pl.DataFrame({"x": [1]})})
    save_card(card, tmp_path)
    assert (tmp_path / "tables" / "stale.parquet").exists()
    card.attach({name: table for name, table in card.tables.items() if name != "stale"})
    save_card(card, tmp_path)
    assert not (tmp_path / "tables" / "stale.parquet").exists()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["card.json", "tables"]


def test_a_failed_write_keeps_the_old_card(card, tmp_path, monkeypatch):
    save_card(card, tmp_path)
    before = (tmp_path / "card.json").read_bytes()
    monkeypatch.setattr(pl.DataFrame, "write_parquet", _disk_full)
    with pytest.raises(OSError, match="full"):
        save_card(card, tmp_path)
    assert (tmp_path / "card.json").read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["card.json", "tables"]


def _disk_full(self, path):
    raise OSError("the disk is full")


def test_equal_runs_give_equal_cards_but_for_provenance(card):
    again = audit(pair_instances(ROWS))
    assert again.model_dump_json(exclude={"provenance"}) == card.model_dump_json(exclude={"provenance"})


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("not json", "not a card"),
        ("[]", "not a card of schema"),
        ('{"cuecard": "99"}', "found '99'"),
        ('{"cuecard": "1"}', "damaged at dataset"),
    ],
)
def test_what_is_not_a_card_is_refused_in_one_sentence(tmp_path, content, complaint):
    (tmp_path / "card.json").write_text(content)
    with pytest.raises(InputError, match=complaint):
        load_card(tmp_path)


def test_a_missing_card_says_how_to_write_one(tmp_path):
    with pytest.raises(InputError, match="cuecard audit DATA --out"):
        load_card(tmp_path)


def test_numbers_that_are_not_finite_become_null(card, tmp_path):
    card.sections["cues"].summary["odd"] = float("nan")
    file = save_card(card, tmp_path)
    assert json.loads(file.read_text())["sections"]["cues"]["summary"]["odd"] is None

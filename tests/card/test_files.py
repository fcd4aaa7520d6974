from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import polars as pl
import pytest

from cuecard.card import Card, files, load_card, save_card, save_report, staged_card, stale_report
from cuecard.card.card import DatasetInfo, Section
from cuecard.errors import InputError
from cuecard.report import render_html
from cuecard.run import audit
from pace import PATIENCE
from small_sets import pair_instances

ROWS = [("train", f"premise {i}", f"hypothesis {i % 7}", "yes" if i % 2 else "no") for i in range(60)]


@pytest.fixture
def card() -> Card:
    return audit(pair_instances(ROWS))


@pytest.fixture
def small_card() -> Card:
    """A card written by hand: what is saved does not depend on what the audits say."""
    dataset = DatasetInfo(name="small", task="pair", labels=["no", "yes"], splits={}, fingerprint="0")
    section = Section(title="Cues", status="done", tables=["cues"])
    card = Card(dataset=dataset, sections={"cues": section})
    card.attach({"cues": pl.DataFrame({"x": [1]}), "examples": pl.DataFrame({"y": [2]})})
    return card


def with_table(card: Card, name: str) -> Card:
    """Return the card with one more table in its section of cues."""
    more = card.model_copy(deep=True)
    more.sections["cues"].tables.append(name)
    more.attach({**card.tables, name: pl.DataFrame({"x": [1]})})
    return more


def content(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_a_saved_card_reads_back_equal_with_its_tables(card, tmp_path):
    file = save_card(card, tmp_path / "out")
    again = load_card(file.parent)
    hashes = again.provenance.files
    assert set(hashes) == {f"tables/{name}.parquet" for name in card.tables}
    assert again.model_copy(update={"provenance": card.provenance}).model_dump() == card.model_dump()
    assert again["cues"].table.equals(card["cues"].table)
    assert again["cues"]["associations"].height == card.tables["associations"].height
    assert again.tables["examples"].height == len(ROWS)


def test_saving_again_leaves_no_stale_table_and_no_temporary_files(small_card, tmp_path):
    save_card(small_card, tmp_path)
    save_card(with_table(small_card, "stale"), tmp_path)
    assert (tmp_path / "tables" / "stale.parquet").exists()
    save_card(small_card, tmp_path)
    assert not (tmp_path / "tables" / "stale.parquet").exists()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["card.json", "tables"]


def test_a_failed_write_keeps_the_old_card(card, tmp_path, monkeypatch):
    save_card(card, tmp_path)
    before = (tmp_path / "card.json").read_bytes()
    monkeypatch.setattr(pl.DataFrame, "write_parquet", _disk_full)
    with pytest.raises(InputError, match=r"cannot be written .the disk is full"):
        save_card(card, tmp_path)
    assert (tmp_path / "card.json").read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["card.json", "tables"]


def test_files_that_are_not_of_a_card_stay(small_card, tmp_path):
    (tmp_path / "tables").mkdir()
    for name in ("mine.csv", "mine.parquet"):
        (tmp_path / "tables" / name).write_text("precious")
    save_card(small_card, tmp_path)
    save_card(small_card, tmp_path)
    assert (tmp_path / "tables" / "mine.csv").read_text() == "precious"
    assert (tmp_path / "tables" / "mine.parquet").read_text() == "precious"


def test_an_old_card_cannot_name_a_file_outside_its_folder_as_stale(small_card, tmp_path):
    folder = tmp_path / "out"
    (tmp_path / "precious.parquet").write_text("precious")
    file = save_card(small_card, folder)
    document = json.loads(file.read_text())
    document["sections"]["cues"]["tables"].append("../../precious")
    file.write_text(json.dumps(document))
    save_card(small_card, folder)
    assert (tmp_path / "precious.parquet").exists()


@pytest.mark.parametrize("stop", [OSError("the disk is gone"), KeyboardInterrupt()])
def test_a_failure_at_any_move_leaves_the_folder_as_it_was(small_card, tmp_path, monkeypatch, stop):
    save_card(with_table(small_card, "stale"), tmp_path)
    (tmp_path / "tables" / "mine.csv").write_text("precious")
    before = content(tmp_path)
    small_card.provenance.command = "another run"
    card = with_table(small_card, "fresh")
    move, left = os.replace, 0

    def failing(source, target):
        nonlocal left
        left -= 1
        if left == 0:
            raise stop
        move(source, target)

    monkeypatch.setattr(os, "replace", failing)
    for nth in range(1, 2 * len(card.tables) + 3):
        left = nth
        with pytest.raises(InputError if isinstance(stop, OSError) else KeyboardInterrupt):
            save_card(card, tmp_path)
        assert content(tmp_path) == before
    save_card(card, tmp_path)
    assert load_card(tmp_path).provenance.command == "another run"
    assert not (tmp_path / "tables" / "stale.parquet").exists()


def test_a_table_of_another_card_is_refused(small_card, tmp_path):
    save_card(small_card, tmp_path)
    pl.DataFrame({"x": [2]}).write_parquet(tmp_path / "tables" / "cues.parquet")
    with pytest.raises(InputError, match=r"cues.parquet: the table does not belong to the card beside it"):
        load_card(tmp_path)


def test_a_report_is_written_with_its_card_and_goes_with_it(small_card, tmp_path):
    page = '<meta name="generator" content="CueCard">'
    with staged_card(small_card, tmp_path, page):
        pass
    assert stale_report(tmp_path, load_card(tmp_path)) is None
    (tmp_path / "report.html").write_text(page + "of another card")
    assert stale_report(tmp_path, load_card(tmp_path)) == tmp_path / "report.html"
    save_report(tmp_path, page + "drawn again")
    assert stale_report(tmp_path, load_card(tmp_path)) is None
    save_card(small_card, tmp_path)
    assert sorted(content(tmp_path)) == ["card.json", "tables/cues.parquet", "tables/examples.parquet"]
    (tmp_path / "report.html").write_text("a page of the user's")
    save_card(small_card, tmp_path)
    assert (tmp_path / "report.html").read_text() == "a page of the user's"


def test_a_card_replaced_while_it_is_read_is_read_again(small_card, tmp_path, monkeypatch):
    save_card(small_card, tmp_path)
    read = files._hash

    def replaced(path):
        monkeypatch.setattr(files, "_hash", read)
        save_card(with_table(small_card, "fresh"), tmp_path)
        return "of the old file"

    monkeypatch.setattr(files, "_hash", replaced)
    assert "fresh" in load_card(tmp_path).tables


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
        ('{"cuecard": "2"}', "damaged: dataset is missing"),
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


def test_a_card_that_was_edited_after_it_was_written_is_said_in_a_sentence(card, tmp_path):
    file = save_card(card, tmp_path)
    document = json.loads(file.read_text())
    document["sections"]["cues"]["summary"] = {"tests": "many"}
    file.write_text(json.dumps(document))
    edited = load_card(tmp_path)
    with pytest.raises(
        InputError, match=r"card\.json: the card cannot be shown \(.*\); it is damaged or was edited"
    ):
        render_html(edited)
    edited._read_from = ""  # the same fault in a card made here is a bug and keeps its traceback
    with pytest.raises((KeyError, TypeError, AttributeError)):
        render_html(edited)


@pytest.mark.parametrize("name", ["../outside", "a/b", "nul\0", "\x1b[2J"])
def test_a_table_is_never_read_from_outside_the_folder(small_card, tmp_path, name):
    (tmp_path / "outside.parquet").write_bytes(b"")
    file = save_card(small_card, tmp_path / "run")
    document = json.loads(file.read_text())
    document["sections"]["cues"]["tables"] = [name]
    file.write_text(json.dumps(document))
    with pytest.raises(InputError, match="table is missing") as refused:
        load_card(file)
    assert str(refused.value).isprintable()


def ended(call):
    """Return how a call ends that would wait for ever at a pipe: its error, or None."""
    errors = []

    def run():
        try:
            call()
            errors.append(None)
        except InputError as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(PATIENCE / 10)
    assert errors, "it waits"
    return errors[0]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("name", ["card.json", "report.html", "tables/examples.parquet"])
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(small_card, tmp_path, name):
    save_card(small_card, tmp_path)
    save_report(tmp_path, "<html></html>")
    (tmp_path / name).unlink()
    os.mkfifo(tmp_path / name)
    refused = ended(lambda: load_card(tmp_path))
    assert (refused is None) == (name == "report.html")
    assert refused is None or str(tmp_path / name) in str(refused)
    assert ended(lambda: stale_report(tmp_path, small_card)) is None
    assert ended(lambda: save_card(small_card, tmp_path)) is None
    assert load_card(tmp_path).sections.keys() == small_card.sections.keys()


def test_a_folder_in_the_place_of_a_card_and_too_deep_a_card_are_said_and_replaced(small_card, tmp_path):
    (tmp_path / "card.json").mkdir()
    with pytest.raises(InputError, match=r"the card cannot be read \(Is a directory\)"):
        load_card(tmp_path)
    (tmp_path / "card.json").rmdir()
    (tmp_path / "card.json").write_text('{"sections": ' + "[" * 100_000)
    with pytest.raises(InputError, match="not a card"):
        load_card(tmp_path)
    save_card(small_card, tmp_path)
    assert load_card(tmp_path).sections.keys() == small_card.sections.keys()

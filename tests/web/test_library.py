"""The library: cards below the root, sorted by any measure, deleted and taken back."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from cuecard.analysis import Measure
from cuecard.web import AppSettings
from cuecard.web.service import Service
from web.conftest import Client


def test_cards_are_listed_searched_and_sorted_by_a_measure(client: Client, root: Path) -> None:
    shutil.copytree(root / "cards" / "houses", root / "cards" / "again")
    (root / "cards" / "damaged").mkdir()
    (root / "cards" / "damaged" / "card.json").write_text("{")
    (root / ".hidden").mkdir()
    shutil.copytree(root / "cards" / "houses", root / ".hidden" / "houses")
    assert {one["place"] for one in client.get("/cards")["cards"]} == {"cards/houses", "cards/again"}
    assert [one["place"] for one in client.get("/cards?search=AGAIN cards")["cards"]] == ["cards/again"]
    assert client.get("/cards?search=nothing")["cards"] == []
    by_measure = client.get("/cards?sort=cues.cues")["cards"]
    assert all(one["measure"] > 0 for one in by_measure)


def test_a_card_that_was_replaced_on_disk_is_read_again(root: Path) -> None:
    library = Service(AppSettings(root)).library
    [entry] = library.refresh().values()
    file = entry.folder / "card.json"
    file.write_text(file.read_text() + "\n")
    assert library.get(entry.id).key != entry.key


def test_a_deleted_card_is_taken_back_as_it_was(client: Client, root: Path) -> None:
    before = (root / "cards" / "houses" / "card.json").read_bytes()
    card = client.card
    assert client.send("DELETE", f"/cards/{card}").status_code == 200
    listed = client.get("/cards")
    assert listed["cards"] == []
    assert [one["id"] for one in listed["deleted"]] == [card]
    assert not (root / "cards" / "houses").exists()
    assert client.send("POST", f"/cards/{card}/undelete").status_code == 200
    assert (root / "cards" / "houses" / "card.json").read_bytes() == before
    assert client.get("/cards")["deleted"] == []
    assert client.send("POST", f"/cards/{card}/undelete").status_code == 404


def test_a_card_deleted_twice_is_taken_back_as_it_was_last(client: Client, root: Path) -> None:
    folder = root / "cards" / "houses"
    shutil.copytree(folder, root / ".copy")
    card = client.card
    client.send("DELETE", f"/cards/{card}")
    shutil.move(root / ".copy", folder)
    (folder / "note.txt").write_text("second")
    assert client.send("DELETE", f"/cards/{card}").status_code == 200
    assert client.send("POST", f"/cards/{card}/undelete").status_code == 200
    assert (folder / "note.txt").read_text() == "second"
    assert (folder / "card.json").is_file()


def test_a_card_is_not_taken_back_over_another_folder(client: Client, root: Path) -> None:
    card = client.card
    client.send("DELETE", f"/cards/{card}")
    (root / "cards" / "houses").mkdir()
    assert client.send("POST", f"/cards/{card}/undelete").status_code == 409
    assert [one["id"] for one in client.get("/cards")["deleted"]] == [card]


def test_cards_stand_side_by_side_measure_by_measure(client: Client, root: Path) -> None:
    shutil.copytree(root / "cards" / "houses", root / "cards" / "again")
    ids = [one["id"] for one in client.get("/cards")["cards"]]
    compared = client.get(f"/compare?card={ids[0]}&card={ids[1]}")
    assert [len(row["cells"]) for row in compared["measures"]] == [2] * len(compared["measures"])
    assert any(row["name"] == "cues.cues" for row in compared["measures"])


def test_what_is_not_there_is_answered_in_a_sentence(client: Client) -> None:
    for path in (
        "/api/cards/nothing",
        "/cards/nothing",
        "/jobs/nothing",
        f"/cards/{client.prepared()}/table/nothing",
    ):
        answer = client.http.get(path)
        assert answer.status_code == 404
        assert "There is no such" in answer.text


def test_a_card_in_the_root_itself_is_not_deleted(root: Path, started: Callable[..., Client]) -> None:
    client = started(root / "cards" / "houses")
    assert client.send("DELETE", f"/cards/{client.card}").status_code == 422
    assert (root / "cards" / "houses" / "card.json").exists()


def test_the_largest_leak_is_written_in_its_unit(root: Path) -> None:
    settings = AppSettings(root=root)
    [entry] = Service(settings).library.entries()
    auc = Measure(
        "partial_input.premise_only.auc", 0.64, 0.625, 0.655, 0.5, 4927, "score", "higher", "premise-only AUC"
    )
    main = replace(entry, main=auc).json()["main"]
    assert (main["label"], main["shown"], main["chance_shown"]) == ("premise-only AUC", "0.64", "0.5")


def test_a_card_is_not_lost_where_deleting_it_is_stopped_half_way(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = Service(AppSettings(root))
    [card] = service.library.refresh()

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("cuecard.web.library.shutil.move", stopped)
        with pytest.raises(KeyboardInterrupt):
            service.library.delete(card)
    assert service.library.deleted() == []  # it is where it was
    assert list(service.library.refresh()) == [card]
    service.library.delete(card)
    with monkeypatch.context() as patched:
        patched.setattr("cuecard.web.library.shutil.move", stopped)
        with pytest.raises(KeyboardInterrupt):
            service.library.undelete(card)
    assert [one["id"] for one in service.library.deleted()] == [card]
    assert service.library.undelete(card).id == card


def test_the_pages_of_a_card_are_written(client: Client) -> None:
    card = client.prepared()
    for page in ("", "/examples", "/table/cues"):
        answer = client.http.get(f"/cards/{card}{page}", headers={"accept": "text/html"})
        assert answer.status_code == 200, f"{page}: {answer.text[-300:]}"

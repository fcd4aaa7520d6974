"""Nothing outside the root is read or written, whichever field, parameter, card or link names it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from cuecard.audits import AUDITS
from cuecard.errors import CueCardError
from cuecard.models import MODELS
from cuecard.probes import PROBES
from cuecard.registry import Registry
from cuecard.remedies import REMEDIES
from cuecard.web import AppSettings
from cuecard.web.requests.bodies import AuditBody, DataBody, DebiasBody, ProbeBody
from cuecard.web.requests.places import Places
from cuecard.web.service import Service
from web.conftest import Client

#: Parameters that analyses open as files or folders.
OPENED = {
    "clusters.dynamics", "clusters.embed", "pair_graph.embed", "partial_input.learner_settings",
    "bilstm.vectors", "siamese-lstm.vectors", "siamese-lstm-plain.vectors", "esim.vectors", "transformer.pretrained",
}  # fmt: skip


def text_parameters(*registries: Registry[Any]) -> Iterator[str]:
    """Give SECTION.PARAMETER of everything that can hold a text, which an analysis may take for a path."""
    for registry in registries:
        for name in registry.names():
            hints = get_type_hints(registry.get(name))
            for field in fields(registry.get(name)):
                if any(kind in str(hints[field.name]) for kind in ("str", "Path", "object", "Any")):
                    yield f"{name}.{field.name}"


@pytest.fixture
def outside(root: Path) -> Path:
    """A file and a folder beside the root, with links to both below it."""
    folder = root.parent / "outside"
    folder.mkdir()
    (folder / "secret.csv").write_text("example_id,confidence\n1,0.5\n")
    (root / "linked.csv").symlink_to(folder / "secret.csv")
    (root / "linked").symlink_to(folder)
    (root / "shards").mkdir()
    (root / "shards" / "part.csv").symlink_to(folder / "secret.csv")
    return folder / "secret.csv"


def hostile(outside: Path) -> list[str]:
    """Return values that lead outside, as a path, in a list, behind a name, by a link, or to another machine."""
    return [
        str(outside), str(outside.parent), "../outside/secret.csv", "data/../../outside", "..", "~", "~/.ssh",
        "linked.csv", "linked", "linked/secret.csv", "shards", f"tfidf,{outside}", f"name={outside}", f"a:{outside}",
        "a, ../outside", ".cuecard/app.sqlite3", "s3://bucket/secret.csv", "http://192.0.2.1/secret.csv",
        f"pretrained={outside.parent}", f"x=1,vectors={outside}",
    ]  # fmt: skip


def test_the_parameters_that_can_hold_a_path_are_known() -> None:
    known = set(text_parameters(AUDITS, PROBES, REMEDIES, MODELS))
    assert known >= OPENED
    assert len(known) > 50


def test_no_parameter_of_any_analysis_takes_a_path_outside_the_root(root: Path, outside: Path) -> None:
    service = Service(AppSettings(root))
    [entry] = [one for one in service.library.refresh().values() if one.place == "cards/houses"]
    data = DataBody(train="data/houses_train.csv", test="data/houses_test.csv")

    def refused(queue: Callable[[dict[str, str]], object], parameter: str) -> None:
        for value in hostile(outside):
            with pytest.raises(CueCardError, match="below the folder"):
                queue({parameter: value})

    for parameter in text_parameters(AUDITS):
        refused(lambda settings: service.audit(AuditBody(data=data, settings=settings)), parameter)
    for parameter in text_parameters(PROBES, MODELS):
        body = {"models": ["linear"]}
        refused(
            lambda settings, body=body: service.probe(entry, ProbeBody(settings=settings, **body)), parameter
        )
    for parameter in text_parameters(REMEDIES):
        refused(lambda settings: service.debias(entry, DebiasBody(settings=settings)), parameter)
    assert service.state.jobs() == []  # nothing was stored


@pytest.mark.parametrize(
    "value", ["tfidf", "data", "data/houses_train.csv", "word,bigram", "no", "score>3.6", "0.5"]
)
def test_other_values_are_taken(root: Path, outside: Path, value: str) -> None:
    assert outside.exists()
    Places(AppSettings(root)).check_settings({"clusters.embed": value, "epochs": value})


@pytest.mark.parametrize(
    "name", ["", "clusters.dynamics=/etc/passwd", "a b", "--out", "clusters.", ".x", "a.b.c"]
)
def test_the_name_of_a_parameter_carries_no_value(root: Path, name: str) -> None:
    with pytest.raises(CueCardError, match="not a parameter"):
        Places(AppSettings(root)).check_settings({name: "x"})


def test_no_field_of_a_form_takes_a_path_outside_the_root(client: Client, outside: Path) -> None:
    for value in (
        str(outside),
        "../outside/secret.csv",
        "linked.csv",
        "linked/secret.csv",
        "shards",
        ".cuecard",
    ):
        card = f"/cards/{client.card}"
        for path, body in (
            ("/audits", {"data": {"train": value}}),
            ("/audits", {"data": {"train": "data/houses_train.csv", "test": value}}),
            ("/preview", {"train": value}),
            (f"{card}/probes", {"predictions": [value]}),
            (f"{card}/probes", {"models": [value]}),
            (f"{card}/probes", {"models": ["linear"], "test": value}),
        ):
            answer = client.send("POST", path, json=body)
            assert answer.status_code == 422, (path, body)
            assert "below the folder" in answer.json()["problem"]
            assert "example_id" not in answer.text
    assert client.get("/jobs")["jobs"] == []


def test_links_in_a_card_are_not_followed_out_of_the_root(client: Client, root: Path, outside: Path) -> None:
    card = client.prepared()
    folder = root / "cards" / "houses"
    (folder / "report.html").unlink()
    (folder / "report.html").symlink_to(outside)
    (folder / "tables" / "secret.parquet").symlink_to(outside)
    (root / "weights").mkdir()
    (root / "weights" / "houses.csv").symlink_to(outside)
    assert client.http.get(f"/cards/{card}/report").status_code == 404
    assert client.http.get(f"/api/cards/{card}/weights").status_code == 404
    assert "secret" not in client.get(f"/cards/{card}/tables")["tables"]
    assert client.http.get(f"/api/cards/{card}/tables/secret").status_code == 422
    assert "linked.csv" not in client.get("/files")["files"]
    (root / "cards" / "copy").mkdir()
    (outside.parent / "card.json").write_bytes((folder / "card.json").read_bytes())
    (root / "cards" / "copy" / "card.json").symlink_to(outside.parent / "card.json")
    assert [one["place"] for one in client.get("/cards")["cards"]] == ["cards/houses"]


def test_a_card_that_names_data_outside_shows_none_of_it(client: Client, root: Path, outside: Path) -> None:
    file = root / "cards" / "houses" / "card.json"
    card = json.loads(file.read_text())
    card["provenance"]["command"] = f"cuecard audit {outside} --out cards/houses"
    file.write_text(json.dumps(card))
    answer = client.get(f"/cards/{client.prepared()}")
    assert not answer["page"]["index"]["texts"]
    refused = client.send("POST", f"/cards/{client.card}/probes", json={"models": ["linear"]})
    assert refused.status_code == 422


@pytest.mark.parametrize("folder", ["cards", "weights", "worksheets"])
def test_nothing_is_written_through_a_link_out_of_the_root(client: Client, root: Path, folder: str) -> None:
    card, elsewhere = client.card, root.parent / "elsewhere"
    elsewhere.mkdir()
    if folder == "cards":
        (root / "cards").rename(root / "older")
        card = str(client.get("/cards")["cards"][0]["id"])
    (root / folder).symlink_to(elsewhere)
    bodies = {
        "cards": ("/audits", {"data": {"train": "data/houses_train.csv"}}),
        "weights": (f"/cards/{card}/remedies", {}),
        "worksheets": (f"/cards/{card}/plans", {"goals": ["cues.cues == 0"]}),
    }
    path, body = bodies[folder]
    answer = client.send("POST", path, json=body)
    assert answer.status_code == 422
    assert "it is a link" in answer.json()["problem"]
    assert list(elsewhere.iterdir()) == []


def test_the_folder_of_the_app_is_not_a_link_out_of_the_root(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "root" / ".cuecard").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CueCardError, match="link"):
        Service(AppSettings(tmp_path / "root"))
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize("length", [300, 1_500, 4_000])
def test_a_very_long_path_is_refused_with_a_sentence(client: Client, length: int) -> None:
    for path, body in (
        ("/preview", {"train": "x" * length}),
        ("/preview", {"train": "a/" * (length // 2)}),
        ("/audits", {"data": {"train": "x" * length}}),
        (f"/cards/{client.card}/probes", {"models": ["x" * length]}),
    ):
        answer = client.send("POST", path, json=body)
        assert answer.status_code == 422
        assert len(answer.json()["problem"]) < 5_000

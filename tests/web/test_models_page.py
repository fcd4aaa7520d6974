"""Which model is biased, by which cue: from all cards of a dataset."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl

from cuecard.web import AppSettings
from cuecard.web.service import Service
from web.conftest import Client


def probed(root: Path) -> None:
    """Put a card of two models beside the card of the dataset."""
    folder = root / "cards" / "models"
    shutil.copytree(root / "cards" / "houses", folder)
    shutil.rmtree(folder / "tables")
    (folder / "tables").mkdir()
    pl.DataFrame(
        {
            "model": ["fair", "follower", "follower"], "family": ["word"] * 3,
            "feature": ["nobody", "nobody", "somebody"], "label": ["no", "no", "yes"],
            "verdict": ["none", "relies", "signs"], "difference": [0.01, 0.4, 0.2],
        }
    ).write_parquet(folder / "tables" / "reliance.parquet")  # fmt: skip
    pl.DataFrame(
        {
            "model": ["follower"] * 2, "family": ["word"] * 2, "feature": ["nobody"] * 2, "answer": ["no", "yes"],
            "predicted_share": [0.8, None], "flat": [0.5, 0.5],
        }
    ).write_parquet(folder / "tables" / "distribution_shares.parquet")  # fmt: skip
    card = json.loads((folder / "card.json").read_text())
    done = card["sections"]["overview"] | {"measures": [], "summary": {}}
    card["sections"] = {"reliance": done | {"tables": ["reliance"]}}
    card["findings"] = []
    (folder / "card.json").write_text(json.dumps(card))


def test_models_are_ranked_by_what_they_rely_on(client: Client, root: Path) -> None:
    probed(root)
    cards = {one["place"]: one["id"] for one in client.get("/cards")["cards"]}
    answer = client.get(f"/cards/{cards['cards/houses']}/models")
    assert [one["model"] for one in answer["models"]] == ["follower", "fair"]
    assert answer["models"][0]["verdicts"] == {"relies": 1, "signs": 1}
    assert [(row["model"], row["feature"]) for row in answer["rows"]] == [
        ("follower", "nobody"), ("follower", "somebody"), ("fair", "nobody"),
    ]  # fmt: skip
    assert {row["card"] for row in answer["rows"]} == {cards["cards/models"]}


def test_a_cue_shows_what_models_answer_with_it(root: Path) -> None:
    probed(root)
    service = Service(AppSettings(root))
    [entry] = [one for one in service.library.refresh().values() if one.place == "cards/houses"]
    shown = service.explorer.cue(entry, "word", "nobody")
    assert [(one["model"], one["verdict"]) for one in shown["models"]] == [
        ("fair", "none"),
        ("follower", "relies"),
    ]
    assert [(one["answer"], one["predicted_share"]) for one in shown["answers"]] == [("no", 0.8)]


def test_models_of_other_datasets_are_not_listed(client: Client, root: Path) -> None:
    probed(root)
    card = json.loads((root / "cards" / "models" / "card.json").read_text())
    card["dataset"] |= {"name": "other", "fingerprint": "b2:other"}
    (root / "cards" / "models" / "card.json").write_text(json.dumps(card))
    cards = {one["place"]: one["id"] for one in client.get("/cards")["cards"]}
    assert client.get(f"/cards/{cards['cards/houses']}/models") == {"models": [], "rows": []}


def test_a_card_with_a_damaged_table_of_examples_adds_no_model_and_stops_no_page(root: Path) -> None:
    probed(root)
    (root / "cards" / "models" / "tables" / "examples.parquet").write_bytes(b"PAR1 cut short")
    service = Service(AppSettings(root))
    [entry] = [one for one in service.library.refresh().values() if one.place == "cards/houses"]
    assert service.explorer.models(entry) == []

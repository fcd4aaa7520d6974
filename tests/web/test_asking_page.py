"""ICQ's stress test from the Models page: several language models are asked about a cue and probed together."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest

from scripted_server import Script, serving
from web.conftest import Client


@pytest.fixture
def endpoint() -> Iterator[Script]:
    """A language model that answers by the cue alone if it is called follower."""
    script = Script()
    script.answer = lambda prompt: answer(script, prompt)
    with serving(script) as served:
        yield served


def answer(script: Script, prompt: str) -> str:
    """Answer in the form that was asked for."""
    body = script.bodies[-1]
    said = "no" if ("nobody" in prompt) == (body["model"] == "follower") else "yes"
    return json.dumps({"answer": said}) if "response_format" in body else said


def rows(n: int, seed: int) -> pl.DataFrame:
    """Return pairs of which 80 % with "nobody" and 20 % without are labelled "no"."""
    draw = random.Random(seed)
    cues = [draw.choice(["nobody", "somebody"]) for _ in range(n)]
    labels = ["no" if (cue == "nobody") == (draw.random() < 0.8) else "yes" for cue in cues]
    texts = [f"{cue} {' '.join(draw.sample(WORDS, 5))}" for cue in cues]
    premises = [" ".join(draw.sample(WORDS, 6)) for _ in cues]
    return pl.DataFrame({"premise": premises, "hypothesis": texts, "label": labels})


WORDS = [f"{a}{b}" for a in ("ba", "di", "fo", "gu", "ke", "lo") for b in ("ma", "ne", "ri", "so", "tu")]


def test_language_models_are_asked_on_a_fresh_root_and_probed_for_a_cue(
    tmp_path: Path, started: Callable[..., Client], endpoint: Script
) -> None:
    root = tmp_path / "fresh"
    root.mkdir()
    rows(300, 0).write_csv(root / "train.csv")
    rows(160, 1).write_csv(root / "test.csv")
    client = started(root, endpoints=(endpoint.url,))
    audit = {"data": {"train": "train.csv", "test": "test.csv"}, "only": ["overview", "cues"], "name": "mine"}
    card = client.ended(client.send("POST", "/audits", json=audit).json()["id"])["card"]
    body = {
        "endpoint": endpoint.url, "model": "follower", "stress": "nobody", "sample": 40,
        "prompts": ["short", "short-steps"], "structured": True,
    }  # fmt: skip
    counted = client.send("POST", f"/cards/{card}/questions", json=body | {"dry_run": True}).json()
    ended = client.ended(counted["id"])
    assert ended["status"] == "done", (ended["reason"], ended["said"])
    assert "80" in ended["said"]
    assert ended["file"] is None
    assert endpoint.bodies == []  # nothing was sent
    asked = client.ended(client.send("POST", f"/cards/{card}/questions", json=body).json()["id"])
    assert asked["status"] == "done", asked
    assert asked["file"] == "follower.jsonl"
    assert asked["source"] == card
    assert len(endpoint.bodies) == 80
    other = client.send(
        "POST", f"/cards/{card}/questions", json=body | {"model": "contrary", "prompts": ["short"]}
    ).json()
    assert client.ended(other["id"])["status"] == "done"
    answers = client.get(f"/cards/{card}/answers")["answers"]
    assert [(one["path"], one["stress"]) for one in answers] == [
        ("predictions/contrary.jsonl", "nobody"),
        ("predictions/follower.jsonl", "nobody"),
    ]
    paths = [one["path"] for one in answers]
    probe = client.send(
        "POST", f"/cards/{card}/probes", json={"predictions": paths, "cues": ["nobody"]}
    ).json()
    probed = client.ended(probe["id"])
    assert probed["status"] == "done", probed
    biased = client.get(f"/cards/{card}/models")["rows"]
    models = {str(row["model"]) for row in biased}
    assert len(models) == 3, models  # follower with two prompts, and contrary
    assert {row["feature"] for row in biased} == {"nobody"}
    section = next(
        one
        for one in client.get(f"/cards/{probed['card']}")["page"]["sections"]
        if one["name"] == "distribution_test"
    )
    assert section["status"] == "done"
    assert section["charts"], "no chart of the distribution of the models' predictions"
    cue = client.get(f"/cards/{card}/cues/word/nobody")
    assert {str(one["model"]) for one in cue["answers"]} == models


def test_the_form_says_how_to_start_the_server_where_nothing_may_be_asked(client: Client) -> None:
    text = client.http.get(f"/cards/{client.prepared()}/models").text
    assert "serve --root" in text
    assert "--endpoint http://127.0.0.1:8080/v1" in text
    assert 'name="model"' not in text


@pytest.mark.parametrize(
    "wrong",
    [
        {"prompts": ["../../secret.j2"]}, {"inputs": ["everything"]}, {"permute": "3; rm"}, {"sample": 0},
        {"max_cost": -1}, {"model": ""}, {"prompts": ["nothing"]},
    ],
)  # fmt: skip
def test_what_cannot_be_asked_is_refused_with_the_name_of_the_field(
    root: Path, started: Callable[..., Client], wrong: dict[str, object]
) -> None:
    client = started(root, endpoints=("http://127.0.0.1:9/v1",))
    body = {"endpoint": "http://127.0.0.1:9/v1", "model": "m", "sample": 1} | wrong
    answer = client.send("POST", f"/cards/{client.card}/questions", json=body)
    assert answer.status_code == 422
    [field] = wrong
    titles = {
        "prompts": "Prompts", "inputs": "Parts of the input", "permute": "Orders", "sample": "Number of examples",
        "max_cost": "Most US dollars", "model": "Model",
    }  # fmt: skip
    assert titles[field] in answer.json()["problem"]

"""The same question asked in Python and on the command line gives the same card, for every verb and task."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import cuecard as cc
from cuecard.data.demo import demo_choice, demo_nli, write_demo

TASKS = ("pair", "choice", "preference", "text", "chinese")
SYLLABLES = "天地人你我他山水火木上下中大小多少日月年"


def tables(task: str, folder: Path) -> dict[str, pl.DataFrame]:
    """Return a small train and test set of a task, or of pairs in Chinese."""
    demo = demo_choice(240, seed=4) if task == "choice" else demo_nli(400, seed=4)
    written = write_demo(demo, folder)
    nli = {split: pl.read_parquet(written[split]) for split in ("train", "test")}
    if task == "text":
        return {s: t.select("label", text="hypothesis") for s, t in nli.items()}
    if task == "preference":
        return {
            s: t.select(prompt="premise", chosen="hypothesis", rejected=pl.col("hypothesis").reverse())
            for s, t in nli.items()
        }
    if task == "chinese":
        return {s: t.with_columns(_chinese("premise"), _chinese("hypothesis")) for s, t in nli.items()}
    return nli


def _chinese(column: str) -> pl.Expr:
    def write(text: str) -> str:
        return "".join(SYLLABLES[sum(map(ord, word)) % len(SYLLABLES)] for word in text.split()) + "。"

    return pl.col(column).map_elements(write, return_dtype=pl.String)


@pytest.fixture(scope="module", params=TASKS)
def files(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    for split, table in tables(request.param, folder / "demo").items():
        table.write_parquet(folder / f"{split}.parquet")
    data = cc.load(folder / "train.parquet", test=folder / "test.parquet")
    test = data.test
    first = test.table.unique("example_id", keep="first", maintain_order=True)
    answer = {"choice": "0", "preference": "chosen"}.get(data.task, data.labels[0])
    pl.DataFrame({"id": first["example_id"], "prediction": [answer] * first.height}).write_csv(
        folder / "model.csv"
    )
    return folder


def content(card: dict[str, object]) -> dict[str, object]:
    """Return a card as JSON without what may differ: when and by which command it was made."""
    card = json.loads(json.dumps(card))
    del card["provenance"]
    for finding in card["findings"]:
        del finding["command"]
    return card


def from_cli(cuecard, *arguments):
    ran = cuecard(*arguments, "--json")
    assert ran.code == 0, ran.err
    return content(json.loads(ran.out))


def from_python(card):
    return content(json.loads(card.model_dump_json()))


def test_audit(cuecard, files):
    train, test = files / "train.parquet", files / "test.parquet"
    assert from_cli(cuecard, "audit", train, "--test", test) == from_python(
        cc.audit(cc.load(train, test=test))
    )


def test_probe(cuecard, files):
    train, test, model = files / "train.parquet", files / "test.parquet", files / "model.csv"
    typed = from_cli(cuecard, "probe", train, "--test", test, "--predictions", model)
    assert typed == from_python(cc.probe(cc.load(train, test=test), model))


def test_debias(cuecard, files):
    train, out = files / "train.parquet", files / "weighted.parquet"
    typed = from_cli(cuecard, "debias", train, "--min-count", 20, "--out", out)
    debiased = cc.debias(cc.load(train), min_count=20)
    assert typed == from_python(debiased.card)
    weighted = cc.load(out).train.table.unique("example_id", keep="first", maintain_order=True)
    assert weighted["weight"].to_list() == debiased.weights.tolist()

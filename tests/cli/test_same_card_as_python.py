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
        return {s: _preferences(t) for s, t in nli.items()}
    if task == "chinese":
        return {s: t.with_columns(_chinese("premise"), _chinese("hypothesis")) for s, t in nli.items()}
    return nli


def _preferences(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return answers of which mostly the rejected one has a word more."""
    more = pl.lit(" perhaps")
    rarely = pl.int_range(pl.len()) % 5 == 0
    return pairs.select(
        prompt="premise",
        chosen=pl.col("hypothesis") + pl.when(rarely).then(more).otherwise(pl.lit("")),
        rejected=pl.col("hypothesis").reverse() + pl.when(rarely).then(pl.lit("")).otherwise(more),
    )


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


def test_explain(cuecard, files):
    from cuecard.report import explanation_json

    train, test = files / "train.parquet", files / "test.parquet"
    data = cc.load(train, test=test)
    cue = cc.audit(data, only=["cues"])["cues"].table.row(0, named=True)
    named = f"{cue['family']}:{cue['feature']}"
    ran = cuecard("explain", named, train, "--test", test, "--json")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out) == json.loads(explanation_json(cc.explain(data, named)))


def test_train(cuecard, files, tmp_path):
    train, test = files / "train.parquet", files / "test.parquet"
    ran = cuecard("train", train, "--test", test, "--out", tmp_path / "run", "--json")
    assert ran.code == 0, ran.err
    typed, python = json.loads(ran.out), dict(cc.train(cc.load(train, test=test)).metrics)
    for one in (typed, python):
        del one["seconds"]
    assert typed == json.loads(json.dumps(python))


def test_reproduce_stubborn(cuecard, files):
    from cuecard.reproduce import StubbornExperiment
    from cuecard.run import experiment

    train, test = files / "train.parquet", files / "test.parquet"
    arguments = ("--schemes", "uniform", "--seeds", 1, "--set", "epochs=1", "--no-cache")
    typed = from_cli(cuecard, "reproduce", "stubborn", train, "--test", test, *arguments)
    asked = StubbornExperiment(weights=("uniform",), seeds=1, settings=("epochs=1",), cache=False)
    assert typed == from_python(experiment(cc.load(train, test=test), asked))


def test_stress(cuecard, files, tmp_path):
    from cuecard.run import hard_examples

    train, test = files / "train.parquet", files / "test.parquet"
    ran = cuecard("stress", train, "--test", test, "--out", tmp_path / "typed", "--json")
    assert ran.code == 0, ran.err
    written = hard_examples(cc.load(train, test=test), tmp_path / "python")
    assert json.loads(ran.out) == json.loads(json.dumps(written.set.summary()))
    for file in written.files.values():
        assert file.read_bytes() == (tmp_path / "typed" / file.name).read_bytes()

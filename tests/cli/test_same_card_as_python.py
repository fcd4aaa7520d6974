"""The same question asked in Python and on the command line gives the same card, for every verb and task."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import cuecard as cc
from cuecard.data.demo import demo_choice, demo_nli, demo_predictions, write_demo
from scripted_server import Script, serving

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


def test_papers_stubborn(cuecard, files):
    from cuecard_papers import StubbornExperiment, experiment

    train, test = files / "train.parquet", files / "test.parquet"
    arguments = ("--schemes", "uniform", "--seeds", 1, "--set", "epochs=1", "--no-cache")
    typed = from_cli(cuecard, "papers", "stubborn", train, "--test", test, *arguments)
    asked = StubbornExperiment(weights=("uniform",), seeds=1, settings=("epochs=1",), cache=False)
    assert typed == from_python(experiment(cc.load(train, test=test), asked))


def test_stress(cuecard, files, tmp_path):
    from cuecard.data import DatasetSpec
    from cuecard.run import hard_examples

    train, test = files / "train.parquet", files / "test.parquet"
    ran = cuecard("stress", train, "--test", test, "--out", tmp_path / "typed", "--json")
    assert ran.code == 0, ran.err
    written = hard_examples(DatasetSpec(train, test).with_rows(), tmp_path / "python")
    assert json.loads(ran.out) == json.loads(json.dumps(written.set.summary()))
    for file in written.files.values():
        assert file.read_bytes() == (tmp_path / "typed" / file.name).read_bytes()


def test_stress_identical_pairs(cuecard, files, tmp_path):
    from cuecard.run import identical_pairs_file

    train, test = files / "train.parquet", files / "test.parquet"
    arguments = (
        "stress",
        train,
        "--test",
        test,
        "--kind",
        "identical-pairs",
        "--sample",
        20,
        "--match",
        "entailment",
    )
    ran = cuecard(*arguments, "--out", tmp_path / "typed.csv")
    data = cc.load(train, test=test)
    if data.task != "pair":
        assert ran.code == 2
        assert_refused(ran, lambda: identical_pairs_file(data, tmp_path / "python.csv"))
        return
    assert ran.code == 0, ran.err
    identical_pairs_file(data, tmp_path / "python.csv", match="entailment", sample=20)
    assert (tmp_path / "typed.csv").read_bytes() == (tmp_path / "python.csv").read_bytes()


def assert_refused(ran, call):
    """Assert that Python raises the sentence that the command ended with."""
    with pytest.raises(cc.CueCardError) as raised:
        call()
    assert ran.err.strip() == f"cuecard: {raised.value}"


def test_papers_selection(cuecard, files):
    from cuecard_papers import SelectionExperiment, experiment

    train, test = files / "train.parquet", files / "test.parquet"
    arguments = ("--model", "fasttext", "--match", "entailment", "--set", "epochs=1", "--no-cache")
    ran = cuecard("papers", "selection", train, "--test", test, *arguments, "--json")
    selection = SelectionExperiment("fasttext", ("epochs=1",), match="entailment", cache=False)
    data = cc.load(train, test=test)
    if data.task != "pair":
        assert_refused(ran, lambda: experiment(data, selection))
        return
    assert ran.code == 0, ran.err
    assert content(json.loads(ran.out)) == from_python(experiment(data, selection))


def test_papers_peco(cuecard, files, tmp_path):
    from cuecard.audits.clusters.external_clusters import external_clusters

    rows = cc.load(files / "train.parquet").train.table
    clustering = rows.select(
        pl.col("label").cast(pl.String),
        pl.col("hypothesis").str.len_chars().alias("cluster") % 7,
        text="hypothesis",
    )
    clustering.write_parquet(tmp_path / "clusters.parquet")
    ran = cuecard("papers", "peco", tmp_path / "clusters.parquet", "--permutations", 50, "--json")
    assert ran.code == 0, ran.err
    scored = external_clusters(clustering, permutations=50)
    shown = {"scores": scored.scores.to_dicts(), "clusters": scored.clusters.to_dicts()}
    assert json.loads(ran.out) == json.loads(json.dumps(shown))


@pytest.fixture(scope="module")
def cards(files):
    """Folders of two cards: of the whole training set, and of its first half."""
    table = pl.read_parquet(files / "train.parquet")
    table.head(table.height // 2).write_parquet(files / "half.parquet")
    for name in ("train", "half"):
        card = cc.audit(
            cc.load(files / f"{name}.parquet", test=files / "test.parquet"), only=["overview", "cues"]
        )
        cc.save_card(card, files / "cards" / name)
    return files / "cards" / "half", files / "cards" / "train"


def test_compare(cuecard, cards):
    ran = cuecard("compare", *cards, "--json")
    assert ran.code == 0, ran.err
    compared = cc.compare([cc.load_card(card) for card in cards], [str(card) for card in cards])
    assert json.loads(ran.out) == json.loads(json.dumps([one.as_dict() for one in compared]))


def test_overlap(cuecard, files):
    corpus = files / "train.parquet"
    ran = cuecard("overlap", files / "test.parquet", "--with", corpus, "--words", "6", "--json")
    assert ran.code == 0, ran.err
    card = cc.overlap(files / "test.parquet", corpus, n=6)
    typed = json.loads(ran.out)
    assert typed["sections"]["overlap"]["summary"] == card["overlap"].summary
    assert [finding["text"] for finding in typed["findings"]] == [finding.text for finding in card.findings]


def test_board(cuecard, cards):
    ran = cuecard("board", *cards, "--json")
    assert ran.code == 0, ran.err
    ranked = cc.board([cc.load_card(card) for card in cards])
    assert json.loads(ran.out) == json.loads(json.dumps(ranked.as_dict()))


def test_papers_reproduce(cuecard, tmp_path):
    from cuecard_papers import reproduce_paper

    (tmp_path / "data").mkdir()
    folders = (tmp_path / "data", tmp_path / "out")
    ran = cuecard("papers", "reproduce", "icq", "--data", folders[0], "--out", folders[1], "--json")
    assert ran.code == 0, ran.err
    reproduced = reproduce_paper("icq", *folders)
    assert json.loads(ran.out) == [json.loads(json.dumps(reproduced.as_dict()))]


def test_papers_theorem(cuecard):
    from dataclasses import asdict

    from cuecard_papers.selection import theorem_by_simulation

    ran = cuecard("papers", "theorem", "--repetitions", 5, "--seed", 3, "--json")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out) == asdict(theorem_by_simulation(repetitions=5, seed=3))


def test_report(cuecard, cards, tmp_path):
    ran = cuecard("report", cards[0], "--out", tmp_path / "typed.html", "--quiet")
    assert ran.code == 0, ran.err
    written = cc.write_report(cc.load_card(cards[0]), tmp_path / "python.html")
    assert (tmp_path / "typed.html").read_bytes() == written.read_bytes()


def test_check(cuecard, cards, tmp_path):
    from cuecard.report import show_check
    from cuecard.run import write_starter_policy

    policy = write_starter_policy(cards[0], tmp_path / "policy.toml")
    ran = cuecard("check", cards[1], "--policy", policy, "--json")
    result = cc.check(cards[1], policy)
    assert ran.code == (0 if result.passes() else 1), ran.err
    show_check(result, "json", out=tmp_path / "python.json")
    assert json.loads(ran.out) == json.loads((tmp_path / "python.json").read_text())


def test_ask(cuecard, files, tmp_path):
    pytest.importorskip("httpx", reason="the extra llm is not installed")
    train, test = files / "train.parquet", files / "test.parquet"
    data = cc.load(train, test=test)
    answer = "A" if data.grouped else data.labels[0]
    with serving(Script(answer=lambda prompt: answer)) as script:
        ran = cuecard(
            "ask", train, "--test", test, "--endpoint", script.url, "--model", "m", "--prompt", "short", "--sample", 6,
            "--keep-answers", tmp_path / "typed.jsonl", "--out", tmp_path / "answers.parquet",
        )  # fmt: skip
        assert ran.code == 0, ran.err
        answers = cc.ask(
            data, script.url, "m", prompts=["short"], sample=6, keep_answers=tmp_path / "python.jsonl"
        )
    assert pl.read_parquet(tmp_path / "answers.parquet").equals(answers)


def test_plan(cuecard, files, tmp_path):
    from cuecard.run import plan_file

    train, test, goal = files / "train.parquet", files / "test.parquet", "cues.cues <= 0"
    arguments = ("plan", train, "--test", test, "--goal", goal, "--budget", 5, "--method", "random")
    ran = cuecard(*arguments, "--out", tmp_path / "typed.csv", "--json")
    assert ran.code == 0, ran.err
    data = cc.load(train, test=test)
    planned = plan_file(data, tmp_path / "python.csv", [goal], budget=5, method="random")
    assert json.loads(ran.out) == json.loads(json.dumps(planned.as_dict()))
    assert (tmp_path / "typed.csv").read_bytes() == (tmp_path / "python.csv").read_bytes()


def test_correct(cuecard, tmp_path):
    demo = demo_nli(500, seed=1)
    write_demo(demo, tmp_path)
    demo_predictions(demo, follow=0.5).filter(pl.col("split") == "test").write_csv(tmp_path / "bert.csv")
    train, test, out = tmp_path / "train.parquet", tmp_path / "test.parquet", tmp_path / "corrected.parquet"
    ran = cuecard(
        "correct", train, "--test", test, "--predictions", tmp_path / "bert.csv", "--aim", "worst-group",
        "--out", out, "--json",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    done = cc.correct(cc.load(train, test=test), tmp_path / "bert.csv", aim="worst-group")
    assert json.loads(ran.out) == json.loads(json.dumps(dict(done.metrics)))
    assert pl.read_parquet(out).equals(done.predictions)


def test_export(cuecard, cards):
    from cuecard.report import exports

    card = cc.load_card(cards[0])
    written = {
        "croissant": exports.croissant_json(card, existing=None, url=None, license=None),
        "hf-card": exports.hf_card(card, ""),
        "badge": exports.badge_svg(card),
    }
    assert {name: cuecard("export", cards[0], "--format", name).out for name in written} == written
    finding = card.findings[0].id  # a card of remarks alone has no finding that is reported by default
    typed = cuecard("export", cards[0], "--format", "issue", "--finding", finding)
    assert typed.out == exports.issue_markdown(card, finding)


#: Verbs that answer no question about a dataset: there is no function of their own in Python.
WITHOUT_CARD = {"demo", "mcp", "serve", "tools_datasets", "tools_cache"}


def test_every_verb_is_compared():
    from typer.main import get_command

    from cuecard.cli.main import app

    verbs = set()
    for name, command in get_command(app).commands.items():
        below = getattr(command, "commands", None)
        verbs |= {f"{name}_{child}" for child in below} if below else {name}
    untested = {verb for verb in verbs - WITHOUT_CARD if f"test_{verb}" not in globals()}
    assert not untested

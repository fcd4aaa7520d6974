from __future__ import annotations

import json
import re

import numpy as np
import polars as pl
import pytest


@pytest.fixture
def rows():
    """Pairs in which "not" goes with the label no; every 40th row has no label."""
    rng = np.random.default_rng(0)
    n = 400
    label = rng.choice(["no", "yes"], n)
    cue = rng.random(n) < np.where(label == "no", 0.6, 0.2)
    return pl.DataFrame(
        {
            "genre": [f"g{i % 3}" for i in range(n)],
            "premise": [f"p{a} p{b}" for a, b in rng.integers(0, 6, (n, 2))],
            # Words of their own keep the texts from being copies of each other, which count once.
            "hypothesis": [
                f"h{a} u{i} v{i} w{i} {'not' if c else 'so'}"
                for i, (a, c) in enumerate(zip(rng.integers(0, 6, n), cue, strict=True))
            ],
            "label": [None if i % 40 == 0 else str(y) for i, y in enumerate(label)],
        }
    )


@pytest.fixture
def train(rows, tmp_path):
    path = tmp_path / "train.parquet"
    rows.write_parquet(path)
    return path


def test_rows_come_back_as_they_were_with_a_weight(cuecard, rows, train, tmp_path):
    out = tmp_path / "weighted.parquet"
    ran = cuecard("debias", train, "--out", out, "--min-count", 20, "--ridge", "exact")
    assert ran.code == 0, ran.err
    weighted = pl.read_parquet(out)
    assert weighted.drop("weight").equals(rows)
    unlabelled = weighted["label"].is_null()
    assert (weighted.filter(unlabelled)["weight"] == 0).all()
    assert weighted.filter(~unlabelled)["weight"].mean() == pytest.approx(1.0)
    share = (
        weighted.filter(pl.col("hypothesis").str.contains("not"))
        .group_by("label")
        .agg(pl.col("weight").sum())
    )
    by_label = dict(share.drop_nulls().iter_rows())
    assert by_label["no"] == pytest.approx(by_label["yes"], rel=1e-3)
    assert "balanced features" in ran.out
    assert "effective sample size" in ran.out
    assert str(out) in ran.out


def test_the_audit_of_the_weighted_rows_no_longer_finds_the_cue(cuecard, train, tmp_path):
    out = tmp_path / "weighted.parquet"
    cuecard("debias", train, "--out", out, "--min-count", 20, "--scope", "hypothesis", "--quiet")
    arguments = ("--only", "cues", "--features", "word", "--json")
    plain = json.loads(cuecard("audit", train, *arguments).out)["sections"]["cues"]["summary"]
    weighted = json.loads(cuecard("audit", out, "--weights", "weight", *arguments).out)["sections"]["cues"]
    assert plain["significant"] >= 2
    assert weighted["summary"]["significant"] == 0
    assert weighted["parameters"]["weights"] == "weight"


def test_two_runs_write_the_same_bytes(cuecard, train, tmp_path):
    written = []
    for name in ("a", "b"):
        cuecard("debias", train, "--out", tmp_path / f"{name}.parquet", "--min-count", 20, "--quiet")
        written.append((tmp_path / f"{name}.parquet").read_bytes())
    assert written[0] == written[1]


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl"])
def test_other_formats_are_written_and_read_back(cuecard, train, tmp_path, suffix):
    out = tmp_path / f"weighted.{suffix}"
    assert cuecard("debias", train, "--out", out, "--min-count", 20, "--quiet").code == 0
    again = cuecard("audit", out, "--weights", "weight", "--only", "cues", "--features", "word", "--json")
    assert json.loads(again.out)["sections"]["cues"]["status"] == "done"


def test_a_report_holds_the_card_the_tables_and_the_charts(cuecard, train, tmp_path):
    report = tmp_path / "report"
    ran = cuecard(
        "debias",
        train,
        "--out",
        tmp_path / "w.parquet",
        "--min-count",
        20,
        "--ridge",
        "exact",
        "--trade-off",
        "--report",
        report,
        "--quiet",
    )
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    card = json.loads((report / "card.json").read_text())
    summary = card["sections"]["lexical_weights"]["summary"]
    assert summary["err"]["constrained"]["after"] < 1e-3 < summary["err"]["constrained"]["before"]
    tables = {path.stem for path in (report / "tables").iterdir()}
    assert tables == {
        "balance", "held_out", "examples", "reweighted_cues", "strongest_words", "trade_off", "unbalanced"
    }  # fmt: skip
    html = (report / "report.html").read_text()
    for title in (
        "Label balance of the strongest words",
        "Balance and effective sample size",
        "Cues before and after",
    ):
        assert title in html


def test_choices_get_one_weight_per_question(cuecard, tmp_path):
    rng = np.random.default_rng(3)
    answers = rng.integers(0, 3, 200)
    choices = [
        [f"c{i % 7} never" if rng.random() < (0.6 if c == a else 0.2) else f"c{i % 5}" for c in range(3)]
        for i, a in enumerate(answers)
    ]
    table = pl.DataFrame({"question": [f"q{i}" for i in range(200)], "choices": choices, "answer": answers})
    path, out = tmp_path / "qa.parquet", tmp_path / "weighted.parquet"
    table.write_parquet(path)
    ran = cuecard(
        *("debias", path, "--out", out, "--min-count", 20, "--ridge", "exact"),
        *("--features", "word,position,length", "--quiet"),
    )
    assert ran.code == 0, ran.err
    weighted = pl.read_parquet(out)
    assert weighted.drop("weight").equals(table)
    assert weighted["weight"].mean() == pytest.approx(1.0)
    has = np.array([["never" in choice for choice in row] for row in choices])
    surplus = has[np.arange(200), answers] - has.mean(axis=1)
    assert abs(weighted["weight"].to_numpy() @ surplus) < 0.05 < abs(surplus.sum())
    ran = cuecard("debias", path, "--out", tmp_path / "w.csv", "--min-count", 20)
    assert ran.code == 2
    assert "holds lists" in ran.err
    assert not (tmp_path / "w.csv").exists()


def test_bad_rows_that_are_skipped_keep_their_place_with_weight_zero(cuecard, rows, tmp_path):
    path, out = tmp_path / "ids.parquet", tmp_path / "w.parquet"
    ids = [f"id{i}" for i in range(rows.height)]
    ids[7] = ids[6]
    rows.with_columns(id=pl.Series(ids)).write_parquet(path)
    assert cuecard("debias", path, "--out", out, "--min-count", 20).code == 2
    ran = cuecard("debias", path, "--out", out, "--min-count", 20, "--on-error", "skip", "--quiet")
    assert ran.code == 0, ran.err
    weighted = pl.read_parquet(out)
    assert weighted["id"].to_list() == ids
    assert weighted["weight"][7] == 0
    assert weighted["weight"][6] > 0


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--out", "weights.xlsx"], ".parquet, .csv, .tsv or .jsonl"),
        (["--out", "nowhere/weights.parquet"], "does not exist"),
        (["--out", "train.parquet"], "is an input file"),
        (["--out", "folder.parquet"], "is a folder"),
        (["--out", "w.parquet", "--min-count", "5000"], "lower --min-count"),
        (["--out", "w.parquet", "--method", "lexicla"], "Did you mean 'lexical'"),
        (["--out", "w.parquet", "--features", "wrod"], "Did you mean 'word'"),
        (
            # Said before anything is computed: of the two mistakes, the count shows only later.
            ["--out", "w.parquet", "--min-count", "5000", "--weight-column", "genre"],
            "already have a column 'genre'",
        ),
        (["--out", "w.parquet", "--min-count", "20", "--solver", "softmax", "--ridge", "1"], "softmax"),
        (["--out", "w.parquet", "--min-count", "20", "--max-weight", "0.5"], "above 1"),
        (
            ["--out", "w.parquet", "--columns", "label=gold"],
            "its columns are genre, premise, hypothesis, label.",
        ),
    ],
)
def test_what_cannot_be_done_is_one_sentence_and_writes_nothing(
    cuecard, train, tmp_path, monkeypatch, arguments, complaint
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.parquet").mkdir()
    before = train.read_bytes()
    ran = cuecard("debias", "train.parquet", *arguments)
    assert ran.code == 2
    assert complaint in ran.err
    assert len(ran.err.strip().splitlines()) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder.parquet", "train.parquet"]
    assert train.read_bytes() == before


def test_a_set_of_one_label_is_one_sentence(cuecard, rows, tmp_path):
    path = tmp_path / "one.parquet"
    rows.filter(pl.col("label") == "yes").write_parquet(path)
    ran = cuecard("debias", path, "--out", tmp_path / "w.parquet")
    assert ran.code == 2
    assert "only one class, 'yes'" in ran.err


def test_a_failed_write_leaves_the_old_file_and_no_debris(cuecard, train, tmp_path, monkeypatch):
    out = tmp_path / "w.parquet"
    out.write_bytes(b"old")

    def full_disk(self, path, **options):
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pl.DataFrame, "write_parquet", full_disk)
    ran = cuecard("debias", train, "--out", out, "--min-count", 20)
    assert ran.code == 2
    assert "No space left" in ran.err
    assert out.read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["train.parquet", "w.parquet"]


def test_a_remedy_that_fails_is_one_sentence_and_writes_nothing(cuecard, train, tmp_path, monkeypatch):
    def broken(self, data):
        raise ZeroDivisionError("division\x1b by zero")

    monkeypatch.setattr("cuecard.remedies.LexicalWeights.run", broken)
    ran = cuecard("debias", train, "--out", tmp_path / "w.csv", "--report", tmp_path / "report")
    assert (ran.code, ran.out, ran.err.count("\n")) == (1, "", 1)
    assert "failed, and nothing is written: ZeroDivisionError: division\\x1b by zero (broken, line" in ran.err
    assert [path.name for path in tmp_path.iterdir()] == ["train.parquet"]


def test_rows_that_cannot_take_their_place_take_the_report_back(cuecard, train, tmp_path, monkeypatch):
    out, report = tmp_path / "w.csv", tmp_path / "report"
    command = ["debias", train, "--min-count", 20, "--out", out, "--report", report, "--quiet"]
    assert cuecard(*command).code == 0
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    def refused(self):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("cuecard.writing.Staged.take_place", refused)
    ran = cuecard(*command)
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_the_pair_graph_can_be_balanced_instead(cuecard, tmp_path):
    rng = np.random.default_rng(4)
    label = rng.choice(["no", "yes"], 300)
    often = rng.random(300) < np.where(label == "yes", 0.7, 0.3)
    table = pl.DataFrame(
        {
            "premise": [f"s{i % 4}" if o else f"t{i}" for i, o in enumerate(often)],
            "hypothesis": [f"u{i}" for i in range(300)],
            "label": label.tolist(),
        }
    )
    path, out = tmp_path / "pairs.parquet", tmp_path / "w.parquet"
    table.write_parquet(path)
    ran = cuecard("debias", path, "--method", "neutral", "--max-weight", 20, "--out", out)
    assert ran.code == 0, ran.err
    weighted = pl.read_parquet(out)
    assert weighted.drop("weight").equals(table)
    assert weighted["weight"].mean() == pytest.approx(1.0)
    frequent = weighted.filter(pl.Series(often))
    share = frequent.filter(label="yes")["weight"].sum() / frequent["weight"].sum()
    assert share < (label[often] == "yes").mean() - 0.1
    ran = cuecard("debias", path, "--method", "leakage", "--ngrams", 2, "--out", out)
    assert ran.code == 2
    assert "ngrams" in ran.err


def test_every_data_file_is_parsed_once(cuecard, rows, tmp_path, monkeypatch):
    rows.write_csv(tmp_path / "train.csv")
    read_csv, calls = pl.read_csv, []

    def counted(*arguments, **options):
        calls.append(arguments)
        return read_csv(*arguments, **options)

    monkeypatch.setattr(pl, "read_csv", counted)
    ran = cuecard("debias", tmp_path / "train.csv", "--min-count", 20, "--out", tmp_path / "w.csv", "-q")
    assert ran.code == 0, ran.err
    assert len(calls) == 1


def test_rows_of_one_cluster_are_one_observation_of_a_cue(cuecard, rows, train, tmp_path):
    significant = {}
    for options in ((), ("--cluster", "genre")):
        report = tmp_path / f"report{len(options)}"
        out = tmp_path / f"out{len(options)}.parquet"
        ran = cuecard("debias", train, "--out", out, "--min-count", 20, "--report", report, *options)
        assert ran.code == 0, ran.err
        card = json.loads((report / "card.json").read_text())
        significant[len(options)] = card["sections"]["lexical_weights"]["summary"]["cues"]["before"][
            "significant"
        ]
    assert significant[0] >= 1
    assert significant[2] == 0  # three clusters cannot tell
    ran = cuecard("debias", train, "--out", tmp_path / "no.parquet", "--cluster", "gender")
    assert ran.code != 0
    assert "genre" in ran.err


def test_strong_cues_are_counted_as_an_audit_of_the_same_features_counts_them(cuecard, rows, train, tmp_path):
    pattern = r"For (\d+)(?: and \d+)? of them, the label share differs from chance by 10 points or more \(95 % CI\)"
    weighted = cuecard("debias", train, "--min-count", 20, "--out", tmp_path / "w.parquet", "--json")
    same = ("--scope", "both", "--tokens", "stubborn", "--only", "cues")
    counts = [re.search(pattern, ran.out) for ran in (weighted, cuecard("audit", train, *same, "--json"))]
    assert all(counts)
    assert int(counts[0][1]) == int(counts[1][1]) > 0


def test_rows_larger_than_memory_are_written_to_a_folder_that_can_be_audited(cuecard, rows, train, tmp_path):
    out = tmp_path / "weighted"
    ran = cuecard(
        "debias", train, "--memory", "1KB", "--out", out, "--min-count", 20, "--report", tmp_path / "card"
    )
    assert ran.code == 0, ran.err
    assert "Read in 1 chunk." in ran.out
    assert "--weights" not in ran.out, "an audit with weights takes all of it at once"
    assert [path.name for path in out.iterdir()] == ["part-00000.parquet"]
    in_memory = tmp_path / "weighted.parquet"
    assert cuecard("debias", train, "--out", in_memory, "--min-count", 20, "--quiet").code == 0
    folder = tmp_path / "folder"
    said = cuecard("debias", train, "--out", folder, "--min-count", 20).out
    assert f"cuecard audit {folder} --weights weight --out {folder}-audit" in " ".join(said.split())
    assert pl.read_parquet(out).equals(pl.read_parquet(in_memory))
    assert (tmp_path / "card" / "card.json").is_file()
    again = cuecard("debias", train, "--out", out, "--min-count", 20)
    assert again.code == 2
    assert "is not empty: choose another --out, or delete it first" in again.err
    audit = cuecard("audit", out, "--weights", "weight", "--only", "overview", "--quiet")
    assert audit.code == 0, audit.err


@pytest.mark.parametrize(
    "options",
    [("--method", "neutral", "--set", "neutral.trees=20"), ("--solver", "softmax"), ("--cluster", "label")],
)
def test_every_method_gives_the_weights_of_the_data_in_memory(cuecard, train, tmp_path, options):
    for out, memory in (("mapped", ("--memory", "1KB")), ("plain", ())):
        ran = cuecard("debias", train, "--out", tmp_path / out, *options, *memory, "--quiet")
        assert ran.code == 0, ran.err
    assert pl.read_parquet(tmp_path / "mapped").equals(pl.read_parquet(tmp_path / "plain"))


def test_a_size_of_memory_that_is_none_is_one_sentence_and_writes_nothing(cuecard, train, tmp_path):
    ran = cuecard("debias", train, "--out", tmp_path / "weighted", "--memory", "much")
    assert ran.code == 2
    assert "--memory takes a size such as 4GB or 512MB, not 'much'" in ran.err
    assert ran.err.count("\n") == 1
    assert not (tmp_path / "weighted").exists()


@pytest.mark.parametrize("name", ["weighted", "weighted.parquet"])
def test_a_report_that_cannot_be_written_takes_the_rows_in_parts_back(
    cuecard, train, tmp_path, monkeypatch, name
):
    def broken(*_arguments, **_options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("cuecard.writing._Plan.follow", broken)
    monkeypatch.setattr("cuecard.writing._exchanged", broken)
    ran = cuecard(
        "debias", train, "--memory", "1KB", "--min-count", 20, "--report", tmp_path / "card",
        "--out", tmp_path / name,
    )  # fmt: skip
    assert ran.code == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["train.parquet"]

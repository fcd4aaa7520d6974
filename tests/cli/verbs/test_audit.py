from __future__ import annotations

import json
import re
from pathlib import Path

import polars as pl
import pytest

PAIRS = pl.DataFrame(
    {
        "premise": [f"premise {i}" for i in range(60)],
        "hypothesis": [f"nobody text {i}" if i % 2 else f"somebody text {i}" for i in range(60)],
        "label": ["no" if i % 2 else "yes" for i in range(60)],
    }
)


@pytest.fixture
def pairs(tmp_path):
    path = tmp_path / "pairs.csv"
    PAIRS.write_csv(path)
    return path


def test_audit_prints_the_card_and_writes_the_promised_files(cuecard, pairs, tmp_path):
    ran = cuecard("audit", pairs, "--out", tmp_path / "out")
    assert ran.code == 0
    assert "nobody" in ran.out
    assert str(tmp_path / "out" / "report.html") in ran.out.replace("\n", "")
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["card.json", "report.html", "tables"]
    columns = pl.read_parquet(tmp_path / "out" / "tables" / "cues.parquet").columns
    promised = (
        "family, feature, train_count, test_count, cueness, label, share, share_low, share_high, lift, z, p_value, "
        "q_value, mutual_information, significant, is_cue, train_no, train_yes, test_no, test_yes"
    )
    assert set(promised.split(", ")) <= set(columns)
    associations = pl.read_parquet(tmp_path / "out" / "tables" / "associations.parquet")
    assert associations.columns == [
        "family",
        "feature",
        "label",
        "n",
        "k",
        "z",
        "log10_p",
        "q_value",
        "pmi",
        "lmi",
    ]
    assert {"example_id", "split"} <= set(
        pl.read_parquet(tmp_path / "out" / "tables" / "examples.parquet").columns
    )


def test_json_is_the_card_and_nothing_else(cuecard, pairs):
    ran = cuecard("audit", pairs, "--json")
    card = json.loads(ran.out)
    assert card["cuecard"] == "2"
    assert card["sections"]["cues"]["status"] == "done"
    assert ran.err == ""


def test_a_name_and_the_next_command_are_printed_and_sections_only_if_verbose(cuecard, pairs, tmp_path):
    ran = cuecard("audit", pairs, "--name", "mine", "--only", "overview,cues", "--out", tmp_path / "out")
    assert "mine " in ran.out.splitlines()[1]
    brief = cuecard("report", tmp_path / "out").out
    assert "Overview ─" not in brief
    assert f"Next:   cuecard probe {pairs}" in brief or "Next:   cuecard explain" in brief
    assert "Overview ─" in cuecard("report", tmp_path / "out", "--verbose").out


def test_open_launches_the_report_even_without_a_folder(cuecard, pairs, monkeypatch):
    opened = []
    monkeypatch.setattr("typer.launch", opened.append)
    ran = cuecard("audit", pairs, "--only", "overview", "--open")
    assert ran.code == 0
    assert Path(opened[0]).read_text(encoding="utf-8").startswith("<!doctype html>")


def test_quiet_prints_nothing(cuecard, pairs, tmp_path):
    ran = cuecard("audit", pairs, "--quiet", "--out", tmp_path / "out")
    assert (ran.code, ran.out, ran.err) == (0, "", "")


def test_only_and_features_narrow_what_runs(cuecard, pairs):
    card = json.loads(cuecard("audit", pairs, "--only", "cues", "--features", "word,length", "--json").out)
    assert list(card["sections"]) == ["cues"]
    assert list(card["sections"]["cues"]["summary"]["families"]) == ["word", "length"]


def test_a_regular_expression_of_the_users_own_becomes_a_feature(cuecard, pairs):
    card = json.loads(cuecard("audit", pairs, "--regex", "odd=[13579]$", "--json").out)
    assert card["sections"]["cues"]["summary"]["families"]["regex"]["significant"] == 1


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--regex", "broken=("], "not valid"),
        (["--regex", "nameless"], "NAME=PATTERN"),
        (["--features", "wrod"], "Did you mean 'word'"),
        (["--tokens", "stuborn"], "Did you mean 'stubborn'"),
        (["--only", "cue"], "Did you mean 'cues'"),
        (["--columns", "label=nowhere"], "nowhere"),
    ],
)
def test_a_wrong_option_is_one_sentence_and_exit_code_2(cuecard, pairs, tmp_path, arguments, complaint):
    ran = cuecard("audit", pairs, "--out", tmp_path / "out", *arguments)
    assert ran.code == 2
    assert complaint in ran.err
    assert "Traceback" not in ran.err
    assert len(ran.err.strip().splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_the_report_verb_draws_a_saved_card_again(cuecard, pairs, tmp_path):
    cuecard("audit", pairs, "--out", tmp_path / "out", "--quiet")
    (tmp_path / "out" / "report.html").unlink()
    ran = cuecard("report", tmp_path / "out")
    assert ran.code == 0
    assert (tmp_path / "out" / "report.html").stat().st_size > 100_000


def test_report_of_what_is_no_card_is_exit_code_2(cuecard, tmp_path):
    ran = cuecard("report", tmp_path)
    assert ran.code == 2
    assert "there is no card" in ran.err


def test_explain_shows_counts_examples_and_companions(cuecard, pairs):
    ran = cuecard("explain", "nobody", pairs)
    assert ran.code == 0
    assert "of the 30 examples with “nobody” are no" in ran.out
    assert "100\xa0%" in ran.out
    assert "nobody text 1" in ran.out


def test_explain_as_json_and_an_unknown_cue(cuecard, pairs):
    document = json.loads(cuecard("explain", "nobody", pairs, "--json").out)
    assert document["touched"] == {"train": 0.5}
    ran = cuecard("explain", "nobdy", pairs)
    assert ran.code == 2
    assert "'nobody'" in ran.err


def test_datasets_lists_presets_and_shows_one(cuecard):
    assert "snli" in cuecard("tools", "datasets").out
    assert "contradiction" in cuecard("tools", "datasets", "snli").out
    assert json.loads(cuecard("tools", "datasets", "snli", "--json").out)[0]["task"] == "pair"
    ran = cuecard("tools", "datasets", "snlii")
    assert ran.code == 2
    assert "'snli'" in ran.err


def test_demo_finds_what_was_planted_and_says_where_the_report_is(cuecard, tmp_path):
    ran = cuecard("demo", "--out", tmp_path / "demo", "--rows", 3000)
    assert ran.code == 0
    assert all(title in ran.out for title in ("Planted", "Found by the audit", "Used by a model", "Balanced"))
    [indeed] = [line for line in ran.out.splitlines() if "“indeed”" in line]
    assert "follower:" in indeed
    assert re.search(r"[78]\d\.\d\s% → 3\d\.\d\s%", ran.out)
    assert len(ran.out.splitlines()) <= 30  # one screen
    saved = json.loads((tmp_path / "demo" / "card.json").read_text())
    assert {"overview", "cues", "reliance", "lexical_weights"} <= set(saved["sections"])
    assert saved["sections"]["reliance"]["summary"]["models"]["fair"]["relies"] == 0
    assert (tmp_path / "demo" / "report.html").exists()
    again = cuecard(
        "audit", tmp_path / "demo/data/train.parquet", "--test", tmp_path / "demo/data/test.parquet", "-q"
    )
    assert again.code == 0


def test_a_clean_demo_has_no_model_that_follows_and_nothing_to_balance(cuecard, tmp_path):
    ran = cuecard("demo", "--clean", "--rows", 900, "--out", tmp_path / "demo")
    assert ran.code == 0
    assert "Nothing was planted" in ran.out
    assert len(ran.out.splitlines()) < 10
    saved = json.loads((tmp_path / "demo" / "card.json").read_text())
    assert "lexical_weights" not in saved["sections"]
    assert set(saved["sections"]["accuracy_test"]["summary"]["models"]) == {"fair"}


def test_a_choice_demo_reads_back_from_its_files(cuecard, tmp_path):
    cuecard("demo", "--task", "choice", "--rows", 400, "--out", tmp_path / "demo", "--quiet")
    saved = json.loads((tmp_path / "demo" / "card.json").read_text())
    ran = cuecard(
        "audit", tmp_path / "demo/data/train.parquet", "--test", tmp_path / "demo/data/test.parquet", "--json"
    )
    read = json.loads(ran.out)
    assert read["sections"]["cues"]["summary"] == saved["sections"]["cues"]["summary"]

from __future__ import annotations

import json

import polars as pl
import pytest

from cuecard.data.demo import demo_nli, demo_predictions, write_demo


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    demo = demo_nli(9000, seed=1)
    written = write_demo(demo, folder)
    for name, follow in (("follower", 0.7), ("even", 0.0)):
        demo_predictions(demo, follow=follow, seed=1).write_parquet(folder / f"{name}.parquet")
    return {**written, "folder": folder}


def probe(cuecard, files, *more):
    return cuecard("probe", files["train"], "--test", files["test"], "--features", "word,negation", *more)


def test_probe_prints_the_card_and_writes_its_files(cuecard, files, tmp_path):
    folder, out = files["folder"], tmp_path / "out"
    ran = probe(
        cuecard,
        files,
        "-p",
        f"mine={folder / 'follower.parquet'}",
        "-p",
        folder / "even.parquet",
        "--out",
        out,
    )
    assert ran.code == 0
    assert "mine relies on" in ran.out
    assert "What to do next" not in ran.err
    tables = {path.stem for path in (out / "tables").iterdir()}
    assert {"reliance", "accuracy_test", "distribution_test", "permutation_words", "paired_by_cue"} <= tables
    assert set(pl.read_parquet(out / "tables" / "reliance.parquet")["model"].unique()) == {"mine", "even"}
    report = (out / "report.html").read_text()
    assert "Permutation test" in report


def test_the_linear_learner_is_trained_and_probed(cuecard, files):
    ran = probe(cuecard, files, "--model", "linear", "--model", "linear-hypothesis", "--json")
    card = json.loads(ran.out)
    models = card["sections"]["accuracy_test"]["summary"]["models"]
    assert set(models) == {"linear", "linear-hypothesis"}
    assert models["linear-hypothesis"]["accuracy"] > 0.4
    assert ran.err == ""


def test_stratify_and_cues_reach_the_probes(cuecard, files):
    ran = probe(
        cuecard,
        files,
        "-p",
        files["folder"] / "even.parquet",
        "--cues",
        "indeed",
        "--stratify",
        "label",
        "--json",
    )
    sections = json.loads(ran.out)["sections"]
    assert sections["permutation_test"]["parameters"]["stratify"] == "label"
    assert sections["accuracy_test"]["summary"]["cues"] == 1


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "nothing to probe"),
        (["--model", "liner"], "Did you mean 'linear'"),
        (["-p", "nowhere.csv"], "does not exist"),
        (["-p", "{even}", "--only", "acuracy_test"], "Did you mean 'accuracy_test'"),
        (["-p", "{even}", "--prediction-columns", "guess"], "ROLE=COLUMN"),
        (["-p", "{even}", "--prediction-columns", "prediction=guess"], "has no column 'guess'"),
        (["-p", "{even}", "--cues", "zebra"], "was not tested"),
        (["-p", "{train}"], "ids are not in the test split"),
    ],
)
def test_a_wrong_call_is_one_sentence_and_exit_code_2(cuecard, files, arguments, complaint):
    names = {"even": files["folder"] / "even.parquet", "train": files["train"]}
    ran = probe(cuecard, files, *(argument.format(**names) for argument in arguments))
    assert ran.code == 2
    assert complaint in ran.err
    assert len(ran.err.strip().splitlines()) == 1


def test_compare_says_what_changed_between_two_cards(cuecard, files, tmp_path):
    for name in ("follower", "even"):
        source = f"m={files['folder'] / f'{name}.parquet'}"
        probe(cuecard, files, "-p", source, "--only", "reliance", "--out", tmp_path / name, "--quiet")
    ran = cuecard("compare", tmp_path / "follower", tmp_path / "even")
    assert ran.code == 0
    assert "The data is the same." in ran.out
    assert "cues m relies on" in ran.out
    assert "models.m." not in ran.out
    assert (
        "reliance: models.m.relies"
        in cuecard("compare", tmp_path / "follower", tmp_path / "even", "--all").out
    )
    plain = json.loads(cuecard("compare", tmp_path / "follower", tmp_path / "even", "--json").out)
    assert plain[0]["same_data"] is True
    assert "results are the same" in cuecard("compare", tmp_path / "even", tmp_path / "even").out
    assert cuecard("compare", tmp_path / "even").code == 2


def test_a_probe_that_fails_ends_with_exit_code_1_and_the_other_sections_stay(cuecard, files, monkeypatch):
    from cuecard.probes import PermutationTest

    def fail(self, data, predictions, cues):
        raise ZeroDivisionError("planted")

    monkeypatch.setattr(PermutationTest, "run", fail)
    ran = probe(cuecard, files, "-p", files["folder"] / "even.parquet", "--verbose")
    assert ran.code == 1
    assert "the probe permutation_test failed" in ran.err
    assert "Accuracy test" in ran.out


def test_the_terminal_says_which_columns_were_recognised(cuecard, files):
    ran = probe(cuecard, files, "-p", files["folder"] / "even.parquet", "--only", "accuracy_test")
    assert "even read as id = example_id, prediction = prediction" in ran.out


def test_a_cue_of_another_family_is_known_by_its_name_alone(cuecard, files):
    ran = probe(cuecard, files, "-p", files["folder"] / "even.parquet", "--cues", "negation", "--json")
    assert ran.code == 0
    assert "negation:negation" in ran.out

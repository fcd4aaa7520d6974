from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import cuecard as cc
from cuecard.card import load_card
from cuecard.data.demo import demo_choice, write_demo
from cuecard.errors import CueCardError
from cuecard_papers import FrontierExperiment
from cuecard_papers.frontier import ABOUT, _findings, closed, closed_everywhere
from cuecard_papers.frontier_schemes import CORRECTIONS, FrontierCorrection, Scheme
from cuecard_papers.frontier_tests import transfer_accuracy, with_labels_of
from small_sets import pair_instances

LABELS, WORDS, SAYS = ("no", "yes"), ("nobody", "outdoors"), ("lacks", "agrees")


def rows(n: int, seed: int, labels=LABELS) -> pl.DataFrame:
    """Return pairs whose label a word goes with more often than not, and another word says."""
    rng = np.random.default_rng(seed)
    gold = rng.integers(0, 2, n)
    word = np.where(rng.random(n) < 0.6, gold, 1 - gold)
    says = np.where(rng.random(n) < 0.8, gold, 1 - gold)
    return pl.DataFrame(
        {
            "premise": [f"scene {seed} {i}" for i in range(n)],
            "hypothesis": [
                f"{WORDS[w]} {SAYS[s]} a{i % 9} b{i % 7}"
                for i, (w, s) in enumerate(zip(word, says, strict=True))
            ],
            "label": [labels[g] for g in gold],
        }
    )


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("frontier")
    for seed, (name, n) in enumerate({"train": 400, "dev": 400, "test": 400, "other": 100}.items()):
        rows(n, seed, ("NO", "YES") if name == "other" else LABELS).write_parquet(folder / f"{name}.parquet")
    return folder


def command(files, *more):
    paths = (files / "train.parquet", "--dev", files / "dev.parquet", "--test", files / "test.parquet")
    return ("papers", "stubborn", *paths, "--per-label", 2, "--set", "epochs=3", *more)


def test_the_frontier_has_a_row_per_run_and_a_chart(cuecard, files, tmp_path, monkeypatch):
    monkeypatch.setenv("CUECARD_CACHE", str(tmp_path / "cache"))
    methods = (
        "plain,upweight,last-layer,constraint,expert-half,expert-length@0+constraint,ensemble+constraint,"
        "expert-other-premises@1"
    )
    arguments = command(files, "--debias", methods, "--seeds", 2, "--also", files / "other.parquet")
    ran = cuecard(*arguments, "--out", tmp_path / "out")
    assert ran.code == 0, ran.err
    assert "what debiasing costs" in ran.out
    runs = pl.read_parquet(tmp_path / "out" / "tables" / "frontier_runs.parquet")
    assert runs.group_by("method", maintain_order=True).len().rows() == [
        ("plain", 2), ("upweight", 2), ("last-layer", 2), ("constraint", 2), ("expert-half", 2),
        ("expert-length@0+constraint", 2), ("ensemble+constraint", 1), ("expert-other-premises@1", 2),
    ]  # fmt: skip
    by_method = {
        row["method"]: row
        for row in pl.read_parquet(tmp_path / "out" / "tables" / "frontier.parquet").to_dicts()
    }
    assert by_method["constraint"]["gap"] < by_method["plain"]["gap"] / 2
    assert by_method["plain"]["on_other"] > 0.6
    assert by_method["constraint"]["on_other"] != by_method["plain"]["on_other"]
    same = ("accuracy", "gap", "on_other")
    chained = by_method["expert-length@0+constraint"]
    assert [chained[name] for name in same] == [by_method["constraint"][name] for name in same]
    # The hypothesis says everything here: what the model answers whatever the premise is all that it answers.
    assert abs(by_method["expert-other-premises@1"]["gap"]) < by_method["plain"]["gap"] / 2
    assert chained["strength"] == f"0, {by_method['constraint']['strength']}"
    assert 0 < by_method["plain"]["hard_accuracy"] < 1
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Accuracy against the gap" in page
    card = load_card(tmp_path / "out")
    assert card.measure("frontier.gap.fasttext.constraint").value == pytest.approx(
        by_method["constraint"]["gap"]
    )
    # Everything is kept: a second run trains nothing and says the same.
    monkeypatch.setattr("cuecard.models.recipe.Recipe.fit", lambda *a, **k: pytest.fail("trained again"))
    again = cuecard(*arguments, "--json")
    assert again.code == 0, again.err


def test_a_correction_that_knows_half_of_the_words_is_told_by_the_other_half(files):
    data = cc.load(files / "train.parquet", dev=files / "dev.parquet", test=files / "test.parquet")
    experiment = FrontierExperiment(
        settings=("epochs=3",),
        seeds=1,
        per_label=2,
        debias=("plain", "constraint", "constraint-half", "constraint-bands@0.1"),
        cache=False,
    )
    result = experiment.run(data)
    table = {row["method"]: row for row in result.tables["frontier"].to_dicts()}
    assert table["constraint"]["half_gap"] < table["plain"]["half_gap"]
    assert table["constraint-half"]["half_gap"] > table["constraint"]["half_gap"]
    runs = {row["method"]: row["strength"] for row in result.tables["frontier_runs"].to_dicts()}
    assert runs["constraint-bands@0.1"] == "0.1 0.1 0.1 0.1"  # two tests of two lists


def test_what_the_pair_graph_says_is_corrected_for_and_evaluated_without():
    """Frequent sentences are duplicates more often than not, and a word says the label, too."""
    rng = np.random.default_rng(0)
    table = []
    for i in range(900):
        often, gold = i % 2 == 0, rng.random() < (0.8 if i % 2 == 0 else 0.2)
        first, second = rng.integers(0, 60, 2) if often else (1000 + 2 * i, 1001 + 2 * i)
        says = gold if rng.random() < 0.6 else not gold
        split = ("train", "dev", "test")[i // 300]
        table.append((split, f"s{first}", f"s{second} {SAYS[says]} {WORDS[rng.integers(2)]}", LABELS[gold]))
    experiment = FrontierExperiment(
        models=("linear",),
        seeds=1,
        per_label=2,
        debias=("plain", "neutral", "constraint-pair-graph", "expert-pair-graph"),
        cache=False,
    )
    rows = {row["method"]: row for row in experiment.run(pair_instances(table)).tables["frontier"].to_dicts()}
    assert all(0.4 < row["neutral_accuracy"] < 1 for row in rows.values())
    assert rows["constraint-pair-graph"]["strength"] != "0 0"
    assert rows["plain"]["neutral_accuracy"] < rows["plain"]["accuracy"]


def test_questions_are_corrected_for_what_their_choices_say(tmp_path):
    names = ("train", "dev", "test", "other")
    train, dev, test, other = (
        write_demo(demo_choice(160, seed=seed), tmp_path / name)["train"] for seed, name in enumerate(names)
    )
    data = cc.load(train, dev=dev, test=test)
    experiment = FrontierExperiment(
        models=("linear",),
        seeds=1,
        per_label=2,
        debias=("plain", "expert-hypothesis@1", "expert-choices@1"),
        also=(cc.load(other),),
        cache=False,
    )
    plain, hypothesis, choices = experiment.run(data).tables["frontier"].to_dicts()
    assert hypothesis["accuracy"] == choices["accuracy"] != plain["accuracy"]
    [name] = [name for name in plain if name.startswith("on_")]
    assert hypothesis[name] == choices[name] != plain[name]


def test_methods_are_closed_if_no_seed_of_either_test_is_significant():
    groups = pl.DataFrame(
        {
            "method": ["a", "b", "c"],
            "accuracy": [0.9, 0.7, 0.8],
            "log10_p_lowest": [-9.0, -0.5, -0.1],
            "log10_p_within_label_lowest": [-0.1, -1.0, -0.2],
        }
    )
    assert closed(groups, 0.05)["method"].to_list() == ["c", "b"]
    assert closed(groups, 0.2)["method"].to_list() == ["c"]


def test_all_sets_are_closed_if_no_gap_is_far_or_significant_after_holm():
    row = {
        "method": "a", "accuracy": 0.8, **{f"{p}gap_furthest": 0.02 for p in ABOUT},
        **{f"{p}{n}_lowest": -1.5 for p in ABOUT for n in ("log10_p", "log10_p_within_label")},
    }  # fmt: skip
    rows = [
        row,
        row | {"method": "b", "next_gap_furthest": 0.04},
        row | {"method": "c", "bigram_log10_p_lowest": -2.0},
    ]
    assert closed_everywhere(pl.DataFrame(rows), 0.05)["method"].to_list() == ["a"]


def test_a_method_at_chance_closes_nothing():
    row = {
        "model": "m", "method": "idle", "seeds": 1, "accuracy": 0.5, "low": 0.45, "gap": 0.0,
        **{f"{p}{n}_lowest": 0.0 for p in ABOUT for n in ("log10_p", "log10_p_within_label")},
        **{f"{p}gap_furthest": 0.0 for p in ABOUT},
    }  # fmt: skip
    good = row | {"method": "good", "accuracy": 0.8, "low": 0.75}
    [finding] = _findings(pl.DataFrame([row, good]), 0.05, 0.5)
    assert "not significant in any seed with good (80.0\u00a0%)." in finding.text
    assert "The accuracy of idle is not above the majority baseline (50.0\u00a0%)" in finding.text


def test_names_are_a_training_a_correction_or_both():
    assert Scheme.of("words+expert") == Scheme("words+expert", "words", ("expert",))
    assert all(Scheme.of(name) == Scheme(name, "plain", (name,)) for name in CORRECTIONS)
    chain = Scheme.of("upweight:length+expert-hypothesis@0.5+constraint")
    assert (chain.base, chain.corrections) == ("upweight:length", ("expert-hypothesis@0.5", "constraint"))
    assert chain.debias is not None
    assert chain.debias.expert == "length"
    assert FrontierCorrection.of("expert-hypothesis@0.5").strength == 0.5
    for wrong, right in (
        ("expert-lenght", "length"),
        ("constraint@much", "constraint@0.5"),
        ("upweight:lenght", "length"),
        ("wrods", "words"),
        ("plain+constrain", "constraint"),
        ("words+", "words+constraint"),
    ):
        with pytest.raises(CueCardError, match=right.replace("+", r"\+")):
            Scheme.of(wrong)


def test_a_set_of_fewer_labels_is_answered_with_those_it_has():
    part = pair_instances([("train", "a", "b", "YES"), ("train", "c", "d", "YES"), ("train", "e", "f", "NO")])
    other = with_labels_of(part, ("maybe", "no", "yes"))
    assert other.labels == ("maybe", "no", "yes")
    probabilities = np.array([[0.9, 0.04, 0.06], [0.9, 0.06, 0.04], [0.2, 0.5, 0.3]])
    assert transfer_accuracy(probabilities, other) == pytest.approx(2 / 3)
    with pytest.raises(CueCardError, match="has the label 'NO', the training set has yes, maybe"):
        with_labels_of(part, ("yes", "maybe"))


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (("--debias", "plane"), "plain"),
        (("--debias", "plain", "--schemes", "words"), "do not apply with --debias"),
        (("--schemes", "uniform"), "--dev and --also only apply with --debias"),
    ],
)
def test_options_that_do_not_fit_are_refused(cuecard, files, tmp_path, more, sentence):
    ran = cuecard(*command(files, *more, "--out", tmp_path / "out"))
    assert ran.code == 2
    assert sentence in ran.err
    assert not (tmp_path / "out").exists()


def test_the_frontier_needs_a_dev_split(cuecard, files):
    paths = (files / "train.parquet", "--test", files / "test.parquet")
    ran = cuecard("papers", "stubborn", *paths, "--debias", "plain", "--per-label", 2)
    assert ran.code == 2
    assert "give it with --dev" in ran.err

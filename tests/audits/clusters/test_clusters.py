"""The cluster audit on made-up topics: planted regions are found, clean sets stay quiet."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from cuecard.analysis import Skip
from cuecard.audits import Clusters
from cuecard.audits.clusters.clustering import clusterings, default_k, principal_components
from cuecard.audits.clusters.external_clusters import confidence_histogram, read_dynamics
from cuecard.audits.clusters.findings import clusterings_agree, disagreement, giant_cluster, notable
from cuecard.audits.clusters.scores import Labelled, sweep_table
from cuecard.audits.clusters.table import characteristic_words
from cuecard.card import load_card, save_card
from cuecard.data import Instances, load
from cuecard.errors import InputError, UsageError
from cuecard.run import audit
from cuecard.stats.clusters.peco import SampleDesign
from cuecard.text import tokenise
from small_sets import choice_instances, pair_instances

TOPICS = [
    "sleeping asleep nap bed pillow",
    "guitar song music stage singer",
    "bicycle road race helmet wheel",
    "kitchen soup cook stove knife",
    "river boat fishing water net",
    "snow ski mountain cold jacket",
]
LABELS = ("contradiction", "entailment", "neutral")
QUICK = {"sweep": False, "map": "none", "restarts": 2}


def sentences(n: int, seed: int) -> tuple[list[str], np.ndarray]:
    """Sentences about one topic each, with filler words all topics share."""
    rng = np.random.default_rng(seed)
    topics = rng.integers(0, len(TOPICS), n)
    fillers = ["the", "a", "man", "woman", "is", "on", "in", "with", "two", "people", "dog", "outside"]
    texts = [
        " ".join(
            [
                *rng.choice(TOPICS[t].split(), 3, replace=False),
                *rng.choice(fillers, 3),
                f"x{rng.integers(400)}",
            ]
        )
        for t in topics
    ]
    return texts, topics


def pairs(
    n: int = 600, *, leak: float = 0.0, seed: int = 0, splits: tuple[str, ...] = ("train",)
) -> Instances:
    """Pairs whose first topic is labelled contradiction in a share `leak` of the cases."""
    rng = np.random.default_rng(1000 + seed)
    rows = []
    for i, split in enumerate(splits):
        texts, topics = sentences(n, seed + 50 * i)
        labels = rng.integers(0, 3, n)
        labels[(topics == 0) & (rng.random(n) < leak)] = 0
        rows += [
            (split, f"premise {j}", t, LABELS[y]) for j, (t, y) in enumerate(zip(texts, labels, strict=True))
        ]
    return pair_instances(rows)


@pytest.mark.parametrize("seed", range(4))
def test_a_planted_region_is_found_and_named(seed: int) -> None:
    result = Clusters(k=6, **QUICK).run(pairs(leak=0.8, seed=seed))
    assert result.summary["p_value"] <= 0.01
    assert result.summary["excess"] > 1
    top = result.tables["clusters"].row(0, named=True)
    assert top["label"] == "contradiction"
    assert top["significant"]
    assert len(set(top["words"].split(", ")) & set(TOPICS[0].split())) >= 4
    assert any(f.title.startswith("Cluster that predicts contradiction: ") for f in result.findings)


def test_a_clean_set_is_called_clean_about_as_often_as_promised() -> None:
    runs = [Clusters(k=6, permutations=99, **QUICK).run(pairs(300, seed=seed)) for seed in range(20)]
    significant = sum(run.summary["p_value"] <= 0.05 for run in runs)
    discoveries = sum(run.summary["significant_clusters"] > 0 for run in runs)
    assert significant <= 4
    assert discoveries <= 4
    quiet = next(run for run in runs if run.summary["p_value"] > 0.05)
    assert [finding.severity for finding in quiet.findings] == ["info"]


def test_a_set_with_labels_in_turn_within_every_topic_is_flatter_than_chance() -> None:
    texts, topics = sentences(450, 0)
    turn = [int((topics[:i] == topic).sum()) % len(LABELS) for i, topic in enumerate(topics)]
    rows = [("train", f"p{i}", text, LABELS[y]) for i, (text, y) in enumerate(zip(texts, turn, strict=True))]
    result = Clusters(k=len(TOPICS), **QUICK).run(pair_instances(rows))
    assert result.summary["excess"] < 0
    assert result.summary["p_value"] >= 0.95
    assert "more even than with shuffled labels" in result.findings[0].text


def test_every_label_on_every_text_is_what_shuffled_copies_give_too() -> None:
    texts, _ = sentences(150, 0)
    data = pair_instances([("train", f"p{i}{y}", t, y) for i, t in enumerate(texts) for y in LABELS])
    result = Clusters(k=6, **QUICK).run(data)
    assert result.summary["peco_exact_l2"] == pytest.approx(0, abs=1e-9)
    assert result.summary["p_value"] == 1.0
    assert result.findings[0].severity == "info"


def test_the_summary_holds_what_other_programs_rely_on() -> None:
    summary = Clusters(k=5, **QUICK).run(pairs(leak=0.5)).summary
    promised = {
        "k", "components", "peco_exact_l2", "peco_released_l2", "peco_exact_kl", "peco_released_kl", "null_mean",
        "excess", "p_value",
    }  # fmt: skip
    assert promised <= set(summary)
    assert summary["excess"] == pytest.approx(summary["peco_exact_l2"] - summary["null_mean"])
    assert summary["excess_low"] <= summary["excess"] <= summary["excess_high"]


def test_every_interval_is_of_the_excess_and_not_of_the_score() -> None:
    scores = Clusters(k=6, **QUICK).run(pairs(600, leak=0.8)).tables["cluster_scores"]
    assert ((scores["low"] <= scores["excess"]) & (scores["excess"] <= scores["high"])).all()
    assert (scores["high"] - scores["low"] > 0).all()
    released = scores.filter(mode="released")
    # The floor of the released score, 5, is no excess.
    assert (released["high"] < released["score"]).all()


def test_equation_11_as_printed_is_the_exact_score_by_the_number_of_labels() -> None:
    data = pairs(600, leak=0.8)
    score = dict(
        Clusters(k=6, **QUICK)
        .run(data)
        .tables["cluster_scores"]
        .select(pl.format("{} {}", "divergence", "mode"), "score")
        .iter_rows()
    )
    assert score["l2_mean exact"] == pytest.approx(score["l2 exact"] / len(data.labels))


def test_the_same_data_give_the_same_result() -> None:
    data = pairs(400, leak=0.5)
    first, second = (Clusters(k=5, map="tsne", map_size=120).run(data) for _ in range(2))
    assert first.summary == second.summary
    assert first.findings == second.findings
    for name, table in first.tables.items():
        assert table.equals(second.tables[name]), name


def test_the_test_split_is_analysed_where_there_is_one() -> None:
    data = pairs(200, splits=("train", "test"))
    result = Clusters(k=5, **QUICK).run(data)
    assert result.summary["split"] == "test"
    assert result.examples is not None
    assert result.examples["split"].unique().to_list() == ["test"]
    assert Clusters(k=5, split="train", **QUICK).run(data).summary["split"] == "train"
    with pytest.raises(Skip, match="no dev split"):
        Clusters(split="dev", **QUICK).run(data)


def test_every_example_has_its_cluster_and_every_table_its_rows() -> None:
    data = pairs(400, leak=0.6)
    result = Clusters(k=6, map="pca", map_size=100).run(data)
    assert result.examples is not None
    sizes = result.examples["cluster"].value_counts().sort("cluster")["count"].to_list()
    assert result.tables["clusters"].sort("cluster")["size"].to_list() == sizes
    assert result.tables["cluster_map"].height == 100
    shares = result.tables["clusters"].select(pl.sum_horizontal(f"share_{label}" for label in LABELS))
    np.testing.assert_allclose(shares.to_series().to_numpy(), 1)
    kinds = result.tables["cluster_examples"].group_by("cluster", "kind").len()
    assert kinds["len"].max() == 5
    sweep = result.tables["cluster_sweep"]
    assert set(sweep["k"].to_list()) == {6, 10, 25}
    assert set(sweep["components"].to_list()) >= {0, 10}


def test_the_sweep_states_how_many_clusters_are_left_and_how_many_components_there_are() -> None:
    rng = np.random.default_rng(0)
    # Two crowds and a few stragglers far off, which are too few for a cluster of their own.
    points = np.concatenate(
        [rng.normal(0, 1, (100, 4)), rng.normal(9, 1, (100, 4)), rng.normal(60, 1, (3, 4))]
    )
    labels = rng.integers(0, 2, 203).astype(np.int32)
    labelled = Labelled(labels, SampleDesign(), permutations=20, seed=0)
    ones = np.ones(203, dtype=np.int64)
    sweep = sweep_table(
        labelled, points.astype(np.float32), ones, np.arange(203), k=(3,), components=(0, 2, 4, 50)
    )
    assert sweep.select("k", "clusters", "components").rows() == [(3, 2, 0), (3, 2, 2), (3, 2, 4)]
    assert sweep["peco_exact_l2"][0] == sweep["peco_exact_l2"][2]


def test_a_setting_of_the_sweep_never_has_two_numbers() -> None:
    result = Clusters(k=25, map="none", restarts=3).run(pairs(400, leak=0.6))
    sweep, summary = result.tables["cluster_sweep"], result.summary
    headline = sweep.filter("headline").row(0, named=True)
    assert headline["k"] == summary["k_asked"] == 25
    assert headline["clusters"] == result.tables["cluster_starts"]["clusters"].min()
    assert headline["starts"] == 3
    for name in ("peco_exact_l2", "null_mean", "excess", "p_value"):
        assert headline[name] == summary[name]
    assert sweep.select("k", "components").is_unique().all()


def test_the_score_is_the_mean_over_starts_and_the_tightest_is_shown() -> None:
    result = Clusters(k=8, sweep=False, map="none", restarts=4).run(pairs(500, leak=0.5))
    starts, summary = result.tables["cluster_starts"], result.summary
    assert starts.height == summary["starts"] == 4
    assert starts["spread"].is_sorted()
    assert starts["peco_exact_l2"].mean() == pytest.approx(summary["peco_exact_l2"])
    divergences = result.tables["clusters"]["divergence_l2"]
    shown = 100 * (divergences.mean() - divergences.min())  # type: ignore[operator]
    assert starts["peco_exact_l2"][0] == pytest.approx(shown)
    assert summary["excess_by_start"] == starts["excess"].to_list()
    assert summary["largest_cluster"] == result.tables["clusters"]["size"].max() / 500  # type: ignore[operator]


@pytest.mark.parametrize(
    ("p", "alone", "agree", "said"),
    [
        (0.01, 10, True, ""),
        (0.01, 9, True, "9 of 10 are significant"),
        (0.01, 4, False, "4 of 10 are significant, and the excess ranges from 0.15 to 1.23"),
        (0.30, 0, True, ""),
        (0.30, 4, False, "4 of 10 are significant"),
    ],
)
def test_clusterings_that_disagree_are_told(p: float, alone: int, agree: bool, said: str) -> None:
    summary = {"p_value": p, "starts": 10, "starts_significant": alone, "excess_by_start": [0.15, 1.23]}
    assert clusterings_agree(summary, 0.05) == agree
    assert said in disagreement(summary, 0.05)
    assert bool(said) == bool(disagreement(summary, 0.05))


def test_a_verdict_on_which_starts_disagree_is_hedged() -> None:
    # A weak leak in many small clusters: together the starts see it, alone some do not.
    for seed in range(12):
        result = Clusters(k=40, sweep=False, map="none").run(pairs(600, leak=0.25, seed=seed))
        if result.summary["p_value"] <= 0.05 and not clusterings_agree(result.summary, 0.05):
            break
    else:
        pytest.fail("no set on which the starts disagree")
    verdict = result.findings[0]
    assert verdict.severity == "low"
    assert "may predict the label" in verdict.title
    assert "The clusterings differ" in verdict.text


def test_one_giant_cluster_is_warned_about() -> None:
    data = pairs(300)
    # Two in three texts share their words, in an order of their own, so nothing tells them apart.
    alike = (
        pl.when(pl.Series(np.arange(300) % 3 > 0)).then(pl.lit("it is so")).otherwise(pl.col("hypothesis"))
    )
    result = Clusters(k=5, **QUICK).run(
        Instances(data.table.with_columns(hypothesis=alike), "pair", data.labels)
    )
    assert result.summary["largest_cluster"] >= 2 / 3
    assert "One cluster contains 6" in result.findings[0].text
    assert "--embed minilm" in result.findings[0].text
    assert giant_cluster({"largest_cluster": 0.2, "embedding": "tfidf"}, "texts") == ""


def test_choices_are_shuffled_within_their_question() -> None:
    texts, topics = sentences(800, 3)
    rng = np.random.default_rng(0)
    questions = []
    for q in range(200):
        four = list(range(4 * q, 4 * q + 4))
        leaking = [i for i, row in enumerate(four) if topics[row] == 0]
        answer = leaking[0] if leaking else int(rng.integers(4))
        questions.append(("train", f"question {q}", [texts[row] for row in four], answer))
    result = Clusters(k=6, **QUICK).run(choice_instances(questions))
    assert result.summary["null"] == "within-example"
    assert result.summary["p_value"] <= 0.01
    assert result.tables["clusters"].row(0, named=True)["label"] == "right"
    assert result.tables["clusters"]["significant"][0]
    assert result.examples is not None
    assert result.examples.height == 200


def test_random_answers_to_choices_stay_quiet() -> None:
    p = []
    for seed in range(10):
        texts, _ = sentences(400, 20 + seed)
        answers = np.random.default_rng(seed).integers(0, 4, 100)
        questions = [("train", f"q{q}", texts[4 * q : 4 * q + 4], int(answers[q])) for q in range(100)]
        p.append(Clusters(k=6, permutations=99, **QUICK).run(choice_instances(questions)).summary["p_value"])
    assert sum(value <= 0.05 for value in p) <= 3


def test_too_few_texts_or_one_label_are_said_so() -> None:
    few = pair_instances([("train", "p", f"text {i % 7}", LABELS[i % 3]) for i in range(60)])
    with pytest.raises(Skip, match="at least 20 distinct texts"):
        Clusters(**QUICK).run(few)
    with pytest.raises(Skip, match="k = 5000"):
        Clusters(k=5000, **QUICK).run(pairs(100))
    one_label = pair_instances([("train", "p", f"text {i}", "neutral") for i in range(60)])
    with pytest.raises(Skip, match="at least two labels"):
        Clusters(**QUICK).run(one_label)


def test_empty_texts_do_no_harm() -> None:
    data = pairs(300, leak=0.8)
    blank = np.arange(300) % 10 == 0
    table = data.table.with_columns(
        hypothesis=pl.when(pl.Series(blank)).then(pl.lit("")).otherwise(pl.col("hypothesis"))
    )
    result = Clusters(k=6, **QUICK).run(Instances(table, "pair", data.labels))
    assert result.tables["clusters"]["size"].sum() == 300
    assert result.summary["p_value"] <= 0.05


def test_scopes_choose_the_texts() -> None:
    data = pairs(300, leak=0.9)
    swapped = data.table.with_columns(
        premise=pl.col("hypothesis"), hypothesis=pl.lit("it is so ") + pl.col("example_id")
    )
    turned = Instances(swapped, "pair", data.labels)
    assert Clusters(k=6, scope="premise", **QUICK).run(turned).summary["p_value"] <= 0.01
    assert Clusters(k=6, scope="both", **QUICK).run(turned).summary["p_value"] <= 0.01


def test_masking_function_words_keeps_a_leak_that_nouns_carry() -> None:
    names = ("shuffled_words", "masked_function_words")
    result = Clusters(k=6, transformations=names, **QUICK).run(pairs(500, leak=0.8))
    table = result.tables["cluster_transformations"]
    assert table["transformation"].to_list() == ["original", *names]
    # Order does not matter to TF-IDF, and the planted words are no function words.
    assert (table["p_value"] <= 0.05).all()


def test_an_unknown_transformation_lists_the_known_ones() -> None:
    with pytest.raises(UsageError, match="shuffled_words"):
        Clusters(k=5, transformations=("shuffle",), **QUICK).run(pairs(200))


def test_training_dynamics_are_laid_over_the_clusters(tmp_path: Path) -> None:
    data = pairs(400, leak=0.9)
    confidence = np.where(data.table["label"].cast(pl.String) == "contradiction", 0.92, 0.31)
    path = tmp_path / "dynamics.parquet"
    pl.DataFrame({"example_id": data.table["example_id"], "confidence": confidence}).write_parquet(path)
    table = Clusters(k=6, dynamics=str(path), **QUICK).run(data).tables["cluster_confidence"]
    assert table["biased"].sum() + table["other"].sum() == 400
    high = table.filter(pl.col("low") >= 0.9)
    assert high["biased_share"].sum() > high["other_share"].sum()


def test_dynamics_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    data = pairs(200)
    for name, text, message in (
        ("a.csv", "example_id,score\n1,0.5\n", "need the columns"),
        ("b.csv", "example_id,confidence\nnobody,0.5\n", "No example_id"),
        ("c.txt", "", "cannot read training dynamics"),
    ):
        (tmp_path / name).write_text(text)
        with pytest.raises(InputError, match=message):
            Clusters(k=5, dynamics=str(tmp_path / name), **QUICK).run(data)
    frame = pl.DataFrame({"example_id": ["1"], "divergence_l2": [0.1], "confidence": [2.0]})
    with pytest.raises(InputError, match="probability"):
        confidence_histogram(frame.drop("confidence"), frame.select("example_id", "confidence"))


def test_the_card_keeps_the_section_and_its_tables(tmp_path: Path) -> None:
    card = audit(pairs(300, leak=0.8), only=["clusters"], k=6, sweep=False, map="pca")
    save_card(card, tmp_path)
    again = load_card(tmp_path)
    assert again["clusters"].status == "done"
    assert again["clusters"].table.equals(card["clusters"].table)
    assert "cluster" in again.tables["examples"].columns


@pytest.mark.parametrize(("n", "k"), [(150, 2), (1000, 10), (4999, 49), (5000, 50), (500_000, 50)])
def test_the_number_of_clusters_follows_the_size_of_the_set(n: int, k: int) -> None:
    chosen, why = default_k(n)
    assert chosen == k
    assert str(k) in why


def test_weights_stand_for_repeated_points() -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(60, 8)).astype(np.float32)
    weights = rng.integers(1, 5, 60)
    repeated = np.repeat(points, weights, axis=0)
    ones = np.ones(len(repeated), dtype=np.int64)
    np.testing.assert_allclose(
        np.abs(np.repeat(principal_components(points, weights, 3), weights, axis=0)),
        np.abs(principal_components(repeated, ones, 3)),
        atol=1e-4,
    )


def test_clusters_are_numbered_by_size() -> None:
    rng = np.random.default_rng(0)
    centres = np.eye(3, 5) * 20
    points = (np.repeat(centres, [10, 60, 30], axis=0) + rng.normal(size=(100, 5))).astype(np.float32)
    found = clusterings(points, np.ones(100, dtype=np.int64), 3, starts=2, seed=0)[0]
    assert np.bincount(found.clusters).tolist() == [60, 30, 10]


def test_characteristic_words_leave_function_words_out_unless_they_make_the_cluster() -> None:
    texts = pl.Series(
        ["the dog runs to win", "a cat runs to eat", "the dog is big", "the dog is wet", "the cat is fat"]
    )
    words = characteristic_words(tokenise(texts), np.array([0, 0, 1, 1, 1]), 2)
    assert "to" in words[0]
    assert "runs" in words[0]
    assert "the" not in words[1]


def test_snli_leaks_and_its_counterfactual_revision_does_not(real_data: Callable[[str], Path]) -> None:
    snli = Clusters(**QUICK).run(load(real_data("snli/test.parquet"))).summary
    revised = Clusters(**QUICK).run(load(real_data("caugnli/all_combined_test.parquet"))).summary
    assert snli["p_value"] <= 0.005
    assert snli["excess"] > 3
    assert revised["p_value"] > 0.05
    assert revised["excess"] < 0.5


def test_clusters_too_small_to_tell_go_to_their_neighbours() -> None:
    rng = np.random.default_rng(0)
    groups = np.repeat(np.eye(4, 6) * 30, [50, 40, 30, 3], axis=0)
    points = (groups + rng.normal(size=groups.shape)).astype(np.float32)
    found = clusterings(points, np.ones(len(points), dtype=np.int64), 4, starts=4, seed=0)[0]
    assert sorted(np.bincount(found.clusters).tolist())[0] >= 30
    assert len(np.unique(found.clusters)) == 3


def test_small_clusters_stay_where_they_are_not_merged() -> None:
    data = pairs(300, seed=3)
    merged, released = (
        Clusters(k=60, map="none", merge=merge, sweep_components=(3,)).run(data) for merge in (True, False)
    )
    assert merged.summary["k"] < 60
    assert merged.tables["clusters"]["size"].min() >= 10
    assert released.summary["k"] == 60
    sweep = released.tables["cluster_sweep"]
    assert set(sweep["components"]) == {3, released.summary["components"]}
    assert (sweep["clusters"] == sweep["k"]).all()


def test_importing_the_audits_does_not_import_scikit_learn() -> None:
    code = "import sys, cuecard.audits; sys.exit('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 1}, "k must be at least 2"),
        ({"restarts": 0}, "restarts must be at least 1"),
        ({"permutations": 0}, "permutations must be at least 1"),
        ({"map": "tsnee"}, "Did you mean 'tsne'"),
        ({"embed": "minilmm"}, "Did you mean 'minilm'"),
        ({"tokens": "word"}, "Unknown tokeniser"),
    ],
)
def test_wrong_settings_are_refused_before_any_work(options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Clusters(**options)  # type: ignore[arg-type]


def test_the_clusters_that_give_most_away_are_told_first() -> None:
    clusters = pl.DataFrame(
        {
            "cluster": [0, 1, 2, 3, 4],
            "size": [900, 400, 70, 30, 500],
            "significant": [True, True, True, True, False],
            "share_low": [0.46, 0.55, 0.85, 0.56, 0.9],
            "prior": [1 / 3] * 5,
        }
    )
    assert notable(clusters)["cluster"].to_list() == [0, 1, 2, 3]  # size times what surely exceeds chance
    assert notable(clusters.clear()).is_empty()


def test_dynamics_of_one_split_are_never_read_as_those_of_another_with_the_same_ids(tmp_path: Path) -> None:
    file = tmp_path / "dynamics.csv"
    pl.DataFrame(
        {"example_id": ["1", "1", "2"], "split": ["train", "dev", "train"], "confidence": [0.2, 0.9, 0.4]}
    ).write_csv(file)
    assert read_dynamics(str(file), "train")["confidence"].to_list() == [0.2, 0.4]
    with pytest.raises(
        InputError,
        match=r"cover the splits dev, train, but the clusters are of test; .* clusters\.split=NAME",
    ):
        read_dynamics(str(file), "test")

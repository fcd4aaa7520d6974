"""The pair-graph audit: the paper's numbers, planted leaks, quiet on noise, bad input."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import false_discovery_control

from cuecard.analysis import Analysis, Skip
from cuecard.audits import AUDITS, PairGraphAudit
from cuecard.audits.pair_graph.findings import _strongest_class
from cuecard.audits.pair_graph.outcomes import ablations, outcome
from cuecard.audits.pair_graph.scores import ABLATIONS, trial
from cuecard.audits.pair_graph.tables import has_transport, label_by_frequency
from cuecard.data import Instances, load
from cuecard.errors import UsageError
from cuecard.features.pair_graph import graph_of, leakage_features
from cuecard.stats.counted_forest import distinct_points

PLAIN = PairGraphAudit(forest="fast", advanced=False, unlexicalized=False)


def pairs(first: list[str], second: list[str], label: list[str], split: list[str]) -> Instances:
    labels = tuple(sorted(set(label)))
    table = pl.DataFrame(
        {
            "example_id": [str(i) for i in range(len(label))], "position": 0, "split": split,
            "premise": first, "hypothesis": second, "label": pl.Series(label).cast(pl.Enum(list(labels))),
        }
    )  # fmt: skip
    return Instances(table, "pair", labels)


def planted(n: int = 1500, seed: int = 0, strength: float = 0.8) -> Instances:
    """Positives repeat a few second sentences, negatives have new ones; every third row is test."""
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < 0.5
    repeats = rng.random(n) < np.where(positive, strength, 1 - strength)
    second = [f"s{rng.integers(0, 30)}" if r else f"new {i}" for i, r in enumerate(repeats)]
    label = np.where(positive, "yes", "no").tolist()
    split = ["test" if i >= 2 * n // 3 else "train" for i in range(n)]
    return pairs([f"p{i}" for i in range(n)], second, label, split)


def real(real_data: Callable[[str], Path], name: str, label: pl.Expr) -> Instances:
    parts = [
        pl.read_parquet(real_data(f"{name}/{split}.parquet")).select(
            "premise", "hypothesis", label=label, split=pl.lit(split)
        )
        for split in ("train", "dev", "test")
    ]
    table = pl.concat(parts)
    return pairs(*(table[c].to_list() for c in ("premise", "hypothesis", "label", "split")))


def percents(data: Instances) -> tuple[dict[str, float], float]:
    asked = trial(data, forest="paper-small", folds=5, seed=0)
    found = ablations(leakage_features(graph_of(data)), asked)
    return {name: round(100 * float(one.credits.mean()), 2) for name, one in found.items()}, round(
        100 * asked.chance, 2
    )


def test_sick_relatedness_gives_the_papers_seven_accuracies(real_data: Callable[[str], Path]) -> None:
    related = pl.when(pl.col("relatedness_score") > 3.6).then(pl.lit("yes")).otherwise(pl.lit("no"))
    found, majority = percents(real(real_data, "sick", related))
    assert majority == 50.27
    assert found == {
        "leakage": 55.53, "s1_freq": 54.52, "s2_freq": 52.53, "s1s2_inter": 50.78,
        "without_s1_freq": 53.50, "without_s2_freq": 53.01, "without_s1s2_inter": 54.19,
    }  # fmt: skip


@pytest.mark.parametrize(("name", "leak", "majority"), [("sick", 56.75, 56.69), ("msrp", 66.72, 66.49)])
def test_sick_nli_and_msrp_give_the_papers_accuracy(
    real_data: Callable[[str], Path], name: str, leak: float, majority: float
) -> None:
    data = real(real_data, name, pl.col("label").cast(pl.String))
    asked = trial(data, forest="paper-small", folds=5, seed=0)
    credits = asked.credits(leakage_features(graph_of(data)))
    assert round(100 * float(credits.mean()), 2) == leak
    assert round(100 * asked.chance, 2) == majority


def test_a_planted_leak_is_found_and_said_with_its_numbers() -> None:
    result = PLAIN.run(planted())
    accuracy = result.summary["accuracy"]
    assert set(accuracy) == {"majority", *ABLATIONS, "advanced", "unlexicalized"}
    assert accuracy["leakage"] > 0.75 > accuracy["s1_freq"]
    assert accuracy["advanced"] is None
    finding = result.findings[0]
    assert finding.severity == "high"
    said = finding.text.replace("\N{NO-BREAK SPACE}", " ")
    assert f"without reading a word, the accuracy is {100 * accuracy['leakage']:.1f} %" in said
    assert "on 500 examples with 500 distinct first and 277 distinct second sentences (95 % CI" in said
    assert finding.low is not None
    assert finding.low < accuracy["leakage"] < finding.high
    assert finding.evidence
    # 500 test pairs with 277 distinct hypotheses: copies of a sentence are one observation.
    assert result.summary["intervals"]["leakage"]["p_value"] < 1e-12
    assert result.examples is not None
    assert result.examples.columns == ["example_id", "split", "s1_freq", "s2_freq", "s1s2_inter"]


def test_shuffled_labels_are_not_called_a_leak_more_often_than_chance_allows() -> None:
    alarms = 0
    for seed in range(40):
        data = planted(600, seed, strength=0.5)
        asked = trial(data, forest="fast", folds=5, seed=seed)
        alarms += outcome(asked, leakage_features(graph_of(data))).score(asked).p_value < 0.05
    assert alarms <= 5  # 95 % of Binomial(40, 0.05) lies at 5 or below


def test_without_a_test_split_shuffled_labels_are_not_called_a_leak_more_often_than_chance_allows() -> None:
    alarms = 0
    for seed in range(60):
        data = planted(300, seed, strength=0.5)
        data = Instances(data.table.with_columns(split=pl.lit("train")), "pair", data.labels)
        asked = trial(data, forest="fast", folds=5, seed=seed)
        found = outcome(asked, leakage_features(graph_of(data)))
        hits, wider = asked.score(found.credits), found.score(asked)
        alarms += wider.p_value < 0.05
        assert wider.low < hits.low < hits.high < wider.high
    assert alarms <= 8  # 99 % of Binomial(60, 0.05) lies at 8 or below


def test_a_leak_of_shared_sentences_vanishes_when_the_graph_is_built_from_train_alone() -> None:
    """Test positives repeat sentences that only test has: train alone cannot see it."""
    n = 900
    rng = np.random.default_rng(0)
    positive = rng.random(n) < 0.5
    where = ["test" if i >= 600 else "train" for i in range(n)]
    second = [
        f"{s} {rng.integers(0, 12)}" if y else f"new {i}"
        for i, (y, s) in enumerate(zip(positive, where, strict=True))
    ]
    result = PLAIN.run(
        pairs([f"p{i}" for i in range(n)], second, np.where(positive, "yes", "no").tolist(), where)
    )
    parts = result.summary
    assert parts["accuracy"]["leakage"] > 0.95
    assert parts["parts"]["train_only"]["accuracy"] < 0.6
    assert parts["parts"]["shared"]["n"] == 0
    origin = result.findings[1]
    assert origin.severity == "info"
    assert "not significant" in origin.text
    kept = PLAIN.run(planted()).summary["parts"]
    assert kept["kept_share"] > 0.9
    assert kept["shared"]["accuracy"] != kept["unshared"]["accuracy"]


def test_without_a_test_split_examples_are_scored_by_other_folds() -> None:
    data = planted()
    alone = Instances(data.table.with_columns(split=pl.lit("train")), "pair", data.labels)
    result = PLAIN.run(alone)
    assert result.summary["n"] == len(data)
    assert result.summary["evaluated"] == "5-fold"
    assert result.summary["parts"] is None
    assert result.summary["accuracy"]["leakage"] > 0.75


def test_a_repeated_wrong_choice_gives_questions_away_per_example() -> None:
    rng = np.random.default_rng(1)
    rows = []
    for i in range(600):
        right = int(rng.integers(0, 4))
        for position in range(4):
            answer = f"answer {i} {position}" if position == right else f"filler {rng.integers(0, 20)}"
            split = "test" if i >= 400 else "train"
            rows.append(
                (str(i), position, split, f"question {i}", answer, "right" if position == right else "wrong")
            )
    columns = ["example_id", "position", "split", "premise", "hypothesis", "label"]
    table = pl.DataFrame(rows, schema=columns, orient="row").with_columns(
        pl.col("label").cast(pl.Enum(["right", "wrong"]))
    )
    result = PLAIN.run(Instances(table, "choice", ("right", "wrong")))
    assert result.summary["accuracy"]["majority"] == pytest.approx(0.25)
    assert result.summary["accuracy"]["s2_freq"] > 0.95
    assert result.summary["accuracy"]["s1_freq"] == pytest.approx(
        0.25
    )  # all four tie, and ties count a quarter
    assert result.summary["n"] == 200
    assert result.examples is not None
    assert result.examples.height == 600


def test_tables_hold_what_the_figures_show() -> None:
    data = planted()
    tables = PLAIN.run(data).tables
    grid = tables["pair_graph_grid"]
    assert grid.filter(label="yes")["n"].sum() == len(data)
    assert grid.group_by("s1_freq", "s2_freq").agg(pl.col("share").sum())[
        "share"
    ].to_numpy() == pytest.approx(1)
    by_frequency = tables["pair_graph_by_frequency"].filter(feature="s2_freq", label="yes")
    assert by_frequency["n"].sum() == len(data)
    assert by_frequency["share"][0] < 0.35 < 0.65 < by_frequency["share"][-1]
    quantiles = tables["pair_graph_quantiles"]
    moved = {"word_movers_distance"} if has_transport() else set()
    assert set(quantiles["feature"]) == {"s1_freq", "s2_freq", "s1s2_inter", "similarity"} | moved
    sums = quantiles.group_by("feature", "label").agg(pl.col("share").sum())["share"]
    assert sums.to_numpy() == pytest.approx(1)


def test_the_seven_ablations_have_q_values_over_each_other_only() -> None:
    result = PairGraphAudit(unlexicalized=True).run(planted(strength=0.35))
    table = result.tables["pair_graph"]
    seven = table.filter(pl.col("features") != "unlexicalized")
    assert seven.height == 7
    np.testing.assert_allclose(seven["q_value"], false_discovery_control(seven["p_value"]))
    assert (seven["q_value"] >= seven["p_value"]).all()
    assert table.filter(features="unlexicalized")["q_value"].to_list() == [None]
    intervals = result.summary["intervals"]
    assert [intervals[name]["q_value"] for name in seven["features"]] == seven["q_value"].to_list()
    assert intervals["unlexicalized"]["q_value"] is None


def test_the_audit_is_registered_and_skips_what_has_no_pairs() -> None:
    assert AUDITS.get("pair_graph") is PairGraphAudit
    assert isinstance(PLAIN, Analysis)
    assert "text" not in PairGraphAudit.tasks
    with pytest.raises(Skip, match="at least two distinct premises"):
        PLAIN.run(pairs(["", "", ""], ["a", "b", "c"], ["x", "y", "x"], ["train", "train", "test"]))


def test_sentences_that_all_occur_once_say_nothing() -> None:
    n = 60
    data = pairs(
        [f"p{i}" for i in range(n)],
        [f"h{i}" for i in range(n)],
        ["x", "y"] * (n // 2),
        ["train"] * 40 + ["test"] * 20,
    )
    result = PLAIN.run(data)
    assert "No sentence occurs twice" in result.findings[0].text
    assert result.summary["accuracy"]["leakage"] <= result.summary["accuracy"]["majority"]


def test_a_pair_with_itself_and_a_label_only_test_has_do_not_stop_it() -> None:
    data = pairs(
        ["a", "a", "b", "c", "d"] * 4,
        ["a", "b", "b", "a", "a"] * 4,
        [*"xyxyx" * 3, *"xyzzx"],
        ["train"] * 15 + ["test"] * 5,
    )
    result = PLAIN.run(data)
    assert result.summary["graph"]["self_pairs"] == 8
    assert np.isfinite(result.summary["accuracy"]["leakage"])


def test_an_unknown_forest_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="paper-small"):
        PairGraphAudit(forest="paper-smal").run(planted(90))  # type: ignore[arg-type]


def test_advanced_and_unlexicalized_features_are_scored_on_small_sets() -> None:
    asked = PairGraphAudit(advanced=True, unlexicalized=True)
    accuracy = asked.run(planted(300)).summary["accuracy"]
    assert accuracy["advanced"] > 0.7
    assert 0.3 < accuracy["unlexicalized"] < 0.95


def test_a_frequency_that_no_sentence_has_is_left_out_instead_of_drawn_as_zero() -> None:
    n = 40
    data = pairs([f"a{i}" for i in range(n)], ["b"] * n, ["x", "y"] * (n // 2), ["train"] * n)
    frequencies = np.array([[1, 1, 0]] * 20 + [[1, 9, 0]] * 20)
    shares = label_by_frequency(data, frequencies).filter(pl.col("feature") == "s2_freq")
    assert shares["from"].unique().sort().to_list() == [1, 8]
    assert shares["n"].min() == 20


def test_the_illustration_is_the_frequency_that_carries_most_of_the_effect():
    """73 % of 15 answers say less than 1.4 % of 140."""
    rows = [{"question": f"q {i}", "choices": [f"a {i}", f"b {i}"], "answer": i % 2} for i in range(40)]
    data = load(pl.DataFrame(rows))
    classes = {
        "feature": "s2_freq", "from": [3, 2], "to": [3, 2], "label": ["right", "wrong"], "n": [15, 140],
        "share": [0.733, 0.986], "share_low": [0.68, 0.95],
    }  # fmt: skip
    points = distinct_points(leakage_features(graph_of(data)))
    text, _ = _strongest_class(data, points, pl.DataFrame(classes), None)
    assert text == " If the answer occurs 2 times, 98.6\xa0% of 140 choices are wrong (overall 50.0\xa0%)."

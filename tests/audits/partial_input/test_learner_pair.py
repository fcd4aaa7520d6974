from __future__ import annotations

import sys
from contextlib import nullcontext

import numpy as np
import polars as pl
import pytest

from cuecard.analysis import parameters
from cuecard.audits import PartialInput
from cuecard.audits.partial_input.slices import outside_accuracy
from cuecard.data import Examples
from cuecard.errors import InputError, UsageError
from cuecard.report.dataset_comparison import comparison_table
from cuecard.run import audit
from cuecard.stats.models.agreement import agreement
from first_word_model import registered
from small_sets import pair_instances


@pytest.fixture(autouse=True)
def _model(tmp_path, monkeypatch):
    monkeypatch.setenv("CUECARD_CACHE", str(tmp_path))
    with registered():
        yield


def leaking(n: int, *, test: bool = True, strength: float = 0.8):
    """Pairs whose hypothesis begins with its label's word with some chance; the premise tells the label."""
    rng = np.random.default_rng(0)
    label = rng.choice(["no", "yes"], n)
    word = {"no": "rain", "yes": "sun"}
    other = {"no": "yes", "yes": "no"}
    rows = []
    for i, y in enumerate(label):
        shown = y if rng.random() < strength else other[y]
        split = "test" if test and i % 2 else "train"
        rows.append((split, f"{y} p{i}", f"{word[shown]} h{i}", str(y)))
    return pair_instances(sorted(rows, key=lambda row: row[0] == "test"))


def run(data, **options):
    fast = {"learning_curve": False, "cross_fit": False}
    return PartialInput(learner=("first-word",), **fast, **options).run(data)


def test_without_the_cache_nothing_is_kept(tmp_path):
    data = leaking(200)
    first = run(data, cache=False)
    assert not list(tmp_path.iterdir())
    assert run(data).summary == first.summary
    assert (tmp_path / "fitted").is_dir()


def test_a_seed_among_the_settings_wins():
    [recipe] = PartialInput(learner=("first-word",), learner_settings=("seed=7",), seed=3)._recipes()
    assert recipe.options["seed"] == 7
    [recipe] = PartialInput(learner=("first-word",), seed=3)._recipes()
    assert recipe.options["seed"] == 3


def test_both_conditions_are_scored_on_test_with_their_agreement():
    data = leaking(600)
    result = run(data)
    [pair] = result.summary["learners"]
    assert pair["psc"]["accuracy"] == 1.0
    assert pair["ssc"]["accuracy"] == pytest.approx(0.8, abs=0.05)
    assert pair["scheme"] == "train to test"
    assert pair["n"] == 300
    assert pair["delta_maj"] == pytest.approx(pair["ssc"]["accuracy"] - pair["chance"])
    assert pair["percent_r"] == pytest.approx(pair["ssc"]["accuracy"])
    # The full model is always right, so agreement is where the partial one is.
    assert pair["nba"] == pytest.approx(pair["ssc"]["accuracy"])
    assert pair["nbr"] == 1.0
    assert pair["nbr_released"] == pytest.approx(pair["ssc"]["accuracy"])
    assert result.summary["nba"] == pair["nba"]
    assert pair["only_partial"] == 0


def test_the_partial_input_of_a_learner_can_be_the_premise():
    result = run(leaking(600), learner_condition="premise")
    [pair] = result.summary["learners"]
    assert pair["condition"] == "premise"
    assert pair["ssc"]["accuracy"] == 1.0  # the premise begins with the label
    assert "partial_input.first-word.premise_only.accuracy" in {m.name for m in result.measures}
    with pytest.raises(UsageError, match="premise"):
        run(leaking(10), learner_condition="premises")


@pytest.mark.parametrize(("scale", "kind"), [(1, bool), (100, int)])
def test_partial_input_is_measured_against_a_model_from_elsewhere(scale, kind):
    data = leaking(600)
    correct = np.where(np.arange(len(data)) % 4 == 0, 0, scale).astype(kind)
    result = run(data.with_columns(sota=pl.Series(correct)), outside="sota")
    measures = {m.name: m.value for m in result.measures}
    scored = correct[(data.table["split"].cast(pl.String) == "test").to_numpy()] / scale
    assert measures["partial_input.outside.sota.accuracy"] == pytest.approx(scored.mean())
    [pair] = result.summary["learners"]
    assert measures["partial_input.first-word.hypothesis_only.percent_s"] == pytest.approx(
        pair["ssc"]["accuracy"] / scored.mean()
    )
    assert "metadata" not in {line["name"] for line in result.summary["baselines"]}


def test_a_model_from_elsewhere_is_weighted_as_partial_input_is():
    data = leaking(60)
    correct, weight = np.arange(len(data)) % 4 > 0, 1.0 + np.arange(len(data)) % 3
    examples = Examples.of_rows(data.with_columns(sota=pl.Series(correct)), weight)
    scored = np.arange(7, 30)
    accuracy = outside_accuracy(examples, "sota", scored)["accuracy"]
    assert accuracy == pytest.approx((correct * weight)[scored].sum() / weight[scored].sum())
    assert accuracy != pytest.approx(correct[scored].mean())


def test_a_column_that_states_no_accuracy_is_refused():
    data = leaking(60)
    with pytest.raises(UsageError, match="sota"):
        run(data, outside="sota")
    with pytest.raises(InputError, match="percentages"):
        run(data.with_columns(sota=pl.lit(101)), outside="sota")
    with pytest.raises(InputError, match="true and false"):
        run(data.with_columns(sota=pl.lit("good")), outside="sota")


def test_the_table_of_answers_gives_the_same_agreement():
    result = run(leaking(600, strength=0.7))
    table = result.tables["learner_answers"]
    right = [table[name].to_numpy().astype(int) for name in ("right_full", "right_partial")]
    # With two labels, two models agree where both or none is right.
    assert result.summary["nba"] == pytest.approx(agreement(*right, np.ones(len(right[0]), int)).nba)


def test_without_a_test_split_one_fold_is_held_out_that_shares_no_sentence():
    data = leaking(500, test=False)
    [pair] = run(data).summary["learners"]
    assert pair["scheme"].startswith("one held-out fold of 5")
    assert pair["n"] + pair["train_examples"] == 500
    assert pair["psc"]["accuracy"] == 1.0


def test_a_learner_at_chance_is_no_warning():
    result = run(leaking(400, strength=0.5))
    [finding] = [f for f in result.findings if "accuracy of first-word" in f.title]
    assert "is not above chance" in finding.title
    assert finding.severity == "info"
    assert "not informative" not in finding.text  # with the full input it learns


def test_a_learner_that_does_not_even_learn_from_the_full_input_says_nothing():
    rng = np.random.default_rng(0)
    rows = [
        (split, f"p{i}", f"w{rng.integers(4)} today", str(rng.choice(["no", "yes"])))
        for split in ("train", "test")
        for i in range(200)
    ]
    [finding] = [f for f in run(pair_instances(rows)).findings if "accuracy of first-word" in f.title]
    assert "this comparison is not informative yet" in finding.text


def test_a_leaking_learner_is_a_finding_with_its_numbers():
    [finding] = [f for f in run(leaking(600)).findings if "accuracy of first-word" in f.title]
    assert finding.severity == "high"
    assert finding.low > finding.chance
    assert "100\N{NO-BREAK SPACE}%" in finding.text


def test_whoever_watches_hears_of_both_trainings():
    told = []

    def tell(title):
        told.append(title)
        return nullcontext(None)

    PartialInput(learner=("first-word",), tell=tell).run(leaking(200, strength=0.9))
    assert told == ["first-word, full input", "first-word, hypothesis only"]
    assert "tell" not in parameters(PartialInput(tell=tell))


def test_text_data_says_why_there_is_no_pair():
    data = leaking(200)
    texts = pair_instances(
        [(split, "", h, y) for split, h, y in data.table.select("split", "hypothesis", "label").iter_rows()]
    )
    texts = type(texts)(texts.table, "text", texts.labels)
    summary = run(texts).summary
    assert summary["learners"] == []
    assert "no partial input" in summary["learner_notes"][0]


def test_an_unknown_learner_is_told_before_any_work():
    with pytest.raises(UsageError, match="Unknown model 'frist-word'"):
        PartialInput(learner=("frist-word",))


def test_the_card_compares_by_the_learner_it_has():
    card = audit(leaking(600), only=["partial_input"], learner=("first-word",), learning_curve=False)
    row = comparison_table([card]).row(0, named=True)
    [pair] = card["partial_input"].summary["learners"]
    assert row["condition"] == "hypothesis"
    assert (row["psc"], row["ssc"], row["nba"]) == (1.0, pair["ssc"]["accuracy"], pair["nba"])


def test_the_learner_is_shown_in_terminal_and_page(cuecard, tmp_path):
    data = leaking(300)
    for split in ("train", "test"):
        data.split(split).table.select(
            "premise", "hypothesis", pl.col("label").cast(pl.String)
        ).write_parquet(tmp_path / f"{split}.parquet")
    ran = cuecard(
        "audit", tmp_path / "train.parquet", "--test", tmp_path / "test.parquet", "--only", "partial_input",
        "--learner", "first-word", "--set", "epochs=1", "--out", tmp_path / "out",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    assert "first-word, trained on 150 examples" in ran.out
    assert "SSC" in ran.out
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Trained models" in page


def test_a_learner_whose_extra_is_missing_leaves_the_rest_of_the_audit(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    options = {"learning_curve": False, "cross_fit": False}
    summary = PartialInput(learner=("bilstm", "first-word"), **options).run(leaking(200)).summary
    assert [pair["learner"] for pair in summary["learners"]] == ["first-word"]
    assert "pip install 'cuecard[models]'" in summary["learner_notes"][0]
    assert summary["baselines"]


def test_a_learner_with_gradients_has_a_token_relevance_agreement():
    data = leaking(300)
    options = {"learning_curve": False, "cross_fit": False}
    result = PartialInput(learner=("fasttext",), learner_settings=("epochs=3",), **options).run(data)
    [pair] = result.summary["learners"]
    assert 0 < pair["tra_low"] < pair["tra"] < pair["tra_high"] <= 1
    assert pair["tra_n"] == 150
    assert result.summary["tra"] == pair["tra"]
    again = PartialInput(learner=("fasttext",), learner_settings=("epochs=3",), **options).run(data)
    assert again.summary["learners"] == result.summary["learners"]  # read from the cache

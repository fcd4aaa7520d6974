from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from cuecard.audits import Cues
from cuecard.data import Instances
from cuecard.errors import InputError, UsageError
from cuecard.features import Words
from cuecard.remedies import LexicalWeights
from cuecard.remedies.balance_problem import Candidates, balance_problem, chance_err_of_ngrams, random_ngrams
from cuecard.run import debias
from cuecard.text import encode
from small_sets import choice_instances, pair_instances

LABELS = ("contradiction", "entailment", "neutral")


def biased_pairs(n: int = 900, seed: int = 0, labels: tuple[str, ...] = LABELS) -> Instances:
    """Pairs of random words in which "not" goes with the first label and "maybe" with the last."""
    rng = np.random.default_rng(seed)
    words = np.array([f"w{i}" for i in range(12)])
    rows = []
    for _ in range(n):
        label = int(rng.integers(len(labels)))
        text = [*rng.choice(words, 4)]
        if rng.random() < (0.6 if label == 0 else 0.15):
            text.append("not")
        if rng.random() < (0.5 if label == len(labels) - 1 else 0.1):
            text.append("maybe")
        rows.append(("train", " ".join(rng.choice(words, 3)), " ".join(text), labels[label]))
    return pair_instances(rows)


def biased_choices(n: int = 300, k: int = 4, seed: int = 0) -> Instances:
    """Questions whose right choice has "never" more often than the wrong ones."""
    rng = np.random.default_rng(seed)
    questions = []
    for q in range(n):
        answer = int(rng.integers(k))
        choices = []
        for c in range(k):
            text = [f"x{i}" for i in rng.integers(0, 8, 3)]
            if rng.random() < (0.6 if c == answer else 0.25):
                text.append("never")
            choices.append(" ".join(text))
        questions.append(("train", f"question {q}", choices, answer))
    return choice_instances(questions)


def rare_cues(n: int = 600, cues: int = 10, seed: int = 0) -> Instances:
    """Pairs of random words with cues in about 40 instances each, 85 % of them with one label."""
    rng = np.random.default_rng(seed)
    words = np.array([f"w{i}" for i in range(12)])
    rows = []
    for _ in range(n):
        label, text = int(rng.integers(2)), [*rng.choice(words, 4)]
        cue = int(rng.integers(cues))
        if rng.random() < 2 * 40 * cues / n * (0.85 if cue % 2 == label else 0.15):
            text.append(f"cue{cue}")
        rows.append(("train", " ".join(rng.choice(words, 3)), " ".join(text), ("no", "yes")[label]))
    return pair_instances(rows)


def quick(**options: object) -> LexicalWeights:
    return LexicalWeights(**{"min_count": 20, "reaudit": (), "ridge": "exact", **options})  # type: ignore[arg-type]


def test_every_frequent_word_is_balanced_and_weights_have_mean_one():
    result = quick().run(biased_pairs())
    err = result.summary["err"]["constrained"]
    assert err["before"] > 0.03
    assert err["after"] < 1e-4
    weights = result.examples["weight"].to_numpy()
    assert weights.mean() == pytest.approx(1.0, abs=1e-12)
    assert weights.min() > 0
    assert 0.5 < result.summary["ess"] < 1
    told = result.tables["balance"].filter(feature="not").row(0, named=True)
    assert told["before_contradiction"] > 0.5
    assert told["after_contradiction"] == pytest.approx(1 / 3, abs=1e-3)
    assert result.summary["families"] == {"word": result.summary["constrained"]}
    json.dumps(result.summary)


def test_the_cue_audit_repeated_under_the_weights_finds_nothing_left():
    result = LexicalWeights(min_count=20, ridge="exact").run(biased_pairs())
    before, after = result.summary["cues"]["before"], result.summary["cues"]["after"]
    assert before["significant"] >= 2
    assert after["significant"] == 0
    row = result.tables["reweighted_cues"].filter(family="word", feature="not").row(0, named=True)
    assert row["label"] == "contradiction"
    assert row["share_after"] == pytest.approx(1 / 3, abs=1e-3)
    assert row["significant_before"]
    assert not row["significant_after"]


def test_the_options_that_the_sentence_names_count_the_same_features():
    data = biased_pairs()
    result = LexicalWeights(min_count=20).run(data)
    [finding] = [one for one in result.findings if one.key == "cues"]
    assert "an audit counts the same with --scope both --tokens stubborn." in finding.text
    audited = Cues(scope="both", tokens="stubborn").run(data.train).summary
    assert audited["significant"] == result.summary["cues"]["before"]["significant"]
    alike = LexicalWeights(min_count=20, scope="hypothesis", tokens="default").run(data)
    assert alike.summary["cues"]["counted"] == ""


def test_the_same_data_give_the_same_weights_and_tables():
    first, second = (LexicalWeights(min_count=20, trade_off=(0.1,)).run(biased_pairs()) for _ in range(2))
    assert first.summary == second.summary
    assert first.examples.equals(second.examples)
    assert all(first.tables[name].equals(second.tables[name]) for name in first.tables)


def test_weights_follow_their_examples_when_rows_change_places():
    data = biased_pairs()
    shuffled = Instances(data.table.sample(fraction=1.0, shuffle=True, seed=3), data.task, data.labels)
    by_id = [quick().run(part).examples.sort("example_id")["weight"].to_numpy() for part in (data, shuffled)]
    np.testing.assert_allclose(by_id[0], by_id[1], rtol=2e-3)


def test_bigrams_are_balanced_jointly_with_words():
    result = quick(ngrams=2).run(biased_pairs(3000))
    assert set(result.summary["families"]) == {"word", "bigram"}
    assert result.summary["err"]["constrained"]["after"] < 1e-4
    assert result.summary["err"]["random_bigrams"]["features"] <= 200


def test_other_families_and_regular_expressions_can_be_balanced():
    result = quick(features=("length",), regex=(("odd", "w[13579]"),)).run(biased_pairs())
    assert set(result.tables["balance"]["family"]) == {"length", "regex"}
    assert result.summary["err"]["constrained"]["after"] < 1e-3


def test_significant_balances_what_the_cue_audit_finds_and_nothing_else():
    result = LexicalWeights(features=("significant",), reaudit=(), ridge="exact").run(biased_pairs())
    found = result.tables["balance"]
    assert {"not", "maybe"} <= set(found["feature"])
    assert found.height < 20
    assert result.summary["err"]["constrained"]["after"] < 1e-3


def test_a_ridge_trades_balance_for_sample_size():
    table = quick(trade_off=(0.01, 0.1, 1.0)).run(biased_pairs()).tables["trade_off"]
    assert table["ridge"].to_list() == [0.0, 0.01, 0.1, 1.0]
    assert table["ess"].is_sorted()
    assert table["err"].is_sorted()
    assert table["max_weight"].is_sorted(descending=True)


def test_limits_on_weight_and_sample_size_are_kept():
    capped = quick(max_weight=1.5).run(biased_pairs())
    assert capped.examples["weight"].max() <= 1.5 + 1e-9
    roomy = quick(min_ess=0.95, trade_off=(1.0,)).run(biased_pairs())
    assert roomy.summary["ess"] >= 0.95
    assert roomy.summary["ridge"] in roomy.tables["trade_off"]["ridge"].to_list()
    assert set(roomy.tables["unbalanced"]["reason"]) == {"ridge"}


def test_the_target_can_be_the_label_shares_of_the_data():
    rows = biased_pairs(1500).table.to_dicts()
    kept = [
        ("train", r["premise"], r["hypothesis"], r["label"])
        for i, r in enumerate(rows)
        if r["label"] != "neutral" or i % 3 == 0
    ]
    result = quick(target="overall").run(pair_instances(kept))
    share = sum(row[3] == "neutral" for row in kept) / len(kept)
    assert result.summary["target"]["neutral"] == pytest.approx(share)
    told = result.tables["balance"].filter(feature="maybe").row(0, named=True)
    assert told["after_neutral"] == pytest.approx(share, abs=1e-3)


def test_distances_can_be_measured_from_the_label_shares_of_the_data_under_weights_to_another_target():
    data = biased_pairs()
    labels = data.train.label_codes
    keep = np.sort(np.concatenate([np.flatnonzero(labels != 0), np.flatnonzero(labels == 0)[::2]]))
    data = data.rows(np.isin(np.arange(len(data)), keep))
    plain, overall = (quick(reference=reference).run(data) for reference in ("target", "overall"))
    assert (plain.examples["weight"] == overall.examples["weight"]).all()
    shares = np.bincount(data.train.label_codes) / len(data.train)
    table = overall.tables["balance"].filter("constrained")
    for when in ("before", "after"):
        of_labels = table.select(f"{when}_{label}" for label in data.labels).to_numpy()
        mean = np.abs(of_labels - shares).mean()
        assert overall.summary["err"]["constrained"][when] == pytest.approx(mean)
        assert overall.summary["err"]["constrained"][when] != pytest.approx(
            plain.summary["err"]["constrained"][when]
        )
    assert "from the label shares of the whole training set is" in overall.findings[0].text


def test_labels_are_balanced_over_all_examples_where_asked_for():
    shares = quick(balance_labels=True).run(biased_pairs()).summary["label_shares"]
    assert list(shares.values()) == pytest.approx([1 / 3] * 3, abs=1e-4)


def test_the_papers_objective_balances_at_a_smaller_sample_size():
    ours, theirs = (quick(solver=solver).run(biased_pairs()) for solver in ("entropy", "softmax"))
    assert theirs.summary["err"]["constrained"]["after"] < 0.01
    assert theirs.summary["ess"] <= ours.summary["ess"] + 1e-6


def test_a_word_that_never_meets_a_label_is_listed_with_its_proof():
    rows = [("train", "", f"same words {'only' if i % 3 == 0 else ''}", LABELS[i % 3]) for i in range(120)]
    result = quick().run(pair_instances(rows))
    listed = result.tables["unbalanced"].row(0, named=True)
    assert (listed["feature"], listed["reason"]) == ("only", "absent label")
    assert listed["proof"] == "it never occurs with entailment"
    assert result.summary["constrained"] == result.summary["features"] - 1


def test_choices_are_weighted_by_example_so_that_the_right_one_has_a_word_as_often_as_chance_gives():
    data = biased_choices()
    result = quick().run(data)
    assert result.examples.height == 300
    weights = result.examples["weight"].to_numpy()
    assert weights.mean() == pytest.approx(1.0, abs=1e-12)
    has = data.table["hypothesis"].str.contains("never").to_numpy().reshape(300, 4)
    right = (data.label_codes == 0).reshape(300, 4)
    surplus = has[right].astype(float) - has.mean(axis=1)
    assert abs(surplus.mean()) > 0.15
    assert abs(weights @ surplus) / 300 < 1e-4
    assert result.summary["scope"] == "hypothesis"
    again = LexicalWeights(min_count=20, ridge="exact").run(data).summary["cues"]
    assert again["before"]["significant"] >= 1
    assert again["after"]["significant"] == 0


@pytest.mark.parametrize("seed", range(3))
def test_cues_of_fewer_than_100_instances_are_balanced_in_small_sets(seed):
    result = LexicalWeights().run(rare_cues(seed=seed))
    cues = result.summary["cues"]
    assert cues["before"]["significant"] >= 7
    assert cues["after"]["significant"] <= 1
    assert result.summary["ess"] > 0.3
    assert result.findings[0].key == "balance"


def test_what_is_left_unbalanced_leads_the_report():
    result = LexicalWeights(min_count=100).run(rare_cues())
    assert (result.findings[0].key, result.findings[0].severity) == ("cues", "medium")
    assert "are left" in result.findings[0].title


def test_examples_of_different_sizes_keep_the_same_chance_level():
    two, five = biased_choices(200, 2, seed=1).table, biased_choices(200, 5, seed=2).table
    five = five.with_columns(pl.col("example_id") + "b")
    data = Instances(pl.concat([two, five]), "choice", ("right", "wrong"))
    result = quick().run(data)
    weights = pl.DataFrame({"example_id": result.examples["example_id"], "w": result.examples["weight"]})
    table = data.table.join(weights, on="example_id", how="left", maintain_order="left").with_columns(
        has=pl.col("hypothesis").str.contains("never").cast(pl.Float64), k=pl.len().over("example_id")
    )
    expected = table.select((pl.col("w") * pl.col("has") / pl.col("k")).sum()).item()
    observed = table.filter(label="right").select((pl.col("w") * pl.col("has")).sum()).item()
    assert observed == pytest.approx(expected, rel=1e-3)


def test_an_example_whose_choices_all_have_a_word_says_nothing_of_it():
    data = choice_instances([("train", "q", ["the a", "the b"], 0), ("train", "q", ["the c", "d"], 1)])
    words = Words().presence(encode(data, tokens="stubborn"))
    problem = balance_problem([Candidates("word", [(words, data)], 1)], data)
    assert dict(problem.features.select("feature", "count").iter_rows())["the"] == 1


def test_with_random_labels_random_bigrams_are_as_far_off_as_sampling_alone_leaves_them():
    rng = np.random.default_rng(5)
    words = np.array([f"w{i}" for i in range(25)])
    rows = [("train", "", " ".join(rng.choice(words, 5)), LABELS[i]) for i in rng.integers(0, 3, 1500)]
    data = pair_instances(rows)
    bigrams = random_ngrams(
        encode(data, tokens="stubborn", scope="both"), 2, pl.Series([], dtype=pl.String), 0
    )
    weights, target = rng.gamma(2.0, 0.5, 1500), np.full(3, 1 / 3)
    chance = chance_err_of_ngrams(bigrams, weights, target, seed=0)
    assert bigrams.err(weights, target) == pytest.approx(chance, rel=0.1)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"min_count": 10_000}, "lower --min-count"),
        ({"features": ("wrod",)}, "Did you mean 'word'"),
        ({"ngrams": 7}, "from 1 to 4"),
        ({"max_weight": 0.5}, "above 1"),
        ({"min_ess": 1.5}, "between 0 and 1"),
        ({"ridge": -1.0}, "negative"),
        ({"solver": "softmax", "ridge": 0.1}, "softmax"),
    ],
)
def test_what_cannot_be_done_is_one_clear_sentence(options, complaint):
    with pytest.raises((UsageError, InputError), match=complaint):
        quick(**options).run(biased_pairs(200))


def test_a_label_without_rows_and_a_single_label_are_errors():
    table = biased_pairs(200).table.filter(pl.col("label") != "neutral")
    with pytest.raises(InputError, match="no train row has the label 'neutral'"):
        quick().run(Instances(table, "pair", LABELS))
    with pytest.raises(InputError, match="only the label"):
        debias(Instances(table.filter(label="entailment"), "pair", LABELS))


def test_the_papers_objective_does_not_know_choices():
    with pytest.raises(UsageError, match="choice"):
        quick(solver="softmax").run(biased_choices(50))


def test_debias_returns_weights_in_the_order_of_the_examples_and_a_card():
    data = biased_pairs()
    debiased = debias(data, min_count=20, reaudit=(), ridge="exact")
    assert debiased.weights.tolist() == quick().run(data).examples["weight"].to_list()
    assert debiased.card["lexical_weights"].status == "done"
    with pytest.raises(UsageError, match="Did you mean 'ngrams'"):
        debias(data, ngram=2)
    with pytest.raises(UsageError, match="Unknown remedy"):
        debias(data, method="magic")


def test_snli_reaches_the_published_sample_size(real_data):
    import cuecard as cc

    result = LexicalWeights(reaudit=(), ridge="exact").run(cc.load(real_data("snli/train_partial.parquet")))
    assert result.summary["err"]["constrained"]["after"] <= 1e-5
    assert result.summary["ess"] >= 0.71


@pytest.mark.parametrize("data", [biased_pairs(), rare_cues()], ids=["frequent", "rare"])
def test_the_default_is_the_ridge_that_its_own_report_recommends(data):
    default, exact = (LexicalWeights(min_count=20, ridge=ridge).run(data) for ridge in (None, "exact"))
    held_out = default.summary["held_out"]
    assert default.summary["ridge"] == held_out["best_ridge"] > 0
    assert held_out["err"] == held_out["best_err"] < exact.summary["held_out"]["err"]
    assert default.summary["ess"] > exact.summary["ess"]
    balance = default.summary["err"]["constrained"]
    assert balance["after"] < 0.6 * balance["before"]
    assert exact.summary["ridge"] == quick(ridge=0).run(data).summary["ridge"] == 0


def test_balance_is_exact_by_default_where_no_ridge_does_better_than_equal_weights_elsewhere():
    default = LexicalWeights(min_count=20).run(biased_choices())
    assert default.summary["held_out"]["best_err"] >= default.summary["held_out"]["unweighted"]
    assert default.summary["ridge"] == 0
    assert default.summary["err"]["constrained"]["after"] < 1e-4


def test_a_limit_that_leaves_no_balance_is_said_and_the_rest_is_used():
    result = quick(max_weight=1.1).run(biased_pairs())
    assert result.summary["max_weight"] <= 1.1 + 1e-9
    err = result.summary["err"]["constrained"]
    assert 0 < err["after"] < err["before"]
    assert result.summary["off_target"]["max_weight"] >= 1
    told = {f.title: f.text for f in result.findings}
    assert "--max-weight" in told["Some features are not exactly balanced"]
    assert any(title.startswith("Weights partly balance") for title in told)


def test_a_word_that_leans_one_way_in_every_question_is_listed_with_a_proof():
    questions = [("train", f"q{i}", [f"a{i % 7} most", f"b{i % 5} most", f"x{i}"], i % 2) for i in range(120)]
    more = [("train", f"r{i}", [f"a{i % 7}", f"b{i % 5}", "e"], i % 3) for i in range(240)]
    result = quick().run(choice_instances([*questions, *more]))
    listed = result.tables["unbalanced"].filter(feature="most").row(0, named=True)
    assert listed["reason"] == "conflict"
    assert listed["proof"] == "no weights balance it"
    others = result.tables["balance"].filter(pl.col("feature") != "most")
    assert others.height >= 10
    assert others["off_after"].max() < 1e-3


def test_more_rare_features_than_examples_can_carry_leave_half_the_sample_and_say_so():
    rng = np.random.default_rng(0)
    rows = [
        (
            "train",
            "",
            " ".join(f"w{i}" for i in np.flatnonzero(rng.random(700) < 0.012)) or "w0",
            LABELS[label],
        )
        for label in rng.integers(0, 3, 600)
    ]
    result = quick(min_count=3).run(pair_instances(rows))
    assert result.summary["ess"] >= 0.5
    assert result.summary["converged"]
    assert result.summary["off_target"]["softened"] > 1
    told = {f.title: f for f in result.findings}["Some features are not exactly balanced"]
    assert told.severity == "low"
    assert "balanced approximately" in told.text
    assert told.text.endswith("Balance fewer features with a higher --min-count.")


def test_a_single_family_or_audit_may_be_given_by_its_name_in_python():
    data = biased_pairs()
    named = debias(data, features="significant", reaudit="none")
    assert named.weights.tolist() == debias(data, features=("significant",), reaudit=()).weights.tolist()
    assert named.card["lexical_weights"].summary["min_count"] == 5


def test_where_the_audit_finds_nothing_it_is_said_in_words():
    rng = np.random.default_rng(1)
    rows = [("train", "", f"w{rng.integers(5)} v{rng.integers(5)}", LABELS[i % 3]) for i in range(300)]
    result = LexicalWeights(min_count=20).run(pair_instances(rows))
    text = {f.title: f.text for f in result.findings}["The cue audit after reweighting"]
    assert text.startswith("None of ")

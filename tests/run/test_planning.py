"""Plans on generated data: goals are reached and verified, and cue-breakers are never proposed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import cuecard as cc
from cuecard.card.judging import judge_card
from cuecard.card.policy_files import parse_policy
from cuecard.data.demo import demo_nli
from cuecard.data.examples import Examples
from cuecard.errors import InputError, UsageError
from cuecard.remedies.plan.removal import METHODS, cue_evidence, predicted_value
from cuecard.remedies.plan.worksheet import read_worksheet, write_worksheet
from cuecard.run import plan
from cuecard.run.planning import _broken
from policy_cards import card_with, excess
from small_sets import choice_instances, pair_instances

WORDS = [f"{a}{b}" for a in ("stone", "river", "cloud", "apple") for b in ("", "y", "ish")]


@pytest.fixture(scope="module")
def data():
    return demo_nli(400, seed=3).instances


def planted_questions(n: int = 240, first: float = 1 / 3):
    """Questions whose right answer has the word “surely” nine times of ten and is the first choice so often."""
    rng = np.random.default_rng(0)
    rows = []
    for i in range(n):
        texts = [" ".join(rng.choice(WORDS, 3)) for _ in range(3)]
        answer = int(rng.choice(3, p=[first, (1 - first) / 2, (1 - first) / 2]))
        marked = answer if rng.random() < 0.9 else (answer + 1) % 3
        texts[marked] = " ".join(["surely", *texts[marked].split()[1:]])
        rows.append(("train" if i % 3 else "test", f"What is it, number {i}?", texts, answer))
    return choice_instances(sorted(rows, key=lambda row: row[0] == "test"))


def test_a_plan_takes_the_planted_cue_out_with_few_changes_and_says_the_verified_effect():
    questions = planted_questions()
    made = plan(questions, "cues.cues.word == 0")
    assert made.reached
    [goal] = made.goals
    assert goal.before.value >= 1
    assert goal.verified.value == 0
    again = cc.audit(made.data, only=["cues"])
    assert again.measure("cues.cues.word").value == 0
    assert 0 < made.changed < 0.9 * made.examples
    assert made.worksheet.filter(action="drop").height == made.changed
    assert made.worksheet["why"].str.contains("surely → right").mean() > 0.9


@pytest.mark.parametrize("method", METHODS)
def test_no_method_proposes_an_example_that_contradicts_a_strong_cue(method):
    questions = planted_questions()
    made = plan(
        questions, "partial_input.choices_only.excess <= 0.1", method=method, exact=40, change_test=True
    )
    card = cc.audit(questions, only=["cues"])
    evidence = cue_evidence(questions, cc.Cues(), card.tables["cues"])
    assert evidence.contradicts.any()
    examples = Examples(questions)
    breakers = {(examples.splits[i], examples.ids[i]) for i in np.flatnonzero(evidence.contradicts).tolist()}
    # By hand: a question in which a wrong choice has the word, and the right one has not.
    by_hand = {
        (examples.splits[i], examples.ids[i])
        for i, choices in enumerate(examples.choices)
        if any("surely" in text for text in choices) and "surely" not in choices[int(examples.gold[i])]
    }
    assert by_hand <= breakers
    proposed = set(made.worksheet.filter(action="drop").select("split", "id").rows())
    assert not proposed & breakers
    assert made.protected == len(breakers)


def test_positions_are_balanced_by_the_fewest_moves():
    questions = planted_questions(1_200, first=0.6)
    made = plan(questions, "partial_input.position.accuracy <= 0.45", change="permute", change_test=True)
    examples = Examples(questions)
    counts = np.bincount(examples.gold[examples.in_split("test")], minlength=3)
    assert made.reached
    assert made.changed <= sum(np.maximum(np.bincount(examples.gold) - 400, 0)) + 3
    after = Examples(made.data)
    assert set(after.choices.list.sort().to_list()[0]) == set(examples.choices.list.sort().to_list()[0])
    assert counts.max() > np.bincount(after.gold[after.in_split("test")], minlength=3).max()


def test_a_budget_of_moves_is_shared_by_the_splits():
    questions = planted_questions(first=0.6)
    moves = plan(
        questions, "partial_input.position.accuracy <= 0.1", change="permute", exact=400, change_test=True
    )
    budgeted = plan(
        questions, "partial_input.position.accuracy <= 0.1", change="permute", exact=20, change_test=True
    )
    of_split = [dict(p.worksheet["split"].value_counts().iter_rows()) for p in (moves, budgeted)]
    assert sum(of_split[1].values()) == 20
    for split, n in of_split[0].items():
        assert abs(of_split[1].get(split, 0) - 20 * n / moves.changed) <= 1


def test_new_wrong_choices_are_answers_of_other_questions():
    questions = planted_questions()
    made = plan(questions, "partial_input.choices_only.excess <= 0.2", change="re-pair")
    assert made.worksheet["action"].unique().to_list() == ["re-pair"]
    [goal] = made.goals
    assert goal.verified.value < goal.before.value
    assert goal.predicted is None


def test_a_budget_is_kept_and_what_is_not_reached_is_said(data):
    made = plan(data, "partial_input.hypothesis_only.excess <= -0.3", budget=6, seed=1)
    assert made.changed <= 6
    assert not made.reached
    assert made.as_dict()["goals"][0]["verified"] is not None


def test_a_goal_that_is_met_changes_nothing(data):
    made = plan(data, "partial_input.hypothesis_only.excess <= 1")
    assert (made.changed, made.goals, made.worksheet.height) == (0, (), made.suspects)


@pytest.mark.parametrize(
    ("goal", "options", "error", "message"),
    [
        ("cues.cues", {}, UsageError, "is not a limit"),
        ("cues.none == 0", {}, InputError, "has no measure cues.none"),
        ("cues.cues == 0", {"budget": 0}, UsageError, "at least 1 example"),
        ("cues.cues == 0", {"change": "permute"}, UsageError, "only applies to multiple choice"),
    ],
)
def test_what_cannot_be_planned_is_refused(data, goal, options, error, message):
    with pytest.raises(error, match=message):
        plan(data, goal, **options)


def test_a_rule_that_the_changes_break_is_a_goal_that_was_not_reached():
    policy = parse_policy('[rules]\n"partial_input.*.excess" = "<= 0.05"\n')
    before = judge_card(card_with(excess(0.2, 0.02), excess(0.01, 0.01, name="length")), policy).rulings
    after = judge_card(card_with(excess(0.02, 0.02), excess(0.09, 0.01, name="length")), policy).rulings
    [goal] = _broken(before, before[:1], after)
    assert goal.verified.name == "partial_input.length.excess"
    assert not goal.reached
    assert _broken(before, before[:1], before) == ()


def told_by_many_words(n: int, seed: int) -> cc.Instances:
    """Pairs whose label every word of the hypothesis predicts a little: no few examples carry the leak."""
    rng = np.random.default_rng(seed)
    lean = np.linspace(-0.36, 0.36, 200)
    rows = []
    for i in range(n):
        label = int(rng.integers(2))
        odds = np.exp(lean if label else -lean)
        words = rng.choice(len(lean), 8, p=odds / odds.sum())
        rows.append(("train", f"premise {i} here", " ".join(f"w{w}" for w in words), ("no", "yes")[label]))
    return pair_instances(rows)


def told_by_few_sentences(n: int, seed: int) -> cc.Instances:
    """Pairs of which a quarter begin with one of two phrases that give the label away; the others say nothing."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        label = int(rng.integers(2))
        words = [f"w{w}" for w in rng.integers(200, size=8)]
        if rng.random() < 0.25:
            words[:3] = (["nobody", "is", "there"], ["surely", "this", "holds"])[label]
        rows.append(("train", f"premise {i} here", " ".join(words), ("no", "yes")[label]))
    return pair_instances(rows)


def on_fresh_data(kept: cc.Instances, fresh: cc.Instances) -> float:
    """Return the accuracy of a learner of what a plan keeps, on new data of the same process."""
    test = fresh.table.with_columns(split=pl.lit("test"))
    audit = cc.PartialInput(learning_curve=False, cross_fit=False)
    measures = audit.run(replace(kept, table=pl.concat([kept.table, test]))).measures
    [value] = [m.value for m in measures if m.name == "partial_input.hypothesis_only.accuracy"]
    return value


def test_the_verified_accuracy_covers_that_on_fresh_data_where_the_audit_of_the_selected_data_does_not():
    verified, selected = 0, 0
    for seed in range(10):
        made = plan(
            told_by_many_words(400, seed),
            "partial_input.hypothesis_only.accuracy <= 0.5",
            method=("z-filter", "weights")[seed % 2],
            exact=120,
            seed=seed,
        )
        [goal] = made.goals
        truth = on_fresh_data(made.data, told_by_many_words(4_000, 100 + seed))
        verified += goal.verified.low <= truth <= goal.verified.high
        selected += goal.selected.low <= truth <= goal.selected.high
        assert not made.reached
    assert verified >= 9
    assert selected <= 5


def test_a_plan_helps_where_few_phrases_give_labels_away_and_not_where_all_words_do():
    goal = "partial_input.hypothesis_only.accuracy <= 0.55"
    helped = plan(told_by_few_sentences(900, 0), goal, method="z-filter", exact=230)
    assert helped.helps
    assert helped.left.after.value < helped.left.before.value - 0.05
    not_helped = plan(told_by_many_words(900, 0), goal, method="z-filter", exact=230)
    assert not not_helped.helps
    assert not_helped.verdict == "fail"
    assert not_helped.goals[0].selected.value < 0.55


def test_a_test_split_stays_as_it_is_and_verifies_the_plan_as_check_does():
    train, test = told_by_many_words(300, 0), told_by_many_words(300, 1)
    table = pl.concat([train.table, test.table.with_columns(split=pl.lit("test"))])
    data = replace(train, table=table)
    goal = "partial_input.hypothesis_only.accuracy <= 0.5"
    made = plan(data, goal, method="z-filter", exact=80)
    assert made.worksheet["split"].unique().to_list() == ["train"]
    assert made.data.split("test").table.equals(data.split("test").table)
    ruling = cc.check(
        made.data, parse_policy('[rules]\n"partial_input.hypothesis_only.accuracy" = "<= 0.5"\n')
    ).rulings[0]
    assert made.goals[0].verified == ruling.measure
    assert made.goals[0].verdict == ruling.verdict
    assert plan(data, goal, method="z-filter", exact=80, change_test=True).worksheet["split"].n_unique() == 2


def test_rewriting_into_counterexamples_helps_where_dropping_does_not_and_says_how_they_are_labelled():
    """People write a new premise for the same text: what it is about is known, so the rewritten data is, too."""
    data, goal = told_by_many_words(900, 0), "partial_input.hypothesis_only.accuracy <= 0.55"
    made = plan(data, goal, change="rewrite", exact=180)
    assert made.helps
    assert made.left.high < -0.05
    truth = on_fresh_data(made.data, told_by_many_words(4_000, 100))
    assert made.goals[0].verified.low <= truth <= made.goals[0].verified.high
    sheet = made.worksheet.filter(action="rewrite")
    assert sheet.height == made.changed <= 180
    assert (sheet["new_label"] != sheet["label"]).all()
    assert (
        sheet["advice"]
        .str.starts_with("keep the text, and write a new premise for which the label is ")
        .all()
    )
    assert not sheet["new_text"].str.contains(".").any()
    dropped = plan(data, goal, method="z-filter", exact=180)
    assert dropped.left.after.value > made.left.after.value + 0.05


def test_questions_are_rewritten_for_another_right_choice_and_an_empty_worksheet_is_not_applied(tmp_path):
    questions = planted_questions()
    made = plan(questions, "cues.cues.word == 0", change="rewrite")
    [goal] = made.goals
    assert goal.before.value >= 1
    assert goal.verified.value == 0
    sheet = made.worksheet.filter(action="rewrite")
    assert (sheet["new_label"].cast(pl.Int64) != sheet["label"].cast(pl.Int64)).all()
    assert sheet["text"].str.contains("surely").mean() > 0.9
    write_worksheet(made.worksheet, tmp_path / "sheet.csv")
    with pytest.raises(InputError, match="rewrite needs a new text"):
        read_worksheet(tmp_path / "sheet.csv", questions)


def test_the_number_of_counterexamples_takes_the_cue_out_of_four_of_five_audits():
    """Of new data with as many counterexamples as the plan says: how often an audit would still find the cue."""
    made = plan(told_by_few_sentences(900, 0), "cues.cues == 0", exact=10)
    row = made.counterexamples.row(0, named=True)
    assert row["share"] == 1.0
    n, p = row["examples"], row["chance"]
    evidence_z = cue_evidence(
        told_by_few_sentences(900, 0),
        cc.Cues(),
        cc.audit(told_by_few_sentences(900, 0), only=["cues"]).tables["cues"],
    ).critical
    rng = np.random.default_rng(0)
    for share, m in (((n - row["rewrite"]) / n, n), (n / (n + row["collect"]), n + row["collect"])):
        z = (rng.binomial(m, share, 20_000) - m * p) / np.sqrt(m * p * (1 - p))
        assert 0.1 < (z >= evidence_z).mean() <= 0.22
    # The words and bigrams of a phrase are one cue.
    assert set(made.counterexamples.head(2)["label"]) == {"no", "yes"}
    assert (made.counterexamples["rewrite"].to_numpy()[2:] < 10).all()


def test_the_number_of_cues_is_predicted_from_what_the_card_says_where_texts_repeat():
    """A sentence that stands there sixty times with one label has a large z, and is no cue."""
    rng = np.random.default_rng(0)
    rows = [("train", f"p{i}", " ".join(rng.choice(WORDS, 3)), "no" if i % 2 else "yes") for i in range(400)]
    marked = [("train", f"m{i}", f"surely {' '.join(rng.choice(WORDS, 2))}", "yes") for i in range(40)]
    copied = [("train", f"c{i}", "sixty copies of one sentence", "no") for i in range(60)]
    repeated = pair_instances([*rows, *marked, *copied])
    card = cc.audit(repeated, only=["cues"])
    cues, evidence = card.measure("cues.cues"), cue_evidence(repeated, cc.Cues(), card.tables["cues"])
    assert (evidence.z >= evidence.critical).sum() > cues.value > 0
    examples = card.tables["examples"]
    assert predicted_value(examples, evidence, cues, np.empty(0, dtype=np.int64)) == cues.value
    with_cue = np.arange(len(rows), len(rows) + len(marked))
    assert predicted_value(examples, evidence, cues, with_cue) < cues.value

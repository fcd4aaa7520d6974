"""A plan in the terminal: verdict first, predicted and verified side by side."""

from __future__ import annotations

from io import StringIO

import polars as pl
from rich.console import Console

from cuecard.analysis import Measure
from cuecard.card.policy import Limit, Rule
from cuecard.remedies.plan.unseen import Left
from cuecard.report import render_plan
from cuecard.run import Plan
from cuecard.run.applying import Goal
from policy_cards import excess


def shown(**values: object) -> str:
    goal = Goal(
        Rule("x", (Limit("<=", 0.05),)), excess(0.2, 0.02), 0.03, values.pop("verified", excess(0.07, 0.01))
    )
    fields = {"method": "aflite", "kind": "drop", "examples": 200, "changed": 50, "protected": 9} | values
    splits = fields.pop("splits", ["train"])
    worksheet = pl.DataFrame({"split": splits, "action": [fields["kind"]] * len(splits)})
    plan = Plan(worksheet, fields.pop("goals", (goal,)), **fields)
    console = Console(file=StringIO(), width=100)
    render_plan(plan, console)
    return " ".join(console.file.getvalue().replace("\xa0", " ").split())


def test_what_is_not_reached_is_said_first_with_both_effects():
    text = shown(suspects=3)
    assert text.startswith(
        "The plan does not reach its goal: drop 50 of 200 examples (25.0 %), chosen by aflite."
    )
    assert "+20.0 +3.0 +7.0 (+6.0 to +8.0) FAIL" in text
    assert "9 examples that contradict a strong cue are kept" in text
    assert "3 examples with identical input and different labels" in text


def test_the_verdict_is_that_of_check():
    assert shown(verified=excess(0.02, 0.01)).startswith("The plan reaches its goal")
    text = shown(verified=excess(0.04, 0.02))
    assert text.startswith("It is undecided whether the plan reaches its goal")
    assert "UNDECIDED" in text


def test_a_plan_that_does_not_help_says_so_and_not_that_it_reaches_its_goal():
    before, after = (
        Measure("x", value, value - 0.02, value + 0.02, 0.5, 400, "share") for value in (0.73, 0.74)
    )
    text = shown(verified=excess(0.02, 0.01), left=Left(before, after, -0.01, 0.03))
    assert text.startswith("The plan does not help")
    assert "reaches its goal" not in text
    assert "74.0 % (95 % CI 72.0 % to 76.0 %), and 73.0 % without the plan (chance 50.0 %)" in text
    assert "dropping these examples does not lower it significantly" in text


def test_moved_answers_are_chosen_by_no_method_and_rewriting_is_verified_without_the_examples():
    assert "chosen by" not in shown(kind="permute")
    assert "do not exist yet" in shown(kind="rewrite")


def test_the_counterexamples_that_cues_need_are_a_table_of_their_own():
    row = {"family": "word", "feature": "nobody", "label": "no", "direction": "points to", "examples": 1_100}
    row |= {"share": 0.92, "chance": 0.33, "rewrite": 610, "collect": 1_640}
    other = row | {"family": "bigram", "feature": "is there", "direction": "rules out"}
    text = shown(counterexamples=pl.DataFrame([row, other]))
    assert "nobody no 1,100 92.0 % 33.0 % 610 1,640" in text
    assert "bigram: is there not no 1,100" in text
    assert "finds the cue in at most one case of five" in text
    text = shown(kind="rewrite", labelled=True)
    assert (
        "rewrite 50 of 200 examples (25.0 %) so that the same text has the label in the column new_label."
        in text
    )
    assert "verified by the same texts with their new labels" in text


def test_splits_are_counted_where_several_change_and_an_unspent_budget_is_explained():
    assert "of 200 examples (25.0 %; 2 train, 1 test)" in shown(splits=["train", "test", "train"])
    assert "Further changes within the budget of 60 came no nearer" in shown(budget=60)
    assert "budget" not in shown(budget=50)


def test_nothing_to_change_is_said():
    assert shown(goals=()) == "Nothing to change: the data meets every goal."
    text = shown(goals=(), undecided=("x.excess",))
    assert text.startswith("Nothing to change: every value meets its goal. UNDECIDED")
    assert "x.excess" in text

"""Plans side by side: examples changed, predicted and verified effect of every method at the same budget.

``python -m benchmarks.gate.plans DATA [NAME…]`` prints a Markdown table for each of the datasets in the folder DATA.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

import cuecard as cc
from cuecard import wording
from cuecard.analysis import Measure
from cuecard.remedies.plan.removal import METHODS
from cuecard.remedies.plan.worksheet import without
from cuecard.run import Plan

#: Dataset, training file, goal.
CASES = (
    ("arct", "train", "cues.cues == 0"),
    ("openbookqa", "train", "partial_input.choices_only.excess <= 0.05"),
    ("snli", "train_partial", "partial_input.hypothesis_only.accuracy <= 0.45"),
)


def rows(folder: Path, name: str, train: str, goal: str) -> None:
    """Print what every method does with as many examples as the default method needs."""
    data = cc.load(folder / name / f"{train}.parquet", test=folder / name / "test.parquet")
    first = cc.plan(data, goal, change_test=True)
    print(f"\n{name}, `{goal}`\n\n| method | examples changed | before | predicted | verified | reached |")
    print("|---|---|---|---|---|---|", flush=True)
    print(_row(first), flush=True)
    print(_at_random(data, first), flush=True)
    for method in METHODS:
        if method not in (first.method, "random"):
            print(_row(cc.plan(data, goal, method=method, exact=first.changed, change_test=True)), flush=True)
    if data.task == "choice" and "partial_input" in goal:
        print(_row(cc.plan(data, goal, change="re-pair", method="random", change_test=True)), flush=True)


def _at_random(data: cc.Instances, plan: Plan) -> str:
    """Return the row of as many examples dropped at random among all, those that contradict a cue too."""
    dropped = np.random.default_rng(0).permutation(data.n_examples)[: plan.changed]
    name = plan.goals[0].before.name
    after = cc.audit(without(data, dropped), only=[name.partition(".")[0]]).measure(name)
    [goal] = plan.goals
    same = replace(goal, predicted=None, verified=after, selected=None)
    return _row(replace(plan, method="random", goals=(same,), left=None))


def _row(plan: Plan) -> str:
    [goal] = plan.goals
    unit = goal.before.unit
    selected = wording.MISSING if goal.selected is None else _with_interval(goal.selected)
    name = plan.method if plan.kind == "drop" else f"{plan.method}, {plan.kind}"
    share = wording.percent(plan.changed / plan.examples)
    values = (wording.in_unit(goal.before.value, unit), wording.in_unit(goal.predicted, unit))
    size = f"{wording.count(plan.changed)} of {wording.count(plan.examples)} ({share})"
    return f"| {' | '.join((name, size, *values, _with_interval(goal.verified), selected, plan.verdict))} |"


def _with_interval(measure: Measure) -> str:
    value = wording.in_unit(measure.value, measure.unit)
    if measure.low is None or measure.unit == "count":
        return value
    return f"{value} ({wording.interval_in_unit(measure.low, measure.high, measure.unit)})"


if __name__ == "__main__":
    chosen = sys.argv[2:] or [name for name, _, _ in CASES]
    for case in CASES:
        if case[0] in chosen:
            rows(Path(sys.argv[1]), *case)

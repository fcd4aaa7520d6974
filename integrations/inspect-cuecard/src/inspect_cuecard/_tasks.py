"""Tasks over any file that CueCard reads as multiple choice."""

from __future__ import annotations

from string import ascii_uppercase

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import choice
from inspect_ai.solver import Solver, multiple_choice

import cuecard as cc
from inspect_cuecard._orders import ask_in_orders, over_orders
from inspect_cuecard._solvers import choices_only as without_question
from inspect_cuecard._solvers import permute_choices


def samples(file: str) -> MemoryDataset:
    """Return the questions of a file as samples, with the ids that CueCard gives them."""
    data = cc.load(file)
    if data.task != "choice":
        raise ValueError(f"{file} holds {data.task} data; these tasks ask multiple choice.")
    rows = data.table.group_by("example_id", maintain_order=True).agg("premise", "hypothesis", "label")
    return MemoryDataset(
        [
            Sample(
                input=row["premise"][0],
                choices=row["hypothesis"],
                target=ascii_uppercase[row["label"].index("right")],
                id=row["example_id"],
            )
            for row in rows.iter_rows(named=True)
        ],
        name=data.name,
    )


def _task(file: str, *before: Solver) -> Task:
    return Task(dataset=samples(file), solver=[*before, multiple_choice()], scorer=choice())


@task
def questions(file: str) -> Task:
    """Ask the questions as they are."""
    return _task(file)


@task
def choices_only(file: str) -> Task:
    """Ask with the choices alone: an accuracy above chance is a leak."""
    return _task(file, without_question())


@task
def permuted(file: str, seed: int = 0) -> Task:
    """Ask with the choices of every question in a random order."""
    return _task(file, permute_choices(seed))


@task
def in_orders(file: str, permute: str = "cyclic", seed: int = 0) -> Task:
    """Ask every question in several orders of its options: accuracy over all of them, and how often answers flip."""
    return Task(dataset=samples(file), solver=ask_in_orders(str(permute), seed=seed), scorer=over_orders())

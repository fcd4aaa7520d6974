"""Solvers that change what a model sees of a question before `multiple_choice` asks it."""

from __future__ import annotations

import random

from inspect_ai.solver import Generate, Solver, TaskState, solver

#: What stands in the place of the question.
NO_QUESTION = "One of the following answers is correct. Which one?"


@solver("choices_only")
def choices_only(prompt: str = NO_QUESTION) -> Solver:
    """Replace the question by a sentence that says nothing about it."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state.user_prompt.text = prompt
        return state

    return solve


@solver
def permute_choices(seed: int = 0) -> Solver:
    """Put the choices of every sample into a random order that depends on its id and the seed."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state.choices.shuffle(random.Random(f"{seed}/{state.sample_id}"))
        state.metadata["cuecard_order"] = [choice.original_position for choice in state.choices]
        return state

    return solve

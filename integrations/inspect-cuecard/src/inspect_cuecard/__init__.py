"""Multiple choice in Inspect, asked so that a leak shows: without the question, and in another order."""

from inspect_cuecard._orders import ask_in_orders, over_orders
from inspect_cuecard._solvers import choices_only as choices_only_solver
from inspect_cuecard._solvers import permute_choices
from inspect_cuecard._tasks import choices_only, in_orders, permuted, questions

__all__ = [
    "ask_in_orders",
    "choices_only",
    "choices_only_solver",
    "in_orders",
    "over_orders",
    "permute_choices",
    "permuted",
    "questions",
]

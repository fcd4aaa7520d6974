"""What Inspect finds by the entry point: tasks, solvers and a scorer, under the name of this package."""

from inspect_cuecard._orders import ask_in_orders, over_orders
from inspect_cuecard._solvers import choices_only as _choices_only_solver
from inspect_cuecard._solvers import permute_choices
from inspect_cuecard._tasks import choices_only, in_orders, permuted, questions

__all__ = [
    "ask_in_orders",
    "choices_only",
    "in_orders",
    "over_orders",
    "permute_choices",
    "permuted",
    "questions",
]
_SOLVERS = (_choices_only_solver, permute_choices)

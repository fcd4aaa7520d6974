"""What Inspect finds by the entry point: tasks and solvers, under the name of this package."""

from inspect_cuecard._solvers import choices_only as _choices_only_solver
from inspect_cuecard._solvers import permute_choices
from inspect_cuecard._tasks import choices_only, permuted, questions

__all__ = ["choices_only", "permute_choices", "permuted", "questions"]
_SOLVERS = (_choices_only_solver, permute_choices)

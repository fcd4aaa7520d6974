"""Several trainings one after the other, with progress reports."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext

from cuecard.errors import UsageError
from cuecard.models.recipe import Recipe, parse_model_settings, recipes
from cuecard.models.text_model import Watch

#: Called with the title of a training run; the run happens inside the context it returns, which gives what to tell
#: of the progress.
Tell = Callable[[str], AbstractContextManager[Watch | None]]


def seedless_recipes(models: Iterable[str], settings: Iterable[str]) -> list[Recipe]:
    """Return a recipe per model, each to be trained with several seeds; a setting that gives one is an error."""
    settings = list(settings)
    if any(name == "seed" for _, name, _ in parse_model_settings(settings)):
        raise UsageError(
            "An experiment trains with several seeds: give the first with --seed, not with --set."
        )
    return recipes(models, settings)


def silently(title: str) -> AbstractContextManager[Watch | None]:
    """Tell nobody."""
    del title
    return nullcontext(None)

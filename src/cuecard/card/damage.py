"""A card that was read from a file may be damaged in ways that its schema does not see: a sentence says so."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar, cast

from cuecard.card.card import Card
from cuecard.data.files.guard import reason
from cuecard.errors import CueCardError, InputError

P = ParamSpec("P")
R = TypeVar("R")


def of_readable_card(show: Callable[Concatenate[Card, P], R]) -> Callable[Concatenate[Card, P], R]:
    """Return a function of a card that raises an `InputError` where a card from a file cannot be shown.

    Summaries and tables have no declared shape, because plug-ins write them, too. What fails on a card that was made
    in this process is a bug and keeps its traceback.
    """

    @wraps(show)
    def shown(card: Card, *args: P.args, **options: P.kwargs) -> R:
        try:
            return show(card, *args, **options)
        except (CueCardError, OSError):
            raise
        except BaseException as error:
            foreign = isinstance(error, Exception) or type(error).__name__ == "PanicException"
            if not foreign or not card.read_from:
                raise
            said = f"{type(error).__name__}: {reason(error)}"
            raise InputError(
                f"{card.read_from}: the card cannot be shown ({said}); it is damaged or was edited: audit the data "
                "again."
            ) from error

    return cast(Callable[Concatenate[Card, P], R], shown)

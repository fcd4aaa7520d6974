"""Position: the place of an instance among the choices of its example."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cuecard.errors import UsageError
from cuecard.features.family import Presence
from cuecard.text import Encoded
from cuecard.wording import only_applies_to


@dataclass(frozen=True)
class Positions:
    """Being the first, second, … choice; only where the order of the choices is part of the data."""

    name: ClassVar[str] = "position"
    description: ClassVar[str] = "the place of a choice among the choices"
    phrase: ClassVar[str] = "the position of {}"
    content_blind: ClassVar[bool] = True
    languages: ClassVar[frozenset[str] | None] = None
    #: The place of a choice is no property of its text.
    unit: ClassVar[str] = "example"

    def presence(self, data: Encoded) -> Presence:
        """Return the position of every choice."""
        if data.instances.task != "choice":
            raise UsageError(f"position {only_applies_to(['choice'], data.instances.task)}")
        positions = data.instances.table["position"].to_numpy()
        names = {f"choice {p + 1}": positions == p for p in range(int(positions.max(initial=-1)) + 1)}
        return Presence.from_columns(names, len(positions))

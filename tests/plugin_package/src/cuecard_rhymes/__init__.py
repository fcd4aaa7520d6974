"""Texts that end in "-ing", as a feature family from another package."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cuecard.features import Presence
from cuecard.text import Encoded


@dataclass(frozen=True)
class Rhymes:
    """Whether the hypothesis ends in -ing."""

    name: ClassVar[str] = "rhyme"
    description: ClassVar[str] = "the last word ends in -ing"
    phrase: ClassVar[str] = "a last word in {}"
    languages: ClassVar[frozenset[str] | None] = frozenset({"en"})

    def presence(self, data: Encoded) -> Presence:
        """Return which hypotheses end in -ing."""
        ends = data.instances.table["hypothesis"].str.contains(r"(?i)ing\W*$").to_numpy()
        return Presence.from_columns({"-ing": ends}, len(data.instances))

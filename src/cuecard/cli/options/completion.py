"""What a shell offers after an option: the names that it takes, also after the last comma of a list."""

from __future__ import annotations

from collections.abc import Callable, Iterable

#: A function from what was typed so far to what can be typed.
Complete = Callable[[str], list[str]]


def listed_names(names: Callable[[], Iterable[str]]) -> Complete:
    """Return the completion of "a,b,c" from these names, those before the last comma kept and not offered again."""

    def complete(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        taken = set(before.split(","))
        return [f"{before}{comma}{name}" for name in names() if name.startswith(last) and name not in taken]

    return complete


def sections() -> list[str]:
    """Return the names of audits and probes."""
    from cuecard.audits import AUDITS
    from cuecard.probes import PROBES

    return [*AUDITS.names(), *PROBES.names()]


def families() -> list[str]:
    """Return the names of feature families."""
    from cuecard.features import FAMILIES

    return FAMILIES.names()


def models() -> list[str]:
    """Return the names of models that can be trained."""
    from cuecard.models import MODELS

    return MODELS.names()


def tokenisers() -> list[str]:
    """Return the names of tokenisations."""
    from cuecard.text import TOKENISERS

    return TOKENISERS.names()


def settings(incomplete: str) -> list[str]:
    """Return SECTION.PARAMETER= for every parameter of audits, probes and remedies."""
    from dataclasses import fields

    from cuecard.audits import AUDITS
    from cuecard.probes import PROBES
    from cuecard.remedies import REMEDIES

    kinds = [kind for registry in (AUDITS, PROBES, REMEDIES) for kind in registry]
    names = (f"{kind.name}.{field.name}=" for kind in kinds for field in fields(kind) if field.init)  # type: ignore[arg-type]
    return [name for name in names if name.startswith(incomplete)]

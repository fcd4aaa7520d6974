"""Which analyses run, with which parameters: names, options and settings become objects, or an error at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from cuecard.analysis import A, Analysis
from cuecard.errors import UsageError
from cuecard.limits import check_numbers
from cuecard.registry import Registry, unknown_name
from cuecard.run.choosing.settings import Settings, with_settings


def chosen(
    registry: Registry[type[A]], only: Sequence[str] | None = None, skip: Sequence[str] = ()
) -> list[type[A]]:
    """Return the analyses to run, in the registry's order, after checking that every name exists."""
    only, skip = names_in(only), names_in(skip)
    for name in (*only, *skip):
        registry.get(name)
    names = [name for name in registry.names() if (not only or name in only) and name not in skip]
    if not names:
        raise UsageError(f"--skip leaves no {registry.kind} to run; remove a name from --skip.")
    return [registry.get(name) for name in names]


def names_in(names: Sequence[str] | str | None) -> Sequence[str]:
    """Return names as a sequence; a single one, or several with commas, is easily written as text."""
    if isinstance(names, str):
        return [name.strip() for name in names.split(",") if name.strip()]
    return names or ()


def configured(
    kinds: Iterable[type[A]],
    options: Mapping[str, Any],
    settings: Settings | None = None,
    *,
    among: Iterable[type[Analysis]],
) -> list[A]:
    """Return the analyses with the options and settings that concern them.

    An option that none of `among`, all analyses there are, has as a parameter is an error. They are only gone through,
    and so imported, where an option or a setting concerns none that runs.
    """
    running = list(kinds)
    used = set().union(*map(_parameters, running))
    if not used.issuperset(options):
        parameters = sorted(set().union(*map(_parameters, among)))
        for name in options:
            if name not in parameters:
                raise unknown_name("option", name, parameters)
    analyses = [kind(**_concerning(kind, options)) for kind in running]
    settled = with_settings(analyses, settings, {kind.name: kind for kind in among} if settings else {})
    check_numbers(settled)
    return settled


def check_objects(
    what: str,
    analyses: Sequence[Analysis],
    *,
    only: Sequence[str] | None,
    skip: Sequence[str],
    settings: Settings | None,
    options: Mapping[str, Any],
) -> None:
    """Raise if analyses given as objects come with a choice by name or with options, or are none."""
    if only or skip or settings or options:
        named = "only" if only else "skip" if skip else "settings" if settings else next(iter(options))
        raise UsageError(f"{what}=[…] already selects what runs: leave out {named}.")
    for analysis in analyses:
        if isinstance(analysis, (str, type)) or not isinstance(analysis, Analysis):
            raise UsageError(
                f"{what}=[…] takes objects such as cuecard.Cues(min_count=10), not {analysis!r}; "
                "choose by name with only=[…]."
            )
    check_numbers(analyses)
    names = [analysis.name for analysis in analyses]
    if repeated := [name for name in names if names.count(name) > 1]:
        raise UsageError(f"{what}=[…] has {repeated[0]!r} twice; a card has one section of that name.")


def _parameters(kind: type[Analysis]) -> dict[str, str]:
    return {field.name: str(field.type) for field in fields(kind)}  # type: ignore[arg-type]


def _concerning(kind: type[Analysis], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that are parameters of an analysis.

    A single name where several may stand is easily written as it is, and would be read letter by letter.
    """
    types = _parameters(kind)
    return {
        name: tuple(value.split(",")) if isinstance(value, str) and "tuple[str" in types[name] else value
        for name, value in options.items()
        if name in types
    }

"""Which analyses run, with which parameters and inputs: names and options become objects, or an error at once."""

from __future__ import annotations

import re
import types
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from importlib.metadata import PackageNotFoundError, distribution, requires
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from cuecard.analysis import A, Analysis, Need
from cuecard.data import LABELLED_TASKS, Instances
from cuecard.errors import MissingExtraError, UsageError
from cuecard.limits import check_numbers
from cuecard.registry import Registry, unknown_name
from cuecard.wording import listed, only_applies_to

#: Inputs of analyses by the name under which `run` takes them.
Inputs = Mapping[Need, object]

_WHAT_TO_GIVE: dict[Need, str] = {
    "test": "a test split: --test TEST, or --holdout 0.2 to draw one",
    "predictions": "the predictions of a model: --predictions FILE or --model NAME",
    "cues": "the predictions of a model: --predictions FILE or --model NAME",
    "prompts": "a model's answers to at least two prompts: `cuecard ask` writes them",
    "input_parts": "a model's answers with parts of the input: `cuecard ask --input` writes them",
    "permutations": "a model's answers with options in other orders: `cuecard ask --permute` writes them",
    "identical_pairs": "scores of identical pairs: --identical-pairs FILE",
    "corpus": "files to search: cuecard overlap TEST --with CORPUS",
    "orders": "log-probabilities of orders: cuecard overlap TEST --orders FILE",
    "judge": "the verdicts of a judge: --judge FILE",
    "scores": "scores of single responses by a judge: --judge FILE, which `cuecard ask --judge-as` writes",
    "runs": "logs of at least two models: --runs FILE, or --predictions of at least three",
    "answers": "the answers of a model in words: --predictions FILE",
}


def needs_of(analysis: Analysis | type[Analysis]) -> frozenset[Need]:
    """Return what an analysis declares to need."""
    needs: frozenset[Need] = getattr(analysis, "needs", frozenset())
    for name in needs:
        if name not in get_args(Need):
            raise unknown_name(f"need of {analysis.name}", name, list(get_args(Need)))
    return needs


def inputs_of(analysis: Analysis | type[Analysis]) -> frozenset[Need]:
    """Return the inputs that an analysis takes by name: what it needs, apart from a test split."""
    return needs_of(analysis) - {"test"}


def that_can_run(analyses: Iterable[A], inputs: Collection[Need]) -> list[A]:
    """Return the analyses all of whose inputs are there."""
    return [analysis for analysis in analyses if inputs_of(analysis) <= set(inputs)]


def check_inputs(analyses: Iterable[Analysis | type[Analysis]], inputs: Collection[Need]) -> None:
    """Raise if an analysis that the user named lacks an input; says what to give."""
    for analysis in analyses:
        for need in sorted(inputs_of(analysis) - set(inputs)):
            raise UsageError(f"{analysis.name} needs {_WHAT_TO_GIVE[need]}.")


def check_extras(analyses: Iterable[Analysis]) -> None:
    """Raise if a package is not installed that an analysis needs; the message is the line that installs it."""
    for analysis in analyses:
        for extra in sorted(getattr(analysis, "extras", ())):
            if package := missing_package(extra):
                raise MissingExtraError(package, extra, f"The section {analysis.name!r}")


def of_its_kind(analyses: Iterable[A], data: Instances) -> list[A]:
    """Return the analyses of labels, or those of answers in words, as the data have them: the batteries differ."""
    return [one for one in analyses if any((task in LABELLED_TASKS) == data.labelled for task in one.tasks)]


def reason_to_skip(analysis: Analysis, data: Instances, inputs: Collection[Need]) -> str | None:
    """Return why an analysis cannot be run on this data with these inputs, or None if it can."""
    if data.task not in analysis.tasks:
        return only_applies_to(analysis.tasks, data.task)
    missing = [need for need in sorted(needs_of(analysis)) if need not in inputs]
    if "test" in missing and data.test is not None and len(data.test):
        missing.remove("test")
    if missing == ["cues"] and "predictions" in inputs:
        return "needs the cues of the data, and the section cues did not finish"
    if missing:
        return f"needs {listed([_WHAT_TO_GIVE[need] for need in missing])}"
    try:
        check_extras([analysis])
    except MissingExtraError as error:
        return str(error)
    return None


def missing_package(extra: str) -> str | None:
    """Return the first package of an extra that is not installed; an extra that we do not have is itself a package."""
    wanted = re.compile(rf"extra == ['\"]{re.escape(extra)}['\"]")
    ours = [line.partition(";") for line in requires("cuecard") or ()]
    of_extra = [requirement for requirement, _, marker in ours if wanted.search(marker)]
    for requirement in of_extra or [extra]:
        name = re.split(r"[^A-Za-z0-9._-]", requirement.strip(), maxsplit=1)[0]
        try:
            distribution(name)
        except PackageNotFoundError:
            return name
    return None


#: Section → parameter → value.
Settings = Mapping[str, Mapping[str, object]]
Configured = TypeVar("Configured")

_TRUTH = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


class _Unreadable(ValueError):
    """A text is no value of a type; the message says what would be."""


def parse_settings(texts: Sequence[str], kinds: Mapping[str, type[Any]]) -> dict[str, dict[str, object]]:
    """Return the values that texts such as "pair_graph.forest=paper" give to parameters of analyses.

    A value is read by the parameter's type: true or false, a number, one of the names it may have, parts divided by
    commas, or none.

    Args:
        texts: as the user typed them.
        kinds: the dataclass behind every section that can be set.
    """
    settings: dict[str, dict[str, object]] = {}
    for text in texts:
        path, equals, value = text.partition("=")
        section, dot, parameter = (part.strip() for part in path.partition("."))
        if not (section and dot and parameter and equals):
            raise UsageError(
                f"--set takes SECTION.PARAMETER=VALUE, such as pair_graph.forest=paper, not {text!r}."
            )
        hint = check_setting(section, parameter, kinds)
        try:
            parsed = _read(value.strip(), hint[parameter])
        except _Unreadable as reason:
            raise UsageError(f"--set {section}.{parameter}: {reason}, not {value!r}.") from None
        if parameter in settings.setdefault(section, {}):
            raise UsageError(f"--set {section}.{parameter} is repeated; set it once.")
        settings[section][parameter] = parsed
    return settings


def check_setting(section: str, parameter: str, kinds: Mapping[str, type[Any]]) -> dict[str, object]:
    """Return the types of a section's parameters, or raise if the section or the parameter does not exist."""
    if section not in kinds:
        raise unknown_name("section in --set", section, list(kinds))
    hints = get_type_hints(kinds[section])
    declared = [field.name for field in fields(kinds[section]) if field.metadata.get("parameter", True)]
    hints_by_name = {name: hints[name] for name in declared}
    if parameter not in hints_by_name:
        raise unknown_name(f"parameter of {section}", parameter, list(hints_by_name))
    return hints_by_name


def with_settings(
    analyses: Iterable[Configured], settings: Settings | None, kinds: Mapping[str, type[Any]]
) -> list[Configured]:
    """Return the analyses with their settings; one for a section that does not run is an error."""
    named = {getattr(analysis, "name", ""): analysis for analysis in analyses}
    for section, values in (settings or {}).items():
        for parameter in values:
            check_setting(section, parameter, kinds)
        if section not in named:
            raise UsageError(f"--set {section}.{next(iter(values), '…')}: {section} is not selected to run.")
        named[section] = replace(named[section], **values)  # type: ignore[type-var]
    return list(named.values())


def _read(text: str, hint: Any) -> Any:
    """Return a text as a value of a type."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _first_that_reads(text, arguments)
    if origin is Literal:
        if text in arguments:
            return text
        raise _Unreadable(f"expected one of {', '.join(map(str, arguments))}")
    if origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:
        return tuple(_read(part.strip(), arguments[0]) for part in text.split(",") if part.strip())
    if hint is type(None):
        if text.lower() == "none":
            return None
        raise _Unreadable("expected none")
    if hint is bool:
        if text.lower() in _TRUTH:
            return _TRUTH[text.lower()]
        raise _Unreadable("expected true or false")
    if hint in (int, float):
        try:
            return hint(text.replace("_", ""))
        except ValueError:
            raise _Unreadable("expected a whole number" if hint is int else "expected a number") from None
    if hint is str:
        return text
    raise _Unreadable("expected a value set from Python")


def _first_that_reads(text: str, hints: Sequence[Any]) -> Any:
    """Return the text as the first of several types that it is a value of; text itself comes last."""
    reasons = []
    for hint in sorted(hints, key=lambda hint: (hint is str, hint is not type(None))):
        try:
            return _read(text, hint)
        except _Unreadable as reason:
            reasons.append(str(reason).removeprefix("expected "))
    raise _Unreadable("expected " + " or ".join([*reasons[1:], reasons[0]]))


def chosen(
    registry: Registry[type[A]], only: Sequence[str] | None = None, skip: Sequence[str] = ()
) -> list[type[A]]:
    """Return the analyses to run, in the registry's order, after checking that every name exists.

    Those that are `on_request` run only where they are named.
    """
    only, skip = names_in(only), names_in(skip)
    for name in (*only, *skip):
        registry.get(name)
    names = [name for name in registry.names() if (not only or name in only) and name not in skip]
    if not names:
        raise UsageError(f"--skip leaves no {registry.kind} to run; remove a name from --skip.")
    kinds = [registry.get(name) for name in names]
    return [kind for kind in kinds if only or not getattr(kind, "on_request", False)]


def names_in(names: Sequence[str] | str | None) -> Sequence[str]:
    """Return names as a sequence; a single one, or several with commas, is easily written as text."""
    if isinstance(names, str):
        return [name.strip() for name in names.split(",") if name.strip()]
    return names or ()


#: Options of every run: whether an analysis that runs takes them is not asked.
_OF_EVERY_RUN = frozenset({"cache", "seed"})


def configured(
    kinds: Iterable[type[A]],
    options: Mapping[str, object],
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
    if not (used | _OF_EVERY_RUN).issuperset(options):
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
    options: Mapping[str, object],
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


def _concerning(kind: type[Analysis], options: Mapping[str, object]) -> dict[str, object]:
    """Return the options that are parameters of an analysis.

    A single name where several may stand is easily written as it is, and would be read letter by letter.
    """
    types = _parameters(kind)
    return {
        name: tuple(value.split(",")) if isinstance(value, str) and "tuple[str" in types[name] else value
        for name, value in options.items()
        if name in types
    }

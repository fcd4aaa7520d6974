"""What analyses need besides train data, checked in one place: a test split, inputs, optional packages."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from importlib.metadata import PackageNotFoundError, distribution, requires
from typing import Any, get_args

from cuecard.analysis import A, Analysis, Need
from cuecard.data import Instances
from cuecard.errors import MissingExtraError, UsageError
from cuecard.registry import unknown_name
from cuecard.wording import listed, only_applies_to

#: Inputs of analyses by the name under which `run` takes them.
Inputs = Mapping[Need, Any]

_WHAT_TO_GIVE: dict[Need, str] = {
    "test": "a test split: --test TEST, or --holdout 0.2 to draw one",
    "predictions": "the predictions of a model: --predictions FILE or --model NAME",
    "cues": "the predictions of a model: --predictions FILE or --model NAME",
    "prompts": "a model's answers to at least two prompts: `cuecard ask` writes them",
    "identical_pairs": "scores of identical pairs: --identical-pairs FILE",
    "corpus": "files to search: cuecard overlap TEST --with CORPUS",
    "orders": "log-probabilities of orders: cuecard overlap TEST --orders FILE",
    "judge": "the verdicts of a judge: --judge FILE",
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

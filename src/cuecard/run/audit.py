"""Run audits on a dataset and put what they say on a card."""

from __future__ import annotations

import shlex
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import fields
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from platform import python_version
from typing import Any

import polars as pl

from cuecard._version import __version__
from cuecard.analysis import Analysis, Finding, Question, Result, Skip, most_serious_first, parameters
from cuecard.audits import AUDITS
from cuecard.card.card import Card, DatasetInfo, FindingModel, Provenance, Section, SplitInfo
from cuecard.data import Instances
from cuecard.data.weights import weights_note
from cuecard.errors import CueCardError, InputError, MissingExtraError, UsageError
from cuecard.registry import unknown_name
from cuecard.run.settings import Settings, with_settings

#: Called with an audit's title; the audit runs inside the context it returns.
Progress = Callable[[str], AbstractContextManager[object]]

#: Options of `cuecard audit` that change what a cue is, so that `cuecard explain` has them too.
OPTIONS_OF_EXPLAIN = frozenset(
    {"--test", "--task", "--columns", "--labels", "--tokens", "--scope", "--language", "--regex"}
    | {"--holdout", "--seed", "--on-error"}
)
FLAGS_OF_EXPLAIN = frozenset({"--keep-unlabelled", "--stop-words", "--no-stop-words"})
FLAGS_OF_AUDIT = frozenset({"--json", "--quiet", "-q"})
REPORTED_PACKAGES = ("numpy", "scipy", "polars", "scikit-learn", "numba")


def audit(
    data: Instances,
    *,
    only: Sequence[str] | None = None,
    skip: Sequence[str] = (),
    settings: Settings | None = None,
    progress: Progress | None = None,
    command: str = "",
    **options: Any,
) -> Card:
    """Return the card of a dataset: every audit's numbers, tables and findings.

    Args:
        data: what `cuecard.load` returned.
        only: names of the audits to run; all by default.
        skip: names of audits to leave out.
        settings: parameters of single audits, such as ``{"pair_graph": {"forest": "paper"}}``.
        progress: called with each audit's title; returns a context manager the audit runs in.
        command: what the user typed, for the findings and the provenance.
        options: parameters of the audits, such as ``tokens="treebank"``; each goes to every audit that has a
            parameter of that name.
    """
    check_labels(data)
    asked = configured(chosen(only, skip), options, settings)
    column = next((name for audit in asked if (name := getattr(audit, "weights", None))), None)
    note = weights_note(data, column)
    return assemble(data, asked, progress=progress, command=command, notes=[note] if note else [])


def assemble(
    data: Instances,
    analyses: Sequence[Analysis],
    *,
    progress: Progress | None = None,
    command: str = "",
    notes: Sequence[str] = (),
) -> Card:
    """Return the card of what some analyses say about a dataset, a section for each."""
    sections: dict[str, Section] = {}
    tables: dict[str, pl.DataFrame] = {}
    findings: list[Finding] = []
    about_examples: list[pl.DataFrame] = []
    seconds: dict[str, float] = {}
    for analysis in analyses:
        started = time.perf_counter()
        with progress(analysis.title) if progress else nullcontext():
            section, result = run_section(analysis, data)
        seconds[analysis.name] = round(time.perf_counter() - started, 3)
        sections[analysis.name] = section
        if result is not None:
            if taken := sorted(result.tables.keys() & tables.keys()):
                raise UsageError(f"Two audits write a table named {taken[0]!r}; skip one of them (--skip).")
            tables.update(result.tables)
            findings.extend(result.findings)
            if result.examples is not None:
                about_examples.append(result.examples)
    tables["examples"] = examples_table(data, about_examples)
    findings = most_serious_first(findings)
    card = Card(
        dataset=describe(data, notes),
        findings=[FindingModel.of(f, repeating(command, f)) for f in findings],
        sections=sections,
        provenance=Provenance(
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            command=command,
            versions=versions(),
            seconds=seconds,
        ),
    )
    card.attach(tables)
    return card


def run_section(analysis: Analysis, data: Instances) -> tuple[Section, Result | None]:
    """Run one analysis; what stops it is written on its section instead of ending the others."""
    return answered(analysis, data, lambda: analysis.run(data))


def answered(question: Question, data: Instances, run: Callable[[], Result]) -> tuple[Section, Result | None]:
    """Return the section of a question and what `run` answered, if it could."""
    section = Section(title=question.title, status="skipped", parameters=parameters(question))
    if data.task not in question.tasks:
        section.reason = (
            f"it asks about {', '.join(sorted(question.tasks))} data, and this is {data.task} data"
        )
        return section, None
    try:
        result = run()
    except (Skip, MissingExtraError) as reason:
        section.reason = str(reason)
        return section, None
    except CueCardError:
        raise
    except Exception as error:  # a plug-in's bug must not cost the user the other audits
        section.status = "failed"
        last = traceback.extract_tb(error.__traceback__)[-1]
        section.reason = f"{type(error).__name__}: {error} ({last.name}, line {last.lineno})"
        return section, None
    section.status = "done"
    section.summary = dict(result.summary)
    section.tables = list(result.tables)
    return section, result


def check_options(
    only: Sequence[str] | None,
    skip: Sequence[str],
    options: dict[str, Any],
    settings: Settings | None = None,
) -> None:
    """Raise if an audit, an option or a value of an option does not exist, before any data is read."""
    configured(chosen(only, skip), options, settings)


def chosen(only: Sequence[str] | None, skip: Sequence[str]) -> list[type[Analysis]]:
    """Return the audits to run, in their own order, after checking that every name exists."""
    for name in (*(only or ()), *skip):
        AUDITS.get(name)
    return [AUDITS.get(name) for name in AUDITS.names() if (not only or name in only) and name not in skip]


def configured(
    audits: Iterable[type[Analysis]], options: dict[str, Any], settings: Settings | None = None
) -> list[Analysis]:
    """Return the audits with the options and settings that concern them; an option nobody has is an error."""
    accepted = {kind: {f.name for f in fields(kind)} for kind in audits}  # type: ignore[arg-type]
    known = set().union(*({f.name for f in fields(kind)} for kind in AUDITS))  # type: ignore[arg-type]
    for name in options:
        if name not in known:
            raise unknown_name("option", name, sorted(known))
    analyses = [kind(**{k: v for k, v in options.items() if k in names}) for kind, names in accepted.items()]
    return with_settings(analyses, settings, {kind.name: kind for kind in AUDITS})


def repeating(command: str, finding: Finding) -> str:
    """Return what to type to see a finding again: the whole audit, or its cue in depth."""
    words = shlex.split(command)
    if not finding.cue or words[:2] != ["cuecard", "audit"]:
        return command
    kept = []
    rest = iter(words[2:])
    for word in rest:
        name, equals, _ = word.partition("=")
        if not word.startswith("-") or name in FLAGS_OF_EXPLAIN:
            kept.append(word)
            continue
        value = [] if equals or name in FLAGS_OF_AUDIT else [next(rest, "")]
        if name in OPTIONS_OF_EXPLAIN:
            kept += [word, *value]
    return shlex.join(["cuecard", "explain", finding.cue, *kept])


def check_labels(data: Instances) -> None:
    """Raise if there is nothing to give away: no train rows, or a single label."""
    present = data.train.table["label"].drop_nulls().unique().cast(pl.String).to_list()
    if len(present) < 2:
        found = f"only the label {present[0]!r}" if present else "no labelled rows"
        raise InputError(
            f"{data.name}: the train split has {found}, and an audit needs at least two labels; "
            "choose another label column with --columns label=NAME."
        )


def describe(data: Instances, notes: Sequence[str] = ()) -> DatasetInfo:
    """Return what the card says about the dataset itself."""
    splits = {}
    for name in data.splits:
        part = data.split(name)
        counts = dict(part.table["label"].cast(pl.String).value_counts().iter_rows())
        splits[name] = SplitInfo(
            examples=part.n_examples,
            instances=len(part),
            labels={label: counts.get(label, 0) for label in data.labels},
        )
    return DatasetInfo(
        name=data.name,
        task=data.task,
        labels=list(data.labels),
        splits=splits,
        fingerprint=data.fingerprint,
        files=list(data.report.files),
        columns=dict(data.report.recognised),
        dropped=dict(data.report.dropped),
        notes=[*data.report.notes, *notes],
    )


def examples_table(data: Instances, parts: list[pl.DataFrame]) -> pl.DataFrame:
    """Return one row per example with everything the audits know of it."""
    keys = ["example_id", "split"]
    table = data.table.select(*keys, pl.col("label").cast(pl.String), "position").with_columns(
        pl.col("split").cast(pl.String)
    )
    if data.grouped:
        right = table.filter(pl.col("label") == data.labels[0])
        table = right.select(*keys, answer="position")
    else:
        table = table.drop("position")
    for part in parts:
        table = table.join(part, on=keys, how="left", maintain_order="left")
    return table


def versions() -> dict[str, str]:
    """Return the versions that a card's numbers may depend on."""
    found = {"cuecard": __version__, "python": python_version()}
    for package in REPORTED_PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found

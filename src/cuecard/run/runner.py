"""Run analyses and put what they say on a card: the same way for audits, probes and remedies."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count

import polars as pl

from cuecard.analysis import About, Analysis, Result, Skip, parameters
from cuecard.card.card import Card, FindingModel, Provenance, Section
from cuecard.data import Instances, Source
from cuecard.data import loaded as load_if_needed
from cuecard.errors import CueCardError, MissingExtraError, UsageError
from cuecard.run.choosing.needs import Inputs, inputs_of, reason_to_skip
from cuecard.run.finishing.card_wide import judged_over_card
from cuecard.run.finishing.describing import describe, examples_table, versions
from cuecard.run.finishing.merging import merged_findings
from cuecard.run.finishing.repeating import repeating
from cuecard.run.side_by_side import side_by_side

#: Called with an analysis' title; the analysis runs inside the context it returns.
Progress = Callable[[str], AbstractContextManager[object]]


#: A dataset, what `cuecard.load` takes, or a function that loads it; options are checked before anything is read.
Data = Instances | Callable[[], Instances] | Source


def loaded(data: Data, test: Source | None = None) -> Instances:
    """Return the dataset, loaded now if it was not; `test` is the test split of one that is read here."""
    return load_if_needed(data() if callable(data) else data, test=test)


@dataclass(frozen=True)
class Answer:
    """What became of an analysis: its section, its result if it was done, and how long it took."""

    name: str
    section: Section
    result: Result | None
    seconds: float


def run_analyses(
    data: Instances,
    analyses: Iterable[Analysis],
    *,
    inputs: Inputs | None = None,
    progress: Progress | None = None,
    command: str = "",
    notes: Sequence[str] = (),
) -> Card:
    """Return the card of what some analyses say about a dataset, a section for each."""
    analyses = list(analyses)
    shown = in_steps(progress, len(analyses))
    answers = side_by_side(analyses, lambda one: answer(one, data, inputs, progress=shown))
    return card_of(data, answers, command=command, notes=notes)


def in_steps(progress: Progress | None, total: int, *, done: int = 0) -> Progress | None:
    """Return a progress display that numbers its titles: "Step 2 of 5: Cues"."""
    if progress is None or total < 2:
        return progress
    step = count(done + 1)
    return lambda title: progress(f"Step {next(step)} of {total}: {title}")


def answer(
    analysis: Analysis,
    data: Instances,
    inputs: Inputs | None = None,
    *,
    run: Callable[[], Result] | None = None,
    progress: Progress | None = None,
) -> Answer:
    """Run one analysis; what stops it is written on its section instead of ending the others.

    `run` answers instead of `analysis.run` where work was done already.
    """
    started = time.perf_counter()
    there = inputs or {}
    about: About = getattr(analysis, "about", "data")
    section = Section(title=analysis.title, status="skipped", about=about, parameters=parameters(analysis))
    result = None
    with progress(analysis.title) if progress else nullcontext():
        if reason := reason_to_skip(analysis, data, there):
            section.reason = reason
        else:
            needed = {name: there[name] for name in inputs_of(analysis)}
            result = _result(section, run or (lambda: analysis.run(data, **needed)))
    return Answer(analysis.name, section, result, round(time.perf_counter() - started, 3))


def require_done(section: Section) -> None:
    """Raise if an analysis that the whole command is about did not run."""
    if section.status == "skipped":
        raise UsageError(f"{section.title} cannot run here: {section.reason}.")
    if section.status == "failed":
        raise RuntimeError(f"{section.title} failed: {section.reason}.")


def _result(section: Section, run: Callable[[], Result]) -> Result | None:
    try:
        result = run()
    except (Skip, MissingExtraError) as reason:
        section.reason = str(reason)
        return None
    except CueCardError:
        raise
    except Exception as error:  # a plug-in's bug must not cost the user the other sections
        section.status = "failed"
        last = traceback.extract_tb(error.__traceback__)[-1]
        section.reason = f"{type(error).__name__}: {error} ({last.name}, line {last.lineno})"
        return None
    section.status = "done"
    section.settled = dict(result.settled)
    section.measures = list(result.measures)
    section.summary = dict(result.summary)
    section.tables = list(result.tables)
    return result


def card_of(
    data: Instances,
    answers: Sequence[Answer],
    *,
    examples: Sequence[pl.DataFrame] = (),
    command: str = "",
    notes: Sequence[str] = (),
) -> Card:
    """Return the card of a dataset with a section per answer.

    `examples` are further columns about examples, keyed by example_id and split.
    """
    tables: dict[str, pl.DataFrame] = {}
    about_examples = list(examples)
    for result in (one.result for one in answers):
        if result is None:
            continue
        if taken := sorted(result.tables.keys() & tables.keys()):
            raise UsageError(f"Two sections write a table named {taken[0]!r}; leave one out (--skip).")
        tables.update(result.tables)
        if result.examples is not None:
            about_examples.append(result.examples)
    tables["examples"] = examples_table(data, about_examples)
    findings = judged_over_card({one.name: one.result for one in answers if one.result is not None})
    card = Card(
        dataset=describe(data, notes),
        findings=[FindingModel.of(f, repeating(command, f)) for f in merged_findings(findings)],
        sections={one.name: one.section for one in answers},
        provenance=Provenance(
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            command=command,
            versions=versions(),
            seconds={one.name: one.seconds for one in answers},
        ),
    )
    card.attach(tables)
    return card

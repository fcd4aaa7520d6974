"""Run analyses and put what they say on a card: the same way for audits, probes and remedies."""

from __future__ import annotations

import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import count
from typing import TypeVar

import polars as pl

from cuecard.analysis import About, Analysis, Result, Skip, parameters
from cuecard.card.by_what import carried_by_strongest
from cuecard.card.card import Card, Provenance, Section
from cuecard.data import Instances, Source, loaded
from cuecard.data.parallel import started
from cuecard.errors import CueCardError, FailedError, MissingExtraError, UsageError
from cuecard.run.choosing import Inputs, inputs_of, reason_to_skip
from cuecard.run.finishing import (
    EXAMPLE_KEYS,
    EXAMPLES,
    Unusable,
    clash,
    describe,
    examples_table,
    failed,
    finished,
    judged_over_card,
    merged_findings,
    versions,
    with_examples,
)
from cuecard.run.next_commands import repeating
from cuecard.stats.arrays import Threads
from cuecard.wording import listed

T = TypeVar("T")

#: Each analysis has threads of its own where it computes most: more of them at once would only need more memory.
MOST_AT_ONCE = 2


def side_by_side(analyses: Sequence[Analysis], run: Callable[[Analysis], T]) -> list[T]:
    """Return what `run` returns for each analysis, in their order.

    Analyses that declare `parallel` come first, as many at once as polars has threads (POLARS_MAX_THREADS) and at most
    `MOST_AT_ONCE`; the others follow one by one. What an analysis returns does not depend on this.
    """
    parallel = [i for i, one in enumerate(analyses) if getattr(one, "parallel", False)]
    threads = min(MOST_AT_ONCE, pl.thread_pool_size(), len(parallel))
    results: dict[int, T] = {}
    if parallel:
        with single_threaded_blas():
            results = dict(
                zip(parallel, _on_threads([analyses[i] for i in parallel], run, threads), strict=True)
            )
    return [results[i] if i in results else run(one) for i, one in enumerate(analyses)]


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Have sums of matrix products done in one thread each: their number must not change the last digit.

    All analyses that declare `parallel` run so, alone or beside others.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="blas"):
        yield


def _on_threads(analyses: Sequence[Analysis], run: Callable[[Analysis], T], threads: int) -> list[T]:
    if threads < 2:
        return [run(one) for one in analyses]
    pool = Threads(threads)
    try:
        promises = [pool.submit(run, one) for one in analyses]
        results = [promise.result() for promise in promises]
    except BaseException:  # an error or an interrupt does not wait for the others
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()
    return results


#: Called with an analysis' title; the analysis runs inside the context it returns.
Progress = Callable[[str], AbstractContextManager[object]]
#: What functions take: True is a line for every step that takes longer than `PATIENCE` seconds.
ProgressOption = Progress | bool | None
PATIENCE = 2.0


def shown_progress(progress: ProgressOption) -> Progress | None:
    """Return what steps are shown with; None where they are not."""
    if isinstance(progress, bool):
        return line_of_long_step if progress else None
    return progress


@contextmanager
def line_of_long_step(title: str) -> Iterator[None]:
    """Print the title on standard error if the body takes longer than `PATIENCE` seconds."""
    timer = threading.Timer(PATIENCE, lambda: print(f"{title} …", file=sys.stderr, flush=True))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


#: A dataset, what `cuecard.load` takes, or a function that loads it; options are checked before anything is read.
Data = Instances | Callable[[], Instances] | Source


def ensure_loaded(data: Data, test: Source | None = None) -> Instances:
    """Return the dataset, loaded now if it was not; `test` is the test split of one that is read here."""
    return loaded(data() if callable(data) else data, test=test)


@dataclass(frozen=True)
class SectionRun:
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
    sampled: bool = False,
    named: bool = False,
) -> Card:
    """Return the card of what some analyses say about a dataset, a section for each.

    Where the user `named` them, a package that one lacks is an error. With `sampled`, those that cannot see all
    examples of a dataset that does not fit in memory see a sample.
    """
    analyses = list(analyses)
    shown = in_steps(progress, len(analyses))
    table = None
    if data.space.folder is None:  # the card needs both in the end; the first is kept with the data
        started(lambda: data.fingerprint)
        table = started(lambda: examples_table(data))
    all_examples = {id(one): not sampled or bool(getattr(one, "any_size", False)) for one in analyses}
    answers = side_by_side(
        analyses,
        lambda one: run_section(
            one, data if all_examples[id(one)] else data.sample(), inputs, progress=shown, named=named
        ),
    )
    said = list(notes)
    sample = data.sample()
    if sample.n_examples < data.n_examples:
        sizes = {split: sample.split(split).n_examples for split in sample.splits}
        for one, told in zip(analyses, answers, strict=True):
            if not all_examples[id(one)] and told.result is not None:
                told.section.sampled = sizes
        said.append(
            sample_note(data, sizes, [told.section.title for told in answers if told.section.sampled])
        )
    return card_of(data, answers, rows=sample, table=table, command=command, notes=said)


def sample_note(data: Instances, sizes: Mapping[str, int], titles: Sequence[str]) -> str:
    """Return the sentence that says what rests on a sample of how many examples."""
    splits = {split: data.split(split).n_examples for split in sizes}
    drawn, whole = (
        listed([f"{n:,} {_OF_SPLIT.get(s, s)}" for s, n in sizes.items() if (n == splits[s]) is all_of_them])
        for all_of_them in (False, True)
    )
    on = f"on a random sample of {drawn} examples" + (f" and all {whole} examples" if whole else "")
    if not titles:
        said = f"The table of examples rests {on}; all sections are about all examples."
    else:
        said = f"{listed([*titles, 'the table of examples'])} rest {on}; the other sections are about all examples."
    return f"The dataset does not fit in the memory that is allowed. {said}"


#: How examples of a split are called.
_OF_SPLIT = {"train": "training", "dev": "development"}


def in_steps(progress: Progress | None, total: int, *, done: int = 0) -> Progress | None:
    """Return a progress display that numbers its titles: "Step 2 of 5: Cues"."""
    if progress is None or total < 2:
        return progress
    step = count(done + 1)
    return lambda title: progress(f"Step {next(step)} of {total}: {title}")


def run_section(
    analysis: Analysis,
    data: Instances,
    inputs: Inputs | None = None,
    *,
    run: Callable[[], Result] | None = None,
    progress: Progress | None = None,
    named: bool = False,
) -> SectionRun:
    """Run one analysis; what stops it is written on its section instead of ending the others.

    Of one that the user named, a missing package is an error. `run` answers instead of `analysis.run` where work was
    done already.
    """
    started = time.perf_counter()
    available = inputs or {}
    about: About = getattr(analysis, "about", "data")
    section = Section(
        title=analysis.title,
        status="skipped",
        about=about,
        caveat=getattr(analysis, "caveat", ""),
        parameters=parameters(analysis),
    )
    result = None
    with progress(analysis.title) if progress else nullcontext():
        if reason := reason_to_skip(analysis, data, available):
            section.reason = reason
        else:
            needed = {name: available[name] for name in inputs_of(analysis)}
            section, result = _result(
                section, analysis.name, run or (lambda: analysis.run(data, **needed)), named=named
            )
    return SectionRun(analysis.name, section, result, round(time.perf_counter() - started, 3))


def require_done(section: Section) -> None:
    """Raise if an analysis that the whole command is about did not run."""
    if section.status == "skipped":
        raise UsageError(f"{section.title} cannot run here: {section.reason}.")
    if section.status == "failed":
        raise FailedError(f"{section.title} failed, and nothing is written: {section.reason}.")


def require_any(card: Card, names: Iterable[str]) -> None:
    """Raise if all sections that the user named were skipped, with the reason of each."""
    sections = [card[name] for name in names if name in card.sections]
    if len(sections) == 1 and sections[0].status == "skipped":
        require_done(sections[0])
    if sections and all(section.status == "skipped" for section in sections):
        reasons = "; ".join(f"{section.title}: {section.reason}" for section in sections)
        raise UsageError(f"None of the named sections can run here. {reasons}.")


def _result(
    section: Section, name: str, run: Callable[[], Result], *, named: bool
) -> tuple[Section, Result | None]:
    """Return the section of what an analysis returned, and the result if it is one that can go on a card."""
    try:
        result = run()
        return finished(section, name, result), result
    except Skip as reason:
        section.reason = str(reason)
    except CueCardError as error:
        if isinstance(error, MissingExtraError) and not named:
            section.reason = str(error)
            return section, None
        raise
    except Unusable as error:
        section.status, section.reason = "failed", str(error)
    except Exception as error:  # a plug-in's bug must not cost the user the other sections
        section.status = "failed"
        last = traceback.extract_tb(error.__traceback__)[-1]
        section.reason = f"{type(error).__name__}: {error} ({last.name}, line {last.lineno})"
    return section, None


def card_of(
    data: Instances,
    runs: Sequence[SectionRun],
    *,
    examples: Sequence[pl.DataFrame] = (),
    rows: Instances | None = None,
    table: Callable[[], pl.DataFrame] | None = None,
    command: str = "",
    notes: Sequence[str] = (),
) -> Card:
    """Return the card of a dataset with a section per run; a section that does not fit the others has failed.

    `examples` are further columns about examples, keyed by example_id and split, and `rows` those that the table of
    examples lists, if not all; `table` returns it, where it is made already.
    """
    tables: dict[str, pl.DataFrame] = {}
    listed = table() if table is not None else examples_table(data if rows is None else rows)
    for further in examples:
        listed = with_examples(listed, further)
    sections: dict[str, Section] = {}
    results: dict[str, Result] = {}
    for run in runs:
        sections[run.name] = run.section
        result = run.result
        if result is None:
            continue
        if rows is not None and rows is not data and result.examples is not None:
            own = result.examples.join(listed, on=EXAMPLE_KEYS, how="semi", maintain_order="left")
            result = replace(result, examples=own)
        if reason := clash(result, tables, listed):
            sections[run.name] = failed(run.section, reason)
            continue
        tables.update(result.tables)
        if result.examples is not None:
            listed = with_examples(listed, result.examples)
        results[run.name] = result
    if joint := carried_by_strongest(results):
        sections["partial_input"].measures.extend(joint)
    tables[EXAMPLES] = listed
    findings = judged_over_card(results)
    card = Card(
        dataset=describe(data, notes),
        findings=[replace(f, command=repeating(command, f)) for f in merged_findings(findings)],
        sections=sections,
        provenance=Provenance(
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            command=command,
            versions=versions(),
            seconds={run.name: run.seconds for run in runs},
        ),
    )
    card.attach(tables)
    return card

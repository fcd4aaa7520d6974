"""Run audits on a dataset, or search a corpus for its texts, and put what they say on a card."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from cuecard.analysis import Analysis, Need
from cuecard.audits import AUDITS
from cuecard.audits.overlap import Overlap
from cuecard.audits.overlap.corpus import corpus_files
from cuecard.audits.overlap.published_order import PublishedOrder
from cuecard.audits.scores import Scores, score_column
from cuecard.card.card import Card
from cuecard.data import Instances, ReadOptions, Source, Task
from cuecard.data.layout.columns import ColumnsArgument
from cuecard.data.layout.scores import lists_column
from cuecard.data.loading import DatasetSpec
from cuecard.data.weights import weights_note
from cuecard.errors import UsageError
from cuecard.run.choosing import (
    Settings,
    check_extras,
    check_inputs,
    check_objects,
    chosen,
    configured,
    names_in,
    of_its_kind,
)
from cuecard.run.finishing import check_labels
from cuecard.run.running import (
    Data,
    ProgressOption,
    ensure_loaded,
    require_any,
    require_done,
    run_analyses,
    shown_progress,
)
from cuecard.run.workspace import budget_of, opened


def audit(
    data: Data | None = None,
    labels: Any = None,
    *,
    test: Source | None = None,
    columns: ColumnsArgument | None = None,
    task: Task | None = None,
    premises: Sequence[str] | None = None,
    hypotheses: Sequence[str] | None = None,
    audits: Sequence[Analysis] | None = None,
    only: Sequence[str] | None = None,
    skip: Sequence[str] = (),
    settings: Settings | None = None,
    progress: ProgressOption = None,
    command: str = "",
    engine: str = "local",
    memory: str | int | None = None,
    address: str | None = None,
    **options: Any,
) -> Card:
    """Return the card of a dataset: every audit's numbers, tables and findings.

    Args:
        data: what `cuecard.load` returned, or what it takes, such as ``"train.csv"``; or a function that returns the
            dataset, called once the options are checked; or a sequence of texts.
        labels: one label per text; or names of label values, as `cuecard.load` takes them.
        columns: which column plays which role, such as ``{"premise": "a"}``, where `data` is a file or a table.
        task: pair, choice, preference or text, where the columns leave it open.
        premises: the first texts of pairs, in place of `data`; `labels` has one label per pair.
        hypotheses: the second texts of pairs.
        test: the test split, where `data` is a file or a table.
        audits: the audits to run, such as ``[cc.Cues(min_count=10), cc.Clusters(k=30)]``.
        only: names of the audits to run; all by default.
        skip: names of audits to leave out.
        settings: parameters of single audits, such as ``{"pair_graph": {"forest": "paper"}}``.
        progress: True for a line about every step that takes long, or a function from its title to a context
            manager that it runs in.
        command: what the user typed, for the findings and the provenance.
        engine: where it runs: "local", this machine, or "ray", a Ray cluster, which reads the files.
        address: of the Ray cluster; one on this machine by default.
        memory: how much memory it may take, such as "4GB"; half of what is free by default. Files that do not fit are
            mapped from disk; what needs their texts in memory sees a random sample.
        options: parameters of the audits, such as ``tokens="treebank"``; each goes to every audit that has a
            parameter of that name.
    """
    progress = shown_progress(progress)
    data, test = dataset_of(
        data, labels, test=test, columns=columns, task=task, premises=premises, hypotheses=hypotheses
    )
    selected = selected_audits(audits, only=only, skip=skip, settings=settings, options=options)
    budget = budget_of(memory, engine, address)
    seed, cache = options.get("seed", 0), options.get("cache", True)
    with opened(data, test, budget, settings=selected, seed=seed, cache=cache, progress=progress) as (
        dataset,
        where,
    ):
        check_labels(dataset, open_answers=True)
        if audits is None and not only:
            selected = of_its_kind(selected, dataset)
        if audits is None and not only and score_column(dataset) is not None:
            selected = [*selected, Scores()]
        label = dataset.report.recognised.get("label", "")
        if audits is None and not only and lists_column(label, dataset.table.schema) is not None:
            from cuecard.audits.each_label import EachLabel

            selected = [*selected, EachLabel(tuple(options.get("expect", ())), seed=seed)]
        column = next((name for one in selected if (name := getattr(one, "weights", None))), None)
        note = weights_note(dataset, column)
        notes = [note] if note else []
        card = run_analyses(
            dataset,
            selected,
            progress=progress,
            command=command,
            notes=notes,
            sampled=True,
            named=bool(only),
        )
    require_any(card, names_in(only))
    card.provenance.engine = where
    return card


def texts_of(data: Data) -> Instances:
    """Return the dataset, or its texts without labels where its columns are not recognised."""
    if isinstance(data, Instances) or (callable(data) and not isinstance(data, DatasetSpec)):
        return ensure_loaded(data)
    return (data if isinstance(data, DatasetSpec) else DatasetSpec(data)).texts()


def selected_audits(
    audits: Sequence[Analysis] | None = None,
    *,
    only: Sequence[str] | None = None,
    skip: Sequence[str] = (),
    settings: Settings | None = None,
    options: Mapping[str, object],
) -> list[Analysis]:
    """Return the audits to run, or raise if one, an option or a value does not exist; no data is read for that."""
    if audits is not None:
        check_objects("audits", audits, only=only, skip=skip, settings=settings, options=options)
        selected = list(audits)
    else:
        selected = configured(chosen(AUDITS, only, skip), options, settings, among=AUDITS)
    if audits is not None or only:
        check_inputs(selected, ())
        check_extras(selected)
    return selected


def overlap(
    data: Data,
    corpus: str | Path | Sequence[str | Path] = (),
    *,
    orders: str | Path | pl.DataFrame | None = None,
    n: int = 13,
    shortest: int = 5,
    progress: ProgressOption = None,
    command: str = "",
) -> Card:
    """Return the card of what a corpus contains of a dataset, and of whether models know its published order.

    Args:
        data: what `cuecard.load` returned, or what it takes, such as ``"test.parquet"``. Labels and a task are not
            needed: without them, every column of texts is searched for.
        corpus: files and folders to search: text, JSON lines, both also as .gz, .zst, .bz2 or .xz, and parquet.
        orders: log-probabilities of the published order and of shuffles: a file or a table with `order` ("published",
            or the number of a shuffle), `logprob` and, where there are several, `shard` and `model`.
        n: words of the shortest run that counts; a shorter text must occur whole.
        shortest: texts with fewer words are not searched for.
        progress: True for a line about every step that takes long, or a function from its title to a context
            manager that it runs in.
        command: what the user typed, for the card's provenance.
    """
    sources = [corpus] if isinstance(corpus, str | Path) else list(corpus)
    if not sources and orders is None:
        raise UsageError(
            "There is nothing to compare with: type --with CORPUS, --orders FILE, or both. What the training set and "
            "the test set share is reported by cuecard audit."
        )
    if n < 2 or shortest < 2:
        raise UsageError(f"n and shortest must be at least 2 words, not {min(n, shortest)}.")
    analyses: list[Analysis] = []
    inputs: dict[Need, object] = {}
    if sources:
        corpus_files(sources)
        analyses.append(Overlap(n=n, shortest=shortest))
        inputs["corpus"] = sources
    if orders is not None:
        analyses.append(PublishedOrder())
        inputs["orders"] = orders
    card = run_analyses(
        texts_of(data), analyses, inputs=inputs, progress=shown_progress(progress), command=command
    )
    for analysis in analyses:
        require_done(card[analysis.name])
    return card


#: One text or label per example.
Values = Sequence[Any]


def dataset_of(
    data: Data | None,
    labels: Values | Mapping[str, str | None] | str | None = None,
    *,
    test: Source | None = None,
    columns: ColumnsArgument | None = None,
    task: Task | None = None,
    premises: Values | None = None,
    hypotheses: Values | None = None,
) -> tuple[Data, Source | None]:
    """Return the data, and the test split that is to be read with it; texts and labels become a table.

    Args:
        data: what `cuecard.audit` takes, or a sequence of texts; None where `premises` and `hypotheses` are given.
        labels: one label per text; or what `cuecard.load` takes, where `data` is a file or a table.
        test: the test split.
        columns: which column plays which role, as `cuecard.load` takes it.
        task: what the rows are.
        premises: the first texts of pairs.
        hypotheses: their second texts.
    """
    pairs = {"premises": premises, "hypotheses": hypotheses}
    given = [name for name, values in pairs.items() if values is not None]
    if given:
        if len(given) < 2 or data is not None or not _is_values(labels):
            raise UsageError("Pairs are given as premises, hypotheses and labels, without data.")
        data = _table(
            premise=("premises", premises), hypothesis=("hypotheses", hypotheses), label=("labels", labels)
        )
    elif data is None:
        raise UsageError(
            "There is no data: give a file, a table, texts with labels, or premises, hypotheses and labels."
        )
    elif _is_values(labels):
        texts: Any = data
        if not _is_values(texts) or not all(isinstance(text, str) for text in texts[:100]):
            raise UsageError(
                "A sequence of labels needs a sequence of texts; a table needs the name of its column."
            )
        data = _table(text=("data", texts), label=("labels", labels))
    else:
        if columns is None and labels is None and task is None:
            return data, test
        if callable(data) or hasattr(data, "derived"):
            raise UsageError("The dataset is loaded already: give columns, labels and task to cuecard.load.")
        options = ReadOptions(task=task, columns=columns, labels=labels)  # type: ignore[arg-type]
        return DatasetSpec(data, test, options=options), None
    if columns or task:
        raise UsageError("Texts and labels have no columns: leave out columns and task.")
    return DatasetSpec(data, test), None


def _is_values(values: Any) -> bool:
    """Return whether something is a sequence of values: a list, a series or an array of one dimension."""
    if isinstance(values, str | bytes | Path | Mapping) or values is None or hasattr(values, "columns"):
        return False
    if (
        getattr(values, "ndim", 1) != 1
        or not hasattr(values, "__len__")
        or not hasattr(values, "__getitem__")
    ):
        return False
    return not (isinstance(values, list | tuple) and values and isinstance(values[0], Mapping))


def _table(**columns: tuple[str, Any]) -> pl.DataFrame:
    """Return a table of the sequences that arguments hold, or raise if they have not as many values each."""
    sizes = {name: len(values) for name, values in columns.values()}
    if len(set(sizes.values())) > 1:
        counts = ", ".join(f"{name} has {size:,}" for name, size in sizes.items())
        raise UsageError(f"There must be one value per example: {counts}.")
    return pl.DataFrame({role: list(values) for role, (_, values) in columns.items()}, strict=False)

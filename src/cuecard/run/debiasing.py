"""Reweight the examples of a dataset by a remedy, and put what the weights do on a card."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cuecard.analysis import Analysis
from cuecard.card.card import Card
from cuecard.card.files import load_card
from cuecard.data import Instances
from cuecard.data.loading import DatasetSpec
from cuecard.data.output import (
    RowsTarget,
    check_new_column,
    check_storable,
    chunks_of_rows,
    rows_with_weights,
    staged_rows,
)
from cuecard.data.reading.sources import Source
from cuecard.errors import UsageError
from cuecard.remedies import REMEDIES
from cuecard.run.choosing import check_extras, check_inputs, check_objects, configured
from cuecard.run.finishing import check_labels
from cuecard.run.running import (
    Data,
    Progress,
    ProgressOption,
    card_of,
    require_done,
    run_section,
    shown_progress,
    side_by_side,
)
from cuecard.run.workspace import budget_of, opened, read_in_parts, space_of
from cuecard.writing import Staged


def options_like(card: Card | str | Path, method: str) -> dict[str, object]:
    """Return options under which a remedy balances what an audit on the card found, as the audit looked for it.

    A remedy that can follow an audit names it as `follows`, and has a function `options_like` from the audit's
    parameters to its own.
    """
    kind: Any = REMEDIES.get(method)
    follows = getattr(kind, "follows", None)
    if follows is None:
        able = [name for name in REMEDIES.names() if hasattr(REMEDIES.get(name), "follows")]
        raise UsageError(
            f"A card has settings for the method {' or '.join(map(repr, able))}, not {method!r}: leave the card out, "
            "or the method."
        )
    read = card if isinstance(card, Card) else load_card(card)
    section = read.sections.get(follows)
    if section is None or section.status != "done":
        raise UsageError(
            f"The card has no finished audit {follows!r} to copy the settings from: run cuecard audit --only {follows} "
            "first."
        )
    options: dict[str, object] = kind.options_like({**section.parameters, **section.settled})
    return options


@dataclass(frozen=True, eq=False)
class Debiased:
    """The weights of the training examples, in their order and with mean one, and the card about them."""

    weights: npt.NDArray[np.float64]
    card: Card


def debias(
    data: Data,
    method: str | Analysis = "lexical",
    *,
    test: Source | None = None,
    like: Card | str | Path | None = None,
    memory: str | int | None = None,
    progress: ProgressOption = None,
    command: str = "",
    **options: object,
) -> Debiased:
    """Return weights of the training examples that remove a shortcut from a dataset, with a card about them.

    Args:
        data: what `cuecard.load` returned, or what it takes, such as ``"train.csv"``; or a function that returns the
            dataset, called once the options are checked.
        method: "lexical" makes label shares equal with every feature (`cuecard.LexicalWeights`), "neutral" makes the
            pair graph say nothing about the label (`cuecard.NeutralWeights`); or such an object with its parameters.
        test: the test split, where `data` is a file or a table.
        like: the card of an audit, or its folder: balance what its cue audit found, with the audit's tokens, scope,
            families and smallest count; `options` go before.
        memory: how much memory it may take, such as "4GB"; half of what is free by default. A dataset of files that
            does not fit is mapped from disk, with the same weights.
        progress: True for a line about every step that takes long, or a function from its title to a context
            manager that it runs in.
        command: what the user typed, for the card's provenance.
        options: parameters of the remedy, such as ``ngrams=2`` or ``min_count=50``.
    """
    progress = shown_progress(progress)
    remedy = selected_remedy(method, _with_card(method, like, options))
    with opened(data, test, budget_of(memory), settings=[remedy], progress=progress) as (dataset, where):
        return _debiased(dataset, where, remedy, progress, command)


def _debiased(
    data: Instances, where: str, remedy: Analysis, progress: Progress | None, command: str
) -> Debiased:
    check_labels(data)
    [told] = side_by_side([remedy], lambda one: run_section(one, data, progress=progress))
    require_done(told.section)
    sample, notes = data.sample(), []
    if sample.n_examples < data.n_examples:
        notes.append(
            "The dataset does not fit in the memory that is allowed. The table of examples is a random sample of "
            f"{sample.train.n_examples:,} training examples."
        )
        if told.section.summary.get("sampled"):
            told.section.sampled = {"train": sample.train.n_examples}
            notes.append(
                "Weights, effective sample size and the balance of the chosen features are about all training "
                "examples; strongest words, random n-grams and the repeated cue audit are about that sample. Balance "
                "on held-out examples is not measured."
            )
    card = card_of(data, [told], rows=sample, command=command, notes=notes)
    card.provenance.engine = where
    assert told.result is not None
    examples = told.result.examples
    # Remedies give weights of mean one over train; to scale them again could lift one above their max_weight.
    if sample is data or examples is None:
        examples = card.tables["examples"].filter(split="train")
    return Debiased(examples["weight"].to_numpy(), card)


@dataclass(frozen=True)
class WeightedRows:
    """Where rows are written with their weights, and what is written with them.

    The path is that of a file (.parquet, .csv, .tsv or .jsonl), or without an extension of a folder of parquet files.
    `alongside` is called with the card and with the rows once these are written beside their place; they take it only
    if the context that it returns ends well, so that rows and card are both written or neither.
    """

    path: Path
    column: str = "weight"
    alongside: Callable[[Card, Staged], AbstractContextManager[object]] | None = None


def debias_file(
    train: Source | DatasetSpec,
    out: Path | WeightedRows,
    method: str | Analysis = "lexical",
    *,
    like: Card | str | Path | None = None,
    memory: str | int | None = None,
    progress: ProgressOption = None,
    command: str = "",
    **options: object,
) -> Debiased:
    """Write the rows of a file as they stand, with a column of weights, and return the weights with their card.

    Args:
        train: the rows, as `cuecard.load` takes them, or how they are read.
        out: what to write, whole or not at all; the rows must not have the column yet.
        method: the remedy, as in `debias`.
        like: the card of an audit whose settings to take, as in `debias`.
        memory: how much memory it may take, as in `debias`; rows that do not fit are written chunk by chunk.
        progress: True for a line about every step that takes long, or a function from its title to a context
            manager that it runs in.
        command: what the user typed, for the card's provenance.
        options: parameters of the remedy.
    """
    progress = shown_progress(progress)
    out = out if isinstance(out, WeightedRows) else WeightedRows(out)
    spec = train if isinstance(train, DatasetSpec) else DatasetSpec(train)
    remedy = selected_remedy(method, _with_card(method, like, options))
    target = RowsTarget.checked(out.path, [spec.train])
    with space_of(spec, budget_of(memory), settings=[remedy], progress=progress) as space:
        with progress("Reading") if progress and space.folder is None else nullcontext():
            read = spec.with_rows(space)
        check_new_column(read.rows.columns, out.column)
        check_storable(read.rows.schema, target.path, target.kind)
        debiased = _debiased(read.data, read_in_parts(spec, space), remedy, progress, command)
        rows = rows_with_weights(read, debiased.weights, column=out.column)
        if target.folder or space.folder is not None:
            staged_target = target.staged(lambda: chunks_of_rows(rows, space), rows.schema)
        else:
            staged_target = staged_rows(rows, target.path, target.kind)
        with (
            space.shown("Rows with weights"),
            staged_target as staged,
            out.alongside(debiased.card, staged) if out.alongside else nullcontext(),
        ):
            return debiased


def _with_card(
    method: str | Analysis, like: Card | str | Path | None, options: Mapping[str, object]
) -> dict[str, object]:
    """Return the options of a remedy with what a card says where they say nothing."""
    if like is None:
        return dict(options)
    if not isinstance(method, str):
        raise UsageError(
            "The options name both a remedy with parameters and a card to copy them from: use only one of them."
        )
    return {**options_like(like, method), **options}


def selected_remedy(method: str | Analysis, options: Mapping[str, object]) -> Analysis:
    """Return the remedy with its options, or raise if it or one of them does not exist; no data is read for that."""
    if isinstance(method, str):
        kind = REMEDIES.get(method)
        [remedy] = configured([kind], options, None, among=[kind])
    else:
        check_objects("method", [method], only=None, skip=(), settings=None, options=options)
        remedy = method
    check_inputs([remedy], ())
    check_extras([remedy])
    return remedy

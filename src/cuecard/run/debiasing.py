"""Reweight the examples of a dataset by a remedy, and put what the weights do on a card."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.analysis import Analysis
from cuecard.card.card import Card
from cuecard.card.files import load_card
from cuecard.data.files.sources import Source
from cuecard.data.loading import Unread, load_rows
from cuecard.data.output.rows import check_storable, staged_rows
from cuecard.data.output.weighted import (
    RowsTarget,
    changed,
    check_new_column,
    rows_with_weights,
    weighted_parts,
    weighted_schema,
)
from cuecard.errors import UsageError
from cuecard.remedies import REMEDIES
from cuecard.run.choosing import Settings, check_extras, check_inputs, check_objects, configured
from cuecard.run.finishing import check_labels
from cuecard.run.in_parts.auditing import Budget, budget_of, scan_within
from cuecard.run.in_parts.weighting import goes_in_parts, weighted_scan, weights_in_parts
from cuecard.run.running import Data, Progress, loaded, require_done, run_analyses
from cuecard.writing import Staged


def options_like(card: Card | str | Path, method: str) -> dict[str, Any]:
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
    options: dict[str, Any] = kind.options_like({**section.parameters, **section.settled})
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
    progress: Progress | None = None,
    command: str = "",
    **options: Any,
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
            does not fit is gone through in parts, with the same weights.
        progress: called with the remedy's title; returns a context manager it runs in.
        command: what the user typed, for the card's provenance.
        options: parameters of the remedy, such as ``ngrams=2`` or ``min_count=50``.
    """
    remedy = selected_remedy(method, _with_card(method, like, options))
    budget = budget_of(memory, "local")
    unread = Unread(data, {"test": test}) if isinstance(data, str | Path) else data
    if isinstance(unread, Unread) and goes_in_parts(unread, remedy, budget):
        weighted = weights_in_parts(unread, remedy, budget, progress=progress, command=command)
        return Debiased(weighted.weights, weighted.card)
    data = loaded(data, test)
    check_labels(data)
    card = run_analyses(data, [remedy], progress=progress, command=command)
    require_done(card[remedy.name])
    # Remedies give weights of mean one over train; to scale them again could lift one above their max_weight.
    weights = card.tables["examples"].filter(split="train")["weight"].to_numpy()
    return Debiased(weights, card)


def debias_file(
    train: Source,
    out: Path,
    method: str | Analysis = "lexical",
    *,
    weight_column: str = "weight",
    like: Card | str | Path | None = None,
    memory: str | int | None = None,
    reading: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    command: str = "",
    alongside: Callable[[Card, Staged], AbstractContextManager[object]] | None = None,
    **options: Any,
) -> Debiased:
    """Write the rows of a file as they stand, with a column of weights, and return the weights with their card.

    Args:
        train: the rows, as `cuecard.load` takes them.
        out: the file to write (.parquet, .csv, .tsv or .jsonl), or without an extension a folder of parquet files,
            whole or not at all.
        method: the remedy, as in `debias`.
        weight_column: what the column of weights is called; the rows must not have it yet.
        like: the card of an audit whose settings to take, as in `debias`.
        memory: how much memory it may take, as in `debias`; rows that do not fit are written part by part.
        reading: how to read the rows: task, columns, labels, on_error as `cuecard.load` takes them.
        progress: called with what is done; returns a context manager it is done in.
        command: what the user typed, for the card's provenance.
        alongside: called with the card and with the rows once these are written beside their place; they take it only
            if the context that it returns ends well, so that rows and card are both written or neither.
        options: parameters of the remedy.
    """
    remedy = selected_remedy(method, _with_card(method, like, options))
    target = RowsTarget.checked(out, [train])
    budget = budget_of(memory, "local")
    unread = Unread(train, reading or {})
    weighted = _weighted_in_parts if goes_in_parts(unread, remedy, budget) else _weighted_in_memory
    with (
        weighted(unread, remedy, budget, target, weight_column, progress, command) as (debiased, rows),
        rows as staged,
        alongside(debiased.card, staged) if alongside else nullcontext(),
    ):
        return debiased


#: Weights with their card, and the rows with these, to be staged.
Weighted = tuple[Debiased, AbstractContextManager[Staged]]


@contextmanager
def _weighted_in_memory(
    unread: Unread,
    remedy: Analysis,
    _budget: Budget,
    target: RowsTarget,
    column: str,
    progress: Progress | None,
    command: str,
) -> Iterator[Weighted]:
    with progress("Reading") if progress else nullcontext():
        read = load_rows(unread.train, **unread.options)
    check_new_column(read.rows.columns, column)
    debiased = debias(read.data, remedy, progress=progress, command=command)
    rows = rows_with_weights(read, debiased.weights, column=column)
    if target.folder:
        yield debiased, target.staged(lambda: [rows], rows.schema)
    else:
        yield debiased, staged_rows(rows, target.path, target.kind)


@contextmanager
def _weighted_in_parts(
    unread: Unread,
    remedy: Analysis,
    budget: Budget,
    target: RowsTarget,
    column: str,
    progress: Progress | None,
    command: str,
) -> Iterator[Weighted]:
    scan = scan_within(unread, budget)
    before = scan.stamps()
    schema = weighted_schema(scan.row_schema(), column)
    check_storable(schema, target.path, target.kind)
    with weighted_scan(scan, remedy, budget, progress=progress, command=command) as weighted:

        def rows() -> Iterator[pl.DataFrame]:
            with progress("Rows with weights") if progress else nullcontext():
                yield from weighted_parts(scan, weighted.weights, schema)
            if scan.stamps() != before:
                raise changed(scan)

        yield Debiased(weighted.weights, weighted.card), target.staged(rows, schema)


def _with_card(
    method: str | Analysis, like: Card | str | Path | None, options: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the options of a remedy with what a card says where they say nothing."""
    if like is None:
        return dict(options)
    if not isinstance(method, str):
        raise UsageError(
            "The options name both a remedy with parameters and a card to copy them from: use only one of them."
        )
    return {**options_like(like, method), **options}


def selected_remedy(
    method: str | Analysis, options: Mapping[str, Any], settings: Settings | None = None
) -> Analysis:
    """Return the remedy with its options, or raise if it or one of them does not exist; no data is read for that."""
    if isinstance(method, str):
        kind = REMEDIES.get(method)
        [remedy] = configured([kind], options, settings, among=[kind])
    else:
        check_objects("method", [method], only=None, skip=(), settings=settings, options=options)
        remedy = method
    check_inputs([remedy], ())
    check_extras([remedy])
    return remedy

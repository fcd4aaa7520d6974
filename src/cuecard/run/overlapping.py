"""Search a corpus for the texts of a dataset, and test whether models know its order."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from cuecard.analysis import Analysis, Need
from cuecard.audits.overlap import Overlap
from cuecard.audits.overlap.corpus import corpus_files
from cuecard.audits.overlap.published_order import PublishedOrder
from cuecard.card.card import Card
from cuecard.errors import UsageError
from cuecard.run.runner import Data, Progress, loaded, require_done, run_analyses


def overlap(
    data: Data,
    corpus: str | Path | Sequence[str | Path] = (),
    *,
    orders: str | Path | pl.DataFrame | None = None,
    n: int = 13,
    shortest: int = 5,
    progress: Progress | None = None,
    command: str = "",
) -> Card:
    """Return the card of what a corpus contains of a dataset, and of whether models know its published order.

    Args:
        data: what `cuecard.load` returned, or what it takes, such as ``"test.parquet"``.
        corpus: files and folders to search: text, JSON lines, both also as .gz, .zst, .bz2 or .xz, and parquet.
        orders: log-probabilities of the published order and of shuffles: a file or a table with `order` ("published",
            or the number of a shuffle), `logprob` and, where there are several, `shard` and `model`.
        n: words of the shortest run that counts; a shorter text must occur whole.
        shortest: texts with fewer words are not searched for.
        progress: called with each step's title; returns a context manager it runs in.
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
    inputs: dict[Need, Any] = {}
    if sources:
        corpus_files(sources)
        analyses.append(Overlap(n=n, shortest=shortest))
        inputs["corpus"] = sources
    if orders is not None:
        analyses.append(PublishedOrder())
        inputs["orders"] = orders
    card = run_analyses(loaded(data), analyses, inputs=inputs, progress=progress, command=command)
    for analysis in analyses:
        require_done(card[analysis.name])
    return card

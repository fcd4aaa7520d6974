"""An audit of a dataset that is gone through in pieces, because it does not fit in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import polars as pl

from cuecard.analysis import Analysis, Result, TooLarge
from cuecard.card.card import Card
from cuecard.data import Instances, Scan, scan
from cuecard.data.files.sources import STDIN, paths_by_split, without_preset
from cuecard.data.loading import Unread
from cuecard.engines import Map, Stream, locally
from cuecard.engines.memory import (
    PER_BYTE,
    bytes_of,
    free_memory,
    memory_needed,
    text_bytes,
)
from cuecard.errors import InputError, UsageError
from cuecard.registry import unknown_name
from cuecard.run.finishing import check_labels
from cuecard.run.in_parts.keeping import sees_all, store_of
from cuecard.run.running import Answer, Progress, answer, card_of, in_steps, same_digits
from cuecard.wording import listed, plural

Engine = Literal["local", "ray"]
ENGINES: tuple[Engine, ...] = get_args(Engine)
#: Rows of a file that are read at a time, at most and at least.
MOST_ROWS, FEWEST_ROWS = 200_000, 2_000
#: The part of the memory that the rows that are read at a time may take with everything that is made of them.
AT_A_TIME = 0.25
#: Audits with `row_bytes`, which keep that number of bytes of every row, may take this much in any case.
LEAST_MEMORY = 1_000_000_000
#: What only a dataset in memory can have, by the argument of `load`.
_WHOLE = ("label_file", "holdout", "limit", "cluster")


@dataclass(frozen=True)
class Budget:
    """The memory that an audit may take, whether the user set it, and where it runs."""

    memory: int
    chosen: bool
    engine: Engine
    address: str | None = None

    @property
    def mapping(self) -> Map:
        """What does the pieces of a stage: this machine, or a cluster."""
        if self.engine == "local":
            return locally
        from cuecard.engines.on_ray import OnRay
        from cuecard.engines.ray_cluster import connect

        return OnRay(connect(self.address))


def budget_of(memory: str | int | None, engine: str, address: str | None = None) -> Budget:
    """Return the memory that an audit may take: what the user allows, or half of what is free."""
    if engine not in ENGINES:
        raise unknown_name("engine", engine, list(ENGINES))
    if address is not None and not address.strip():
        raise UsageError("--address is empty: name HOST:PORT of a Ray cluster, or leave it out.")
    if address is not None and engine != "ray":
        raise UsageError("--address is that of a Ray cluster: add --engine ray.")
    if memory is None:
        return Budget(free_memory() // 2, False, engine, address)
    return Budget(bytes_of(memory), True, engine, address)


def does_not_fit(unread: Unread, selected: Sequence[Analysis], budget: Budget) -> bool:
    """Return whether a dataset must be gone through in pieces; raise if it must and cannot be."""
    _, source = without_preset(unread.train)
    must = budget.engine != "local"
    if not isinstance(source, str | Path) or str(source) == STDIN or str(source).startswith("hf:"):
        if must:
            raise UsageError(
                f"--engine {budget.engine} reads files and folders: write the dataset to files first."
            )
        return False
    try:
        sources = [
            source,
            *(without_preset(unread.options[s])[1] for s in ("test", "dev") if unread.options.get(s)),
        ]
        size = memory_needed(
            path for each in sources for paths in paths_by_split(each).values() for path in paths
        )
    except (InputError, TypeError):  # told about where it is read
        return False
    if not must and size <= budget.memory:
        return False
    in_memory = [f"--{name.replace('_', '-')}" for name in _WHOLE if unread.options.get(name)]
    in_memory += ["--weights"] if any(getattr(one, "weights", None) for one in selected) else []
    if in_memory and (budget.chosen or must):
        raise UsageError(
            f"{listed(in_memory)} {'needs' if len(in_memory) == 1 else 'need'} the whole dataset in memory (about "
            f"{max(size / 1e9, 0.1):.1f} GB): {'leave out --engine ray' if must else 'allow more with --memory'}, or "
            "leave the option out."
        )
    return not in_memory


def audit_in_pieces(
    unread: Unread,
    selected: Sequence[Analysis],
    budget: Budget,
    *,
    seed: int = 0,
    cache: bool = True,
    progress: Progress | None = None,
    command: str = "",
) -> Card:
    """Return the card of a dataset that is gone through in pieces.

    Audits that have `run_stream` see all examples, the others a random sample. A run that was interrupted continues
    with the pieces that are not done.
    """
    mapping = budget.mapping
    scanned = scan_within(unread, budget)
    with store_of(scanned, selected, seed, cache=cache) as store:
        stream = Stream(scanned, store, mapping, seed, progress, max(budget.memory, LEAST_MEMORY))
        data = stream.data
        check_labels(data)
        shown = in_steps(progress, len(selected))
        sample = stream.sample
        sampled = {split: sample.split(split).n_examples for split in sample.splits}
        whole = sample.n_examples == data.n_examples
        answers: dict[int, Answer] = {}
        too_large: list[Any] = []
        # Those that declare `parallel` come first, as in memory: what one of them learned, another one may use.
        for i, one in sorted(enumerate(selected), key=lambda item: not getattr(item[1], "parallel", False)):
            streams = sees_all(one) and _fits(one, data, budget)

            def run(one: Any = one, streams: bool = streams) -> Result:
                if streams:
                    try:
                        return _with_sampled_examples(one.run_stream(stream), stream)
                    except TooLarge:
                        too_large.append(one)
                result: Result = one.run(sample)
                return result

            with same_digits() if getattr(one, "parallel", False) else nullcontext():
                told = answer(one, data if streams else sample, run=run, progress=shown)
            if (not streams or one in too_large) and not whole and told.result is not None:
                told.section.sampled = sampled
            answers[i] = told
        told_in_order = [answers[i] for i in range(len(selected))]
        titles = [one.section.title for one in told_in_order if one.section.sampled]
        notes = [] if whole else [_note(sampled, stream.split_sizes, titles)]
        card = card_of(data, told_in_order, rows=sample, command=command, notes=notes)
        card.provenance.engine = engine_of(scanned, budget)
        return card


def engine_of(scanned: Scan, budget: Budget) -> str:
    """Return where a dataset was gone through, and in how many parts, as the card says it."""
    return f"{budget.engine}, in {plural(len(scanned.pieces), 'part')}"


def _fits(audit: Analysis, data: Instances, budget: Budget) -> bool:
    """Return whether what an audit keeps of all rows fits in the memory that is allowed."""
    of_row = int(getattr(audit, "row_bytes", 0))
    of_row = int(getattr(audit, "choice_row_bytes", of_row)) if data.grouped else of_row
    return len(data) * of_row <= max(budget.memory, LEAST_MEMORY)


def _with_sampled_examples(result: Result, stream: Stream) -> Result:
    """Return the result with what it says of sampled examples, by the ids of these; it knows examples by number."""
    if result.examples is None or result.examples["example_id"].dtype == pl.String:
        return result
    rows, sample = stream.sampled_rows, stream.sample
    first = sample.first_rows[:-1]
    named = pl.DataFrame(
        {
            "example_id": stream.data.example_codes[rows[first]],
            "_named": sample.table["example_id"].gather(first),
        }
    )
    examples = result.examples.join(named, on="example_id", how="inner", maintain_order="left")
    columns = result.examples.columns
    return replace(
        result, examples=examples.drop("example_id").rename({"_named": "example_id"}).select(columns)
    )


def scan_within(unread: Unread, budget: Budget) -> Scan:
    """Return the dataset in parts of as many rows as the memory allows."""
    options = {name: value for name, value in unread.options.items() if name not in (*_WHOLE, "seed")}
    first = scan(unread.train, rows=MOST_ROWS, **options)
    per_row = max(1, text_bytes(first.paths["train"][:1]) // max(1, _rows_of(first)))
    rows = max(1, int(budget.memory * AT_A_TIME / PER_BYTE / per_row))
    # A power of two: a little more or less free memory changes no part, and an interrupted run finds what it has done.
    return replace(first, rows=min(MOST_ROWS, max(FEWEST_ROWS, 1 << rows.bit_length() - 1)))


def _rows_of(scanned: Scan) -> int:
    """Return how many rows the first file has, or its first part where that is not known."""
    chunk = scanned.pieces[0].chunk
    if chunk.rows is not None:
        return sum(piece.chunk.rows or 0 for piece in scanned.pieces if piece.chunk.path == chunk.path)
    return max(1, text_bytes([chunk.path]) // 300)


def _note(sampled: Mapping[str, int], sizes: Mapping[str, int], titles: list[str]) -> str:
    drawn, whole = (
        listed([f"{n:,} {_OF_SPLIT.get(s, s)}" for s, n in sampled.items() if (n == sizes[s]) is all_of_them])
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

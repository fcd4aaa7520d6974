"""Which models are right on which items, from predictions or from logs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from cuecard.data import Instances
from cuecard.data.examples import Examples
from cuecard.data.instances import COLUMNS
from cuecard.errors import InputError
from cuecard.probes.examples import shared_texts
from cuecard.probes.predictions import Predictions
from cuecard.probes.runs.logs import RunLog
from cuecard.stats.arrays import Bools, Ints
from cuecard.wording import listed, plural


@dataclass(frozen=True, eq=False)
class Runs:
    """Answers of many models to the same items.

    `correct` is items × models. `answers` has the number of the option that each model picked (-1: none), `gold` that
    of the key, and `options` what they are called, item by item; they are missing where logs say only what was right.
    `kinds` are codes of the units that items share, one array per kind.
    """

    models: tuple[str, ...]
    items: pl.Series
    correct: Bools
    answers: Ints | None = None
    gold: Ints | None = None
    options: tuple[tuple[str, ...], ...] = ()
    kinds: tuple[Ints, ...] = ()
    texts: pl.Series | None = None
    notes: tuple[str, ...] = ()
    source: str = "runs"

    def __len__(self) -> int:
        """Return the number of items."""
        return len(self.items)

    @property
    def sizes(self) -> Ints:
        """The number of options of every item."""
        return np.array([len(names) for names in self.options], dtype=np.int64)

    def instances(self) -> Instances:
        """Return the items as a dataset of open answers, for a card without another dataset."""
        gold = ["" for _ in self.items] if self.gold is None else self._keys()
        table = pl.DataFrame(
            {
                "example_id": self.items,
                "position": pl.zeros(len(self), dtype=pl.Int32, eager=True),
                "split": ["train"] * len(self),
                "premise": self.items if self.texts is None else self.texts,
                "hypothesis": gold,
                "label": pl.Series(["answer"] * len(self), dtype=pl.Enum(["answer"])),
            }
        )
        return Instances(table.select(COLUMNS), "open", ("answer",), self.source)

    def _keys(self) -> list[str]:
        assert self.gold is not None
        return [names[key] for names, key in zip(self.options, self.gold.tolist(), strict=True)]


def runs_of(predictions: Sequence[Predictions], examples: Examples) -> Runs:
    """Return the predictions of models for the same examples as runs."""
    labels = tuple(examples.instances.labels)
    grouped = examples.grouped
    return Runs(
        models=tuple(one.model for one in predictions),
        items=examples.ids.cast(pl.String),
        correct=np.stack([one.correct(examples) for one in predictions], axis=1),
        answers=np.stack([one.answers for one in predictions], axis=1),
        gold=examples.gold.astype(np.int64),
        options=tuple(tuple(names) for names in examples.choices.to_list())
        if grouped
        else (labels,) * len(examples),
        kinds=tuple(shared_texts(examples)),
    )


def _check_same_items(logs: Sequence[RunLog], tables: Sequence[pl.DataFrame]) -> None:
    """Refuse logs of other benchmarks whose ids are the same, such as the numbers of rows."""
    for log, table in zip(logs[1:], tables[1:], strict=True):
        for column in ("text", "key"):
            pairs = pl.DataFrame({"one": tables[0][column], "other": table[column]}).drop_nulls()
            same = int((pairs["one"] == pairs["other"]).sum())
            if log.benchmark != logs[0].benchmark and 2 * same < pairs.height:
                raise InputError(
                    f"{logs[0].source} and {log.source} have the same ids for different items: give logs of the same "
                    "benchmark."
                )


def joined(logs: Sequence[RunLog]) -> Runs:
    """Return the items that all logs are about, with what every model answered."""
    names = [log.model for log in logs]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(
            f"Several logs are of the model {listed([repr(name) for name in twice])}: name them with --runs NAME=FILE."
        )
    if len(logs) < 2:
        raise InputError(
            f"{logs[0].source} has the run of one model ({names[0]}); give those of at least two, with --runs FILE."
        )
    shared = logs[0].table.select("item")
    for log in logs[1:]:
        shared = shared.join(log.table.select("item"), on="item", how="semi", maintain_order="left")
    if not shared.height:
        raise InputError(
            f"{logs[0].source} and {logs[-1].source} share no item ({logs[0].table['item'][0]!r} there, "
            f"{logs[-1].table['item'][0]!r} here): give logs of the same benchmark."
        )
    tables = [shared.join(log.table, on="item", how="left", maintain_order="left") for log in logs]
    _check_same_items(logs, tables)
    everything = max(log.table.height for log in logs)
    notes = [note for log in logs for note in log.notes]
    if shared.height < everything:
        notes.append(
            f"{shared.height:,} of {plural(everything, 'item')} are in the logs of all {len(logs)} models; the others "
            "are not used."
        )
    return Runs(
        models=tuple(names),
        items=shared["item"],
        correct=np.stack([table["correct"].to_numpy() for table in tables], axis=1).astype(np.bool_),
        **_answers(tables),
        kinds=_units(tables[0]),
        texts=_texts(tables),
        notes=tuple(notes),
        source=logs[0].benchmark,
    )


def _texts(tables: Sequence[pl.DataFrame]) -> pl.Series | None:
    """Return the questions of the first log that has them."""
    return next((table["text"] for table in tables if not table["text"].null_count()), None)


def _units(table: pl.DataFrame) -> tuple[Ints, ...]:
    values = table["unit"]
    if values.null_count() or not 1 < values.n_unique() < len(values):
        return ()
    return (values.rank("dense").to_numpy().astype(np.int64) - 1,)


def _answers(tables: Sequence[pl.DataFrame]) -> dict[str, Any]:
    """Return answers, keys and options by number; nothing where a log lacks them, or a key is not the same in all."""
    if any(table["key"].null_count() or not table["answer"].count() for table in tables):
        return {}
    keys = [table["key"].str.strip_chars().str.to_lowercase() for table in tables]
    if any((other != keys[0]).any() for other in keys[1:]):
        return {}
    # An answer that is right is the key, however it is written.
    answers = [
        pl.select(
            pl.when(table["correct"])
            .then(key)
            .otherwise(table["answer"].str.strip_chars().str.to_lowercase())
        ).to_series()
        for table, key in zip(tables, keys, strict=True)
    ]
    columns = [column.to_list() for column in answers]
    options, codes, gold = [], np.full((len(keys[0]), len(tables)), -1, dtype=np.int64), []
    offered = tables[0]["choices"].to_list()
    for i, key in enumerate(keys[0].to_list()):
        here = [column[i] for column in columns]
        names = list(dict.fromkeys([key, *(name for name in here if name)]))
        places = {name: place for place, name in enumerate(names)}
        codes[i] = [places[name] if name else -1 for name in here]
        # Of free answers, one more is possible than was given.
        free = offered[i] is None
        missing = max((2 if free else len(offered[i])) - len(names), 1 if free else 0)
        options.append((*names, *("",) * missing))
        gold.append(0)
    wrong = np.array(gold)[:, None] == codes
    if (wrong & ~np.stack([table["correct"].to_numpy() for table in tables], axis=1)).any():
        return {}  # answers that are counted as wrong are the key: keys are written otherwise
    return {"answers": codes, "gold": np.array(gold, dtype=np.int64), "options": tuple(options)}

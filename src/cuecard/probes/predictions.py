"""What a model answered for every test example, whatever it was read from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from cuecard.data import Instances
from cuecard.data.examples import Examples
from cuecard.errors import InputError
from cuecard.probes.examples import UNANSWERED, check_test
from cuecard.probes.formats.called import called_predictions
from cuecard.probes.formats.harness import is_harness_log, read_harness_log
from cuecard.probes.formats.inspect_log import read_inspect_log
from cuecard.probes.formats.settling import Unmatched, settle
from cuecard.probes.formats.table import read_table_predictions, table_predictions
from cuecard.stats.arrays import Bools, Floats, Ints

#: What `read_predictions` takes: a file, a table in memory, or a function to call.
PredictionSource = str | Path | pl.DataFrame | Callable[..., Any]


@dataclass(frozen=True, eq=False)
class Predictions:
    """The answers of one model to the test examples, in their order.

    `answers` holds the code of a label, or the position of the choice picked; -1 where no answer could be
    read. `probabilities` has a column per possible answer, if the model gave them. `prompt` names the prompt that a
    language model was asked with; `read_as` tells which column of a table was taken for what; `partial_input` is
    what a model was restricted to ("hypothesis", "premise"), "" where it read everything or nobody says.
    """

    model: str
    answers: Ints
    probabilities: Floats | None = None
    source: str = ""
    notes: tuple[str, ...] = ()
    prompt: str = ""
    read_as: str = ""
    partial_input: str = ""

    @property
    def unanswered(self) -> int:
        """How many examples have no answer that could be read."""
        return int((self.answers == UNANSWERED).sum())

    def only(self, kept: Ints) -> Predictions:
        """Return the predictions for some of the test examples."""
        probabilities = None if self.probabilities is None else self.probabilities[kept]
        return replace(self, answers=self.answers[kept], probabilities=probabilities)

    def correct(self, examples: Examples) -> Bools:
        """Return which examples were answered rightly; no answer is not a right one."""
        right: Bools = self.answers == examples.gold
        return right


def read_predictions(
    source: PredictionSource,
    data: Instances,
    *,
    model: str | None = None,
    columns: Mapping[str, str] | None = None,
    labels: Mapping[str, str | None] | None = None,
) -> list[Predictions]:
    """Return the predictions that a source holds for the test split of a dataset, one entry per model.

    Args:
        source: a .csv, .tsv, .jsonl or .parquet file (or a polars frame) with a row per example; a
            `samples_*.jsonl` log of lm-evaluation-harness; a `.json` or `.eval` log of Inspect; a folder with a Hugging
            Face text classifier; or a function (see `called_predictions`).
        data: what `cuecard.load` returned.
        model: what to call the model; the log's own name or the file's by default.
        columns: which column is what where the names are not recognised: id, prediction, gold, model.
        labels: names of raw label values, such as ``{"0": "entailment"}``.
    """
    examples = check_test(data)
    parts = unmatched_predictions(source, data, columns or {})
    return [
        settled_predictions(part, name, data, examples, labels or {})
        for name, part in named_parts(parts, model)
    ]


def named_parts(parts: Sequence[Unmatched], model: str | None) -> list[tuple[str, Unmatched]]:
    """Return the parts of a source with their names; the user's own name is that of a source about one model."""
    return [(model if model and len(parts) == 1 else part.model, part) for part in parts]


def settled_predictions(
    part: Unmatched, name: str, data: Instances, examples: Examples, labels: Mapping[str, str | None]
) -> Predictions:
    """Return raw answers as predictions for the test examples."""
    settled = settle(part, data, examples, labels)
    return Predictions(
        name,
        settled.answers,
        settled.probabilities,
        part.source,
        settled.notes,
        prompt=part.prompt,
        read_as=part.read_as,
    )


def unmatched_predictions(
    source: PredictionSource, data: Instances, columns: Mapping[str, str]
) -> list[Unmatched]:
    """Return the raw answers that a source holds, one entry per model and prompt."""
    if isinstance(source, pl.DataFrame):
        return table_predictions(source, "the table of predictions", data, columns)
    if callable(source):
        return [called_predictions(source, check_test(data))]
    path = Path(source).expanduser()
    if path.is_dir():
        from cuecard.probes.formats.pipeline import pipeline_predictions

        return [pipeline_predictions(path, check_test(data))]
    if not path.exists():
        raise InputError(f"{path} does not exist; give a file of predictions.")
    if path.suffix in (".json", ".eval"):
        return [read_inspect_log(path, data)]
    if is_harness_log(path):
        return [read_harness_log(path, data)]
    return read_table_predictions(path, data, columns)


def distinctly_named(predictions: Sequence[Predictions]) -> list[Predictions]:
    """Return the predictions with a number after names that several share, so that tables tell them apart."""
    total = Counter(p.model for p in predictions)
    seen: Counter[str] = Counter()
    named = []
    for part in predictions:
        seen[part.model] += 1
        name = f"{part.model} ({seen[part.model]})" if total[part.model] > 1 else part.model
        named.append(replace(part, model=name))
    return named

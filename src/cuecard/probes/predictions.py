"""What models answered for the test examples, whatever it was read from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl

from cuecard.analysis import About, Need
from cuecard.data import LABELLED_TASKS, Instances, Task
from cuecard.data.examples import Examples
from cuecard.errors import InputError
from cuecard.probes.examples import UNANSWERED, check_test, only_test
from cuecard.probes.formats.callables import called_predictions, pipeline_predictions
from cuecard.probes.formats.logs import is_harness_log, read_harness_log, read_inspect_log
from cuecard.probes.formats.matching import RawPredictions, align
from cuecard.probes.formats.table import read_table_predictions, table_predictions
from cuecard.stats.arrays import Bools, Floats, Ints
from cuecard.wording import percent, plural

#: What `read_predictions` takes: a file, a table in memory, or a function to call.
PredictionSource = str | Path | pl.DataFrame | Callable[..., Any]


class Probe:
    """What probes have in common, unless they say otherwise: they apply to every task and are about models."""

    tasks: ClassVar[frozenset[Task]] = frozenset(LABELLED_TASKS)
    needs: ClassVar[frozenset[Need]] = frozenset({"test", "predictions", "cues"})
    about: ClassVar[About] = "models"


@dataclass(frozen=True, eq=False)
class Predictions:
    """The answers of one model to the test examples, in their order.

    `answers` holds the code of a label, or the position of the choice picked; -1 where no answer could be
    read. `probabilities` has a column per possible answer, if the model gave them. `prompt` names the prompt that a
    language model was asked with; `read_as` tells which column of a table was taken for what; `partial_input` is
    what a model was restricted to ("hypothesis", "choices"), "" where it read everything or nobody says. `order` is the
    number of the order in which options were shown, and `shown` has for every example the position of what stood in
    each place (-1: nothing). `asked` is false of examples that the model was not asked.
    """

    model: str
    answers: Ints
    probabilities: Floats | None = None
    source: str = ""
    notes: tuple[str, ...] = ()
    prompt: str = ""
    read_as: str = ""
    partial_input: str = ""
    order: int = 0
    shown: Ints | None = None
    asked: Bools | None = None

    @property
    def unanswered(self) -> int:
        """How many examples have no answer that could be read."""
        return int((self.answers == UNANSWERED).sum())

    def only(self, kept: Ints) -> Predictions:
        """Return the predictions for some of the test examples."""
        return replace(
            self,
            answers=self.answers[kept],
            probabilities=None if self.probabilities is None else self.probabilities[kept],
            shown=None if self.shown is None else self.shown[kept],
            asked=None if self.asked is None else self.asked[kept],
        )

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
    return [
        _aligned(raw, data, examples, labels) for raw in raw_predictions(source, data, columns or {}, model)
    ]


def raw_predictions(
    source: PredictionSource, data: Instances, columns: Mapping[str, str], model: str | None
) -> list[RawPredictions]:
    """Return the raw answers that a source holds, one entry per model and prompt.

    The user's own name of a model is that of a source about one model.
    """
    parts = _of_source(source, data, columns)
    # Answers in several orders are those of one model.
    one = len({(part.model, part.prompt, part.partial_input) for part in parts}) == 1
    if not model or not one or (len(parts) > 1 and any(part.shown is None for part in parts)):
        return parts
    return [replace(part, model=model) for part in parts]


def _of_source(source: PredictionSource, data: Instances, columns: Mapping[str, str]) -> list[RawPredictions]:
    if isinstance(source, pl.DataFrame):
        return table_predictions(source, "the table of predictions", data, columns)
    if callable(source):
        return [called_predictions(source, check_test(data))]
    path = Path(source).expanduser()
    if path.is_dir():
        return [pipeline_predictions(path, check_test(data))]
    if not path.exists():
        raise InputError(f"{path} does not exist; give a file of predictions.")
    if path.suffix in (".json", ".eval"):
        return read_inspect_log(path, data)
    if is_harness_log(path):
        return [read_harness_log(path, data)]
    return read_table_predictions(path, data, columns)


def _aligned(
    raw: RawPredictions, data: Instances, examples: Examples, labels: Mapping[str, str | None] | None
) -> Predictions:
    """Return raw answers as predictions for the test examples."""
    answers, probabilities, notes, rows = align(raw, data, examples, labels or {})
    return Predictions(
        raw.model,
        answers,
        probabilities,
        raw.source,
        notes,
        prompt=raw.prompt,
        read_as=raw.read_as,
        partial_input=raw.partial_input,
        order=raw.order,
        shown=None if raw.shown is None else raw.shown[rows],
        asked=None if raw.unasked is None else ~raw.unasked[rows],
    )


def distinctly_named(predictions: Sequence[Predictions]) -> list[Predictions]:
    """Return the predictions with a number after names that several share, so that tables tell them apart."""
    names = distinct_names([part.model for part in predictions])
    return [replace(part, model=name) for part, name in zip(predictions, names, strict=True)]


def distinct_names(names: Sequence[str]) -> list[str]:
    """Return names with a number after those that occur several times."""
    total, seen = Counter(names), Counter[str]()
    told_apart = []
    for name in names:
        seen[name] += 1
        told_apart.append(f"{name} ({seen[name]})" if total[name] > 1 else name)
    return told_apart


def read_many_predictions(
    sources: Sequence[tuple[str | None, PredictionSource | Predictions]],
    data: Instances,
    *,
    columns: Mapping[str, str] | None = None,
    labels: Mapping[str, str | None] | None = None,
    surplus_ids: bool = False,
) -> tuple[Instances, list[Predictions]]:
    """Return the predictions of several sources, and the data with the test examples that all of them are about.

    Answers to prompts may be about a part of the test split: those that were asked. Anything else must be about all
    of it, and is narrowed to that part.

    Args:
        sources: the name of the model, if it has one, and what `read_predictions` takes, or `Predictions`.
        data: what `cuecard.load` returned.
        columns: as in `read_predictions`.
        labels: as in `read_predictions`.
        surplus_ids: leave out predictions whose id no test example has, instead of raising an error.
    """
    examples = check_test(data)
    read: list[RawPredictions | Predictions] = []
    for name, source in sources:
        if isinstance(source, Predictions):
            read.append(source)
            continue
        raw = raw_predictions(source, data, columns or {}, name)
        read += [_without_surplus(part, examples) for part in raw] if surplus_ids else raw
    prompted = [part for part in read if isinstance(part, RawPredictions) and part.prompt]
    kept = _asked_about(examples, [part.ids for part in prompted if part.ids is not None])
    asked_data = data if kept is None else only_test(data, examples, kept)
    asked_examples = examples if kept is None else check_test(asked_data)
    models = []
    for part in read:
        if isinstance(part, RawPredictions) and part.prompt and part.ids is not None:
            models.append(_aligned(part.about(asked_examples.ids), asked_data, asked_examples, labels))
            continue
        model = part if isinstance(part, Predictions) else _aligned(part, data, examples, labels)
        models.append(model if kept is None else model.only(kept))
    return asked_data, models


def _without_surplus(raw: RawPredictions, examples: Examples) -> RawPredictions:
    """Return the predictions for test examples, with a note on how many others there are."""
    if raw.ids is None:
        return raw
    kept = raw.about(examples.ids)
    surplus = raw.height - kept.height
    note = f"{plural(surplus, 'prediction')} with an id that no test example has are not used."
    return replace(kept, notes=(*kept.notes, note)) if surplus else raw


def _asked_about(examples: Examples, ids_by_model: Sequence[pl.Series]) -> Ints | None:
    """Return the test examples that every model was asked about; None if these are all of them."""
    ids = examples.ids.cast(pl.String)
    everywhere = np.ones(len(examples), dtype=np.bool_)
    for of_model in ids_by_model:
        everywhere &= ids.is_in(of_model.cast(pl.String).implode()).to_numpy()
    if everywhere.all():
        return None
    if not everywhere.any():
        raise InputError(
            "The files of answers share no test example: ask every model about the same examples, with the same "
            "--stress, --sample and --seed."
        )
    return np.flatnonzero(everywhere)


#: Fewer examples than this cannot be halved.
FEWEST_HALVED = 20
#: What sentences call the half that the cues come from: it is no training set of the models.
CUE_HALF = "the half that the cues come from"


def read_one_file(
    sources: Sequence[tuple[str | None, PredictionSource | Predictions]],
    data: Instances,
    *,
    columns: Mapping[str, str] | None = None,
    labels: Mapping[str, str | None] | None = None,
    surplus_ids: bool = False,
    seed: int = 0,
) -> tuple[Instances, list[Predictions], str]:
    """Return a dataset of one file in two halves, the predictions for the second, and a note that says so.

    Predictions are about all examples of the file. Cues that were chosen on the examples on which models are probed
    would look more reliable than they are.
    """
    whole = as_split(data, "test")
    part, models = read_many_predictions(
        sources, whole, columns=columns, labels=labels, surplus_ids=surplus_ids
    )
    n = len(check_test(part))
    if n < FEWEST_HALVED:
        raise InputError(
            f"{data.name} has no training set, and {plural(n, 'example')} are too few to choose cues on one half of "
            f"them and probe models on the other: needs at least {FEWEST_HALVED}, or a training set before --test."
        )
    probed = np.zeros(n, dtype=np.bool_)
    probed[np.random.default_rng(seed).permutation(n)[: n // 2]] = True
    in_test = probed[part.example_codes]
    table = part.table.with_columns(
        split=pl.Series(np.where(in_test, "test", "train")).cast(part.table.schema["split"])
    )
    halves = replace(
        part, table=pl.concat([table.filter(~pl.Series(in_test)), table.filter(pl.Series(in_test))])
    )
    note = (
        f"{data.name} has no training set: the cues are those of one half of its examples, drawn at random, and "
        f"models are probed on the other {plural(n // 2, 'example')}."
    )
    return halves, [model.only(np.flatnonzero(probed)) for model in models], note


def as_split(data: Instances, name: str) -> Instances:
    """Return all rows as those of one split."""
    kind = data.table.schema["split"]
    return replace(data, table=data.table.with_columns(split=pl.lit(name).cast(kind)))


#: Copies stay while they add at most this much to the variance of a mean, Σm² / n − 1 for examples that occur m times.
TOLERATED = 0.1


def distinct_examples(examples: Examples) -> tuple[Ints, Ints]:
    """Return the first of all examples with the same texts and the same right answer, and how many each stands for.

    Near copies count as copies, unless their right answers differ, as in contrast sets. Where the data names a column
    of clusters, copies are still those of the texts.
    """
    instances = replace(examples.instances, cluster=None)
    first = examples.row_numbers[examples.first_rows[:-1]]
    unit = instances.units("example")[first]
    right = examples.gold
    if examples.grouped:
        # The place of the right choice may differ between copies, its text does not.
        right = instances.units("hypothesis")[examples.row_numbers[examples.right_rows]]
    _, kept, times = np.unique(np.column_stack([unit, right]), axis=0, return_index=True, return_counts=True)
    order = np.argsort(kept)
    return kept[order], times[order]


@dataclass(frozen=True, eq=False)
class DistinctAnswers:
    """Data with one test example of all that are copies, and a note where that leaves any out."""

    data: Instances
    kept: Ints | None = None
    note: str = ""

    def of(self, predictions: Predictions) -> Predictions:
        """Return the predictions for the test examples that are left."""
        return predictions if self.kept is None else predictions.only(self.kept)


def counted_once(
    data: Instances, predictions: Sequence[Predictions]
) -> tuple[Instances, list[Predictions], str]:
    """Return data and predictions with one test example of all that are copies, and a note where that leaves any out.

    A model answers copies alike, so that tests and intervals which take examples as independent would be certain of
    what is one answer, seen often.
    """
    distinct = distinct_answers(data)
    return distinct.data, [distinct.of(model) for model in predictions], distinct.note


def distinct_answers(data: Instances) -> DistinctAnswers:
    """Return the data as `counted_once` does, for predictions to be narrowed to."""
    examples = check_test(data)
    kept, times = distinct_examples(examples)
    n = len(examples)
    if (times**2).sum() <= (1 + TOLERATED) * n:
        return DistinctAnswers(data)
    note = (
        f"{plural(n, 'test example')} are {plural(len(kept), 'distinct one')}; copies with the same right answer count "
        f"once, which leaves out {percent(1 - len(kept) / n)}."
    )
    return DistinctAnswers(only_test(data, examples, kept), kept, note)

"""Every sentence paired with itself, and the scores of these pairs: from a file, or a built-in model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data import Instances
from cuecard.data.reading.files import read_file
from cuecard.errors import InputError, UsageError
from cuecard.features.pair_graph import sentence_codes
from cuecard.probes.trained import LINEAR_MODELS, linear_predictions
from cuecard.registry import unknown_name
from cuecard.wording import plural

#: Sentences that occur at least this often share the last box.
LAST_FREQUENCY = 10

#: Labels that mean that the two sentences match, lower case.
MATCHING = frozenset(
    (
        *("entailment", "entails", "duplicate", "is_duplicate", "paraphrase", "equivalent"),
        *("same", "similar", "match", "matching", "yes", "true", "1"),
    )
)
SCORES = ("score", "probability", "p_match")
PREFIXES = ("p_", "prob_", "probability_")
PREDICTIONS = ("prediction", "predicted", "pred", "predicted_label")
IDS = ("example_id", "id")

#: A built-in model is asked about at most this many sentences, rare and frequent ones alike.
MOST_SENTENCES = 20_000


def identical_pairs(data: Instances, *, sample: int | None = None, seed: int = 0) -> pl.DataFrame:
    """Return every distinct sentence of the training set paired with itself, and how often it occurs there.

    The frame has `example_id`, `premise`, `hypothesis` and `frequency`; written to a file, any model can score it. With
    `sample`, at most this many sentences are drawn, rare and frequent ones alike; a sentence has the same id in every
    sample.
    """
    table = data.train.table
    both = pl.concat([table["premise"], table["hypothesis"].rename("premise")])
    first, second, n = sentence_codes(table["premise"], table["hypothesis"])
    codes = np.concatenate([first, second])
    where = np.zeros(n, dtype=np.int64)
    where[codes] = np.arange(len(codes))
    frequency = np.bincount(codes, minlength=n)
    texts = both.gather(where)
    kept = np.flatnonzero((texts.str.strip_chars() != "").fill_null(False).to_numpy())
    if sample is not None and sample < len(kept):
        kept = _spread_sample(kept, np.minimum(frequency[kept], LAST_FREQUENCY), sample, seed)
    chosen = texts.gather(kept)
    return pl.DataFrame(
        {
            "example_id": [f"identical-{i}" for i in kept + 1],
            "premise": chosen,
            "hypothesis": chosen,
            "frequency": frequency[kept],
        }
    )


def _spread_sample(
    rows: npt.NDArray[np.int64], classes: npt.NDArray[np.int64], size: int, seed: int
) -> npt.NDArray[np.int64]:
    """Return a seeded sample that takes from the classes in turn, so that rare classes are not lost."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(rows))
    turn = np.empty(len(rows), dtype=np.int64)
    for value in np.unique(classes):
        members = order[classes[order] == value]
        turn[members] = np.arange(len(members))
    return np.sort(rows[np.lexsort((order, turn))[:size]])


def matching_label(data: Instances, wanted: str | None = None) -> str:
    """Return the label that says that the two sentences match: the wanted one, or the one known by its name."""
    if wanted is not None:
        if wanted not in data.labels:
            raise unknown_name("label", wanted, list(data.labels))
        return wanted
    matching = [label for label in data.labels if label.lower() in MATCHING]
    if len(matching) != 1:
        raise UsageError(
            f"Which label means that two sentences match? Name it with --match; the labels are "
            f"{', '.join(data.labels)}."
        )
    return matching[0]


def check_source(text: str) -> None:
    """Raise if `[NAME=]FILE` is neither a file nor the name of a built-in model."""
    _, source = named_scores(text)
    if source not in LINEAR_MODELS and not Path(source).is_file():
        raise InputError(
            f"{source} does not exist; give a file with the scores of identical pairs "
            f"(`cuecard stress TRAIN --kind identical-pairs` writes the pairs) or a model: {', '.join(LINEAR_MODELS)}."
        )


def named_scores(text: str) -> tuple[str | None, str]:
    """Return name and source of `NAME=SOURCE`; a file whose own name has an equals sign is a source too."""
    name, equals, source = text.partition("=")
    if not equals or Path(text).exists():
        return None, text
    return name.strip() or None, source


def identical_scores(
    data: Instances, scored_by: str, *, match: str | None = None, seed: int = 0
) -> pl.DataFrame:
    """Return `model`, `example_id`, `frequency` and `score` of the pairs that a source is about.

    Args:
        data: the dataset whose train sentences were paired.
        scored_by: `[NAME=]FILE`, or a built-in model to train.
        match: the label that says that two sentences match; known by its name by default.
        seed: seed of what is drawn at random.
    """
    name, source = named_scores(scored_by)
    if source in LINEAR_MODELS:
        return _asked(data, source, name or source, matching_label(data, match), seed)
    frame = read_file(Path(source)).frame
    scored = frame.with_columns(score=_scores(frame, source, data, match))
    models = frame["model"].cast(pl.String) if "model" in frame.columns and name is None else None
    scored = scored.with_columns(
        model=pl.lit(name or Path(source).stem) if models is None else models
    ).with_columns(pl.col("model").fill_null("model"))
    return _with_frequency(scored, source, data).select("model", "example_id", "frequency", "score")


def _asked(data: Instances, model: str, name: str, match: str, seed: int) -> pl.DataFrame:
    """Return the scores of a built-in model, trained on train."""
    pairs = identical_pairs(data, sample=MOST_SENTENCES, seed=seed)
    train = data.train.table.select(pl.col("split").cast(pl.String), pl.exclude("split"))
    table = pairs.select(
        "example_id", "premise", "hypothesis",
        split=pl.lit("test"), position=pl.lit(0), label=pl.lit(match),
    )  # fmt: skip
    columns = ["example_id", "position", "split", "premise", "hypothesis", "label"]
    kinds = {name: train.schema[name] for name in columns}
    both = pl.concat([train.select(columns), table.select(columns).cast(kinds)])  # type: ignore[arg-type]
    predictions = linear_predictions(replace(data, table=both), model, seed=seed)
    assert predictions.probabilities is not None
    score = predictions.probabilities[:, data.labels.index(match)]
    return pairs.select(pl.lit(name).alias("model"), "example_id", "frequency", pl.Series("score", score))


def _scores(frame: pl.DataFrame, source: str, data: Instances, match: str | None) -> pl.Series:
    """Return the probability that a pair matches: a score, the label's probability, or whether it is predicted."""
    score = next((name for name in SCORES if name in frame.columns), None)
    if score is None and any(column.startswith(PREFIXES) for column in frame.columns):
        label = matching_label(data, match)
        score = next((prefix + label for prefix in PREFIXES if prefix + label in frame.columns), None)
    if score is not None:
        return _checked(frame[score], score, source)
    predicted = next((name for name in PREDICTIONS if name in frame.columns), None)
    if predicted is None:
        raise InputError(
            f"{source} has no scores among {', '.join(frame.columns)}; give the probability that the two match in a "
            "column `score` or `p_LABEL`, or the label in a column `prediction`."
        )
    label = matching_label(data, match)
    answers = frame[predicted].cast(pl.String).str.strip_chars()
    unknown = answers.filter(~answers.is_in(list(data.labels)) | answers.is_null())
    if len(unknown):
        raise InputError(
            f"{source}: {plural(len(unknown), 'prediction')} such as {unknown[0]!r} "
            f"{'is not a label' if len(unknown) == 1 else 'are not labels'} of the data ({', '.join(data.labels)})."
        )
    return (answers == label).cast(pl.Float64)


def _checked(values: pl.Series, name: str, source: str) -> pl.Series:
    numbers = values.cast(pl.Float64, strict=False)
    wrong = numbers.is_null() | ~numbers.is_between(0, 1).fill_null(False)
    if wrong.any():
        row = int(wrong.arg_max() or 0)
        value = "nothing" if values[row] is None else values[row]
        raise InputError(
            f"{source}: row {row + 1:,} has {value} as {name} ({plural(int(wrong.sum()), 'row')} in all); "
            "a score is a probability from 0 to 1."
        )
    return numbers


def _with_frequency(scored: pl.DataFrame, source: str, data: Instances) -> pl.DataFrame:
    """Return the scores beside how often each sentence occurs in train, matched by id or by the sentence itself."""
    pairs = identical_pairs(data)
    key = next((name for name in IDS if name in scored.columns), None)
    if key is None and "premise" not in scored.columns:
        raise InputError(
            f"{source} does not say which pair a score is about: keep the column `example_id` or `premise` of the "
            "pairs that were written."
        )
    rows = scored.drop("frequency", strict=False)
    on = "premise"
    if key is not None:
        on, rows = "example_id", rows.with_columns(example_id=pl.col(key).cast(pl.String))
    written = pairs.select({"example_id", on, "frequency"}).rename({} if key else {"example_id": "found_id"})
    joined = rows.join(written, on=on, how="left", maintain_order="left")
    missing = joined.filter(pl.col("frequency").is_null())
    if missing.height:
        raise InputError(
            f"{source}: {plural(missing.height, 'row')} of {joined.height:,} are about no sentence of train (such as "
            f"{missing[on][0]!r}); write the pairs again with `cuecard stress TRAIN --kind identical-pairs`."
        )
    joined = joined if key else joined.drop("example_id", strict=False).rename({"found_id": "example_id"})
    twice = joined.select("model", "example_id").is_duplicated()
    if twice.any():
        raise InputError(
            f"{source}: {plural(int(twice.sum()), 'row')} are about a pair that has several (such as "
            f"{joined['example_id'].filter(twice)[0]!r}); keep one per pair, or name models in a column `model`."
        )
    return joined

"""Does a model's score of a sentence paired with itself rise with how often the sentence occurs? (Selection)"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.analysis import Finding, Measure, MeasureKind, Need, Result, Row, Severity, interval
from cuecard.data import Instances, Task
from cuecard.data.reading.files import read_file
from cuecard.errors import InputError, UsageError
from cuecard.features.pair_graph import sentence_codes
from cuecard.probes.model_views import identical_pairs_view
from cuecard.probes.predictions import Probe
from cuecard.probes.trained import LINEAR_MODELS, linear_predictions
from cuecard.registry import unknown_name
from cuecard.wording import percent, plural

#: Sentences that occur at least this often share the last box.
LAST_FREQUENCY = 10


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


def box_statistics(scores: pl.DataFrame, *, last: int = LAST_FREQUENCY) -> pl.DataFrame:
    """Return Tukey's box of the scores for every model and frequency (Figures 5 and 6).

    Whiskers end at the outermost scores within 1.5 interquartile ranges of the box; those beyond are counted as
    outliers. `frequency` = `last` means so often or more. Also the share of scores of at least one half.

    Args:
        scores: columns `frequency` and `score`, and `model` where there are several.
        last: frequencies from here on share a box.
    """
    missing = [c for c in ("frequency", "score") if c not in scores.columns]
    if missing:
        raise InputError(
            f"Scores of identical pairs need the columns frequency and score; {', '.join(missing)} is missing. "
            f"There are: {', '.join(scores.columns)}."
        )
    if scores["score"].null_count() or scores["score"].is_nan().any():
        raise InputError("Some identical pairs have no score; score every pair that was written.")
    if "model" not in scores.columns:
        scores = scores.with_columns(model=pl.lit("model"))
    keys = ["model", "frequency"]
    scores = scores.with_columns(pl.col("frequency").clip(upper_bound=last))
    quartiles = scores.group_by(keys, maintain_order=True).agg(
        n=pl.len(),
        q1=pl.col("score").quantile(0.25, "linear"),
        median=pl.col("score").median(),
        q3=pl.col("score").quantile(0.75, "linear"),
        mean=pl.col("score").mean(),
        matched=(pl.col("score") >= 0.5).mean(),
    )
    fence = 1.5 * (pl.col("q3") - pl.col("q1"))
    inside = pl.col("score").is_between(pl.col("q1") - fence, pl.col("q3") + fence)
    whiskers = (
        scores.join(quartiles, on=keys)
        .group_by(keys)
        .agg(
            low=pl.col("score").filter(inside).min(),
            high=pl.col("score").filter(inside).max(),
            outliers=(~inside).sum(),
        )
    )
    order = {name: i for i, name in enumerate(scores["model"].unique(maintain_order=True))}
    return quartiles.join(whiskers, on=keys).sort(pl.col("model").replace_strict(order), "frequency")


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


ALPHA = 0.05
#: Means of fewer sentences than this are not compared.
FEWEST_COMPARED = 5
#: Frequent sentences whose mean score is compared with that of the rarest.
FEWEST_FREQUENT = 20

NAME = "identical_pairs"
MATCHED = MeasureKind(
    "matched.{model}", "identical pairs that {model} predicts as matching", "share", "lower"
)
RISE = MeasureKind("rise.{model}", "score of {model} for frequent minus rare sentences", "points")


def identical_pair_measures(summary: Row) -> list[Measure]:
    """Return how many identical pairs every model matches, and how its score rises with frequency."""
    measures = []
    for model, part in summary["models"].items():
        measures.append(MATCHED.of(NAME, part["matched"], n=part["n"], model=model))
        if part["rise"] is not None:
            rise = interval(part, "rise", "rise_") | {"chance": 0.0, "n": part["n"]}
            measures.append(RISE.of(NAME, **rise, model=model))
    return measures


#: How far the mean score must differ between the rarest sentences and the most frequent ones.
NOTABLE_RISE, LARGE_RISE = 0.05, 0.2


@dataclass(frozen=True)
class IdenticalPairTest(Probe):
    """Scores of sentences paired with themselves, as Tukey boxes by frequency, one series per model.

    Every such pair matches, so a model that reads gives all of them a high score, frequent or not.

    Args:
        match: the label that says that two sentences match; known by its name by default.
        last: sentences that occur at least so often share the last box.
        seed: seed of what is drawn at random.
    """

    name: ClassVar[str] = NAME
    title: ClassVar[str] = "Identical pairs"
    view = staticmethod(identical_pairs_view)
    tasks: ClassVar[frozenset[Task]] = frozenset({"pair"})
    needs: ClassVar[frozenset[Need]] = frozenset({"identical_pairs"})
    measures: ClassVar[tuple[MeasureKind, ...]] = (MATCHED, RISE)

    match: str | None = None
    last: int = LAST_FREQUENCY
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the number at once, so that a typo costs no time."""
        if self.last < 2:
            raise UsageError(f"identical_pairs.last must be at least 2, not {self.last}.")

    def run(self, data: Instances, identical_pairs: Sequence[str]) -> Result:
        """Return the boxes, and how every model's score goes with frequency.

        `identical_pairs` are `[NAME=]FILE` with the scores of a model, or the name of a built-in model to train.
        """
        scores = pl.concat(
            [identical_scores(data, source, match=self.match, seed=self.seed) for source in identical_pairs]
        )
        if scores.select("model", "example_id").is_duplicated().any():
            raise UsageError(
                "Two files of identical pairs have the same name: use --identical-pairs NAME=FILE."
            )
        boxes = box_statistics(scores, last=self.last)
        models = {str(name): _trend(mine) for (name,), mine in scores.group_by("model", maintain_order=True)}
        summary = {"models": models, "last": self.last, "pairs": scores["example_id"].n_unique()}
        tables = {NAME: boxes, "identical_pair_scores": scores}
        findings = [_finding(name, summary_of_scores) for name, summary_of_scores in models.items()]
        return Result(summary, tables, findings, measures=identical_pair_measures(summary))


def _trend(scores: pl.DataFrame) -> Row:
    """Return how the score goes with frequency: Spearman's ρ, and the means of rare and of frequent sentences."""
    from scipy.stats import spearmanr, ttest_ind

    frequency, score = scores["frequency"].to_numpy(), scores["score"].to_numpy()
    trend: dict[str, object] = {
        "n": scores.height,
        "mean": float(score.mean()),
        "matched": float((score >= 0.5).mean()),
        "rho": None,
        "p_value": None,
        "rise": None,
    }
    levels = np.unique(frequency)
    if len(levels) < 2:
        return trend
    if len(np.unique(score)) > 1:
        correlation = spearmanr(frequency, score)
        trend |= {"rho": float(correlation.statistic), "p_value": float(correlation.pvalue)}
    # The most frequent sentences are few: as many levels are joined as give a mean that can be relied on.
    start = next((x for x in levels[:0:-1] if (frequency >= x).sum() >= FEWEST_FREQUENT), levels[1])
    rare, frequent = score[frequency == levels[0]], score[frequency >= start]
    if min(len(rare), len(frequent)) < FEWEST_COMPARED:
        return trend
    rise = float(frequent.mean() - rare.mean())
    low, high = rise, rise
    if len(np.unique(frequent)) > 1 or len(np.unique(rare)) > 1:
        with warnings.catch_warnings():  # scores of one group that hardly differ are no reason to warn
            warnings.simplefilter("ignore", RuntimeWarning)
            low, high = ttest_ind(frequent, rare, equal_var=False).confidence_interval(0.95)  # Welch
    return trend | {
        "rarest": {"frequency": int(levels[0]), "n": len(rare), "mean": float(rare.mean())},
        "most_frequent": {"from": int(start), "n": len(frequent), "mean": float(frequent.mean())},
        "rise": rise,
        "rise_low": float(low),
        "rise_high": float(high),
    }


def _finding(model: str, scores: Row) -> Finding:
    pairs = f"{plural(scores['n'], 'sentence')} paired with themselves (all match)"
    if scores["rise"] is None:
        title = f"{model} on identical pairs"
        text = (
            f"On {pairs}, {model} gives {percent(scores['matched'])} a score of at least 0.5. Too few sentences are "
            "frequent to compare them with rare ones."
        )
        return Finding(NAME, "info", title, text, n=scores["n"], key=model)
    rare, frequent, rise = scores["rarest"], scores["most_frequent"], scores["rise"]
    severity: Severity = "info"
    goes_with = scores["p_value"] is not None and scores["p_value"] <= ALPHA
    title = f"{model} scores rare and frequent identical pairs {'nearly ' if goes_with else ''}equally"
    least = max(scores["rise_low"], -scores["rise_high"])
    if goes_with and least > 0 and abs(rise) >= NOTABLE_RISE:
        severity = "medium" if abs(rise) >= LARGE_RISE else "low"
        title = f"{model} scores identical pairs of {'frequent' if rise > 0 else 'rare'} sentences higher"
    trend = "" if scores["rho"] is None else f"; Spearman's ρ {scores['rho']:+z.2f}"
    text = (
        f"On {pairs}, the mean score of {model} is {rare['mean']:z.2f} for those that occur "
        f"{_times(rare['frequency'])} and {frequent['mean']:z.2f} for the {frequent['n']:,} that occur at least "
        f"{_times(frequent['from'])}: a difference of {_signed(rise)} (95 % CI {_signed(scores['rise_low'])} to "
        f"{_signed(scores['rise_high'])}{trend})."
    )
    return Finding(NAME, severity, title, text, n=scores["n"], key=model)


def _signed(difference: float) -> str:
    """Return a difference with its sign; one that rounds to nothing has none."""
    rounded = round(difference, 2)
    return f"{rounded:+z.2f}" if rounded else "0.00"


def _times(frequency: int) -> str:
    return "once" if frequency == 1 else f"{frequency} times"

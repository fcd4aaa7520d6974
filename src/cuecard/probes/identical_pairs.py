"""Does a model's score of a sentence paired with itself rise with how often the sentence occurs? (Selection)"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from cuecard.analysis import Finding, Measure, MeasureKind, Need, Result, Row, Severity, interval
from cuecard.data import Instances, Task
from cuecard.errors import InputError, UsageError
from cuecard.probes.identical_pair_scores import LAST_FREQUENCY, identical_scores
from cuecard.probes.model_views import identical_pairs_view
from cuecard.probes.predictions import Probe
from cuecard.wording import percent, plural


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

"""Does a model's score of a sentence paired with itself rise with how often the sentence occurs? (Selection)"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from cuecard.analysis import About, Finding, Measure, MeasureKind, Need, Result, Severity
from cuecard.data import Instances, Task
from cuecard.errors import UsageError
from cuecard.probes.identical_pairs.pairs import LAST_FREQUENCY, box_statistics
from cuecard.probes.identical_pairs.scores import identical_scores
from cuecard.wording import percent, plural

ALPHA = 0.05
#: Means of fewer sentences than this are not compared.
FEWEST_COMPARED = 5
#: Frequent sentences whose mean score is compared with that of the rarest.
FEWEST_FREQUENT = 20

MATCHED = MeasureKind(
    "matched.{model}", "identical pairs that {model} predicts as matching", "share", "lower"
)
RISE = MeasureKind("rise.{model}", "score of {model} for frequent minus rare sentences", "points")


def identical_pair_measures(summary: Mapping[str, Any]) -> list[Measure]:
    """Return how many identical pairs every model matches, and how its score rises with frequency."""
    measures = []
    for model, part in summary["models"].items():
        measures.append(MATCHED.of("identical_pairs", part["matched"], n=part["n"], model=model))
        if part["rise"] is not None:
            ends = {"low": part["rise_low"], "high": part["rise_high"], "n": part["n"]}
            measures.append(RISE.of("identical_pairs", part["rise"], **ends, chance=0.0, model=model))
    return measures


#: How far the mean score must differ between the rarest sentences and the most frequent ones.
NOTABLE_RISE, LARGE_RISE = 0.05, 0.2


@dataclass(frozen=True)
class IdenticalPairTest:
    """Scores of sentences paired with themselves, as Tukey boxes by frequency, one series per model.

    Every such pair matches, so a model that reads gives all of them a high score, frequent or not.

    Args:
        match: the label that says that two sentences match; known by its name by default.
        last: sentences that occur at least so often share the last box.
        seed: seed of what is drawn at random.
    """

    name: ClassVar[str] = "identical_pairs"
    title: ClassVar[str] = "Identical pairs"
    tasks: ClassVar[frozenset[Task]] = frozenset({"pair"})
    needs: ClassVar[frozenset[Need]] = frozenset({"identical_pairs"})
    measures: ClassVar[tuple[MeasureKind, ...]] = (MATCHED, RISE)
    about: ClassVar[About] = "models"
    measured = staticmethod(identical_pair_measures)

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
        tables = {"identical_pairs": boxes, "identical_pair_scores": scores}
        findings = [_finding(name, summary_of_scores) for name, summary_of_scores in models.items()]
        return Result(summary, tables, findings, measures=identical_pair_measures(summary))


def _trend(scores: pl.DataFrame) -> dict[str, Any]:
    """Return how the score goes with frequency: Spearman's ρ, and the means of rare and of frequent sentences."""
    from scipy.stats import spearmanr, ttest_ind

    frequency, score = scores["frequency"].to_numpy(), scores["score"].to_numpy()
    trend: dict[str, Any] = {
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


def _finding(model: str, scores: dict[str, Any]) -> Finding:
    pairs = f"{plural(scores['n'], 'sentence')} paired with themselves (all match)"
    if scores["rise"] is None:
        title = f"{model} on identical pairs"
        text = (
            f"On {pairs}, {model} gives {percent(scores['matched'])} a score of at least 0.5. Too few sentences are "
            "frequent to compare them with rare ones."
        )
        return Finding("identical_pairs", "info", title, text, n=scores["n"], key=model)
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
    return Finding("identical_pairs", severity, title, text, n=scores["n"], key=model)


def _signed(difference: float) -> str:
    """Return a difference with its sign; one that rounds to nothing has none."""
    rounded = round(difference, 2)
    return f"{rounded:+z.2f}" if rounded else "0.00"


def _times(frequency: int) -> str:
    return "once" if frequency == 1 else f"{frequency} times"

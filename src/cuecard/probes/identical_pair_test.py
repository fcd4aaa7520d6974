"""Does a model's score of a sentence paired with itself rise with how often the sentence occurs? (Selection)"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from cuecard.analysis import Finding, Result, Severity, Skip
from cuecard.data import Instances, Task
from cuecard.errors import UsageError
from cuecard.probes.cue_set import CueSet
from cuecard.probes.identical_pairs import LAST_FREQUENCY, box_statistics
from cuecard.probes.identical_scores import check_source, identical_scores
from cuecard.probes.predictions import Predictions
from cuecard.wording import count

ALPHA = 0.05
#: How far the mean score must differ between sentences that occur once and the most frequent ones.
NOTABLE_RISE, LARGE_RISE = 0.05, 0.2


@dataclass(frozen=True)
class IdenticalPairTest:
    """Scores of sentences paired with themselves, as Tukey boxes by frequency, one series per model.

    Every such pair matches, so a model that reads gives all of them a high score, frequent or not.

    Args:
        identical_pairs: `[NAME=]FILE` with the scores of a model, or the name of a built-in model to train; several.
        match: the label that says that two sentences match; known by its name by default.
        last: sentences that occur at least so often share the last box.
        seed: seed of what is drawn at random.
    """

    name: ClassVar[str] = "identical_pairs"
    title: ClassVar[str] = "Identical pairs"
    tasks: ClassVar[frozenset[Task]] = frozenset({"pair"})

    identical_pairs: tuple[str, ...] = ()
    match: str | None = None
    last: int = LAST_FREQUENCY
    seed: int = 0

    def __post_init__(self) -> None:
        """Check files and numbers at once, so that a typo costs no time."""
        if self.last < 2:
            raise UsageError(f"identical_pairs.last must be at least 2, and is {self.last}.")
        for given in self.identical_pairs:
            check_source(given)

    def run(
        self, data: Instances, predictions: Sequence[Predictions] = (), cues: CueSet | None = None
    ) -> Result:
        """Return the boxes, and how every model's score goes with frequency."""
        if not self.identical_pairs:
            raise Skip("no scores of identical pairs were given (--identical-pairs FILE)")
        scores = pl.concat(
            [
                identical_scores(data, given, match=self.match, seed=self.seed)
                for given in self.identical_pairs
            ]
        )
        if scores.select("model", "example_id").is_duplicated().any():
            raise UsageError(
                "Two files of identical pairs have the same name: give --identical-pairs NAME=FILE."
            )
        boxes = box_statistics(scores, last=self.last)
        models = {
            str(name): _trend(mine, boxes.filter(model=name))
            for (name,), mine in scores.group_by("model", maintain_order=True)
        }
        summary = {"models": models, "last": self.last, "pairs": scores["example_id"].n_unique()}
        tables = {"identical_pairs": boxes, "identical_pair_scores": scores}
        return Result(summary, tables, [_finding(name, found, self.last) for name, found in models.items()])


def _trend(scores: pl.DataFrame, boxes: pl.DataFrame) -> dict[str, Any]:
    """Return how the score goes with frequency: Spearman's ρ, and the means of the rarest and the most frequent."""
    from scipy.stats import spearmanr

    frequency, score = scores["frequency"].to_numpy(), scores["score"].to_numpy()
    rho = p_value = None
    if len(np.unique(frequency)) > 1 and len(np.unique(score)) > 1:
        found = spearmanr(frequency, score)
        rho, p_value = float(found.statistic), float(found.pvalue)
    first, last = boxes.row(0, named=True), boxes.row(-1, named=True)
    return {
        "n": scores.height,
        "mean": float(score.mean()),
        "matched": float((score >= 0.5).mean()),
        "rho": rho,
        "p_value": p_value,
        "rarest": {"frequency": first["frequency"], "n": first["n"], "mean": first["mean"]},
        "most_frequent": {"frequency": last["frequency"], "n": last["n"], "mean": last["mean"]},
    }


def _finding(model: str, found: dict[str, Any], last_box: int) -> Finding:
    first, last = found["rarest"], found["most_frequent"]
    rise = last["mean"] - first["mean"]
    goes = found["p_value"] is not None and found["p_value"] <= ALPHA and found["rho"] * rise > 0
    severity: Severity = "info"
    title = f"{model} scores identical pairs alike, rare or frequent"
    if goes and abs(rise) >= NOTABLE_RISE:
        severity = "medium" if abs(rise) >= LARGE_RISE else "low"
        way = "frequent" if rise > 0 else "rare"
        title = f"{model} is surer that a {way} sentence matches itself"
    trend = "" if found["rho"] is None else f" (Spearman's ρ {found['rho']:+.2f})"
    compared = f"those that occur {_times(first['frequency'], last_box)} {first['mean']:.2f} on average"
    if last["frequency"] > first["frequency"]:
        compared += f" and the {last['n']:,} that occur {_times(last['frequency'], last_box)} {last['mean']:.2f}{trend}"
    text = f"Of {count(found['n'], 'sentence')} paired with themselves, {model} scores {compared}. All of them match."
    return Finding("identical_pairs", severity, title, text, n=found["n"])


def _times(frequency: int, last_box: int) -> str:
    if frequency >= last_box:
        return f"{frequency} times or more"
    return "once" if frequency == 1 else f"{frequency} times"

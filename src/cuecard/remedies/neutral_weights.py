"""Reweight examples so that the pair graph does not predict the label (Selection, Algorithm 1)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np
import polars as pl

from cuecard.analysis import About, Finding, Measure, MeasureKind, Result, Row, Severity, Skip, interval
from cuecard.audits.pair_graph.scores import trial
from cuecard.data import LABELLED_TASKS, Instances, Task
from cuecard.errors import UsageError
from cuecard.features.pair_graph import graph_of, leakage_features
from cuecard.registry import unknown_name
from cuecard.remedies.reaudits import DRAWS, audits_before_and_after, chosen_audits
from cuecard.remedies.views import neutral_weights_view
from cuecard.stats.arrays import Bools, Codes, Ints
from cuecard.stats.counted_forest import Criterion
from cuecard.stats.neutral_weights import LeakageNeutralWeights, leakage_neutral_weights
from cuecard.stats.weighted import WeightedShare, effective_sample_size, weighted_share
from cuecard.wording import percent, plural

NAME = "neutral_weights"
SIZE = MeasureKind("effective_sample_size", "effective sample size", "share", "lower")
LARGEST = MeasureKind("largest_weight", "largest weight (mean 1)", "score", "higher")
LEAKAGE = MeasureKind("leakage.{when}", "pair-graph accuracy, {when}", "share", "higher")
KINDS = (SIZE, LARGEST, LEAKAGE)


def neutral_measures(summary: Row) -> list[Measure]:
    """Return what the weights cost, and how well the pair graph predicts the label without and with them."""
    n = summary["examples"]
    return [
        SIZE.of(NAME, summary["effective_share"], n=n),
        LARGEST.of(NAME, summary["largest"], n=n),
        *(
            LEAKAGE.of(NAME, **interval(part, "accuracy"), chance=summary["majority"][when], when=when)
            for when, part in summary["leakage_accuracy"].items()
        ),
    ]


#: Below this share of the examples as effective sample size, a limit on the weights is tried.
LOW_SHARE = 0.5
#: Trees, depth and impurity of the forest in the authors' code.
RELEASED: tuple[int, int, Criterion] = (10_000, 9, "entropy")
ForestName = Literal["default", "released"]
QUANTILES = (0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)


@dataclass(frozen=True)
class NeutralWeights:
    """Reweight examples so that the pair graph does not predict the label.

    The graph is of all splits, as anybody with the files can build it. How it is associated with the label is estimated
    for every split from its own labels, and weights have mean 1 in each. With `pool`, it is estimated once for all
    splits, as in Algorithm 1, and weights have mean 1 over all of them: then weights of train depend on labels of test.

    Args:
        folds, trees, depth, max_weight, seed: as in `leakage_neutral_weights`.
        forest: "released" is the forest of the authors' code, 10,000 trees of depth 9 by entropy; `trees` and `depth`
            do not apply to it.
        pool: estimate the weights of all splits together instead of each from its own labels.
        reaudit: audits of the train split to repeat under the weights, or "all".
        shuffles: times to shuffle labels and make the weights from them for that; 0 compares with chance.
    """

    name: ClassVar[str] = "neutral_weights"
    title: ClassVar[str] = "Leakage-neutral weights"
    view = staticmethod(neutral_weights_view)
    tasks: ClassVar[frozenset[Task]] = frozenset(LABELLED_TASKS)
    measures: ClassVar[tuple[MeasureKind, ...]] = KINDS
    about: ClassVar[About] = "weights"

    folds: int = 100
    trees: int = 1000
    depth: int = 8
    forest: ForestName = "default"
    max_weight: float | None = None
    pool: bool = False
    seed: int = 0
    reaudit: tuple[str, ...] = ()
    shuffles: int = DRAWS

    def __post_init__(self) -> None:
        """Check the names at once, so that a typo costs no time."""
        chosen_audits(self.reaudit)
        if self.forest not in get_args(ForestName):
            raise unknown_name("forest", self.forest, list(get_args(ForestName)))
        if self.shuffles != 0 and self.shuffles < 2:
            raise UsageError(f"shuffles is 0 or at least 2, not {self.shuffles}.")

    def run(self, data: Instances) -> Result:
        """Return a weight for every example of every split, and the leak before and after."""
        if data.task != "pair":
            raise Skip(_reason(data.task))
        if len(data) < 2:
            raise Skip("needs at least two pairs")
        features = leakage_features(graph_of(data))
        splits = (
            {"all": self._made(data.label_codes, features)} if self.pool else self._by_split(data, features)
        )
        main = splits.get("train") or next(iter(splits.values()))
        all_weights = np.ones(len(data))
        for name, weighting in splits.items():
            all_weights[_rows_of(data, None if self.pool else name)] = weighting.weights
        effective = effective_sample_size(all_weights)
        # Weights balance what frequencies say of any pair, also of another one with the same sentence.
        leak_trial = trial(data, forest="fast", folds=5, seed=self.seed, connected=False)
        credits = leak_trial.credits(features)
        weights = all_weights[leak_trial.scored]
        labels = data.label_codes[leak_trial.scored]
        shares = np.bincount(labels, weights=weights) / weights.sum()
        before = weighted_share(credits, np.ones(len(credits)))
        after = weighted_share(credits, weights)
        summary: dict[str, object] = {
            "examples": len(data),
            "effective_sample_size": effective,
            "effective_share": effective / len(data),
            "smallest": float(all_weights.min()),
            "largest": float(all_weights.max()),
            "quantiles": dict(zip(map(str, QUANTILES), np.quantile(all_weights, QUANTILES).tolist(), strict=True)),
            "infinite": sum(weighting.infinite for weighting in splits.values()),
            "clipped": sum(weighting.clipped for weighting in splits.values()),
            "prior": {data.labels[int(y)]: float(p) for y, p in zip(main.labels, main.prior, strict=True)},
            "splits": {name: _of_split(weighting) for name, weighting in splits.items()},
            "unweighted_splits": [name for name in data.splits if name not in splits and not self.pool],
            "leakage_accuracy": {"unweighted": _described(before), "weighted": _described(after)},
            "majority": {"unweighted": leak_trial.chance, "weighted": float(shares.max())},
        }  # fmt: skip
        keys = data.table.select("example_id", pl.col("split").cast(pl.String))
        examples = keys.with_columns(weight=pl.Series(all_weights))
        tables = {"neutral_weights": examples}
        findings = [_finding(summary, before, after)]
        if names := chosen_audits(self.reaudit):
            in_train = _rows_of(data, "train")
            audited = audits_before_and_after(
                data.train,
                all_weights[in_train],
                names,
                remake=lambda shuffled: self._made(shuffled.label_codes, features[in_train]).weights,
                shuffles=self.shuffles,
                seed=self.seed,
            )
            tables["reaudit"] = audited.table
            summary["not_reaudited"] = audited.skipped
            findings += audited.findings(self.name)
        return Result(summary, tables, findings, examples, neutral_measures(summary))

    def _by_split(self, data: Instances, features: Ints) -> dict[str, LeakageNeutralWeights]:
        """Return the weights of every split from its own labels, so that train knows nothing of test's.

        A split that is not train and has one label only, so that nothing can be balanced, is left out.
        """
        by_split = {}
        for name in data.splits:
            rows = _rows_of(data, name)
            labels = data.label_codes[rows]
            if name != "train" and len(data.splits) > 1 and len(np.unique(labels)) < 2:
                continue
            by_split[name] = self._made(labels, features[rows])
        if not by_split:
            raise Skip("no split has two labels")
        return by_split

    def _made(self, labels: Codes, features: Ints) -> LeakageNeutralWeights:
        """Return the weights of rows with these labels and leakage features."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # said in the summary and the finding instead
            try:
                trees, depth, criterion = (
                    RELEASED if self.forest == "released" else (self.trees, self.depth, "gini")
                )
                return leakage_neutral_weights(
                    labels, features, folds=min(self.folds, len(labels)), trees=trees, depth=depth,
                    criterion=criterion, max_weight=self.max_weight, seed=self.seed,
                )  # fmt: skip
            except ValueError as error:
                raise UsageError(str(error)) from None


def _reason(task: Task) -> str:
    """Return why data that is no pairs has no leakage-neutral weights."""
    if task == "text":
        return "an example of text data is one text, so there are no pairs to build a graph from; try --method lexical"
    return (
        f"an example of {task} data is a question with all its answers and has one weight, and no weight of the whole "
        "makes its right answer less frequent than the wrong ones beside it; try --method lexical"
    )


def _of_split(weighting: LeakageNeutralWeights) -> dict[str, float]:
    return {
        "examples": len(weighting.weights),
        "effective_sample_size": weighting.effective_sample_size,
        "smallest": float(weighting.weights.min()),
        "largest": float(weighting.weights.max()),
        "infinite": weighting.infinite,
        "clipped": weighting.clipped,
    }


def _rows_of(data: Instances, split: str | None) -> Bools:
    """Return which rows are of a split; all rows for None."""
    if split is None:
        return np.ones(len(data), dtype=np.bool_)
    return (data.table["split"].cast(pl.String) == split).to_numpy()


def _described(score: WeightedShare) -> dict[str, float]:
    return {"accuracy": score.share, "low": score.low, "high": score.high}


def _finding(summary: Row, before: WeightedShare, after: WeightedShare) -> Finding:
    majority, few = summary["majority"]["weighted"], summary["effective_share"] < LOW_SHARE
    remains = after.low > majority
    text = (
        f"With these weights, the pair-graph accuracy of a random forest is {percent(after.share)} instead of "
        f"{percent(before.share)}; the majority baseline is {percent(majority)}. The effective sample size is "
        f"{percent(summary['effective_share'])}; the weights range from {summary['smallest']:.2f} to "
        f"{summary['largest']:.2f}."
    )
    if after.high < majority:
        text += " It is below the majority baseline."
    if summary["infinite"]:
        text += (
            f" {plural(summary['infinite'], 'weight')} would be infinite, because the forest predicts the label of the "
            "example with probability 0; the smallest probability of a forest is used instead."
        )
    if summary["clipped"]:
        text += f" {plural(summary['clipped'], 'weight was', 'weights were')} clipped to the maximum."
    if few and not summary["clipped"]:
        text += f" That is below {percent(LOW_SHARE)} of the examples; --max-weight 20 increases it."
    if remains:
        text += " The pair graph still predicts the label with these weights" + (
            "; a higher --max-weight removes more of it, but reduces the effective sample size."
            if summary["clipped"]
            else "."
        )
    title = "Weights that balance the pair graph"
    if remains:
        title += " only in part"
    elif few:
        title += ", with a small effective sample size"
    severity: Severity = "medium" if remains or few else "info"
    share = interval(vars(after), "share") | {"chance": majority, "n": after.n}
    return Finding(NAME, severity, title, text, **share, key="balance")

"""Does it give the label away how often a sentence occurs, and with what it is paired? (Selection)"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.analysis import Measure, MeasureKind, Result, Skip, Summary
from cuecard.audits.pair_graph.findings import pair_graph_findings
from cuecard.audits.pair_graph.outcomes import ForestOutcome, ablations, excess_ends, outcome
from cuecard.audits.pair_graph.scores import (
    FOREST_NAMES,
    SMALL_ROWS,
    ForestName,
    Score,
    Trial,
    ablation_q_values,
    trial,
)
from cuecard.audits.pair_graph.tables import frequency_grid, label_by_frequency, quantile_shares
from cuecard.audits.pair_graph.view import pair_graph_view
from cuecard.data import Instances, Task
from cuecard.data.row_numbers import text_numbers
from cuecard.data.splits import train_overlap
from cuecard.data.weights import unequal_weights
from cuecard.errors import UsageError
from cuecard.features.pair_graph import (
    LEAKAGE_FEATURES,
    SentencePairs,
    TwoSteps,
    advanced_features,
    graph_of,
    leakage_points,
    pairs_of,
    two_step_walks,
    unlexicalized_features,
)
from cuecard.models.embeddings import check_embedding
from cuecard.registry import unknown_name
from cuecard.stats.arrays import Array, Ints, chunks
from cuecard.stats.counted_forest import Points

NAME = "pair_graph"
LEAKAGE = MeasureKind("leakage.accuracy", "pair-graph accuracy", "share", "higher")
EXCESS = MeasureKind("leakage.excess", "pair-graph accuracy above chance", "points", "higher")
TRAIN_ONLY = MeasureKind(
    "train_only.accuracy", "pair-graph accuracy, graph of the training set only", "share", "higher"
)
#: Parts and extensions of the graph explain the leak; they are not leaks of their own.
FEATURES = MeasureKind("{features}.accuracy", "accuracy of the graph features {features}", "share")
MAJORITY = MeasureKind("majority.accuracy", "majority baseline of the pair graph", "share")
KINDS = (LEAKAGE, EXCESS, TRAIN_ONLY, FEATURES, MAJORITY)


def pair_graph_measures(summary: Summary) -> list[Measure]:
    """Return the accuracy of the leakage features against chance, and of their parts."""
    accuracy, intervals = summary["accuracy"], summary["intervals"]
    chance, n = accuracy["majority"], summary["n"]
    leak = intervals["leakage"]
    excess = accuracy["leakage"] - chance
    measures = [
        LEAKAGE.of(NAME, accuracy["leakage"], **_ends(leak), chance=chance),
        EXCESS.of(NAME, excess, low=leak["excess_low"], high=leak["excess_high"], chance=0.0, n=n),
        MAJORITY.of(NAME, chance, n=n),
    ]
    if summary["parts"] is not None:
        part = summary["parts"]["train_only"]
        measures.append(TRAIN_ONLY.of(NAME, part["accuracy"], **_ends(part), chance=chance))
    measures += [
        FEATURES.of(NAME, accuracy[name], **_ends(interval), chance=chance, features=name)
        for name, interval in intervals.items()
        if name != "leakage"
    ]
    return measures


def _ends(interval: Summary) -> Summary:
    return {end: interval[end] for end in ("low", "high", "n")}


@dataclass(frozen=True)
class PairGraphAudit:
    """Predict the label from the graph of compared sentences alone.

    Args:
        forest: "fast" (100 compiled trees of depth 10), "paper-small" (500 trees of depth 5), "paper-large" (200 of
            depth 30), or "paper": the paper's choice by the number of pairs.
        advanced: also the 77 graph features with DeepWalk embeddings; None means with a forest of the paper and
            at most 20,000 pairs.
        unlexicalized: also the 15 features of length and word overlap, for comparison; None as above.
        released: Adamic–Adar with a hub that all sentences neighbour, and overlap rates by the product of both texts'
            numbers of words, as in the authors' code.
        folds: without a test split, examples are scored by forests on the other folds.
        embed: how texts become vectors for the similarity drawn beside the features: "tfidf", "minilm" or a folder.
        seed: seed of forests, folds and walks.
        weights: extra column that holds every example's weight, by which it counts where forests are fitted and where
            they are scored; the graph itself is of the rows as they stand.
    """

    name: ClassVar[str] = "pair_graph"
    title: ClassVar[str] = "Pair graph"
    tasks: ClassVar[frozenset[Task]] = frozenset({"pair", "choice", "preference"})
    view = staticmethod(pair_graph_view)
    measures: ClassVar[tuple[MeasureKind, ...]] = KINDS
    parallel: ClassVar[bool] = True

    forest: ForestName = "fast"
    advanced: bool | None = None
    unlexicalized: bool | None = None
    released: bool = False
    folds: int = 5
    embed: str = "tfidf"
    seed: int = 0
    weights: str | None = None

    @property
    def extras(self) -> frozenset[str]:
        """Optional dependencies of the embedding."""
        return frozenset({self.embed} & {"minilm"})

    def __post_init__(self) -> None:
        """Check names and numbers at once, so that a typo costs no time."""
        if self.forest not in FOREST_NAMES:
            raise unknown_name("forest", self.forest, list(FOREST_NAMES))
        if self.folds < 2:
            raise UsageError(f"pair_graph.folds must be at least 2, not {self.folds}.")
        check_embedding(self.embed)

    @property
    def any_size(self) -> bool:
        """Whether it sees all examples of any dataset: the larger feature sets need texts in memory."""
        return self.forest == "fast" and not self.advanced and not self.unlexicalized

    def run(self, data: Instances) -> Result:
        """Return accuracies of every feature set against the majority, the figures' tables and the findings."""
        if not _has_two_premises(data):
            raise Skip("needs at least two distinct premises to build a graph")
        weights = unequal_weights(data, self.weights)
        leak_trial = trial(data, forest=self.forest, folds=self.folds, seed=self.seed, weights=weights)
        pairs = pairs_of(data)
        steps = two_step_walks(pairs)
        features, graph = leakage_points(pairs, steps), _describe(pairs, steps)
        pairs = replace(pairs)  # without what was counted of them
        del steps
        outcomes = ablations(features, leak_trial)
        left_out = self._larger_sets(data, leak_trial, outcomes)
        scores = {name: one.score(leak_trial) for name, one in outcomes.items()}
        q_values = ablation_q_values(scores)
        above = excess_ends(leak_trial, outcomes["leakage"], scores["leakage"])
        parts = _parts_of_the_leak(data, pairs, leak_trial, outcomes["leakage"].credits)
        del pairs
        summary: Summary = {
            "accuracy": {
                "majority": leak_trial.chance,
                **{name: score.accuracy for name, score in scores.items()},
                **dict.fromkeys(left_out),
            },
            "intervals": {
                name: _interval(score) | {"q_value": q_values.get(name)} for name, score in scores.items()
            },
            "left_out": left_out,
            "n": scores["leakage"].n,
            "evaluated": "test" if data.test is not None else f"{leak_trial.folds}-fold",
            "folds": _folds(leak_trial),
            "forest": {"name": leak_trial.forest, "trees": leak_trial.trees, "depth": leak_trial.depth},
            "graph": graph,
            "parts": parts,
        }
        summary["intervals"]["leakage"] |= dict(zip(("excess_low", "excess_high"), above, strict=True))
        by_frequency = label_by_frequency(data, features, weights)
        tables = {
            "pair_graph": _table(scores, q_values, leak_trial.chance),
            "pair_graph_grid": frequency_grid(data, features, weights),
            "pair_graph_by_frequency": by_frequency,
            "pair_graph_quantiles": quantile_shares(
                data, features, embed=self.embed, seed=self.seed, weights=weights
            ),
        }
        findings = pair_graph_findings(
            data,
            features,
            scores,
            leak_trial.chance,
            summary,
            by_frequency,
            scored=leak_trial.scored,
            weights=weights,
        )
        about = _examples(data, features, data.shown_rows)
        smallest = scores["leakage"].p_value
        return Result(summary, tables, findings, about, pair_graph_measures(summary), smallest_q=smallest)

    def _larger_sets(
        self, data: Instances, leak_trial: Trial, outcomes: dict[str, ForestOutcome]
    ) -> dict[str, str]:
        """Add the outcomes of the Advanced and Unlexicalized sets; return which were left out, and why."""
        left_out = {}
        for name, wanted in (("advanced", self.advanced), ("unlexicalized", self.unlexicalized)):
            if wanted is False or (
                wanted is None and (len(data) > SMALL_ROWS or leak_trial.forest == "fast")
            ):
                reason = "switched off" if wanted is False else "it takes long"
                left_out[name] = f"{reason}; --set pair_graph.{name}=true computes it"
                continue
            table = (
                advanced_features(graph_of(data), seed=self.seed, hub=self.released)
                if name == "advanced"
                else unlexicalized_features(data, by_product=self.released)
            )
            outcomes[name] = outcome(leak_trial, table, distinct=False)
        return left_out


def _folds(trial: Trial) -> Summary | None:
    """Return what stays in one fold, without a test split."""
    together = trial.kept_together
    if together is None:
        return None
    return {
        "grouping": together.grouping, "largest_group": together.largest_group, "note": together.note,
    }  # fmt: skip


def _has_two_premises(data: Instances) -> bool:
    """Return whether not all premises are the same."""
    hashes = text_numbers(data)["premise_text"]
    return any(bool((hashes[rows] != hashes[0]).any()) for rows in chunks(len(hashes)))


def _parts_of_the_leak(
    data: Instances, pairs: SentencePairs, leak_trial: Trial, transductive: Array
) -> Summary | None:
    """Return how much of the leak remains when the graph is built from train alone, with and without shared sentences.

    A test pair is then looked up in the graph of train and dev as if it alone were added.
    """
    if data.test is None:
        return None
    known = replace(pairs, counted=~leak_trial.scored)
    from_train = outcome(leak_trial, leakage_points(known, two_step_walks(known)))
    inductive = from_train.credits
    shared = train_overlap(data).sentence
    gain, kept = (
        leak_trial.mean(transductive) - leak_trial.chance,
        leak_trial.mean(inductive) - leak_trial.chance,
    )
    return {
        "train_only": _interval(from_train.score(leak_trial)) | {"accuracy": leak_trial.mean(inductive)},
        "kept_share": float(kept / gain) if gain > 0 else None,
        "shared": _group(leak_trial, transductive, inductive, shared),
        "unshared": _group(leak_trial, transductive, inductive, ~shared),
    }


def _group(
    leak_trial: Trial,
    transductive: Array,
    inductive: Array,
    members: npt.NDArray[np.bool_],
) -> Summary:
    n = int(members.sum())
    return {
        "n": n,
        "accuracy": leak_trial.mean(transductive, members) if n else None,
        "train_only_accuracy": leak_trial.mean(inductive, members) if n else None,
    }


def _interval(score: Score) -> Summary:
    described = asdict(score)
    del described["accuracy"]
    return described


def _describe(pairs: SentencePairs, steps: TwoSteps) -> Summary:
    frequency = pairs.frequency
    return {
        "sentences": pairs.n_nodes,
        "pairs": len(pairs),
        "distinct_pairs": steps.distinct_pairs,
        "self_pairs": pairs.self_pairs,
        "sentences_repeated": int(np.count_nonzero(frequency > 1)),
        "largest_frequency": int(frequency.max(initial=0)),
    }


def _table(scores: dict[str, Score], q_values: dict[str, float], chance: float) -> pl.DataFrame:
    rows = [
        {"features": name, **asdict(score), "q_value": q_values.get(name), "chance": chance}
        for name, score in scores.items()
    ]
    return pl.DataFrame(rows, schema_overrides={"q_value": pl.Float64})


def _examples(data: Instances, features: Points, shown: Ints | None) -> pl.DataFrame:
    """Return the three features of every example, or of those of some rows; of a choice, those of the right answer."""
    rows = np.arange(len(data)) if shown is None else shown
    values = features.values[features.index[rows]].astype(np.int64)
    table = data.table if shown is None else data.table[rows]
    frame = table.select("example_id", pl.col("split").cast(pl.String)).with_columns(
        pl.Series(name, values[:, i]) for i, name in enumerate(LEAKAGE_FEATURES)
    )
    return frame.filter(pl.Series(data.label_codes[rows] == 0)) if data.grouped else frame

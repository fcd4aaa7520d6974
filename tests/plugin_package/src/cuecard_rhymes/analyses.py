"""An audit, a probe and a remedy from another package, all about hypotheses that end in -ing, with what they show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from cuecard.analysis import Finding, MeasureKind, Result, severity_of
from cuecard.stats import wilson
from cuecard.view import Axis, Column, Intervals, Outcome, Table, View

ACCURACY = MeasureKind("rhyme_only.accuracy", "rhyme-only accuracy", "share", "higher", solved="solved_rhyme")
MAJORITY = MeasureKind("majority.accuracy", "majority accuracy beside rhymes", "share")
FOLLOWED = MeasureKind("followed.{model}", "examples on which {model} follows the rhyme", "share", "higher")
SIZE = MeasureKind("effective_sample_size", "effective sample size", "share", "lower")
PAIRS = frozenset({"pair"})


def _ends(data):
    return data.table["hypothesis"].str.contains(r"(?i)ing\W*$").to_numpy().astype(np.int64)


def _usual_labels(train):
    """Return the commonest label of hypotheses without and with the ending."""
    counts = np.zeros((2, len(train.labels)))
    np.add.at(counts, (_ends(train), train.label_codes), 1)
    return counts.argmax(axis=1)


def _share(hits):
    low, high = wilson(int(hits.sum()), len(hits))
    return {"low": float(low), "high": float(high), "n": len(hits)}


_ENDING = {
    "ending": Column("Ending"),
    "n": Column("Examples", "count"),
    "share": Column("Share", "percent", "of the commonest label of this ending"),
    "low": Column("CI low", "percent", "lower end of the 95 % CI"),
    "high": Column("CI high", "percent", "upper end of the 95 % CI"),
}


def rhymes_view(outcome: Outcome) -> View:
    """Return a sentence, the accuracy as a figure, and a chart and a table of both endings."""
    chart = Intervals(
        title="Label by ending",
        data="rhymes",
        y="ending",
        x=Axis("share", "share of the commonest label", "percent", domain=(0, 1)),
        low="low",
        high="high",
        tooltip=_ENDING,
        alt="Share of the commonest label of texts that end in -ing, and of the others.",
        caption="● share with 95 % CI",
    )
    return View(
        lead=[f"The rhyme speaks: {100 * outcome.summary['accuracy']:.1f} % of {outcome.summary['n']}."],
        figures=["rhyme_only.accuracy"],
        charts=[chart],
        tables=[Table("Endings", "rhymes", _ENDING)],
    )


@dataclass(frozen=True)
class RhymeAudit:
    """How often the ending alone gives the label."""

    name: ClassVar[str] = "rhymes"
    title: ClassVar[str] = "Rhymes"
    tasks: ClassVar[frozenset[str]] = PAIRS
    measures: ClassVar[tuple[MeasureKind, ...]] = (ACCURACY, MAJORITY)
    caveat: ClassVar[str] = "Only endings in -ing count as rhymes."
    view = staticmethod(rhymes_view)

    def run(self, data):
        """Return the accuracy of the commonest label of each ending, as a finding too, and which examples it solves."""
        train = data.train
        hits = _usual_labels(train)[_ends(train)] == train.label_codes
        chance = float(np.bincount(train.label_codes).max() / len(train))
        numbers = {"value": float(hits.mean()), "chance": chance, **_share(hits)}
        measure = ACCURACY.of(self.name, **numbers)
        title = "The ending of the hypothesis predicts the label"
        finding = Finding(
            self.name, severity_of(measure.gain), title, f"{title}.", key="rhyme_only", **numbers
        )
        solved = train.table.select("example_id", pl.col("split").cast(pl.String))
        ends = _ends(train)
        rows = [
            {"ending": name, "share": float(hits[ends == i].mean()), **_share(hits[ends == i])}
            for i, name in enumerate(("other", "-ing"))
            if (ends == i).any()
        ]
        return Result(
            {"accuracy": measure.value, "n": len(train)},
            {"rhymes": pl.DataFrame(rows)},
            measures=[measure, MAJORITY.of(self.name, chance, n=len(train))],
            findings=[finding],
            examples=solved.with_columns(solved_rhyme=pl.Series(hits.astype(np.float64))),
        )


@dataclass(frozen=True)
class RhymeProbe:
    """How often a model answers what the ending alone would."""

    name: ClassVar[str] = "rhyme_probe"
    title: ClassVar[str] = "Rhyme probe"
    tasks: ClassVar[frozenset[str]] = PAIRS
    needs: ClassVar[frozenset[str]] = frozenset({"test", "predictions"})
    about: ClassVar[str] = "models"
    measures: ClassVar[tuple[MeasureKind, ...]] = (FOLLOWED,)

    def run(self, data, predictions):
        """Return for every model the share of examples on which it follows the rhyme."""
        rule = _usual_labels(data.train)[_ends(data.test)]
        chance = 1 / len(data.labels)
        measures = []
        for model in predictions:
            hits = model.answers == rule
            measures.append(
                FOLLOWED.of(self.name, float(hits.mean()), chance=chance, **_share(hits), model=model.model)
            )
        return Result({}, measures=measures)


@dataclass(frozen=True)
class RhymeWeights:
    """Weights that make labels equally common with both endings."""

    name: ClassVar[str] = "rhyme_weights"
    title: ClassVar[str] = "Rhyme weights"
    tasks: ClassVar[frozenset[str]] = PAIRS
    about: ClassVar[str] = "weights"
    measures: ClassVar[tuple[MeasureKind, ...]] = (SIZE,)

    def run(self, data):
        """Return a weight per train example."""
        train = data.train
        cells = _ends(train) * len(train.labels) + train.label_codes
        weights = 1 / np.bincount(cells)[cells]
        weights /= weights.mean()
        size = float(weights.sum() ** 2 / (weights**2).sum() / len(weights))
        keys = train.table.select("example_id", pl.col("split").cast(pl.String))
        return Result(
            {"largest": float(weights.max())},
            examples=keys.with_columns(weight=pl.Series(weights)),
            measures=[SIZE.of(self.name, size, n=len(weights))],
        )

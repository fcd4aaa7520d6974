"""What the words of a text say about each of its labels, where texts have a list of labels."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import polars as pl
from scipy import sparse

from cuecard.analysis import (
    MEDIUM_GAIN,
    Finding,
    Measure,
    MeasureKind,
    Need,
    Result,
    Skip,
    Summary,
)
from cuecard.audits.cues.findings import EXPECT
from cuecard.audits.cues.overall import NOTABLE_GAIN, WORDS
from cuecard.audits.partial_input.cross_fit import Trainer, trainer
from cuecard.audits.partial_input.folds import Folds, make_folds
from cuecard.audits.partial_input.judging import Baseline, Chain, measured
from cuecard.audits.partial_input.rules import conditions, rows_of
from cuecard.data import Instances, Task
from cuecard.data.examples import Examples
from cuecard.data.layout.scores import lists_column, parse_membership
from cuecard.models.linear.learner import Features
from cuecard.stats import clopper_pearson
from cuecard.stats.arrays import Bools, Floats, Ints
from cuecard.stats.cues.association import binomial_log_p
from cuecard.stats.multiple_testing import q_values, state_probability
from cuecard.text.tokens import presence
from cuecard.view import Axis, Column, Intervals, KeyFigure, Outcome, Table, View, interval_columns
from cuecard.wording import percent, plural

NAME = "each_label"
AUC = MeasureKind("{label}.auc", "area under the ROC curve of {label} against the rest, from words", "score")
#: The row that compares texts of several labels with those of one.
SEVERAL = "(several labels)"
#: Texts that must have a label, and as many that must not; texts that must have a word.
FEWEST, FEWEST_WITH_WORD = 50, 20
#: Labels to test, the most frequent first, and texts to learn each from, at most.
MOST_LABELS, MOST_LEARNED = 100, 20_000
FOLDS = 5
_COLUMNS = {
    "label": Column("Label"),
    "texts": Column("Texts", "count", "distinct training texts that have it"),
    "share": Column("Share", "percent", "of the distinct training texts"),
    "auc": Column("AUC", "number", "of the label against the rest, predicted from words; 0.5 by chance"),
    **interval_columns(kind="number", of="the AUC"),
    "q_value": Column("q", "probability", "over all labels: do the words predict it at all?"),
    "cue": Column(
        "Strongest cue", hint="the word with the smallest p-value of those that point to the label"
    ),
    "cue_texts": Column("With it", "count", "distinct training texts with the word", brief=False),
    "cue_share": Column("Have the label", "percent", "share of these texts"),
    "cue_q": Column("q of the cue", "probability", "over all labels × words"),
}


def each_label_view(outcome: Outcome) -> View:
    """Return the labels with how well words predict them and their strongest cues."""
    summary, table = outcome.summary, outcome.tables[NAME]
    return View(
        lead=(
            f"Each label against the rest, on {plural(summary['texts'], 'distinct training text')}: a linear model on "
            "words, cross-fitted, and the word with the smallest p-value of those that point to the label. Tested are "
            f"at most {MOST_LABELS} labels that at least {FEWEST} texts have, and {FEWEST} have not. For one label in "
            f"full, type --labels '{summary['column']} has LABEL'; for sets of labels as classes, "
            f"--labels '{summary['column']} has *'.",
        ),
        figures=[
            KeyFigure("labels", str(summary["labels"])),
            KeyFigure("sets of labels", str(summary["sets"])),
            KeyFigure("labels that words predict", f"{summary['predicted']} of {summary['tested']}"),
        ],
        charts=[
            Intervals(
                title="How well words predict each label",
                data=table.filter(pl.col("auc").is_not_null()),
                y="label",
                x=Axis("auc", "area under the ROC curve", "number", domain=(0, 1)),
                low="low",
                high="high",
                line=0.5,
                alt="Area under the ROC curve of each label against the rest, with 95 % CI.",
                caption="● area under the ROC curve with 95 % CI; 0.5 by chance.",
            )
        ],
        tables=[Table("Labels", NAME, _COLUMNS)],
    )


@dataclass(frozen=True)
class EachLabel:
    """How well words predict each label of texts with several, and the strongest cue of each.

    It runs where texts have a list of labels. Copies and near copies of a text count once. q-values are corrected over
    all labels, those of cues over all labels and words.

    Args:
        expect: "words" if what a text says is what its labels are about.
        alpha: a label is predicted, or a word is a cue, if its q-value is at most this.
        seed: of folds and samples.
    """

    name: ClassVar[str] = NAME
    title: ClassVar[str] = "Each label"
    tasks: ClassVar[frozenset[Task]] = frozenset({"text"})
    needs: ClassVar[frozenset[Need]] = frozenset()
    measures: ClassVar[tuple[MeasureKind, ...]] = (AUC,)
    caveat: ClassVar[str] = "What the words of a text say may be the task of predicting its labels."
    view = staticmethod(each_label_view)

    expect: tuple[str, ...] = ()
    alpha: float = 0.05
    seed: int = 0

    def run(self, data: Instances) -> Result:
        """Return how well words predict every label, and the strongest cue of each."""
        column = lists_column(data.report.recognised.get("label", ""), data.table.schema)
        if column is None:
            raise Skip("needs a list of labels for every text, such as ['joy', 'fear']")
        data = data.train
        first = np.zeros(len(data), dtype=np.bool_)
        first[np.unique(data.units("hypothesis"), return_index=True)[1]] = True
        data = data.rows(first)
        lists = data.table[column]
        names, has = _membership(lists)
        tested = np.flatnonzero(np.minimum(has.sum(axis=0), (~has).sum(axis=0)) >= FEWEST)
        if not len(tested):
            raise Skip(
                f"needs a label that at least {FEWEST} distinct training texts have, and {FEWEST} have not"
            )
        names, has = [names[i] for i in tested], has[:, tested]
        lines = list(self._predicted(data, has))
        table = pl.DataFrame(
            {
                "label": names,
                "texts": has.sum(axis=0),
                "share": has.mean(axis=0),
                "auc": [line.auc for line in lines],
                "low": [line.auc_low for line in lines],
                "high": [line.auc_high for line in lines],
                "q_value": q_values([line.log10_p * math.log(10) for line in lines]),
                "predicted": [line.direction == "above" for line in lines],
            }
        ).with_columns(predicted=pl.col("predicted") & (pl.col("q_value") <= self.alpha))
        cues, smallest = strongest_words(data, has)
        table = table.hstack(cues).sort(
            pl.col("label") == SEVERAL,
            pl.col("auc"),
            descending=[False, True],
            nulls_last=True,
            maintain_order=True,
        )
        role = data.report.recognised["label"]
        membership = parse_membership(role)
        labels = table.filter(pl.col("label") != SEVERAL)
        summary: Summary = {
            "column": role if membership is None else membership.column,
            "texts": len(data),
            "labels": lists.explode().n_unique(),
            "sets": lists.list.unique().list.sort().list.join(" + ").n_unique(),
            "tested": labels.height,
            "predicted": int(labels["predicted"].sum()),
        }
        return Result(
            summary,
            {NAME: table},
            list(self._findings(table, summary)),
            measures=list(_measures(table, len(data))),
            smallest_q=smallest,
        )

    def _predicted(self, data: Instances, has: Bools) -> Iterator[Baseline]:
        """Yield how well words predict each label: cross-fitted, tested on models of earlier folds only."""
        full = conditions(rows_of(data), Examples(data))[-1]
        folds = make_folds(data, np.zeros(len(data), np.int64), folds=FOLDS, seed=self.seed)
        for i in range(has.shape[1]):
            # Numbers of classes are all that a model learns from: 0 is the label, 1 the rest.
            labels = pl.Series("label", np.where(has[:, i], "has it", "rest")).cast(
                pl.Enum(["has it", "rest"])
            )
            of_label = replace(data, table=data.table.with_columns(labels), labels=("has it", "rest"))
            with trainer(Examples(of_label), max_train=MOST_LEARNED, seed=self.seed) as fit:
                yield _line(fit, full.matrix, folds)

    def _findings(self, table: pl.DataFrame, summary: Summary) -> Iterator[Finding]:
        """Yield a finding for every label that a word gives away, and one for how many labels words predict."""
        n, tested = summary["texts"], summary["tested"]
        cues = table.filter((pl.col("cue_q") <= self.alpha) & (pl.col("cue_low") - pl.col("share") > 0))
        with_cue = cues.filter(pl.col("label") != SEVERAL).height
        yield Finding(
            NAME,
            "info",
            f"Words predict {summary['predicted']:,} of {plural(tested, 'label')} against the rest",
            f"A linear model on words, cross-fitted on {plural(n, 'distinct training text')}, predicts "
            f"{summary['predicted']:,} of {plural(tested, 'label')} better than chance (q ≤ {self.alpha:g} over all "
            f"labels). A single word is a cue for {with_cue:,} of them.",
            key="labels",
        )
        distance = pl.col("cue_low") - pl.col("share")
        away = pl.col("cue_texts") / n * distance / (1 - pl.col("share"))
        notable = cues.with_columns(away=away).filter((distance >= NOTABLE_GAIN) | (away >= MEDIUM_GAIN))
        for place, row in enumerate(notable.sort("away", descending=True).iter_rows(named=True)):
            # As among cues: nobody knows whether words are the task, so only what gives most away leads.
            leads = place == 0 or row["away"] >= MEDIUM_GAIN
            expected = WORDS in self.expect or "word" in self.expect
            about = (
                "It is expected as a part of the task (--expect)."
                if expected
                else f"What the text says may be the task or a shortcut. {EXPECT}"
            )
            option = f"--labels {shlex.quote(_classes(row['label'], summary['column']))}"
            yield Finding(
                NAME,
                "low" if leads and not expected else "info",
                f"Cue for {row['label']}: “{row['cue']}”",
                f"{_sentence(row)} For this label alone, type {option}. {about}",
                row["cue_share"],
                row["cue_low"],
                row["cue_high"],
                chance=row["share"],
                n=row["cue_texts"],
                cue=row["cue"],
                label=row["label"],
                coverage=row["cue_texts"] / n,
                words=(row["cue"],),
                q_value=row["cue_q"],
                command=option,
            )


def _classes(label: str, column: str) -> str:
    """Return what --labels takes to compare a label with the rest, or sets of labels with each other."""
    return f"{column} has {'*' if label == SEVERAL else label}"


def _sentence(row: Summary) -> str:
    """Return what a word says about a label, and how well all words predict it."""
    auc = ""
    if row["auc"] is not None:
        auc = (
            f" From all words, the area under the ROC curve is {row['auc']:.2f} (95 % CI {row['low']:.2f} to "
            f"{row['high']:.2f}; {state_probability('q', row['q_value'])})."
        )
    return (
        f"{percent(row['cue_share'])} of the {plural(row['cue_texts'], 'text')} with “{row['cue']}” have "
        f"{row['label']} (95 % CI, corrected for selection, {percent(row['cue_low'])} to {percent(row['cue_high'])}); "
        f"chance is {percent(row['share'])}.{auc}"
    )


def _membership(lists: pl.Series) -> tuple[list[str], Bools]:
    """Return the labels, most frequent first, and which texts have each; last, which have several."""
    sets = lists.list.unique().list.drop_nulls()
    each = pl.DataFrame({"label": sets}).with_row_index("row").explode("label").drop_nulls()
    counts = each["label"].value_counts(name="n").sort("n", "label", descending=[True, False])
    names = counts["label"].head(MOST_LABELS)
    each = each.filter(pl.col("label").is_in(names.implode()))
    has = np.zeros((len(lists), len(names) + 1), dtype=np.bool_)
    has[each["row"].to_numpy(), each["label"].cast(pl.Enum(names)).to_physical().to_numpy()] = True
    has[:, -1] = (sets.list.len() > 1).fill_null(False).to_numpy()
    return [*names.to_list(), SEVERAL], has


def _line(fit: Trainer, matrix: Features, folds: Folds) -> Baseline:
    done = fit.cross_fit(matrix, np.arange(len(fit.examples)), folds.fold)()
    gold = fit.examples.gold
    chain = Chain(done.fold, done.inflation, done.tested, done.tested_fold, gold[done.tested_examples])
    return measured("words", "full", done.guesses, gold[done.examples], grouped=False, chain=chain)


def strongest_words(data: Instances, has: Bools) -> tuple[pl.DataFrame, float | None]:
    """Return the word that points to each label most clearly, and the smallest q-value over all labels and words.

    Its interval is corrected for the selection of the word: it covers all of them at once with 95 %.
    """
    tokens = rows_of(data).tokens("hypothesis")
    indptr, indices = presence(tokens)
    words = sparse.csr_matrix(
        (np.ones(len(indices), np.int64), indices, indptr), shape=(len(data), tokens.n_types)
    )
    counts: Ints = np.asarray(words.sum(axis=0)).ravel()
    kept = np.flatnonzero((counts >= FEWEST_WITH_WORD) & (counts < len(data)))
    n, k = counts[kept], np.asarray(words[:, kept].T @ has.astype(np.int64))
    prior: Floats = has.mean(axis=0)
    log_p = binomial_log_p(k, n[:, None], np.broadcast_to(prior, k.shape))
    q = q_values(log_p)
    points = k > n[:, None] * prior
    rows: list[tuple[object, ...]] = []
    for label in range(has.shape[1]):
        best = np.flatnonzero(points[:, label])
        if not len(best):
            rows.append((None,) * len(_CUE))
            continue
        one = best[np.argmin(log_p[best, label])]
        hits, size = int(k[one, label]), int(n[one])
        low, high = clopper_pearson(hits, size, 1 - 0.05 / k.size)
        rows.append(
            (
                tokens.vocabulary[int(kept[one])],
                size,
                hits / size,
                float(low),
                float(high),
                float(q[one, label]),
            )
        )
    return pl.DataFrame(rows, schema=_CUE, orient="row"), float(q.min()) if q.size else None


_CUE = {
    "cue": pl.String,
    "cue_texts": pl.Int64,
    "cue_share": pl.Float64,
    "cue_low": pl.Float64,
    "cue_high": pl.Float64,
    "cue_q": pl.Float64,
}


def _measures(table: pl.DataFrame, n: int) -> Iterator[Measure]:
    for row in table.filter(pl.col("auc").is_not_null()).iter_rows(named=True):
        yield AUC.of(NAME, row["auc"], low=row["low"], high=row["high"], chance=0.5, n=n, label=row["label"])

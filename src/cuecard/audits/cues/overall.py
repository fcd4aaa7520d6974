"""What all cues together say: how many, how much they give away, and which the test set does not confirm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from cuecard.analysis import Finding, severity_of
from cuecard.audits.cues.replication import REVERSES, VANISHES, CueRows, concerned
from cuecard.audits.cues.statistics import POINTS_TO
from cuecard.data import Instances
from cuecard.features import Family
from cuecard.features.family import cue_name
from cuecard.stats.limits import detectable_accuracy
from cuecard.wording import listed, percent, plural

#: A cue gets a sentence if the lower end of its interval is this far above the prior: a huge z on a tiny
#: lift is not a finding.
NOTABLE_GAIN = 0.10
#: Keys of the findings about all features together, and about cues that test does not confirm.
ALL_FEATURES, NOT_REPLICATED = "all-features", "not-replicated"
#: Cues named in a sentence.
NAMED = 3
#: Words that give most away where they occur: how many are listed, and in how many examples and texts they must be.
WORDS_LISTED, LEAST_COVERAGE, FEWEST_TEXTS = 8, 0.001, 20
#: A feature of this share of the examples serves to say what would have been detected.
TYPICAL = 0.05


#: What to name, beside families, as expected: all families that read what a text says.
WORDS = "words"


def says(family: Family) -> bool:
    """Return whether a family reads what a text says, and not only its form or its likeness to another text."""
    return not (getattr(family, "content_blind", False) or getattr(family, "relational", False))


@dataclass(frozen=True, eq=False)
class CueEvidence:
    """What the findings rest on: the cues of the table, and of the strongest, how they replicate and co-occur.

    `redundancy`, `held` and the columns of `rows` are about the first of the significant `cues`, in order. `total` are
    the training instances; `by_length` more features were tested, and go with length.
    """

    cues: pl.DataFrame
    redundancy: pl.DataFrame
    held: pl.DataFrame
    rows: CueRows
    sample: Instances
    families: Sequence[Family]
    total: int
    alpha: float
    by_length: int = 0
    #: Families, or "words" for all that read what a text says, that the user calls a part of the task.
    expect: Sequence[str] = ()

    @property
    def expected(self) -> list[str]:
        """The families that the user calls a part of the task."""
        return [
            one.name
            for one in self.families
            if one.name in self.expect or (WORDS in self.expect and says(one))
        ]

    @property
    def phrases(self) -> dict[str, str]:
        """How findings name the features of every family."""
        return {family.name: family.phrase for family in self.families}

    @property
    def relational(self) -> list[str]:
        """The families that compare two texts: they are counted, but are no cue by themselves."""
        return [family.name for family in self.families if getattr(family, "relational", False)]


def all_features(
    evidence: CueEvidence, cues: pl.DataFrame, notable: pl.DataFrame, *, besides_words: bool = False
) -> Finding:
    """Return how many features are associated with a label, and what the notable ones give away together.

    The severity is that of the whole: how many examples have a notable cue, and how far the strongest one in each
    surely raises its label above chance. The number of words says nothing.
    """
    alpha = evidence.alpha
    of_one_text = ~cues["family"].is_in(evidence.relational)
    significant = int(cues["significant"].sum())
    tested = plural(cues.height + evidence.by_length, "feature") + (
        " other than words" if besides_words else ""
    )
    if not (cues["significant"] & of_one_text).any():
        title = "No cue found"
        if significant:
            title = "No cue found in a single text"
            tested = plural(int(of_one_text.sum()), "feature") + " of a single text"
        text = f"None of {tested} is associated with the label (q ≤ {alpha:g})."
        text += _detectable(cues, evidence.total, alpha)
        return Finding(
            "cues", "info", title, text, value=0.0, n=evidence.total, key=ALL_FEATURES, counted="instances"
        )
    share = significant / (cues.height + evidence.by_length)
    are = "is" if significant == 1 else "are"
    text = f"{significant:,} of {tested} ({percent(share)}) {are} associated with a label (q ≤ {alpha:g})"
    title = "Surface features predict the label"
    if notable.is_empty():
        title = "Surface features are only weakly associated with the label"
        text += f", but no label share surely differs from chance by {100 * NOTABLE_GAIN:.0f} points or more (95 % CI)."
        weak = cues.filter("significant", of_one_text)
        row = weak.row(0, named=True)  # the most significant one stands first
        name = cue_name(row["family"], row["feature"], evidence.phrases)
        text += (
            f" The most significant: {name} ({percent(row['adjusted_share'])} {row['label']}, corrected for selection; "
            f"chance {percent(row['chance'])})."
        )
        large = (weak["adjusted_share"] - weak["chance"]).abs() >= NOTABLE_GAIN
        return Finding(
            "cues", "low" if large.any() else "info", title, text, value=share, n=evidence.total, key=ALL_FEATURES,
            counted="instances", q_value=row["q_value"],
        )  # fmt: skip
    coverage, away = given_away(notable, evidence.rows, evidence.sample)
    examples = [
        cue_name(family, name, evidence.phrases)
        for family, name in notable.sort("given_away", descending=True, maintain_order=True)
        .select("family", "feature")
        .head(NAMED)
        .rows()
    ]
    or_less = " (95 % CI)" if notable["by_points"].all() else " (95 % CI), or by less in many examples"
    such_as = ": " if notable.height <= NAMED else ", such as "
    training = "training " if len(evidence.sample.splits) > 1 else ""
    text += (
        f". For {notable.height:,} of them, the label share differs from chance by {100 * NOTABLE_GAIN:.0f} points or "
        f"more{or_less}{such_as}{listed(examples)}; {percent(coverage)} of the {training}examples contain at "
        "least one."
    )
    return Finding(
        "cues", severity_of(away), title, text, value=share, n=evidence.total, key=ALL_FEATURES, counted="instances",
        q_value=float(np.nanmin(notable["q_value"].to_numpy())),
    )  # fmt: skip


def given_away(notable: pl.DataFrame, rows: CueRows, sample: Instances) -> tuple[float, float]:
    """Return the share of training examples with a notable cue, and the part of what chance leaves these give away.

    Each example counts with its strongest cue. What is given away is that of test, where that is less.
    """
    points = notable.filter(pl.col("given_away") > 0)
    if points.is_empty():
        return 0.0, 0.0
    # Sums over ranks do not depend on the slices: each example counts with the rank of its strongest cue.
    strength, rank = np.unique((points["given_away"] / points["coverage"]).to_numpy(), return_inverse=True)
    columns = points["column"].to_numpy().astype(np.int64)
    ranks = np.zeros(rows.n_cues, dtype=np.int64)
    ranks[columns] = rank + 1
    if sample.grouped:  # whether instances of an example differ is only asked of these
        ranks = rank + 1
    split = sample.table["split"]
    of_split = {name: (split == name).to_numpy() for name in sample.splits}
    best = {name: np.zeros(len(strength) + 1, dtype=np.int64) for name in sample.splits}
    for where, some in rows.slices():
        for name, own in of_split.items():
            if own[where].any():
                asked = some[:, columns] if sample.grouped else some
                concerns = concerned(asked, sample, where, own[where])
                # Of each row; the last value is for rows at the end that have none.
                values = np.append(ranks[concerns.indices] * concerns.data, 0)
                highest = np.maximum.reduceat(values, concerns.indptr[:-1])
                highest[np.diff(concerns.indptr) == 0] = 0
                best[name] += np.bincount(highest, minlength=len(strength) + 1)
    shares = [
        (counts[1:].sum() / counts.sum(), float((counts[1:] * strength).sum() / counts.sum()))
        for counts in best.values()
    ]
    return float(shares[0][0]), min(away for _, away in shares)


def _detectable(cues: pl.DataFrame, total: int, alpha: float) -> str:
    """Return the smallest effect of a frequent feature that would have been significant, most of the time."""
    if cues.is_empty():
        return ""
    chance = float(np.median(cues["chance"].to_numpy()))
    n = round(TYPICAL * total)
    # The correction asks of the first discovery what Bonferroni asks.
    share = detectable_accuracy(n, chance, alpha=alpha / cues.height)
    if share >= 1.0:
        return (
            f" The dataset is small: even a feature that occurs in {percent(TYPICAL, 0)} of the examples, always with "
            "the same label, would not be significant."
        )
    return (
        f" For a feature that occurs in {percent(TYPICAL, 0)} of the examples, the test detects a label share of "
        f"{percent(share)} or more (power 80 %); chance is {percent(chance)}."
    )


def strongest_words(cues: pl.DataFrame) -> pl.DataFrame:
    """Return the words that give most away where they occur, of those in enough examples and distinct texts.

    They are ranked by how far their share surely is from chance, of what chance leaves.
    """
    if "held_low" not in cues.columns:
        return cues.head(0)
    gain = (pl.col("held_low") - pl.col("chance")) / (1 - pl.col("chance"))
    frequent = (pl.col("coverage") >= LEAST_COVERAGE) & (pl.col("train_texts") >= FEWEST_TEXTS)
    words = cues.filter(
        (pl.col("family") == "word")
        & (pl.col("direction") == POINTS_TO)
        & pl.col("is_cue")
        & frequent
        & (gain > 0),
        ~pl.col("outcome").is_in([VANISHES, REVERSES]),
    )
    return words.sort(gain, descending=True, maintain_order=True).head(WORDS_LISTED)


def not_replicated(lost: pl.DataFrame, compared: int, phrases: Mapping[str, str]) -> Finding:
    """Return the finding about cues of train that vanish or reverse in test."""
    turned = lost.filter(pl.col("outcome") == REVERSES)
    first = lost.sort(pl.col("outcome") == REVERSES, descending=True, maintain_order=True).head(NAMED)
    named = [
        f"{cue_name(row['family'], row['feature'], phrases)} ({row['label']}: {percent(row['share'], 0)} in train, "
        f"{percent(row['again_share'], 0)} in test)"
        for row in first.iter_rows(named=True)
    ]
    reverse = (
        f", and {turned.height:,} of them {'predicts' if turned.height == 1 else 'predict'} the opposite there"
        if turned.height
        else ""
    )
    text = (
        f"{lost.height:,} of {plural(compared, 'strong cue')} in the training set "
        f"{'does' if lost.height == 1 else 'do'} not hold in the test set{reverse}: {listed(named)}. They do not "
        "help a model on the test set."
    )
    return Finding(
        "cues", "low", "Some cues of the training set do not hold in the test set", text,
        value=lost.height / compared, n=compared, key=NOT_REPLICATED, counted="cues",
    )  # fmt: skip

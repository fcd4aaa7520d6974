"""The sentences of the cue audit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from scipy import sparse

from cuecard.analysis import Evidence, Finding, Severity
from cuecard.audits.cues.statistics import POINTS_TO
from cuecard.data import Instances
from cuecard.features import Family
from cuecard.wording import count, listed, percent

#: A cue is worth a sentence if the lower end of its interval is this far above the prior: a huge z on a tiny
#: lift is not a finding.
NOTABLE_GAIN = 0.10
#: A cue nearly all of whose instances have a stronger cue, to which it adds little, is that cue told twice.
TOLD_BEFORE = 0.9
FINDINGS_PER_LABEL = 4
EXAMPLES_PER_FINDING = 3
#: The key of the finding about all features together.
OVERALL = "all-features"


def cue_findings(
    cues: pl.DataFrame,
    redundancy: pl.DataFrame,
    matrix: sparse.csc_matrix,
    sample: Instances,
    families: Sequence[Family],
    *,
    total: int,
    alpha: float,
) -> list[Finding]:
    """Return a verdict over all features, then the strongest cues of every label with real examples.

    The rows of `redundancy` and the columns of `matrix` are the first of the significant `cues`.
    """
    gain = cue_gain()
    significant = cues.filter("significant").with_row_index("column")
    notable = significant.filter(pl.col("is_cue") & (gain >= NOTABLE_GAIN))
    new = notable.filter(pl.col("column").is_in(_not_told_before(redundancy).implode()))
    shown = pl.concat(
        [new.filter(pl.col("label") == label).head(FINDINGS_PER_LABEL) for label in sample.labels]
    ).sort("column")
    phrases = {family.name: family.phrase for family in families}
    relational = [family.name for family in families if getattr(family, "relational", False)]
    of_one_text = ~pl.col("family").is_in(relational)
    findings = [_verdict(cues.filter(of_one_text), notable.filter(of_one_text), phrases, total, alpha)]
    for row in shown.iter_rows(named=True):
        name = phrases[row["family"]].format(row["feature"])
        evidence = _evidence(row, matrix, sample)
        finding = _cue(row, name, total, evidence)
        findings.append(_of_the_relation(finding) if row["family"] in relational else finding)
    return findings


def cue_gain() -> pl.Expr:
    """Return how far the nearer end of a cue's interval is from chance: above it, or below where it rules out."""
    points = pl.col("direction") == POINTS_TO
    above, below = pl.col("share_low") - pl.col("chance"), pl.col("chance") - pl.col("share_high")
    return pl.when(points).then(above).otherwise(below)


def _not_told_before(redundancy: pl.DataFrame) -> pl.Series:
    """Return the numbers of the cues that lead their group and say more than a stronger one they lie within."""
    own_name = pl.concat_str("family", "feature", separator=":")
    adds_little = (pl.col("share_with") - pl.col("base_with")).abs() < NOTABLE_GAIN
    within = ((pl.col("contained") >= TOLD_BEFORE) & adds_little).fill_null(False)
    return redundancy.with_row_index("column").filter((pl.col("group") == own_name) & ~within)["column"]


def _verdict(
    cues: pl.DataFrame, notable: pl.DataFrame, phrases: dict[str, str], total: int, alpha: float
) -> Finding:
    significant = int(cues["significant"].sum())
    tested = count(cues.height, "feature")
    if significant == 0:
        text = f"None of {tested} is associated with the label beyond chance (q ≤ {alpha:g})."
        return Finding(
            "cues", "info", "No cue found", text, value=0.0, n=total, key=OVERALL, counted="instances"
        )
    share = significant / cues.height
    severity: Severity = "high" if notable.height >= 20 else "medium" if notable.height else "low"
    text = f"{significant:,} of {tested} ({percent(share)}) are associated with a label beyond chance (q ≤ {alpha:g})"
    if notable.height:
        examples = [
            phrases[family].format(name)
            for family, name in notable.select("family", "feature").head(3).rows()
        ]
        text += (
            f"; {notable.height:,} of them change their label's share by at least {100 * NOTABLE_GAIN:.0f} points, "
            f"such as {listed(examples)}."
        )
    else:
        text += f", none by {100 * NOTABLE_GAIN:.0f} points or more."
    title = "Surface features predict the label"
    return Finding("cues", severity, title, text, value=share, n=total, key=OVERALL, counted="instances")


def _cue(row: dict[str, Any], name: str, total: int, evidence: tuple[Evidence, ...]) -> Finding:
    n, share, low, high = round(row["share_n"]), row["share"], row["share_low"], row["share_high"]
    label, chance = row["label"], row["chance"]
    points = row["direction"] == POINTS_TO
    gain = low - chance if points else chance - high
    severity: Severity = (
        "high" if points and low >= 0.8 and n >= 0.002 * total else "medium" if gain >= 0.2 else "low"
    )
    share_text = percent(share) if points else f"Only {percent(share)}"
    text = (
        f"{share_text} of the {count(n, 'train instance')} with {name}{_compared(row)} are {label} "
        f"(95 % interval {percent(low)} to {percent(high)}), where {percent(chance)} would be expected."
        f"{_repeated(row)}"
    )
    title = f"{name[0].upper()}{name[1:]} {row['direction']} {label}"
    cue = row["feature"] if row["family"] == "word" else f"{row['family']}:{row['feature']}"
    return Finding(
        "cues", severity, title, text, share, low, high, chance, n, evidence, cue, label, counted="instances"
    )


def _compared(row: dict[str, Any]) -> str:
    """Return the clause that says which instances a share is of, where it is not all of them."""
    if round(row["share_n"]) == round(row["train_count"]):
        return ""
    return " in examples whose choices differ in it"


def _repeated(row: dict[str, Any]) -> str:
    """Return the sentence that says how many texts a cue was seen in, where some occur more than once."""
    n, texts = row["train_count"], row["train_texts"]
    if not isinstance(n, int) or texts >= n:  # weights say nothing about the number of instances
        return ""
    return f" The {count(n, 'instance')} with it are in {count(texts, 'distinct text')}."


def _of_the_relation(finding: Finding) -> Finding:
    """Return the finding as information: a relation of the two texts may be what the task asks about."""
    text = f"{finding.text} It compares the two texts, which may be what the task is about."
    return replace(finding, severity="info", text=text)


def _evidence(row: dict[str, Any], matrix: sparse.csc_matrix, sample: Instances) -> tuple[Evidence, ...]:
    """Return a few train instances with the cue and its label, or another one where the cue rules its label out."""
    column = row["column"]
    rows = matrix.indices[matrix.indptr[column] : matrix.indptr[column + 1]]
    in_train = (sample.table["split"].cast(pl.String) == "train").to_numpy()
    right_label = sample.label_codes == sample.labels.index(row["label"])
    right_label = right_label if row["direction"] == POINTS_TO else ~right_label
    chosen = np.sort(rows[in_train[rows] & right_label[rows]])[:EXAMPLES_PER_FINDING]
    return tuple(
        Evidence(
            example_id=str(instance["example_id"]),
            split="train",
            label=str(instance["label"]),
            hypothesis=instance["hypothesis"],
            premise=instance["premise"],
            highlight=(row["feature"],),
        )
        for instance in sample.table[chosen].iter_rows(named=True)
    )

"""The sentences of the cue audit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from cuecard.analysis import Evidence, Finding, Severity
from cuecard.audits.cue_statistics import CueTables
from cuecard.features import CueCounts, Family
from cuecard.text import Encoded
from cuecard.wording import count, listed, percent

#: A cue is worth a sentence if the lower end of its interval is this far above the prior: a huge z on a tiny
#: lift is not a finding.
NOTABLE_GAIN = 0.10
FINDINGS_PER_LABEL = 4
EXAMPLES_PER_FINDING = 3


def cue_findings(
    tables: CueTables, counts: CueCounts, sample: Encoded, families: Sequence[Family], *, alpha: float
) -> list[Finding]:
    """Return a verdict over all features, then the strongest cues of every label with real examples."""
    prior = dict(zip(counts.labels, tables.prior.tolist(), strict=True))
    expected = pl.col("label").replace_strict(prior, return_dtype=pl.Float64)
    notable = tables.cues.filter(pl.col("significant") & (pl.col("share_low") - expected >= NOTABLE_GAIN))
    shown = pl.concat(
        [notable.filter(pl.col("label") == label).head(FINDINGS_PER_LABEL) for label in counts.labels]
    )
    shown = shown.sort("log10_p", maintain_order=True)
    evidence = _evidence(shown, sample, families)
    total = int(counts.totals[0].sum())
    phrases = {family.name: family.phrase for family in families}
    findings = [_verdict(tables.cues, notable, phrases, total, alpha)]
    for row in shown.iter_rows(named=True):
        key = (row["family"], row["feature"])
        name = phrases[row["family"]].format(row["feature"])
        findings.append(_cue(row, name, prior[row["label"]], total, evidence.get(key, ())))
    return findings


def _verdict(
    cues: pl.DataFrame, notable: pl.DataFrame, phrases: dict[str, str], total: int, alpha: float
) -> Finding:
    significant = int(cues["significant"].sum())
    tested = count(cues.height, "feature")
    if significant == 0:
        text = f"None of {tested} is associated with the label beyond chance (q ≤ {alpha:g})."
        return Finding("cues", "info", "No cue found", text, value=0.0, n=total)
    share = significant / cues.height
    severity: Severity = "high" if notable.height >= 20 else "medium" if notable.height else "low"
    examples = [
        phrases[family].format(name) for family, name in notable.select("family", "feature").head(3).rows()
    ]
    text = f"{significant:,} of {tested} ({percent(share)}) are associated with a label beyond chance (q ≤ {alpha:g})"
    if examples:
        text += (
            f"; {notable.height:,} of them raise their label's share by at least {100 * NOTABLE_GAIN:.0f} points, "
            f"such as {listed(examples)}."
        )
    else:
        text += f", none by {100 * NOTABLE_GAIN:.0f} points or more."
    return Finding("cues", severity, "Surface features predict the label", text, value=share, n=total)


def _cue(
    row: dict[str, object], name: str, prior: float, total: int, evidence: tuple[Evidence, ...]
) -> Finding:
    n, share, low, high = (
        round(float(str(row["train_count"]))),
        *(float(str(row[c])) for c in ("share", "share_low", "share_high")),
    )
    label = str(row["label"])
    severity: Severity = (
        "high" if low >= 0.8 and n >= 0.002 * total else "medium" if low >= prior + 0.2 else "low"
    )
    text = (
        f"{percent(share)} of the {count(n, 'train instance')} with {name} are {label} "
        f"(95 % interval {percent(low)} to {percent(high)}), where {percent(prior)} would be expected."
    )
    return Finding(
        "cues",
        severity,
        f"{name[0].upper()}{name[1:]} points to {label}",
        text,
        share,
        low,
        high,
        prior,
        n,
        evidence,
    )


def _evidence(
    shown: pl.DataFrame, sample: Encoded, families: Sequence[Family]
) -> dict[tuple[str, str], tuple[Evidence, ...]]:
    """Return a few train instances for every shown cue, with its label."""
    table, labels = sample.instances.table, sample.instances.labels
    codes = sample.instances.label_codes
    in_train = (table["split"].cast(pl.String) == "train").to_numpy()
    found: dict[tuple[str, str], tuple[Evidence, ...]] = {}
    for family in families:
        wanted = shown.filter(pl.col("family") == family.name)
        if wanted.is_empty():
            continue
        presence = family.presence(sample)
        rows_of_entries = presence.rows()
        for feature, label in wanted.select("feature", "label").iter_rows():
            matches = np.flatnonzero((presence.names == feature).to_numpy())
            rows = rows_of_entries[np.isin(presence.indices, matches)]
            rows = rows[in_train[rows] & (codes[rows] == labels.index(label))][:EXAMPLES_PER_FINDING]
            found[family.name, feature] = tuple(
                Evidence(
                    example_id=str(row["example_id"]),
                    split="train",
                    label=label,
                    hypothesis=row["hypothesis"],
                    premise=row["premise"],
                    highlight=(feature,),
                )
                for row in table[rows].iter_rows(named=True)
            )
    return found

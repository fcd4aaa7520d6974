"""What the distribution test found, in sentences."""

from __future__ import annotations

from typing import Any

import polars as pl

from cuecard.analysis import Finding, Severity
from cuecard.data import GROUPED_TASKS, Task
from cuecard.features.spoken import spoken_cue
from cuecard.wording import percent, plural

FINDINGS_PER_MODEL = 3
#: A lean gets a sentence if the interval of the usual label's share lies this far from flat.
NOTABLE_LEAN = 0.05


def distribution_findings(tests: pl.DataFrame, task: Task, source: str = "the training set") -> list[Finding]:
    """Return a sentence for the strongest leans of a model towards a cue's usual label, and away from it.

    `source` is what to call the examples that the cues come from.
    """
    towards = pl.col("towards_usual") & pl.col("with_cue_only")
    away = pl.col("away_from_usual") & pl.col("against_cue")
    nearest = pl.when(towards).then(pl.col("usual_low") - pl.col("flat")).when(away).then(
        pl.col("flat") - pl.col("usual_high")
    )  # fmt: skip
    notable = (
        tests.with_columns(distance=nearest)
        .filter(pl.col("distance") >= NOTABLE_LEAN)
        .sort(pl.col("lean").abs(), descending=True, maintain_order=True)
    )
    findings = []
    for row in notable.head(FINDINGS_PER_MODEL).iter_rows(named=True):
        name = spoken_cue(row["family"], row["feature"])
        severity: Severity = "high" if row["distance"] >= 4 * NOTABLE_LEAN else "medium"
        title, text = (_of_choices if task in GROUPED_TASKS else _of_labels)(row, name, source)
        findings.append(
            Finding(
                "distribution_test",
                severity,
                title,
                text,
                row["usual_share"],
                row["usual_low"],
                row["usual_high"],
                row["flat"],
                row["n"],
                key=f"{row['model']}/{row['family']}:{row['feature']}",
            )
        )
    return findings


def _of_labels(row: dict[str, Any], name: str, source: str) -> tuple[str, str]:
    text = (
        f"On {plural(row['n'], 'test example')} with {name}, sampled to balanced labels, {row['model']} predicts "
        f"{row['label']} for {_share(row)}. An unbiased model would predict it for {percent(row['flat'])}; without the "
        f"cue, this model predicts it for {percent(row['usual_share_without'])}. In {source}, "
        f"{percent(row['train_share'])} of the instances with the cue are {row['label']}."
    )
    if row["lean"] < 0:
        return f"{row['model']} avoids {row['label']} in examples with {name}", text + _opposite(row, source)
    return f"{row['model']} prefers {row['label']} in examples with {name}", text


def _of_choices(row: dict[str, Any], name: str, source: str) -> tuple[str, str]:
    verb = "prefers" if row["label"] in ("right", "chosen") else "rejects"
    noun = "choices" if row["label"] in ("right", "wrong") else "answers"
    does, do = ("picks", "pick") if verb == "prefers" else ("passes over", "pass over")
    text = (
        f"On {plural(row['n'], 'test example')}, reweighted so that {noun} with {name} are correct at chance, "
        f"{row['model']} {does} {_share(row)} of them; an unbiased model would {do} {percent(row['flat'])}. In "
        f"{source}, {percent(row['train_share'])} of these {noun} are {row['label']}."
    )
    if row["lean"] < 0:
        opposite = "rejects" if verb == "prefers" else "prefers"
        return f"{row['model']} {opposite} {noun} with {name}", text + _opposite(row, source)
    return f"{row['model']} {verb} {noun} with {name}", text


def _opposite(row: dict[str, Any], source: str) -> str:
    """Return that the model does the opposite of what the cue suggests, where it suggests anything."""
    return f" This is the opposite of {source}." if row["train_share"] > row["flat"] else ""


def _share(row: dict[str, Any]) -> str:
    low, high = percent(row["usual_low"]), percent(row["usual_high"])
    return f"{percent(row['usual_share'])} (95 % CI {low} to {high})"

"""What is in the set: sizes, label balance, lengths, duplicates, contradictions, train/test overlap."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from cuecard.analysis import Evidence, Finding, Measure, MeasureKind, Result, Summary, severity_of
from cuecard.audits.overview_view import overview_view
from cuecard.audits.repeated_inputs import repeated_inputs
from cuecard.audits.repetition import repetition_findings
from cuecard.data import TASKS, Instances, Task
from cuecard.data.row_numbers import row_table
from cuecard.data.splits import near_copies_of_train, train_overlap
from cuecard.data.units.copies import ALIKE
from cuecard.data.weights import unequal_weights, weight_total
from cuecard.stats.weighted import weighted_quantiles
from cuecard.wording import TRAINING_SET, percent, plural

#: Texts longer than the first number of tokens are counted in bins of the second.
_COARSE = ((200, 10), (2_000, 100), (20_000, 1_000))

#: What a split is called.
_SET = {"train": TRAINING_SET, "test": "the test set"}
#: What the judged text is called in each task.
_TEXT = {"pair": "hypothesis", "choice": "choice", "preference": "response", "text": "text", "open": "answer"}
#: The column of weights, where instances have them.
WEIGHT = "_weight"
#: Rows that are counted at a time.
AT_A_TIME = 1 << 22
#: Conflicting examples that a finding shows.
SHOWN_CONFLICTS = 3
EXAMPLES = MeasureKind("examples.{split}", "{split} examples", "count")
LABEL_SHARE = MeasureKind("label_share.{label}", "share of {label} in the training set", "share")
REPEATED = MeasureKind("repeated", "repeated examples", "share", "higher")
CONFLICTING = MeasureKind("conflicting_labels", "examples with conflicting labels", "count", "higher")
COPIES = MeasureKind("test_copies", "test examples that occur in the training set", "share", "higher")
OVERLAP = MeasureKind(
    "test_overlap", "test examples that share a text with the training set", "share", "higher", key=True
)
KINDS = (EXAMPLES, LABEL_SHARE, REPEATED, CONFLICTING, COPIES, OVERLAP)


def overview_measures(summary: Summary) -> list[Measure]:
    """Return sizes, label shares, and what occurs more often than it should."""
    name, splits = "overview", summary["splits"]
    total = sum(split["examples"] for split in splits.values())
    labels = splits["train"]["labels"]
    mass = sum(labels.values())
    measures = [EXAMPLES.of(name, split["examples"], split=key) for key, split in splits.items()]
    measures += [
        LABEL_SHARE.of(name, count / mass, n=splits["train"]["instances"], label=label)
        for label, count in labels.items()
        if len(labels) > 1
    ]
    measures.append(REPEATED.of(name, summary["duplicates"]["normalised"] / total, n=total))
    measures.append(CONFLICTING.of(name, summary["conflicting_labels"], n=total))
    if overlap := summary["overlap"]:
        n = overlap["test_examples"]
        measures.append(COPIES.of(name, overlap["pair"] / n, n=n))
        measures.append(OVERLAP.of(name, overlap["sentence"] / n, n=n))
    return measures


#: Near copies of training examples beyond the identical ones are a finding from this share of the test examples on.
NOTABLE_NEAR = 0.005


@dataclass(frozen=True)
class Overview:
    """Describe the dataset before judging it.

    Args:
        shown_duplicates: how many repeated inputs to list.
        weights: extra column that holds every instance's weight, by which label shares and lengths count; duplicates,
            contradictions and overlap are about rows, whatever they weigh.
    """

    name: ClassVar[str] = "overview"
    title: ClassVar[str] = "Overview"
    tasks: ClassVar[frozenset[Task]] = frozenset(TASKS)
    view = staticmethod(overview_view)
    measures: ClassVar[tuple[MeasureKind, ...]] = KINDS
    parallel: ClassVar[bool] = True
    any_size: ClassVar[bool] = True

    shown_duplicates: int = 50
    weights: str | None = None

    def run(self, data: Instances) -> Result:
        """Return sizes, balance, lengths and everything that occurs more often than it should."""
        weights = unequal_weights(data, self.weights)
        table = row_table(data)
        if weights is not None:
            table = table.with_columns(pl.Series(WEIGHT, weights))
        inputs = repeated_inputs(table, data, self.shown_duplicates, SHOWN_CONFLICTS)
        overlap = None
        if data.test is not None:
            overlap = train_overlap(data).counts() | {"answered": inputs.answered}
            # Questions in words that differ by a number are near copies with other answers: templates are an audit.
            same = {"near": overlap["pair"], "near_answered": inputs.answered}
            overlap |= near_copies_of_train(data) if data.labelled else same
        summary: Summary = {
            "splits": {name: _describe(data, table, name) for name in data.splits},
            "duplicates": {"exact": inputs.exact, "normalised": inputs.normalised},
            "conflicting_labels": inputs.conflicting,
            "overlap": overlap,
        }
        tables = {
            **({"label_balance": _label_balance(table, data.labels)} if data.labelled else {}),
            "lengths": _length_histogram(table),
            "duplicates": inputs.repeated.with_columns(
                pl.col("labels").list.join(", "), pl.col("splits").list.join(", ")
            ),
        }
        findings = [*_findings(summary, inputs.conflicts, inputs.examples, data), *repetition_findings(data)]
        return Result(summary, tables, findings, measures=overview_measures(summary))


def _remembered(overlap: Mapping[str, int]) -> str:
    same, both = overlap["answered"], overlap["pair"]
    if not same:
        return f"but {'not' if both == 1 else 'none of them'} with the same answer"
    which = "" if both == 1 else "all of them " if same == both else f"{same:,} of them "
    correct = f"a model that remembers the training set is correct on {'it' if same == 1 else 'these'}"
    return f"{which}with the same answer: {correct}"


def _describe(data: Instances, table: pl.DataFrame, name: str) -> Summary:
    rows = _of_split(table, name)
    counts = dict(_counted(rows, ["label"]).iter_rows())
    weights = rows[WEIGHT] if WEIGHT in rows.columns else None
    split = data.split(name)
    return {
        "examples": split.n_examples,
        "instances": rows.height,
        **({"instances_per_example": _per_example(split)} if data.grouped else {}),
        "labels": {label: counts.get(label, 0) for label in data.labels},
        "premise_tokens": _length_summary(rows["premise_tokens"], weights),
        "hypothesis_tokens": _length_summary(rows["hypothesis_tokens"], weights),
        "empty_premise": int((rows["premise_tokens"] == 0).sum()),
        "empty_hypothesis": int((rows["hypothesis_tokens"] == 0).sum()),
    }


def _per_example(split: Instances) -> dict[str, int]:
    """Return how many instances the smallest and the largest example of a split have."""
    sizes = np.diff(split.first_rows)
    return {"min": int(sizes.min()), "max": int(sizes.max())}


def _of_split(table: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return the rows of a split, in the memory or the file of all where they stand together."""
    rows = table["split"] == name
    first, n = rows.arg_max() or 0, int(rows.sum())
    return table.slice(first, n) if rows.slice(first, n).all() else table.filter(rows)


def _counted(table: pl.DataFrame, keys: list[str], **made: pl.Expr) -> pl.DataFrame:
    """Return how many rows, or which weight, each combination of keys has; names of labels and splits as text.

    `made` are keys that are made of other columns.
    """
    weighted = WEIGHT in table.columns
    count = weight_total(WEIGHT, table.schema[WEIGHT]) if weighted else pl.len().cast(pl.Int64)
    size = (
        max(table.height, 1) if weighted else AT_A_TIME
    )  # sums of parts are exact where they are whole numbers
    parts = [
        table[start : start + size].with_columns(**made).group_by(keys).agg(count=count)
        for start in range(0, max(table.height, 1), size)
    ]
    names = [key for key in keys if isinstance(parts[0].schema[key], pl.Enum)]
    return (
        pl.concat(parts).group_by(keys).agg(pl.col("count").sum()).with_columns(pl.col(names).cast(pl.String))
    )


def _length_summary(lengths: pl.Series, weights: pl.Series | None) -> dict[str, float]:
    if weights is not None and len(lengths) and weights.sum() > 0:
        measured = lengths.is_not_null().to_numpy()
        values, mass = lengths.to_numpy()[measured], weights.to_numpy()[measured]
        median, low, high = weighted_quantiles(values, mass, [0.5, 0.05, 0.95]).tolist()
        mean, most = float(np.average(values, weights=mass)), float(values.max())
        return {"mean": mean, "median": median, "p5": low, "p95": high, "max": most}
    frame = lengths.to_frame("x").select(
        mean=pl.col("x").mean(),
        median=pl.col("x").median(),
        p5=pl.col("x").quantile(0.05),
        p95=pl.col("x").quantile(0.95),
        max=pl.col("x").max().cast(pl.Float64),
    )
    return frame.row(0, named=True)


def _label_balance(table: pl.DataFrame, labels: tuple[str, ...]) -> pl.DataFrame:
    order = {label: i for i, label in enumerate(labels)}
    return (
        _counted(table, ["split", "label"])
        .with_columns(share=pl.col("count") / pl.col("count").sum().over("split"))
        .sort("split", pl.col("label").replace_strict(order, default=len(order)), descending=[True, False])
    )


def _coarse(tokens: pl.Expr) -> pl.Expr:
    """Return lengths as they are, long ones rounded down to a multiple of their bin."""
    binned = tokens
    for least, width in _COARSE:
        binned = pl.when(tokens > least).then(tokens // width * width).otherwise(binned)
    return binned


def _length_histogram(table: pl.DataFrame) -> pl.DataFrame:
    fields = [
        _counted(table, ["split", "label", "tokens"], tokens=_coarse(pl.col(f"{field}_tokens"))).select(
            "split", "label", "tokens", "count", field=pl.lit(field)
        )
        for field in ("premise", "hypothesis")
    ]
    return (
        pl.concat(fields)
        .select("split", "label", "field", "tokens", "count")
        .sort("split", "field", "label", "tokens")
    )


def _findings(summary: Summary, conflicts: pl.DataFrame, examples: int, data: Instances) -> list[Finding]:
    findings = []
    conflicting = summary["conflicting_labels"]
    kind = "label" if data.labelled else "answer"
    if conflicting:
        findings.append(
            Finding(
                section="overview",
                role="flaw",
                severity="medium" if conflicting >= 0.01 * examples else "low",
                title=f"Identical inputs have different {kind}s",
                text=f"{conflicting:,} examples ({percent(conflicting / examples)}) have the same input as an "
                f"example with another {kind} (ignoring case and punctuation). No model can be correct on all of them.",
                value=conflicting / examples,
                n=conflicting,
                key="conflicting-labels",
                evidence=tuple(
                    Evidence(
                        "",
                        ", ".join(row["splits"]),
                        " / ".join(row["labels"]),
                        *(
                            (row["premise"], "")
                            if data.task == "open"
                            else (row["hypothesis"], row["premise"])
                        ),
                    )
                    for row in conflicts.iter_rows(named=True)
                ),
            )
        )
    duplicates = summary["duplicates"]["normalised"]
    if duplicates >= 0.01 * examples:
        findings.append(
            Finding(
                section="overview",
                role="flaw",
                severity="low",
                title="Repeated examples",
                text=f"{duplicates:,} examples ({percent(duplicates / examples)}) repeat another example of "
                "the same split (ignoring case and punctuation).",
                value=duplicates / examples,
                n=duplicates,
                key="repeated-examples",
            )
        )
    overlap = summary["overlap"]
    if overlap and overlap["pair"]:
        share, same = (count / overlap["test_examples"] for count in (overlap["pair"], overlap["answered"]))
        occur = "occurs" if overlap["pair"] == 1 else "occur"
        findings.append(
            Finding(
                section="overview",
                role="flaw",
                severity=severity_of(same),
                title="Test examples also occur in the training set",
                text=f"{overlap['pair']:,} of {overlap['test_examples']:,} test examples ({percent(share)}) also "
                f"{occur} in the training set (ignoring case and punctuation), {_remembered(overlap)}.",
                value=same,
                chance=0.0,
                n=overlap["pair"],
                key="test-examples-in-train",
            )
        )
    if overlap and overlap["near"] - overlap["pair"] >= NOTABLE_NEAR * overlap["test_examples"]:
        n, near, same = overlap["test_examples"], overlap["near"], overlap["near_answered"]
        answered = "none of them" if not same else "all of them" if same == near else f"{same:,} of them"
        are = "is" if overlap["pair"] == 1 else "are"
        findings.append(
            Finding(
                section="overview",
                role="flaw",
                severity=severity_of(same / n),
                title="Test examples are near copies of training examples",
                text=f"{near:,} of {n:,} test examples ({percent(near / n)}) share at least {percent(ALIKE, 0)} of the "
                f"words of each text with a training example ({overlap['pair']:,} {are} identical up to case and "
                f"punctuation), {answered} with the same answer: a model that memorised the training set can answer "
                "these.",
                value=same / n,
                chance=0.0,
                n=near,
                key="near-copies-in-train",
            )
        )
    for split, described in summary["splits"].items():
        empty = described["empty_hypothesis"] if data.labelled else 0  # a question may have no answer
        if empty:
            findings.append(
                Finding(
                    section="overview",
                    role="flaw",
                    severity="low",
                    title="Empty texts",
                    text=f"In {_SET.get(split, f'the {split} split')}, "
                    f"{plural(empty, 'instance has', 'instances have')} an empty {_TEXT[data.task]}.",
                    n=empty,
                    key=f"empty-texts/{split}",
                    counted="instances",
                )
            )
    return findings

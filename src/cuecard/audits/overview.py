"""What is in the set: sizes, label balance, lengths, duplicates, contradictions, train/test overlap."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from cuecard.analysis import Evidence, Finding, Measure, MeasureKind, Result, severity_of
from cuecard.audits.repetition import repetition_findings
from cuecard.data import TASKS, Instances, Task
from cuecard.data.splits.overlap import train_overlap, whole_keys
from cuecard.data.survey import row_table
from cuecard.data.weights import unequal_weights, weight_total
from cuecard.engines import Stream
from cuecard.stats.weighted import weighted_quantiles
from cuecard.wording import percent, plural

#: Texts longer than the first number of tokens are counted in bins of the second.
_COARSE = ((200, 10), (2_000, 100), (20_000, 1_000))

#: What the judged text is called in each task.
_TEXT = {"pair": "hypothesis", "choice": "choice", "preference": "response", "text": "text"}
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


def overview_measures(summary: Mapping[str, Any]) -> list[Measure]:
    """Return sizes, label shares, and what occurs more often than it should."""
    name, splits = "overview", summary["splits"]
    total = sum(split["examples"] for split in splits.values())
    labels = splits["train"]["labels"]
    mass = sum(labels.values())
    measures = [EXAMPLES.of(name, split["examples"], split=key) for key, split in splits.items()]
    measures += [
        LABEL_SHARE.of(name, count / mass, n=splits["train"]["instances"], label=label)
        for label, count in labels.items()
    ]
    measures.append(REPEATED.of(name, summary["duplicates"]["normalised"] / total, n=total))
    measures.append(CONFLICTING.of(name, summary["conflicting_labels"], n=total))
    if overlap := summary["overlap"]:
        n = overlap["test_examples"]
        measures.append(COPIES.of(name, overlap["pair"] / n, n=n))
        measures.append(OVERLAP.of(name, overlap["sentence"] / n, n=n))
    return measures


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
    measures: ClassVar[tuple[MeasureKind, ...]] = KINDS
    parallel: ClassVar[bool] = True
    measured = staticmethod(overview_measures)

    shown_duplicates: int = 50
    weights: str | None = None

    def run_stream(self, stream: Stream) -> Result:
        """Return what `run` returns, of a dataset that is gone through in pieces."""
        return self.run(stream.data)

    def run(self, data: Instances) -> Result:
        """Return sizes, balance, lengths and everything that occurs more often than it should."""
        weights = unequal_weights(data, self.weights)
        table = row_table(data).with_columns(
            split=pl.col("split").cast(pl.String),
            label=pl.col("label").cast(pl.String),
            _weight=pl.Series(np.ones(len(data), np.int64) if weights is None else weights),
        )
        examples = _examples(table, data)
        repeated = _repeated(examples)
        overlap = (
            train_overlap(data).counts() | {"answered": _answered(examples)}
            if data.test is not None
            else None
        )
        conflicting = repeated.filter(pl.col("answers").list.len() > 1)
        summary: dict[str, Any] = {
            "splits": {name: _describe(data, table, name) for name in data.splits},
            "duplicates": {
                "exact": _surplus(examples, ["premise_text", "hypothesis_text"]),
                "normalised": _surplus(examples, ["premise_key", "hypothesis_key"]),
            },
            "conflicting_labels": int(conflicting["count"].sum()),
            "overlap": overlap,
        }
        shown = _with_texts(
            pl.concat([repeated.head(self.shown_duplicates), conflicting.head(SHOWN_CONFLICTS)]), data
        )
        n_repeated = min(self.shown_duplicates, repeated.height)
        tables = {
            "label_balance": _label_balance(table, data.labels),
            "lengths": _length_histogram(table),
            "duplicates": shown.head(n_repeated).with_columns(
                pl.col("labels").list.join(", "), pl.col("splits").list.join(", ")
            ),
        }
        findings = [*_findings(summary, shown[n_repeated:], examples, data), *repetition_findings(data)]
        return Result(summary, tables, findings, measures=overview_measures(summary))


def _examples(table: pl.DataFrame, data: Instances) -> pl.DataFrame:
    """One row per example: its first row, keys of its premise and of its hypotheses in any order, and its answer.

    The answer to a question is its right choice, which is the same one up to case and punctuation.
    """
    first = data.first_rows[:-1]
    chosen = ["split", "premise_text", "premise_key", "premise_filled"]
    if not data.grouped:
        examples = table.select(
            *chosen,
            "hypothesis_text",
            "hypothesis_key",
            "hypothesis_filled",
            answer=data.table["label"].to_physical(),
        )
        return examples.with_columns(row=pl.Series(first), answer_row=pl.Series(first))
    examples = table[first].select(chosen)
    of_choices = {
        name: pl.Series(
            whole_keys(data.example_codes, np.zeros(len(data), np.uint64), table[name].to_numpy())
        )
        for name in ("hypothesis_text", "hypothesis_key")
    }
    right = np.flatnonzero(data.label_codes == 0)
    right = right[np.unique(data.example_codes[right], return_index=True)[1]]
    return examples.with_columns(
        **of_choices,
        hypothesis_filled=pl.Series(np.logical_or.reduceat(table["hypothesis_filled"].to_numpy(), first)),
        answer=table["hypothesis_key"].gather(right),
        row=pl.Series(first),
        answer_row=pl.Series(right),
    )


def _surplus(examples: pl.DataFrame, keys: list[str]) -> int:
    """Return how many examples could go without losing a distinct input, counted within each split."""
    return examples.height - examples.select("split", *keys).n_unique()


def _repeated(examples: pl.DataFrame) -> pl.DataFrame:
    """Return inputs that occur more than once, most frequent first: the first row, and one for every answer."""
    keys = ["premise_key", "hypothesis_key"]
    return (
        examples.select(*keys, "split", "row", "answer", "answer_row")
        .filter(pl.struct(keys).is_duplicated())
        .group_by(keys, maintain_order=True)
        .agg(
            pl.col("row").first(),
            pl.col("answer_row").filter(pl.col("answer").is_first_distinct()).alias("answers"),
            pl.len().alias("count"),
            pl.col("split").unique(maintain_order=True).alias("splits"),
        )
        .sort("count", descending=True, maintain_order=True)
        .drop(keys)
    )


def _with_texts(repeated: pl.DataFrame, data: Instances) -> pl.DataFrame:
    """Return repeated inputs with their texts and labels; the hypotheses of a question are joined, in order."""
    first, sizes = repeated["row"].to_numpy().astype(np.int64), np.ones(repeated.height, np.int64)
    if data.grouped:
        sizes = np.diff(data.first_rows)[data.example_codes[first]]
    rows = np.repeat(first - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())
    answers = repeated["answers"].explode(empty_as_null=False).to_numpy().astype(np.int64)
    wanted, place = np.unique(np.concatenate([rows, answers]), return_inverse=True)
    texts = data.texts_of(wanted)[place].select("premise", "hypothesis", pl.col("label").cast(pl.String))
    inputs = (
        texts[: len(rows)]
        .with_columns(input=np.repeat(np.arange(len(first)), sizes))
        .group_by("input", maintain_order=True)
        .agg(pl.col("premise").first(), pl.col("hypothesis").sort().str.join(" ⏐ "))
    )
    labels = (
        texts[len(rows) :]
        .select(label="hypothesis" if data.grouped else "label")
        .with_columns(input=np.repeat(np.arange(len(first)), repeated["answers"].list.len().to_numpy()))
        .group_by("input", maintain_order=True)
        .agg(pl.col("label").sort())
    )
    return pl.DataFrame(
        [
            inputs["premise"],
            inputs["hypothesis"],
            labels["label"].alias("labels"),
            repeated["count"],
            repeated["splits"],
        ]
    )


def _answered(examples: pl.DataFrame) -> int:
    """Return how many test examples occur in train with the same answer, which is the most frequent one there."""
    keys = ["premise_key", "hypothesis_key"]
    remembered = (
        examples.filter(pl.col("split") == "train")
        .group_by(*keys, maintain_order=True)
        .agg(pl.col("answer").mode().first().alias("remembered"))
    )
    filled = pl.col("premise_filled") | pl.col("hypothesis_filled")
    test = examples.filter((pl.col("split") == "test") & filled)
    return test.join(remembered, on=keys).filter(pl.col("answer") == pl.col("remembered")).height


def _remembered(overlap: Mapping[str, int]) -> str:
    same, both = overlap["answered"], overlap["pair"]
    if not same:
        return f"but {'not' if both == 1 else 'none of them'} with the same answer"
    which = "" if both == 1 else "all of them " if same == both else f"{same:,} of them "
    correct = f"a model that remembers the training set is correct on {'it' if same == 1 else 'these'}"
    return f"{which}with the same answer: {correct}"


def _describe(data: Instances, table: pl.DataFrame, name: str) -> dict[str, Any]:
    rows = table.filter(pl.col("split") == name)
    counts = dict(rows.group_by("label").agg(weight_total("_weight", rows.schema["_weight"])).iter_rows())
    return {
        "examples": data.split(name).n_examples,
        "instances": rows.height,
        "labels": {label: counts.get(label, 0) for label in data.labels},
        "premise_tokens": _length_summary(rows["premise_tokens"], rows["_weight"]),
        "hypothesis_tokens": _length_summary(rows["hypothesis_tokens"], rows["_weight"]),
        "empty_premise": int((rows["premise_tokens"] == 0).sum()),
        "empty_hypothesis": int((rows["hypothesis_tokens"] == 0).sum()),
    }


def _length_summary(lengths: pl.Series, weights: pl.Series) -> dict[str, float]:
    if weights.dtype.is_float() and len(lengths) and weights.sum() > 0:
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
        table.group_by("split", "label", maintain_order=True)
        .agg(count=weight_total("_weight", table.schema["_weight"]))
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
        table.select("split", "label", "_weight", field=pl.lit(field), tokens=pl.col(f"{field}_tokens"))
        for field in ("premise", "hypothesis")
    ]
    return (
        pl.concat(fields)
        .with_columns(tokens=_coarse(pl.col("tokens")))
        .group_by("split", "label", "field", "tokens")
        .agg(count=weight_total("_weight", table.schema["_weight"]))
        .sort("split", "field", "label", "tokens")
    )


def _findings(
    summary: dict[str, Any], conflicts: pl.DataFrame, examples: pl.DataFrame, data: Instances
) -> list[Finding]:
    findings = []
    conflicting = summary["conflicting_labels"]
    if conflicting:
        findings.append(
            Finding(
                section="overview",
                role="flaw",
                severity="medium" if conflicting >= 0.01 * examples.height else "low",
                title="Identical inputs have different labels",
                text=f"{conflicting:,} examples ({percent(conflicting / examples.height)}) have the same input as an "
                "example with another label (ignoring case and punctuation). No model can be correct on all of them.",
                value=conflicting / examples.height,
                n=conflicting,
                key="conflicting-labels",
                evidence=tuple(
                    Evidence(
                        "",
                        ", ".join(row["splits"]),
                        " / ".join(row["labels"]),
                        row["hypothesis"],
                        row["premise"],
                    )
                    for row in conflicts.iter_rows(named=True)
                ),
            )
        )
    duplicates = summary["duplicates"]["normalised"]
    if duplicates >= 0.01 * examples.height:
        findings.append(
            Finding(
                section="overview",
                role="flaw",
                severity="low",
                title="Repeated examples",
                text=f"{duplicates:,} examples ({percent(duplicates / examples.height)}) repeat another example of "
                "the same split (ignoring case and punctuation).",
                value=duplicates / examples.height,
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
    for split, described in summary["splits"].items():
        empty = described["empty_hypothesis"]
        if empty:
            findings.append(
                Finding(
                    section="overview",
                    role="flaw",
                    severity="low",
                    title="Empty texts",
                    text=f"In the {split} split, {plural(empty, 'instance has', 'instances have')} an empty "
                    f"{_TEXT[data.task]}.",
                    n=empty,
                    key=f"empty-texts/{split}",
                    counted="instances",
                )
            )
    return findings

"""Exact n-gram overlap of a benchmark with a corpus: which texts occur in it, where, and how much of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import polars as pl

from cuecard.analysis import Finding, Measure, MeasureKind, Need, Result, Severity, Skip, Summary
from cuecard.audits.overlap.corpus import NgramIndex, chunks, corpus_files
from cuecard.data import TASKS, Instances, Task
from cuecard.data.loading import WITHOUT_LABEL
from cuecard.stats import clopper_pearson
from cuecard.stats.arrays import Bools
from cuecard.view import Axis, Column, Histogram, KeyFigure, Outcome, Table, View
from cuecard.wording import display_text, file_size, percent, plural

#: Longer runs of words are counted together.
LONGEST = 60
_COLUMNS = {
    "example_id": Column("Example"),
    "role": Column("Text", brief=False),
    "words": Column("Words", "count", "words in a row that both have"),
    "of_words": Column("Of", "count", "words of the text"),
    "place": Column("File"),
    "offset": Column("Byte", "count", "where the run begins"),
    "span": Column("In the corpus"),
}

#: The rank of the published order for every model.
ORDER_VIEW = View(
    lead=("A model that has not seen the dataset finds its published order as likely as shuffled ones.",),
    tables=(
        Table(
            "Models",
            "published_order",
            {
                "model": Column("Model"),
                "rank_share": Column(
                    "Rank",
                    "percent",
                    "shuffles that are less likely than the published order; 50 % by chance",
                ),
                "shards": Column("Shards", "count"),
                "shuffles": Column("Shuffles", "count"),
                "p_value": Column("p", "probability", "exact, one-sided"),
            },
        ),
    ),
)


def overlap_view(outcome: Outcome) -> View:
    """Return the share of examples that the corpus contains, and the longest spans."""
    summary, table = outcome.summary, outcome.tables["overlap"]
    lead = (
        f"{plural(summary['texts'], 'text')} of {plural(summary['examples'], 'example')} searched for "
        f"in {plural(summary['files'], 'file')}: {plural(summary['spans'], 'run')} of words in both."
    )
    notes = []
    if summary["too_short"]:
        notes.append(
            f"{plural(summary['too_short'], 'text')} with fewer than {outcome.parameters.get('shortest', 5)} words "
            "(--shortest) were not searched for."
        )
    shown = table.with_columns(
        place=pl.Series([Path(name).name for name in table["file"]], dtype=pl.String),
        span=pl.Series([display_text(span, 160) for span in table["span"]], dtype=pl.String),
    )
    return View(
        lead=[lead],
        figures=[
            KeyFigure("examples with a text in the corpus", percent(summary["share"]["value"])),
            KeyFigure("with all words of a text", percent(summary["whole"]["value"])),
        ],
        charts=[_run_lengths(table)] if table.height else [],
        tables=[Table("Shared runs", "overlap", _COLUMNS, data=shown, most=60, searchable=True)],
        notes=notes,
    )


def _run_lengths(table: pl.DataFrame) -> Histogram:
    """Return how many runs have how many words, those of whole texts beside parts of texts."""
    width = 2 if (table["words"] > 30).any() else 1
    words = pl.min_horizontal("words", pl.lit(LONGEST)) // width * width
    whole = pl.when(pl.col("words") >= pl.col("of_words"))
    runs = (
        table.select(low=words, kind=whole.then(pl.lit("whole text")).otherwise(pl.lit("part of a text")))
        .group_by("low", "kind")
        .len("runs")
        .sort("low", "kind")
        .with_columns(high=pl.col("low") + width)
    )
    return Histogram(
        title="Length of shared runs",
        data=runs,
        low=Axis("low", f"words in a row ({LONGEST} or more together)"),
        high="high",
        y=Axis("runs", "runs"),
        colour="kind",
        alt="Histogram of the number of words in a row that dataset and corpus share.",
        caption="Every run was verified word by word; case, punctuation and white space do not count.",
        name="runs",
    )


NAME = "overlap"
SHARE = MeasureKind("share", "examples with a text that the corpus contains", "share", "higher", key=True)
WHOLE = MeasureKind("whole", "examples with a text all of whose words occur in the corpus", "share", "higher")
ANSWERS = MeasureKind("answers", "examples whose right answer occurs in the corpus", "share", "higher")


def overlap_measures(summary: Summary) -> list[Measure]:
    """Return the shares of examples that the corpus contains."""
    n = summary["examples"]
    return [
        kind.of(NAME, share["value"], low=share["low"], high=share["high"], n=n)
        for kind, share in ((kind, summary[kind.name]) for kind in (SHARE, WHOLE, ANSWERS))
    ]


@dataclass(frozen=True)
class Overlap:
    """Search files for runs of words that they share with the texts of a dataset.

    The corpus is read once, in chunks of bounded size. Hits are found by hash and verified word by word, so there are
    no false ones; case, punctuation and white space do not count.

    Args:
        n: words of the shortest run that counts; a shorter text must occur whole.
        shortest: texts with fewer words are not searched for.
    """

    name: ClassVar[str] = NAME
    title: ClassVar[str] = "Overlap with a corpus"
    view = staticmethod(overlap_view)
    tasks: ClassVar[frozenset[Task]] = frozenset(TASKS)
    needs: ClassVar[frozenset[Need]] = frozenset({"corpus"})
    measures: ClassVar[tuple[MeasureKind, ...]] = (SHARE, WHOLE, ANSWERS)

    n: int = 13
    shortest: int = 5

    def run(self, data: Instances, corpus: Sequence[str | Path]) -> Result:
        """Return every span with file and offset, and the share of examples that the corpus contains."""
        texts, owners = _texts(data)
        index = NgramIndex(texts, self.n, self.shortest)
        if not index.searched.any():
            raise Skip(f"needs a text of at least {self.shortest} words: lower the limit with --shortest")
        files = corpus_files(corpus)
        rows: dict[tuple[str, int, int, int], Summary] = {}
        searched = 0
        for path in files:
            for chunk in chunks(path):
                searched += len(chunk.data) - chunk.again
                for hit in index.hits(chunk.data, escapes=chunk.escapes, again=chunk.again):
                    # A run that a chunk cuts is there again, whole, in the next one.
                    rows[chunk.file, chunk.offset + hit.start, hit.text, hit.first] = {
                        "text_number": hit.text,
                        "text": texts[hit.text],
                        "words": hit.last - hit.first,
                        "of_words": int(index.lengths[hit.text]),
                        "file": chunk.file,
                        "offset": chunk.offset + hit.start,
                        "length": hit.end - hit.start,
                        "span": chunk.data[hit.start : hit.end].decode("utf-8", "replace"),
                    }
        return self._result(data, owners, index, list(rows.values()), len(files), searched)

    def _result(
        self,
        data: Instances,
        owners: pl.DataFrame,
        index: NgramIndex,
        rows: list[Summary],
        files: int,
        searched: int,
    ) -> Result:
        shares, counts = index.covered(), index.occurrences()
        per_text = owners.with_columns(
            covered=pl.Series(shares).gather(owners["text_number"]),
            hits=pl.Series(counts).gather(owners["text_number"]),
        )
        n = data.n_examples

        def of_examples(which: Bools) -> dict[str, float]:
            hit = len(np.unique(per_text["example"].to_numpy()[which]))
            low, high = clopper_pearson(hit, n, 0.95)
            return {"value": hit / n, "low": float(low), "high": float(high), "count": hit}

        contained = per_text["hits"].to_numpy() > 0
        whole = contained & (per_text["covered"].to_numpy() >= 1.0)
        right = per_text["right"].to_numpy()
        schema = {
            "text_number": pl.Int64, "text": pl.String, "words": pl.Int64, "of_words": pl.Int64, "file": pl.String,
            "offset": pl.Int64, "length": pl.Int64, "span": pl.String,
        }  # fmt: skip
        spans = pl.DataFrame(rows, schema=schema)
        first = per_text.unique("text_number", keep="first").select("text_number", "example_id", "role")
        spans = spans.join(first, on="text_number", how="left", maintain_order="left").drop("text_number")
        summary: Summary = {
            "examples": n,
            "texts": int(index.searched.sum()),
            "too_short": int((~index.searched).sum()),
            "files": files,
            "bytes": searched,
            "spans": int(counts.sum()),
            "share": of_examples(contained),
            "whole": of_examples(whole),
            "answers": of_examples(contained & right),
            "sizes": index.sizes,
        }
        about = (
            per_text.group_by("example", maintain_order=True)
            .agg(pl.col("example_id").first(), pl.col("split").first(), overlap=pl.col("covered").max())
            .drop("example")
        )
        return Result(
            summary,
            {"overlap": spans.sort("words", descending=True, maintain_order=True)},
            [_finding(summary, spans)],
            about,
            overlap_measures(summary),
        )


def _texts(data: Instances) -> tuple[list[str], pl.DataFrame]:
    """Return the different texts of a dataset, and which example has which of them in what role."""
    unlabelled = data.labels == (WITHOUT_LABEL,)
    further = [c for c in data.table.columns if unlabelled and c.startswith("text_")]
    base = data.table.select("example_id", "split", "label", "premise", "hypothesis", *further).with_columns(
        example=pl.Series(data.example_codes), split=pl.col("split").cast(pl.String)
    )
    grouped = data.grouped
    parts = []
    for role in ("premise", "hypothesis", *further):
        right = (
            (pl.col("label").cast(pl.String) == data.labels[0])
            if grouped and role == "hypothesis"
            else pl.lit(False)
        )
        parts.append(
            base.select(
                "example", "example_id", "split", pl.col(role).alias("text"), role=pl.lit(role), right=right
            )
        )
    rows = (
        pl.concat(parts).filter(pl.col("text") != "").unique(["example", "text", "role"], maintain_order=True)
    )
    texts = rows["text"].unique(maintain_order=True)
    numbers = pl.DataFrame({"text": texts, "text_number": np.arange(len(texts))})
    return texts.to_list(), rows.join(numbers, on="text", how="left", maintain_order="left").drop("text")


def _finding(summary: Summary, spans: pl.DataFrame) -> Finding:
    share, n = summary["share"], summary["examples"]
    where = f"{plural(summary['files'], 'file')} ({file_size(summary['bytes'])})"
    if not share["count"]:
        text = (
            f"None of {plural(summary['texts'], 'text')} of {plural(n, 'example')} shares a run of "
            f"{summary['sizes'][-1]} words (shorter texts: all their words) with {where}."
        )
        return Finding(
            NAME, "info", "The corpus contains no text of the dataset", text, key="none", role="flaw"
        )
    longest = spans.sort("words", descending=True).row(0, named=True)
    text = (
        f"{share['count']:,} of {plural(n, 'example')} ({percent(share['value'])}, 95 % CI {percent(share['low'])} to "
        f"{percent(share['high'])}) have a text that occurs at least in part in {where}; in "
        f"{summary['whole']['count']:,} of them, all words of a text occur, in one run or several. The longest run "
        f"listed has {plural(longest['words'], 'word')} ({Path(longest['file']).name}, byte {longest['offset']:,})."
    )
    severity: Severity = "high" if share["low"] >= 0.05 else "medium" if share["value"] >= 0.01 else "low"
    return Finding(
        NAME,
        severity,
        f"The corpus contains texts of {plural(share['count'], 'example')}",
        text,
        share["value"],
        share["low"],
        share["high"],
        n=n,
        key="contained",
        role="flaw",
    )

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
from cuecard.audits.overlap.view import overlap_view
from cuecard.data import TASKS, Instances, Task
from cuecard.data.loading import WITHOUT_LABEL
from cuecard.stats import clopper_pearson
from cuecard.stats.arrays import Bools
from cuecard.wording import file_size, percent, plural

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

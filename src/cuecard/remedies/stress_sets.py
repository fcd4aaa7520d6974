"""The examples that no partial input solves, as a stress set, and the rest as the easy part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from cuecard.audits.partial_input.leak_scores import SOLVED, easy_examples, solvers_of
from cuecard.data import COLUMNS, Instances
from cuecard.data.loading import LoadedRows
from cuecard.data.output import row_writer
from cuecard.data.reading.formats import WRITTEN, Format, format_of
from cuecard.errors import UsageError
from cuecard.writing import write_together

StressPart = Literal["hard", "easy"]
PARTS: tuple[StressPart, ...] = ("hard", "easy")
#: What `write_stress_set` writes.
STRESS_FILES = ("*_hard.*", "*_easy.*", "balance.parquet")


@dataclass(frozen=True, eq=False)
class StressSet:
    """A dataset divided by whether partial input is enough to answer.

    `examples` has one row per scored example: `example_id, split, part` and the columns it was decided by.
    """

    data: Instances
    examples: pl.DataFrame
    solvers: tuple[str, ...]

    def part(self, part: StressPart) -> Instances:
        """Return the instances of the hard or of the easy examples."""
        keys = self.examples.filter(pl.col("part") == part).select("example_id", "split")
        table = self.data.table.with_columns(_split=pl.col("split").cast(pl.String))
        kept = table.join(
            keys.rename({"split": "_split"}), on=["example_id", "_split"], how="semi", maintain_order="left"
        )
        return Instances(kept.drop("_split"), self.data.task, self.data.labels, f"{self.data.name}-{part}")

    @property
    def balance(self) -> pl.DataFrame:
        """Return how many examples of every label (or right position) each part of each split has."""
        answers = _answers(self.data)
        counts = (
            self.examples.join(answers, on=["example_id", "split"], how="left")
            .group_by("split", "part", "answer")
            .agg(count=pl.len().cast(pl.Int64))
            .sort("split", "part", "answer", descending=[True, True, False])
        )
        return counts.with_columns(share=pl.col("count") / pl.col("count").sum().over("split", "part"))

    def summary(self) -> dict[str, Any]:
        """Return sizes and label balance as JSON can hold them."""
        sizes = self.examples.group_by("split", "part").agg(pl.len().alias("examples"))
        return {
            "solvers": list(self.solvers),
            "examples": {f"{s}/{p}": n for s, p, n in sorted(sizes.iter_rows())},
            "balance": self.balance.to_dicts(),
        }


def stress_set(
    data: Instances,
    examples: pl.DataFrame,
    *,
    solvers: Sequence[str] | None = None,
    balanced: bool = False,
    seed: int = 0,
) -> StressSet:
    """Return the dataset divided into hard examples, which no solver gives away, and easy ones.

    Args:
        data: the audited dataset.
        examples: the table of examples of its card, `card.tables["examples"]`.
        solvers: partial inputs that count, such as "hypothesis_only"; all that were scored by default. An
            example is easy if one of them alone names the right answer, with a confidence at which most of its
            other answers are correct (`easy_examples`): without a leak, answers that are right by luck are not easy.
        balanced: drop hard examples at random until every label of the data has as many in each split; what a
            model that always names one label scores on the hard part is then 1/number of labels. Choices are
            balanced by the position of the right one among the questions with as many choices; questions of a
            number of choices for which some position is never right are dropped.
        seed: of what is dropped.
    """
    solved = solvers_of(examples)
    chosen = tuple(solvers or solved)
    missing = [name for name in chosen if name not in solved]
    if not solved or missing:
        raise UsageError(
            f"The table of examples does not say which are solved by {', '.join(missing) or 'partial input'}; "
            f"known: {', '.join(solved) or 'none'}. Run the audit partial_input first."
        )
    columns = [f"{SOLVED}{name}" for name in chosen]
    scored = examples.drop_nulls(columns).select("example_id", pl.col("split").cast(pl.String), *columns)
    easy = easy_examples(data, examples.drop_nulls(columns), chosen)
    divided = scored.with_columns(
        part=pl.when(pl.Series(easy)).then(pl.lit("easy")).otherwise(pl.lit("hard"))
    )
    result = StressSet(data, divided, chosen)
    return _balanced(result, seed) if balanced else result


def write_stress_set(
    parts: StressSet, folder: str | Path, *, source: LoadedRows | None = None
) -> dict[str, Path]:
    """Write `train_hard`, `train_easy`, `test_hard`, … and `balance.parquet` into a folder; return the paths by name.

    A part without examples has no file.

    Args:
        parts: the divided dataset.
        folder: where to write; files of an earlier run that are not written again go.
        source: the rows that the dataset was read from. They are written as they came, with all their columns and in
            the format of their file; without it, each file has one row per example in columns that every command reads.
    """
    folder = Path(folder)
    kind: Format = "parquet" if source is None else _format_of(source)
    frames = {
        f"{split}_{part}": _rows_of(parts, split, part, source)
        for split in parts.examples["split"].unique(maintain_order=True).sort(descending=True)
        for part in PARTS
        if not parts.examples.filter(split=split, part=part).is_empty()
    }
    written = {f"{name}.{kind}": row_writer(frame, kind) for name, frame in frames.items()}
    write_together(
        folder,
        written | {"balance.parquet": parts.balance.write_parquet},
        stale=lambda place: [path.name for name in STRESS_FILES for path in place.glob(name)],
    )
    return {name: folder / f"{name}.{kind}" for name in frames}


def _rows_of(parts: StressSet, split: str, part: StressPart, source: LoadedRows | None) -> pl.DataFrame:
    """Return the rows of the hard or the easy examples of a split."""
    if source is None:
        return as_rows(parts.part(part).split(split))
    ids = parts.examples.filter(split=split, part=part)["example_id"]
    table = source.data.table
    here = (table["split"].cast(pl.String) == split) & table["example_id"].is_in(ids.implode())
    return source.rows_of(here.to_numpy())


def _format_of(source: LoadedRows) -> Format:
    """Return the format of the files that rows were read from, or parquet where it cannot be written."""
    kinds = {named[0] if (named := format_of(Path(file))) else None for file in source.data.report.files}
    kind = kinds.pop() if len(kinds) == 1 else None
    return kind if kind in WRITTEN else "jsonl" if kind == "json" else "parquet"


def as_rows(data: Instances) -> pl.DataFrame:
    """Return a dataset with one row per example, in columns that are recognised when they are read."""
    table = data.table.rename({"example_id": "id"})
    extra = [name for name in table.columns if name not in {"id", *COLUMNS}]
    if data.task == "text":
        return table.select("id", "split", pl.col("label").cast(pl.String), *extra, text="hypothesis")
    if data.task == "pair":
        return table.select("id", "split", "premise", "hypothesis", pl.col("label").cast(pl.String), *extra)
    right = pl.col("label").cast(pl.String) == data.labels[0]
    answers = {
        "choice": [
            pl.col("premise").first().alias("question"),
            pl.col("hypothesis").alias("choices"),
            right.arg_max().cast(pl.Int32).alias("answer"),
        ],
        "preference": [
            pl.col("premise").first().alias("prompt"),
            pl.col("hypothesis").filter(right).first().alias("chosen"),
            pl.col("hypothesis").filter(~right).first().alias("rejected"),
        ],
    }[data.task]
    first = [pl.col(name).first() for name in extra]
    return table.group_by("id", "split", maintain_order=True).agg(*answers, *first)


def _answers(data: Instances) -> pl.DataFrame:
    """Return the label of every example, or the position of its right row counted from 1."""
    split = pl.col("split").cast(pl.String)
    if not data.grouped:
        return data.table.select("example_id", split, answer=pl.col("label").cast(pl.String))
    right = data.table.filter(pl.col("label").cast(pl.String) == data.labels[0])
    return right.select("example_id", split, answer=pl.format("position {}", pl.col("position") + 1))


def _balanced(parts: StressSet, seed: int) -> StressSet:
    """Return the set with as many hard examples of every answer in each split; the others are left out."""
    data = parts.data
    keys = ["example_id", "split"]
    split = pl.col("split").cast(pl.String)
    choices = data.table.group_by("example_id", split).agg(choices=pl.len())
    answers = _answers(data).join(choices, on=keys)
    table = parts.examples.join(answers, on=keys, how="left", maintain_order="left")
    # Positions are compared only among questions with as many choices: a fifth choice is rare where few have one.
    stratum = ["split", "part", "choices"] if data.grouped else ["split", "part"]
    # The chosen answer of a preference may always be written first, which is no answer a model could name.
    wanted = pl.col("choices") if data.task == "choice" else pl.col("answer").n_unique()
    possible = answers.group_by("choices").agg(answers=wanted.first())
    table = table.join(possible, on="choices", how="left", maintain_order="left").with_columns(
        lot=pl.Series(np.random.default_rng(seed).random(table.height)),
        size=pl.len().over(*stratum, "answer"),
    )
    complete = pl.col("answer").n_unique().over(stratum) == pl.col("answers")
    fewest = pl.when(complete).then(pl.col("size").min().over(stratum)).otherwise(0)
    hard = pl.col("part") == "hard"
    kept = table.filter(~hard | (pl.col("lot").rank("ordinal").over(*stratum, "answer") <= fewest))
    emptied = set(table.filter(hard)["split"]) - set(kept.filter(hard)["split"])
    if emptied:
        names = answers["answer"].unique().sort()
        name = sorted(emptied)[0]
        seen = set(table.filter(hard, split=name)["answer"])
        raise UsageError(
            f"The hard examples of {name} cannot be balanced: none of them has the answer "
            f"{', '.join(n for n in names if n not in seen) or 'of some position'}. Leave balanced out, or name "
            "fewer solvers."
        )
    return StressSet(data, kept.select(parts.examples.columns), parts.solvers)

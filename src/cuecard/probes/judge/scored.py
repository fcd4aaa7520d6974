"""Scores of single responses, from `cuecard ask --judge-as` or a table of your own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from cuecard.data import Instances
from cuecard.data.instances import COLUMNS
from cuecard.data.reading.files import read_file
from cuecard.data.reading.formats import typed_path
from cuecard.errors import InputError
from cuecard.probes.judge.forms import HIGHEST, LOWEST, PAIRS
from cuecard.probes.judge.verdicts import VERDICT_COLUMNS, Verdicts
from cuecard.wording import plural

#: One row per time that a response was judged. `merit` goes from 0, the lowest score, to 1; of pairs it is 1 where the
#: response wins, 0.5 for a tie. `human` is what people say, on any scale. `response` names the response among those to
#: a prompt, `place` where it stood among those judged in one request (1: first), `author` the model that wrote it.
SCORED_COLUMNS = {
    "id": pl.String,
    "prompt": pl.String,
    "judge": pl.String,
    "form": pl.String,
    "perturbation": pl.String,
    "response": pl.String,
    "text": pl.String,
    "author": pl.String,
    "place": pl.Int64,
    "human": pl.Float64,
    "merit": pl.Float64,
}
_NAMES = {
    "id": ("id", "example_id", "item", "question_id", "prompt_id"),
    "prompt": ("prompt", "question", "instruction"),
    "judge": ("judge", "judge_name"),
    "form": ("form", "prompt_name", "variant", "template"),
    "perturbation": ("perturbation",),
    "response": ("response_id", "response_name", "side"),
    "text": ("text", "response", "answer", "output"),
    "author": ("author", "model", "generator", "system"),
    "place": ("place", "position"),
    "human": ("human", "human_score", "gold", "label"),
    "score": ("score", "rating", "grade"),
}


@dataclass(frozen=True, eq=False)
class Scored:
    """What one judge scored; columns as in `SCORED_COLUMNS`, without rows that have no score."""

    name: str
    table: pl.DataFrame
    source: str
    missing: int = 0

    @property
    def notes(self) -> tuple[str, ...]:
        """How many scores are missing."""
        if not self.missing:
            return ()
        total = self.missing + self.table.height
        return (f"{self.name}: {self.missing:,} of {plural(total, 'score')} could not be read.",)

    def verdicts(self) -> Verdicts | None:
        """Return the comparisons of pairs, in the order in which they were shown, as verdicts."""
        rows = self.table.filter(
            (pl.col("form") == PAIRS) & (pl.col("perturbation") == "") & (pl.col("response") == "chosen")
        )
        others = self.table.filter((pl.col("form") == PAIRS) & (pl.col("response") == "rejected"))
        other = (
            others.filter(pl.col("perturbation") == "")
            .group_by("id")
            .agg(pl.col("text").first().alias("text_b"))
        )
        both = rows.join(other, on="id", how="inner", maintain_order="left")
        if not both.height:
            return None
        columns = both.select(
            item="id",
            prompt="prompt",
            text_a="text",
            text_b="text_b",
            preferred="merit",
            first=(pl.col("place") == 1).cast(pl.Float64),
            human=pl.lit(1.0),
            judge="judge",
            name_a=pl.lit("chosen"),
            name_b=pl.lit("rejected"),
        )
        missing = [
            pl.lit(None, dtype=t).alias(c) for c, t in VERDICT_COLUMNS.items() if c not in columns.columns
        ]
        return Verdicts(self.name, columns.with_columns(missing).select(*VERDICT_COLUMNS), self.source)


def are_scores(frame: pl.DataFrame) -> bool:
    """Return whether a table scores single responses: a score, and no verdict or second score beside it."""
    names = {name.lower() for name in frame.columns}
    return bool(names & set(_NAMES["score"])) and not any(
        name in ("verdict", "winner", "preference", "judgment")
        or name.startswith(("score_", "text_b", "response_b"))
        for name in names
    )


def holds_scores(source: str | Path | pl.DataFrame) -> bool:
    """Return whether a file or table scores single responses instead of comparing two."""
    if isinstance(source, pl.DataFrame):
        return are_scores(source)
    return are_scores(read_file(typed_path(source)).frame)


def scored_instances(scores: Sequence[Scored]) -> Instances:
    """Return the responses as a dataset of open answers, for a card without another dataset."""
    table = pl.concat([one.table for one in scores]).filter(pl.col("perturbation") == "")
    once = table.unique(["id", "response"], keep="first", maintain_order=True)
    several = bool(once["id"].is_duplicated().any())
    rows = once.select(
        example_id=pl.concat_str("id", "response", separator="/") if several else pl.col("id"),
        position=pl.lit(0, dtype=pl.Int32),
        split=pl.lit("train"),
        premise=pl.coalesce("prompt", "id"),
        hypothesis=pl.coalesce("text", pl.lit("")),
        label=pl.lit("answer").cast(pl.Enum(["answer"])),
    )
    return Instances(rows.select(COLUMNS), "open", ("answer",), Path(scores[0].source).stem)


def read_scored(name: str | None, source: str | Path | pl.DataFrame) -> list[Scored]:
    """Return the scores that a file or table holds, one entry per judge.

    Needed are `id` and `score`; `text`, `prompt`, `author`, `human`, `place`, `form`, `perturbation` and `response`
    (which of several to a prompt) allow further tests. Scores from 1 to 10 keep that scale; others go from their
    smallest to their largest value.
    """
    where = name or "scores" if isinstance(source, pl.DataFrame) else str(source)
    frame = source if isinstance(source, pl.DataFrame) else read_file(typed_path(source)).frame
    frame = frame.rename({column: column.lower() for column in frame.columns})
    roles = {
        role: found
        for role, names in _NAMES.items()
        if (found := next((column for column in names if column in frame.columns), None)) is not None
    }
    if not {"id", "score"} <= set(roles):
        raise InputError(
            f"{where} has no column {'id' if 'id' not in roles else 'score'!r} (its columns are "
            f"{', '.join(map(repr, frame.columns[:12]))}): give a row per response with id and score."
        )
    # A column `response` is the text, unless there is one of texts beside it.
    if roles.get("text") == "text" and "response" in frame.columns:
        roles["response"] = "response"
    table = frame.select(
        pl.col(column).cast(pl.String, strict=False).alias(role) for role, column in roles.items()
    )
    scores = table["score"].cast(pl.Float64, strict=False)
    if scores.null_count() == table.height:
        raise InputError(
            f"{where} has no score that is a number; write numbers in the column {roles['score']!r}."
        )
    missing = [
        pl.lit(None, dtype=pl.String).alias(column)
        for column in SCORED_COLUMNS
        if column not in table.columns
    ]
    table = table.with_columns(missing).with_columns(
        pl.col("form").fill_null("score"),
        pl.col("perturbation").fill_null(""),
        pl.col("response").fill_null(""),
        pl.col("judge").fill_null(name or Path(where).stem),
    )
    table = table.with_columns(merit=_merits(scores, table["form"]))
    table = table.select(pl.col(column).cast(dtype, strict=False) for column, dtype in SCORED_COLUMNS.items())
    read = []
    for (judge,), part in table.group_by("judge", maintain_order=True):
        valued = part.filter(pl.col("merit").is_not_null())
        if not valued.height:
            raise InputError(f"{where}: no score of {judge} could be read.")
        read.append(Scored(str(judge), valued, where, part.height - valued.height))
    if name and len(read) == 1:
        return [Scored(name, read[0].table, where, read[0].missing)]
    return read


def _merits(scores: pl.Series, forms: pl.Series) -> pl.Series:
    """Return scores from 0 to 1."""
    paired = forms == PAIRS
    single = scores.filter(~paired).drop_nulls()
    low, high = float(LOWEST), float(HIGHEST)
    if len(single):
        least, most = float(single.min()), float(single.max())  # type: ignore[arg-type]
        whole = bool(((single * 2) % 1 == 0).all())
        if not (whole and least >= low and 5 < most <= high):
            low, high = least, most
    scaled = (scores - low) / (high - low if high > low else 1.0)
    return pl.select(pl.when(paired).then(scores).otherwise(scaled)).to_series()

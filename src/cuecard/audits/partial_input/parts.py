"""What partial input needs of every row where texts stay on disk: figures, extra columns, and hashes of words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from cuecard.audits.partial_input.metadata import MOST_VALUES
from cuecard.cache import content_key
from cuecard.data import COLUMNS, Instances, Task
from cuecard.data.files.raw import alike
from cuecard.data.survey import NumberedInstances
from cuecard.engines import Stream, Summary
from cuecard.features.counts import COUNTED_SPLITS
from cuecard.models.linear.input_features import InputRows, Reading, WordBlock, feature_blocks
from cuecard.models.linear.kept_rows import FiguredInstances, PackedRows
from cuecard.models.linear.ngram_features import hash_rows
from cuecard.models.text_model import Condition
from cuecard.stats.arrays import Ints
from cuecard.text import Encoded, Tokens, encode
from cuecard.text.encoded import LANGUAGE_ROWS, Side
from cuecard.text.languages.language import guess_language, suggested_tokeniser
from cuecard.text.style import formatting
from cuecard.text.tokens import occurrence_order

FIGURES, EXTRAS, WORDS, TOKENS = "figures", "extras", "words", "tokens"
_KEPT = "_figured"
#: A column that every part has, so that those without extra columns have rows, too.
_ROWS = "_rows"


def figured(
    stream: Stream, *, tokens: str | None = None, ngrams: int = 2, whole: str | None = None
) -> FiguredInstances:
    """Return a dataset in parts with figures of all its rows, made in one pass and kept with it.

    Args:
        stream: the dataset.
        tokens: tokenisation of the learner; what suits the language by default.
        ngrams: longest n-gram of the learner, in words.
        whole: an extra column that is kept with all its values.
    """
    data = stream.data
    kept: dict[RowReader, FiguredInstances] = data.__dict__.setdefault(_KEPT, {})
    language = guess_language(data.sampled_texts(LANGUAGE_ROWS))
    reader = RowReader(data.task, tokens or suggested_tokeniser(language), language, ngrams, whole)
    if reader not in kept:
        kept[reader] = _figured(stream, data, reader)
    return kept[reader]


@dataclass(frozen=True)
class RowReader:
    """Reads what is kept of every row of a part."""

    task: Task
    tokens: str
    language: str
    ngrams: int
    whole: str | None

    @property
    def stage(self) -> str:
        """What the summaries of this reader are called."""
        return f"figures {content_key({f.name: getattr(self, f.name) for f in fields(self)})}"

    @property
    def readings(self) -> list[tuple[Reading | None, int]]:
        """What is read of the words of a row, by any input of the task."""
        inputs: tuple[Condition, ...] = ("full", "choices")
        if self.task in ("pair", "text"):
            inputs = ("full", "hypothesis", "premise") if self.task == "pair" else ("full",)
        blocks = [b for c in inputs for b, _ in feature_blocks(self.task, c, ngrams=self.ngrams).values()]
        return list(dict.fromkeys((b.side, b.ngrams) for b in blocks if isinstance(b, WordBlock)))

    def __call__(self, part: Instances, start: int) -> Summary:
        """Return figures, extra columns and hashed words of the rows of a part."""
        if not len(part):
            return {}
        rows = InputRows(encode(part, tokens=self.tokens, language=self.language), part.first_rows)
        return {
            FIGURES: _figures(part, rows),
            EXTRAS: _extra_columns(part, self.whole),
            WORDS: _words(rows.encoded, start),
            TOKENS: _tokens(rows.encoded, start),
        }


def _figured(stream: Stream, data: NumberedInstances, reader: RowReader) -> FiguredInstances:
    stream.each(reader.stage, reader, title="Lengths, shared words and extra columns")
    figures = pl.concat(stream.store.tables(reader.stage, FIGURES))
    extras = _stacked_columns(stream, reader)
    packed = _packed(stream, reader)
    table = data.table.with_columns(figures["position"], *extras)
    own = {f.name: getattr(data, f.name) for f in fields(NumberedInstances)} | {"table": table}
    return FiguredInstances(**own, figures=figures.drop("position"), packed=packed)


def _figures(part: Instances, rows: InputRows) -> pl.DataFrame:
    columns: dict[str, npt.NDArray[Any]] = dict(zip(("shared", "distinct"), rows.words(), strict=True))
    sides: tuple[Side, ...] = ("premise", "hypothesis")
    for side in sides:
        columns |= {
            f"{side}_length": rows.lengths(side),
            f"{side}_characters": part.characters(side),
            f"{side}_blank": part.blank(side),
        }
    if part.grouped:
        columns |= answer_figures(part)
    numbers = {name: pl.Series(values) for name, values in columns.items()}
    return pl.DataFrame(
        {n: v if v.dtype == pl.Boolean else v.cast(pl.Int32) for n, v in numbers.items()}
    ).with_columns(part.table["position"].cast(pl.Int32))


def answer_figures(data: Instances) -> dict[str, npt.NDArray[Any]]:
    """Return for every answer how much formatting it has, and how many words it shares with the prompt."""
    if isinstance(data, FiguredInstances):
        return {name: data.figure(name) for name in ("formatting", "prompt_words")}
    marks = data.answer_marks()
    return {
        "formatting": formatting(data.table["hypothesis"], marks.signs),
        "prompt_words": marks.shared,
    }


# Words.


def _words(encoded: Encoded, start: int) -> pl.DataFrame:
    """Return the vocabulary of a part, in its order, and where among its hypotheses a word is met first."""
    vocabulary = encoded.vocabulary
    order, _ = occurrence_order(encoded.hypothesis.ids, len(vocabulary))
    met = np.full(len(vocabulary), -1, dtype=np.int64)
    met[order] = np.arange(len(order))
    in_premises = np.zeros(len(vocabulary), dtype=np.bool_)
    in_premises[encoded.premise.ids] = True
    counted = encoded.instances.splits[0] in COUNTED_SPLITS
    return pl.DataFrame({"word": vocabulary, "met": met, "in_premises": in_premises}).with_columns(
        part=pl.lit(start), counted=pl.lit(counted)
    )


def _tokens(encoded: Encoded, start: int) -> pl.DataFrame:
    """Return the texts of a part as lists of places in its vocabulary."""
    columns = {
        name: pl.Series(pa.LargeListArray.from_arrays(pa.array(side.offsets), pa.array(side.ids)))
        for name, side in (("premise", encoded.premise), ("hypothesis", encoded.hypothesis))
    }
    return pl.DataFrame(columns).with_columns(part=pl.lit(start))


def _packed(stream: Stream, reader: RowReader) -> dict[tuple[Reading | None, int], PackedRows]:
    """Return the hashed words of all rows, written to files; words are numbered as they are in memory."""
    place = stream.store.folder / f"{reader.stage} packed"
    numbers = _numbered_words(stream, reader)
    return {
        (side, n): PackedRows(place, f"{side or 'shared'} {n}").write(
            _hashed(stream, reader, numbers, side, n)
        )
        for side, n in reader.readings
    }


def _numbered_words(stream: Stream, reader: RowReader) -> pl.DataFrame:
    """Return the number of every word: by its first occurrence in all premises, then in all hypotheses."""

    def in_order(of_premises: bool) -> Iterator[pl.DataFrame]:
        for table in stream.store.tables(reader.stage, WORDS):
            words = table.filter("counted")
            # A part's vocabulary begins with the words of its premises, in the order in which they are met.
            own = words.filter("in_premises") if of_premises else _by_meeting(words)
            yield own.select("word").unique(maintain_order=True)

    words = pl.concat([*in_order(True), *in_order(False)]).unique(maintain_order=True)
    return words.with_columns(number=pl.int_range(1, pl.len() + 1, dtype=pl.Int64))


def _by_meeting(words: pl.DataFrame) -> pl.DataFrame:
    return words.filter(pl.col("met") >= 0).sort("part", "met")


def _hashed(
    stream: Stream, reader: RowReader, numbers: pl.DataFrame, side: Reading | None, ngrams: int
) -> Iterator[tuple[npt.NDArray[np.int32], Ints]]:
    """Yield the hashes of the words of every part, and how many every row has."""
    files = (stream.store.files(reader.stage, name) for name in (WORDS, TOKENS))
    for words_file, tokens_file in zip(*files, strict=True):
        words, tokens = pl.read_parquet(words_file), pl.read_parquet(tokens_file)
        known = words.join(numbers, on="word", how="left", maintain_order="left")
        for part in tokens["part"].unique(maintain_order=True):
            own, rows = known.filter(pl.col("part") == part), tokens.filter(pl.col("part") == part)
            premise, hypothesis = (
                Tokens(*_unlisted(rows[name]), own["word"]) for name in ("premise", "hypothesis")
            )
            texts = [] if side is None else [premise if side == "premise" else hypothesis]
            shared = (premise, hypothesis) if side is None else None
            keys = own["number"].fill_null(0).to_numpy()
            hashed = hash_rows(texts, ngrams=ngrams, shared=shared, keys=keys).take(np.arange(rows.height))
            yield hashed.slots, hashed.used


def _unlisted(lists: pl.Series) -> tuple[npt.NDArray[np.int32], Ints]:
    sizes = lists.list.len().to_numpy()
    ids = lists.explode(empty_as_null=False).to_numpy().astype(np.int32, copy=False)
    return np.ascontiguousarray(ids), np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])


# Extra columns.


def _extra_columns(part: Instances, whole: str | None) -> pl.DataFrame:
    """Return the extra columns of a part; of one with many values, as many as show that it has too many."""
    starts = part.first_rows[:-1]
    columns = [c for c in part.table.select(pl.exclude(*COLUMNS)) if not c.dtype.is_nested()]
    kept = [c if c.name == whole else with_few_values(c, starts) for c in columns]
    return pl.DataFrame([*kept, pl.Series(_ROWS, np.zeros(len(part), dtype=np.bool_))])


def with_few_values(column: pl.Series, starts: Ints) -> pl.Series:
    """Return a column with a bounded number of values that is a slice, or none, wherever the column itself is.

    A slice has at most `MOST_VALUES` values in the first rows of examples, and does not differ within one; what is
    known of answers has as few in all rows. Therefore this many values of the first rows are kept, two that differ
    within an example if there are any, and as many of all rows. One of them stands for all others; what is
    missing stays so.
    """
    if column.n_unique() <= MOST_VALUES + 1:
        return column
    changes = column.ne_missing(column.shift(1)).to_numpy().copy()
    changes[starts] = False
    differing = np.flatnonzero(changes)[:1]
    of_first = column.gather(starts).drop_nulls().unique(maintain_order=True).head(MOST_VALUES + 1)
    of_all = column.drop_nulls().unique(maintain_order=True).head(MOST_VALUES + 1)
    kept = pl.concat([of_first, column.gather(np.append(differing, differing - 1)).drop_nulls(), of_all])
    some = pl.DataFrame({"value": column}).with_columns(
        pl.when(pl.col("value").is_in(kept.unique().implode()) | pl.col("value").is_null())
        .then("value")
        .otherwise(pl.lit(kept[:1]).first())
    )
    return some["value"].alias(column.name)


def _stacked_columns(stream: Stream, reader: RowReader) -> list[pl.Series]:
    """Return the extra columns of all parts, texts as numbers of their values."""
    tables = alike(list(stream.store.tables(reader.stage, EXTRAS)))
    columns = pl.concat(tables, how="diagonal_relaxed").drop(_ROWS)
    return [
        column.cast(pl.Enum(column.drop_nulls().unique().sort())) if column.dtype == pl.String else column
        for column in columns
    ]

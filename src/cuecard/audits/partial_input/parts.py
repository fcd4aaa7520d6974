"""What partial input needs of every row where texts stay on disk: figures, extra columns, and numbers of words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from cuecard.audits.partial_input.extras import EXTRAS, extra_columns, stacked_columns
from cuecard.cache import content_key
from cuecard.data import Instances
from cuecard.data.survey import NumberedInstances, series_of
from cuecard.engines import Stream, Summary, new_array
from cuecard.features.counts import COUNTED_SPLITS
from cuecard.models.linear.input_features import InputRows
from cuecard.models.linear.kept_rows import FiguredInstances, PackedTexts
from cuecard.stats.arrays import Ints
from cuecard.text import Encoded, encode
from cuecard.text.encoded import LANGUAGE_ROWS, Side
from cuecard.text.language import guess_language, suggested_tokeniser
from cuecard.text.style import formatting
from cuecard.text.tokens import occurrence_order

FIGURES, WORDS, TOKENS = "figures", "words", "tokens"
_KEPT = "_figured"
#: Words that are compared with those before at a time, at least.
FEWEST_WORDS = 1 << 20


def figured(stream: Stream, *, tokens: str | None = None, whole: str | None = None) -> FiguredInstances:
    """Return a dataset in parts with figures of all its rows, made in one pass and kept with it.

    Args:
        stream: the dataset.
        tokens: tokenisation of the learner; what suits the language by default.
        whole: an extra column that is kept with all its values.
    """
    data = stream.data
    kept: dict[RowReader, FiguredInstances] = data.__dict__.setdefault(_KEPT, {})
    language = guess_language(data.sampled_texts(LANGUAGE_ROWS))
    reader = RowReader(tokens or suggested_tokeniser(language), language, whole)
    if reader not in kept:
        kept[reader] = _figured(stream, data, reader)
    return kept[reader]


@dataclass(frozen=True)
class RowReader:
    """Reads what is kept of every row of a part."""

    tokens: str
    language: str
    whole: str | None

    @property
    def stage(self) -> str:
        """What the summaries of this reader are called."""
        return f"figures {content_key({f.name: getattr(self, f.name) for f in fields(self)})}"

    def __call__(self, part: Instances, start: int) -> Summary:
        """Return figures, extra columns and words of the rows of a part."""
        if not len(part):
            return {}
        rows = InputRows(encode(part, tokens=self.tokens, language=self.language), part.first_rows)
        return {
            FIGURES: _figures(part, rows),
            EXTRAS: extra_columns(part, self.whole),
            WORDS: _words(rows.encoded, start),
            TOKENS: _tokens(rows.encoded, start),
        }


def _figured(stream: Stream, data: NumberedInstances, reader: RowReader) -> FiguredInstances:
    stream.each(reader.stage, reader, title="Lengths, shared words and extra columns")
    figures = stream.store.arrays(f"{reader.stage} arrays", partial(_write_figures, stream, reader))
    numbers = _numbered_words(stream, reader)
    packed = _packed(stream, reader, numbers)
    position = series_of(figures["position"]).alias("position")
    table = data.table.with_columns(position, *stacked_columns(stream, reader.stage))
    own = {f.name: getattr(data, f.name) for f in fields(NumberedInstances)} | {"table": table}
    stream.store.release()
    return FiguredInstances(**own, figures=figures, packed=packed, n_words=numbers.height)


def _write_figures(stream: Stream, reader: RowReader, folder: Path) -> None:
    """Write a file for every figure."""
    arrays: dict[str, npt.NDArray[Any]] = {}
    start, n = 0, int(stream.first_rows[-1])
    for table in stream.store.tables(reader.stage, FIGURES):
        for column in table:
            kind = np.bool_ if column.dtype == pl.Boolean else np.int32
            if column.name not in arrays:
                arrays[column.name] = new_array(folder, column.name, kind, n)
            arrays[column.name][start : start + len(column)] = column.to_numpy()
        start += table.height
        stream.store.release()


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


def _packed(stream: Stream, reader: RowReader, numbers: pl.DataFrame) -> dict[Side, PackedTexts]:
    """Return the words of all texts, written to files; words are numbered as they are in memory."""
    place = stream.store.folder / f"{reader.stage} packed"
    sides: tuple[Side, ...] = ("premise", "hypothesis")
    return {
        side: PackedTexts(place, side).write(_renumbered(stream, reader, numbers, side)) for side in sides
    }


def _numbered_words(stream: Stream, reader: RowReader) -> pl.DataFrame:
    """Return the number of every word: by its first occurrence in all premises, then in all hypotheses."""

    def in_order(of_premises: bool) -> Iterator[pl.DataFrame]:
        for table in stream.store.tables(reader.stage, WORDS):
            words = table.filter("counted")
            # A part's vocabulary begins with the words of its premises, in the order in which they are met.
            own = words.filter("in_premises") if of_premises else _by_meeting(words)
            yield own.select("word").unique(maintain_order=True)

    words, more = pl.DataFrame(schema={"word": pl.String}), list[pl.DataFrame]()
    for own in chain(in_order(True), in_order(False)):
        more.append(own)
        if sum(table.height for table in more) > max(words.height, FEWEST_WORDS):
            words, more = pl.concat([words, *more]).unique(maintain_order=True), []
    words = pl.concat([words, *more]).unique(maintain_order=True)
    return words.with_columns(number=pl.int_range(pl.len(), dtype=pl.Int32))


def _by_meeting(words: pl.DataFrame) -> pl.DataFrame:
    return words.filter(pl.col("met") >= 0).sort("part", "met")


def _renumbered(
    stream: Stream, reader: RowReader, numbers: pl.DataFrame, side: Side
) -> Iterator[tuple[npt.NDArray[np.int32], Ints]]:
    """Yield the words of one side of every part by their numbers, and how many every row has."""
    files = (stream.store.files(reader.stage, name) for name in (WORDS, TOKENS))
    for words_file, tokens_file in zip(*files, strict=True):
        words = pl.read_parquet(words_file, columns=["word", "part"])
        tokens = pl.read_parquet(tokens_file, columns=[side, "part"])
        known = words.join(numbers, on="word", how="left", maintain_order="left")
        for part in tokens["part"].unique(maintain_order=True):
            # No model sees the splits whose words have no number.
            own = known.filter(pl.col("part") == part)["number"].fill_null(0).to_numpy()
            ids, sizes = _unlisted(tokens.filter(pl.col("part") == part)[side])
            yield np.take(own, ids), sizes


def _unlisted(lists: pl.Series) -> tuple[npt.NDArray[np.int32], Ints]:
    """Return the entries of lists one after another, and how many each list has."""
    ids = lists.explode(empty_as_null=False).to_numpy().astype(np.int32, copy=False)
    return ids, lists.list.len().to_numpy().astype(np.int64)

"""What the values of columns look like, where their names say nothing: texts, labels."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from cuecard.data.layout.dialogues import is_text_list

#: Rows that are looked at.
SAMPLE = 2000
#: Labels have at most this many different values.
FEW = 20
#: Texts have on average at least this many characters.
LONG = 12
#: Names that a screen can show.
MOST_NAMES = 30


def few_values(values: pl.Series) -> bool:
    """Return whether a column could be a label: 2 to 20 short values, each for three rows or so."""
    if values.dtype == pl.Boolean:
        return True
    if values.dtype.is_nested() or not (values.dtype == pl.String or values.dtype.is_numeric()):
        return False
    sample = values.head(SAMPLE).drop_nulls()
    if values.dtype.is_float() and not (sample == sample.floor()).all():
        return False
    different = sample.n_unique()
    if not 1 < different <= min(FEW, max(3, len(sample) // 3)):
        return False
    return _length(sample) < 30


def _length(values: pl.Series) -> float:
    lengths = values.cast(pl.String).str.len_chars()
    return float(lengths.sum()) / max(len(lengths), 1)


def is_prose(values: pl.Series) -> bool:
    """Return whether a column holds texts: mostly different, and long enough for a few words."""
    if is_text_list(values.dtype):
        return True
    sample = values.head(SAMPLE).drop_nulls()
    if values.dtype != pl.String or len(sample) == 0 or sample.n_unique() < max(2, len(sample) // 20):
        return False
    return _length(sample) >= LONG and float(sample.str.contains(r"\s|\p{Lo}").sum()) >= 0.5 * len(sample)


def texts_and_labels(frame: pl.DataFrame) -> tuple[list[str], list[str]]:
    """Return the columns that look like texts and those that look like labels, in their order."""
    texts = [name for name in frame.columns if is_prose(frame[name])]
    labels = [name for name in frame.columns if name not in texts and few_values(frame[name])]
    return texts, labels


def looks_headless(frame: pl.DataFrame) -> bool:
    """Return whether the names of columns look like values: texts, numbers, or what stands below them too."""
    names = frame.columns
    if len(names) < 2:
        return False
    prose = sum(len(name) > 30 and name.count(" ") >= 3 for name in names)
    numbers = sum(name.replace(".", "", 1).lstrip("-").isdigit() for name in names)
    repeated = sum(
        frame[name].dtype == pl.String and name in frame[name].head(SAMPLE).to_list() for name in names
    )
    return prose + numbers + repeated >= 1


def preview(frame: pl.DataFrame, rows: int = 2, width: int = 40, columns: int = 8) -> str:
    """Return the first rows in one line, values cut short."""
    shown = frame.select(frame.columns[:columns]).head(rows)
    more = f", … ({frame.width - columns} more)" if frame.width > columns else ""
    lines = []
    for number, row in enumerate(shown.iter_rows(), start=1):
        values = [
            f"{_cut(name, 30)}={_cut(str(v), width)!r}" for name, v in zip(shown.columns, row, strict=True)
        ]
        lines.append(f"row {number}: {', '.join(values)}{more}")
    return "; ".join(lines)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def name_line(names: Sequence[str]) -> str:
    """Return names in a line, long ones cut short and no more than a screen can show."""
    shown = ", ".join(_cut(name, 60) for name in names[:MOST_NAMES])
    return (shown or "none") + (f", … ({len(names) - MOST_NAMES} more)" if len(names) > MOST_NAMES else "")

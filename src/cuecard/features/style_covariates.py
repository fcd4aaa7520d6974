"""The style of every response in numbers: length, formatting, hedges, refusals, sentiment, place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cuecard.data.examples import Examples
from cuecard.data.layout.responses import FILE_POSITION
from cuecard.errors import MissingExtraError
from cuecard.stats.arrays import Floats, Ints
from cuecard.text import encode
from cuecard.text.annotate.dictionaries import word_polarities
from cuecard.text.style import style_counts
from cuecard.text.tokens import Tokens

#: A covariate needs this many examples whose answers differ in it.
MINIMUM_DIFFERENT = 20


@dataclass(frozen=True, eq=False)
class Covariates:
    """Answers × covariates in units of the standard deviation of their differences, with their names."""

    names: tuple[str, ...]
    matrix: Floats
    scale: Floats
    differing: Ints
    left_out: tuple[str, ...]


def style_covariates(examples: Examples) -> Covariates:
    """Return the covariates of the answers of some examples, in the order of their rows.

    Length is the logarithm of the number of words; formatting, emoji, hedges and refusal phrases are log(1 + count);
    sentiment is the mean polarity of the words. Where the file shows the answers in an order, being first is one, too.
    Each is divided by the standard deviation, over examples, of the chosen answer minus the mean of all answers'.
    """
    rows, table = examples.row_numbers, examples.instances.table
    texts = table["hypothesis"].gather(rows)
    counts = style_counts(texts)
    values = {"length": np.log1p(counts["words"])}
    values |= {name: np.log1p(c) for name, c in counts.items() if name not in ("characters", "words")}
    sentiment = _mean_polarity(examples)
    if sentiment is not None:
        values["sentiment"] = sentiment[rows]
    if FILE_POSITION in table.columns and table[FILE_POSITION].dtype.is_integer():
        place = table[FILE_POSITION].gather(rows)
        values["first_position"] = (place == 0).fill_null(False).to_numpy().astype(np.float64)
    starts, sizes = examples.first_rows[:-1], examples.sizes
    names, columns, scales, differing, left_out = [], [], [], [], []
    for name, value in values.items():
        spread = np.maximum.reduceat(value, starts) - np.minimum.reduceat(value, starts)
        different = int((spread > 1e-12).sum())
        if different < MINIMUM_DIFFERENT:
            left_out.append(name)
            continue
        centred = value - np.repeat(np.add.reduceat(value, starts) / sizes, sizes)
        # With two answers this is the standard deviation of their difference.
        scale = float(np.sqrt(np.mean(np.add.reduceat(centred**2, starts) * sizes / (sizes - 1))))
        names.append(name)
        columns.append(centred / scale)
        scales.append(scale)
        differing.append(different)
    matrix = np.stack(columns, axis=1) if columns else np.zeros((len(rows), 0))
    return Covariates(tuple(names), matrix, np.array(scales), np.array(differing, np.int64), tuple(left_out))


def _mean_polarity(examples: Examples) -> Floats | None:
    """Return the mean polarity of the words of every row of the dataset, None without the lexicon."""
    try:
        polarity = word_polarities()
    except MissingExtraError:
        return None
    tokens: Tokens = encode(examples.instances).hypothesis
    of_word = np.array([polarity.get(word, 0.0) for word in tokens.vocabulary])
    sums = np.diff(np.concatenate([[0.0], np.cumsum(of_word[tokens.ids])])[tokens.offsets])
    return np.asarray(sums / np.maximum(np.diff(tokens.offsets), 1))

"""The style of a text in counts: length, formatting, emoji, hedges and refusals; and of responses as covariates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from cuecard.data.examples import Examples
from cuecard.data.layout.responses import FILE_POSITION
from cuecard.errors import MissingExtraError
from cuecard.stats.arrays import Bools, Floats, Ints
from cuecard.text import encode
from cuecard.text.annotate.english import word_polarities
from cuecard.text.tokens import Tokens

#: What is counted in a text, as a regular expression; white space before a mark of a list is allowed.
FORMATTING = {
    "headings": r"(?m)^[ \t]*#{1,6}[ \t]+\S",
    "bold": r"\*\*[^*\n]+\*\*|__[^_\n]+__",
    "lists": r"(?m)^[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+\S",
    "code": r"```[^`]*```|`[^`\n]+`",
    "emoji": r"[\x{1F300}-\x{1FAFF}\x{2600}-\x{27BF}\x{1F1E6}-\x{1F1FF}]",
}
_HEDGES = (
    "maybe|perhaps|possibly|probably|might|could be|may be|seems?|appears? to|likely|unlikely|generally|usually|"
    "typically|often|sometimes|i think|i believe|in my opinion|it depends|not sure|as far as i know|to some extent"
)
_REFUSALS = (
    "i(?:['’]m| am) sorry|"
    "i(?: can(?:['’]|no)t|(?: am|['’]m) (?:unable|not able) to| won['’]t| will not) "
    "(?:help|assist|answer|provide|do|comply|fulfil|fulfill|support|create|write|generate|discuss|give|share)|"
    "as an ai(?: language model| assistant)?|i must decline|i (?:do not|don['’]t) feel comfortable|"
    "i(?:['’]d| would) rather not|against my (?:guidelines|programming)"
)
PHRASES = {"hedges": rf"(?i)\b(?:{_HEDGES})\b", "refusals": rf"(?i)\b(?:{_REFUSALS})\b"}


def style_counts(texts: pl.Series) -> dict[str, Floats]:
    """Return how many characters and words a text has, and how often it uses each mark and phrase.

    >>> counts = style_counts(pl.Series(["# Title\\n- **one**\\n- two", "I'm sorry, maybe not."]))
    >>> {name: values.tolist() for name, values in counts.items() if name not in ("characters", "words")}
    {'headings': [1.0, 0.0], 'bold': [1.0, 0.0], 'lists': [2.0, 0.0], 'code': [0.0, 0.0], 'emoji': [0.0, 0.0], \
'hedges': [0.0, 1.0], 'refusals': [0.0, 1.0]}
    """
    counted = pl.DataFrame({"text": texts.cast(pl.String).fill_null("")}).select(
        characters=pl.col("text").str.len_chars(),
        words=pl.col("text").str.count_matches(r"\S+"),
        **{name: pl.col("text").str.count_matches(p) for name, p in {**FORMATTING, **PHRASES}.items()},
    )
    return {column.name: column.to_numpy().astype(np.float64) for column in counted}


def formatting(texts: pl.Series, signs: Bools | None = None) -> Floats:
    """Return how many headings, bold spans, list items, code spans and emoji a text has, counted in one pass.

    `signs` (of `FoldedTexts`) says which texts may have signs, digits or characters beyond ASCII. All formatting needs
    one, or a backtick, so that other texts are not looked at.
    """
    pattern = "|".join(f"(?:{pattern})" for pattern in FORMATTING.values())
    strings = texts.cast(pl.String).fill_null("")
    counts = np.zeros(len(strings))
    candidates = np.ones(len(strings), dtype=np.bool_) if signs is None else signs
    candidates = candidates | strings.str.contains("`", literal=True).to_numpy()
    counts[candidates] = strings.filter(pl.Series(candidates)).str.count_matches(pattern).to_numpy()
    return counts


#: A column with more values does not name models.
MOST_MODELS = 200
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


def model_names(examples: Examples) -> pl.Series | None:
    """Return the model that wrote every answer, where a column says it and every answer has one."""
    table = examples.instances.table
    for name in ("model", "generator", "model_name", "source_model"):
        if name in table.columns and table[name].dtype in (pl.String, pl.Categorical):
            values = table[name].cast(pl.String).gather(examples.row_numbers)
            first = values.gather(examples.first_rows[:-1]).gather(
                np.repeat(np.arange(len(examples)), examples.sizes)
            )
            if not values.null_count() and 2 <= values.n_unique() <= MOST_MODELS and (values != first).any():
                return values
    return None

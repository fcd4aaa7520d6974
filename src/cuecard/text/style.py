"""The style of a text in counts: length, formatting, emoji, hedges and refusals, whatever it is about."""

from __future__ import annotations

import numpy as np
import polars as pl

from cuecard.stats.arrays import Bools, Floats

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

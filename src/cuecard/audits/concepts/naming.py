"""Names of concepts without a model: the words that tell texts with one from texts without, and examples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from cuecard.data import Instances
from cuecard.models.discovered_concepts import FoundConcepts
from cuecard.stats.arrays import Bools, Floats, Ints
from cuecard.text import Tokens, presence_counts

#: Words of a name, and words that the table lists.
NAMED, LISTED = 3, 8
#: Between the words of a name, which is typed in commands: no comma, no blank.
JOINT = "+"
#: Texts that the prior counts as, in the shares of words of all texts.
PRIOR = 50.0
#: Examples with a concept that are shown, and as many that just lack it.
EXAMPLES = 3


def telling_words(tokens: Tokens, having: Bools) -> list[list[str]]:
    """Return for every concept the words that texts with it have more often than texts without, most telling first.

    Words are ranked by z of their log-odds with an informative prior, the shares of words of all texts (Monroe,
    Colaresi & Quinn 2008); a word that half of the texts have may be among them, a word of fewer than three texts not.
    """
    listed = []
    for i in range(having.shape[1]):
        counts = presence_counts(tokens, having[:, i].astype(np.int32), 2).astype(np.float64)
        z = log_odds_z(counts[:, 1], counts[:, 0])
        z[counts[:, 1] < 3] = -np.inf
        best = np.argsort(-z, kind="stable")[:LISTED]
        listed.append([tokens.vocabulary[int(word)] for word in best if z[word] > 0])
    return listed


def log_odds_z(inside: Floats, outside: Floats) -> Floats:
    """Return how far the log-odds of every word differ between two groups of texts, in standard errors.

    >>> log_odds_z(np.array([30.0, 10.0]), np.array([10.0, 30.0])).round(1)
    array([ 3. , -3. ])
    """
    every = inside + outside
    prior = PRIOR * every / max(every.sum(), 1.0)
    logs = []
    for counts in (inside, outside):
        total = counts.sum() + PRIOR
        logs.append(np.log(counts + prior) - np.log(np.maximum(total - counts - prior, 1e-9)))
    spread = np.sqrt(1 / np.maximum(inside + prior, 1e-9) + 1 / np.maximum(outside + prior, 1e-9))
    return np.asarray((logs[0] - logs[1]) / spread)


def names_of(words: Sequence[Sequence[str]]) -> list[str]:
    """Return a name of every concept, no two alike: its most telling words, and more of them where these are taken."""
    names: list[str] = []
    for number, telling in enumerate(words, 1):
        lengths = range(NAMED, len(telling) + 1) if len(telling) > NAMED else [max(len(telling), 1)]
        options = [JOINT.join(telling[:n]) or f"concept {number}" for n in lengths]
        name = next((one for one in options if one not in names), f"{options[0]}{JOINT}{number}")
        names.append(name)
    return names


def example_table(
    data: Instances,
    texts: pl.Series,
    concepts: FoundConcepts,
    scores: Floats,
    shown: Sequence[str],
    units: Ints,
) -> pl.DataFrame:
    """Return for some concepts the clearest texts with it and the nearest without: distinct ones, by score."""
    rows = []
    for name in shown:
        i = concepts.names.index(name)
        above = scores[:, i] - concepts.thresholds[i]
        for kind, order in (("clear", np.argsort(-above, kind="stable")), ("near miss", _below(above))):
            seen: set[int] = set()
            for row in order.tolist():
                if units[row] not in seen and len(seen) < EXAMPLES and (above[row] > 0) == (kind == "clear"):
                    seen.add(int(units[row]))
                    rows.append((name, kind, row, float(above[row])))
                if len(seen) >= EXAMPLES:
                    break
    schema = {"concept": pl.String, "kind": pl.String, "row": pl.Int64, "score": pl.Float64}
    table = pl.DataFrame(rows, schema=schema, orient="row")
    about = data.table.select(
        pl.col("example_id").cast(pl.String), pl.col("split").cast(pl.String), pl.col("label").cast(pl.String)
    ).with_columns(texts.alias("text"))
    return pl.concat([table.drop("row"), about[table["row"]]], how="horizontal")


def _below(above: Floats) -> Ints:
    """Return the rows below the threshold, the nearest first."""
    rows = np.flatnonzero(above <= 0)
    return np.asarray(rows[np.argsort(-above[rows], kind="stable")])

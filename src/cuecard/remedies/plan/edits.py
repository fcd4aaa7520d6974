"""Changes that a plan proposes besides removal: copies, new places of right answers, new wrong choices."""

from __future__ import annotations

import numpy as np
import polars as pl

from cuecard.data.examples import Examples, Ints

#: Number of answers of about the same length that are compared for each choice to replace.
NEAR = 40


def re_paired(examples: Examples, chosen: Ints, *, seed: int = 0) -> dict[int, list[str]]:
    """Return for each chosen example its new wrong choices: right answers of other questions of the same split.

    An answer takes the place of each wrong choice: one of about the length of the right answer that shares no long word
    with the question, so that it is unlikely to be right there, too. People must read the result.
    """
    rng = np.random.default_rng(seed)
    texts = examples.instances.table["hypothesis"]
    answers = [texts[int(row)] for row in examples.right_rows]
    lengths = np.array([len(answer.split()) for answer in answers])
    splits = examples.splits.to_numpy()
    pools = {split: np.flatnonzero(splits == split) for split in np.unique(splits)}
    replaced = {}
    for example in chosen.tolist():
        pool = pools[splits[example]]
        near = pool[np.argsort(np.abs(lengths[pool] - lengths[example]) + rng.random(len(pool)))]
        own = _long_words(examples.premises[example])
        new: list[str] = []
        for other in near[:NEAR].tolist():
            text = answers[other]
            if len(new) == examples.sizes[example] - 1:
                break
            if other != example and text not in (answers[example], *new) and not own & _long_words(text):
                new.append(text)
        if len(new) == examples.sizes[example] - 1:
            replaced[example] = new
    return replaced


def _long_words(text: str) -> set[str]:
    return {word for word in text.lower().split() if len(word) > 3}


def repeated_examples(examples: Examples) -> dict[int, str]:
    """Return the examples that repeat an earlier one with the same label, with its id."""
    keys = ["premise", "text", "gold"]
    table = _texts(examples).with_columns(
        first=pl.col("id").first().over(keys), place=pl.col("example").rank("ordinal").over(keys)
    )
    again = table.filter(pl.col("place") > 1)
    return dict(zip(again["example"].to_list(), again["first"].to_list(), strict=True))


def conflicting_examples(examples: Examples) -> list[int]:
    """Return the examples whose input occurs with another label, too."""
    if examples.grouped:
        return []
    table = _texts(examples).filter(pl.col("gold").n_unique().over("premise", "text") > 1)
    return [int(example) for example in table["example"]]


def _texts(examples: Examples) -> pl.DataFrame:
    data = examples.instances
    hypotheses = examples.choices if data.grouped else data.table["hypothesis"]
    return pl.DataFrame(
        {
            "premise": examples.premises,
            "text": hypotheses.list.join("\0") if data.grouped else hypotheses,
            "gold": examples.gold,
            "id": examples.ids,
        }
    ).with_row_index("example")


def balanced_positions(examples: Examples, *, seed: int = 0) -> dict[int, int]:
    """Return the fewest examples to permute and the new place of their right answer, counted from 0.

    Places are balanced among the questions of a split with the same number of choices: what is above an equal share in
    one place moves to the places below it.
    """
    rng = np.random.default_rng(seed)
    moves: dict[int, int] = {}
    splits = examples.splits.to_numpy()
    for split in np.unique(splits):
        for size in np.unique(examples.sizes[splits == split]):
            here = np.flatnonzero((splits == split) & (examples.sizes == size))
            moves |= _moves(here, examples.gold[here], int(size), rng)
    return moves


def evenly_over(splits: pl.Series, examples: list[int]) -> Ints:
    """Return examples in an order whose beginnings hold the same share of every split, as far as possible."""
    chosen = pl.DataFrame(
        {"example": examples, "split": splits.gather(examples)}, schema_overrides={"example": pl.Int64}
    )
    share = (pl.int_range(pl.len()) + 0.5) / pl.len()
    ordered = chosen.with_columns(share.over("split").alias("share")).sort("share", maintain_order=True)
    return ordered["example"].to_numpy()


def _moves(here: Ints, places: Ints, size: int, rng: np.random.Generator) -> dict[int, int]:
    counts = np.bincount(places, minlength=size)
    # The places that already have most keep the remainder: that moves the fewest.
    wanted = np.full(size, len(here) // size)
    wanted[np.argsort(-counts, kind="stable")[: len(here) % size]] += 1
    surplus = [
        rng.permutation(here[places == place])[: max(0, counts[place] - wanted[place])]
        for place in range(size)
    ]
    moving = np.concatenate(surplus)
    free = np.repeat(np.arange(size), np.maximum(wanted - counts, 0))
    return {
        int(example): int(place)
        for example, place in zip(rng.permutation(moving), rng.permutation(free), strict=True)
    }

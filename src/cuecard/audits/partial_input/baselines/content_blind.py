"""Rules that need no learning and read no content: majority, prior, longest and shortest choice."""

from __future__ import annotations

import numpy as np

from cuecard.audits.partial_input.baselines.guessing import Guesses, guess_rows
from cuecard.data.examples import Examples
from cuecard.stats.arrays import Floats, Ints


def majority(examples: Examples, learn: Ints, guess: Ints) -> Guesses:
    """Return the guesses that always name the commonest label of the examples `learn`."""
    k, n, space = len(examples.instances.labels), len(guess), examples.instances.space
    label = int(examples.label_sums(learn).argmax())
    return Guesses(
        score=space.computed(np.bool_, n, lambda some: examples.gold[guess[some]] == label),
        named=np.broadcast_to(np.int64(1), n),
        options=np.broadcast_to(np.int64(k), n),
        answer=np.broadcast_to(np.int64(label), n),
        probability=null_probability(examples, learn, guess),
        weight=examples.weight(guess),
        space=space,
    )


def null_probability(examples: Examples, learn: Ints, guess: Ints) -> Floats:
    """Return what a model that sees nothing gives the right answer: its label's share, or 1/k.

    Shares are smoothed by one count per label, so that a label new to `guess` is improbable, not impossible.
    """
    space = examples.instances.space
    if examples.instances.grouped:
        return space.computed(np.float64, len(guess), lambda some: 1 / examples.options[guess[some]])
    counts = examples.label_sums(learn) + 1.0
    shares = counts / counts.sum()
    return space.computed(np.float64, len(guess), lambda some: shares[examples.gold[guess[some]]])


def length_rules(examples: Examples, guess: Ints) -> dict[str, Guesses]:
    """Return the guesses that name the choice with most, or fewest, characters; ties share the hit."""
    characters = examples.instances.characters("hypothesis")[examples.rows(guess)]
    margins, gold, sizes = characters.astype(np.float64), examples.gold[guess], examples.options[guess]
    space = examples.instances.space
    return {
        name: guess_rows(sign * margins, gold, sizes).weighted(examples.weight(guess)).stored(space)
        for name, sign in (("longest", 1.0), ("shortest", -1.0))
    }

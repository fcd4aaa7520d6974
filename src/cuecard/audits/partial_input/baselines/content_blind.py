"""Rules that need no learning and read no content: majority, prior, longest and shortest choice."""

from __future__ import annotations

import numpy as np

from cuecard.audits.partial_input.baselines.guessing import Guesses, guess_rows
from cuecard.data.examples import Examples
from cuecard.stats.arrays import Floats, Ints


def majority(examples: Examples, learn: Ints, guess: Ints) -> Guesses:
    """Return the guesses that always name the commonest label of the examples `learn`."""
    k = len(examples.instances.labels)
    label = int(examples.label_sums(learn).argmax())
    n = len(guess)
    return Guesses(
        score=(examples.gold[guess] == label).astype(np.float64),
        named=np.ones(n, dtype=np.int64),
        options=np.full(n, k, dtype=np.int64),
        answer=np.full(n, label, dtype=np.int64),
        probability=null_probability(examples, learn, guess),
        weight=examples.weight(guess),
    )


def null_probability(examples: Examples, learn: Ints, guess: Ints) -> Floats:
    """Return what a model that sees nothing gives the right answer: its label's share, or 1/k.

    Shares are smoothed by one count per label, so that a label new to `guess` is improbable, not impossible.
    """
    if examples.instances.grouped:
        return np.asarray(1 / examples.options[guess])
    counts = examples.label_sums(learn) + 1.0
    return np.asarray((counts / counts.sum())[examples.gold[guess]])


def length_rules(examples: Examples, guess: Ints) -> dict[str, Guesses]:
    """Return the guesses that name the choice with most, or fewest, characters; ties share the hit."""
    characters = examples.instances.characters("hypothesis").astype(np.float64)
    margins, gold, sizes = characters[examples.rows(guess)], examples.gold[guess], examples.options[guess]
    return {
        name: guess_rows(signed, gold, sizes).weighted(examples.weight(guess))
        for name, signed in (("longest", margins), ("shortest", -margins))
    }

"""Rules that count, and read nothing: what label a text has least or most in train, which choice occurs how often."""

from __future__ import annotations

from typing import Literal

import numpy as np

from cuecard.audits.partial_input.baselines.guessing import Guesses, guess_rows, guess_tied_labels
from cuecard.data.examples import Examples
from cuecard.data.fingerprint import Hashes
from cuecard.data.row_numbers import side_keys
from cuecard.stats.arrays import Floats, Ints, chunks

#: With fewer examples than this that a rule says anything about, it is left out.
FEWEST_EXAMPLES = 20

TextColumn = Literal["premise", "hypothesis"]
#: The rules by name, as (column, whether the label it has least).
LABEL_RULES: dict[str, tuple[TextColumn, bool]] = {
    "premise_least": ("premise", True),
    "premise_most": ("premise", False),
    "hypothesis_least": ("hypothesis", True),
    "hypothesis_most": ("hypothesis", False),
}
#: The rules by name, as whether they take the rarer choice.
CHOICE_RULES: dict[str, bool] = {"rarest_choice": True, "commonest_choice": False}


def label_rules(examples: Examples, learn: Ints, guess: Ints) -> dict[str, Guesses]:
    """Return the guesses of every rule that names the label a text has least, or most, among the examples `learn`.

    Labels that are tied share the hit; so do all labels where the text is new. Where the premise of a pair occurs with
    every label, what train lacks is what test has.
    """
    rules = {}
    for name, (column, least) in LABEL_RULES.items():
        counts = _label_counts(examples, learn, guess, column)
        if (counts.min(axis=1) < counts.max(axis=1)).sum() >= FEWEST_EXAMPLES:
            guesses = guess_tied_labels(-counts if least else counts, examples.gold[guess])
            guesses = guesses.weighted(examples.weight(guess))
            guesses = guesses.in_units(examples.units(column, guess))
            rules[name] = guesses.stored(examples.instances.space)
    return rules


def choice_rules(examples: Examples, guess: Ints) -> dict[str, Guesses]:
    """Return the guesses that take the choice whose text occurs least, or most, often in the whole dataset."""
    counts = _occurrences(examples)
    margins, sizes = counts[examples.rows(guess)], examples.options[guess]
    units = examples.instances.space.stored(examples.units("choices", guess))
    rules = {}
    for name, rarer in CHOICE_RULES.items():
        guesses = guess_rows(-margins if rarer else margins, examples.gold[guess], sizes)
        if (guesses.named < sizes).sum() >= FEWEST_EXAMPLES:
            guesses = guesses.weighted(examples.weight(guess))
            rules[name] = guesses.in_units(units).stored(examples.instances.space)
    return rules


def _label_counts(examples: Examples, learn: Ints, guess: Ints, column: TextColumn) -> Floats:
    """Return how often the text of each example of `guess` has each label among `learn`; an empty text never."""
    keys, filled = side_keys(examples.instances, column)
    # Texts of the training examples that are asked for are counted: all of them may be too many for memory.
    asked, there = keys[guess], filled[guess]
    texts, k = np.unique(asked[there]), len(examples.instances.labels)
    table = np.zeros((len(texts), k), dtype=np.int64)
    for some in chunks(len(learn) if len(texts) else 0):
        learned = learn[some][filled[learn[some]]]
        place = _places(texts, keys[learned])
        known = texts[place] == keys[learned]
        cells = place[known] * k + examples.gold[learned[known]]
        table += np.bincount(cells, minlength=table.size).reshape(table.shape)
    counts = np.zeros((len(guess), k))
    counts[there] = table[_places(texts, asked[there])]
    return counts


def _places(texts: Hashes, keys: Hashes) -> Ints:
    """Return where keys are, or would be, among sorted ones."""
    return np.minimum(np.searchsorted(texts, keys), max(len(texts) - 1, 0))


def _occurrences(examples: Examples) -> Floats:
    """Return how often the text of every row occurs; only texts with a copy or near copy need to be compared."""
    data = examples.instances
    counts, some = np.ones(len(data)), np.arange(len(data))
    if data.cluster is None:
        units = data.units("hypothesis")
        some = np.flatnonzero(np.bincount(units, minlength=1)[units] > 1)
    keys = side_keys(data, "hypothesis")[0][some]
    _, code, times = np.unique(keys, return_inverse=True, return_counts=True)
    counts[some] = times[code]
    return counts

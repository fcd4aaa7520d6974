"""Further rules that read no meaning: the place of an answer, its formatting, and the words it repeats."""

from __future__ import annotations

import numpy as np

from cuecard.audits.partial_input.baselines.guessing import Guesses, guess_rows
from cuecard.audits.partial_input.parts import answer_figures
from cuecard.data.examples import Examples
from cuecard.data.layout.preferences.responses import FILE_POSITION
from cuecard.stats.arrays import Floats, Ints

#: A rule says something where it tells the answers of at least this many examples apart.
FEWEST_EXAMPLES = 20


def answer_rules(examples: Examples, scored: Ints) -> dict[str, Guesses]:
    """Return the guesses by place, formatting and shared words, for examples whose answers compete.

    The place of a response is the one in its file, where the file shows both and names the winner.
    """
    if not examples.grouped:
        return {}
    rows = examples.rows(scored)
    margins: dict[str, Floats] = {}
    place = _places(examples)
    if place is not None:
        margins |= {"first_position": -place[rows], "last_position": place[rows]}
    figures = answer_figures(examples.instances)
    margins["most_formatted"] = figures["formatting"].astype(np.float64)[rows]
    margins["most_overlap"] = figures["prompt_words"].astype(np.float64)[rows]
    sizes, gold, units = examples.options[scored], examples.gold[scored], examples.units("choices", scored)
    rules = {}
    for name, margin in margins.items():
        guesses = guess_rows(margin, gold, sizes)
        if (guesses.named < sizes).sum() >= FEWEST_EXAMPLES:
            rules[name] = guesses.weighted(examples.weight(scored)).in_units(units)
    return rules


def _places(examples: Examples) -> Floats | None:
    table = examples.instances.table
    if examples.instances.task == "choice":
        return table["position"].to_numpy().astype(np.float64)
    if FILE_POSITION in table.columns and table[FILE_POSITION].dtype.is_integer():
        return table[FILE_POSITION].fill_null(0).to_numpy().astype(np.float64)
    return None

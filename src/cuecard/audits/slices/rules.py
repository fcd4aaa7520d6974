"""Further rules that read no meaning: the place of an answer, its formatting, and the words it repeats."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cuecard.audits.partial_input.baselines.guessing import Guesses, guess_rows
from cuecard.data import Instances
from cuecard.data.examples import Examples
from cuecard.data.layout.preferences.responses import FILE_POSITION
from cuecard.stats.arrays import Ints
from cuecard.text.style import formatting

#: A rule says something where it tells the answers of at least this many examples apart.
FEWEST_EXAMPLES = 20


def answer_rules(examples: Examples, scored: Ints) -> dict[str, Guesses]:
    """Return the guesses by place, formatting and shared words, for examples whose answers compete.

    The place of a response is the one in its file, where the file shows both and names the winner.
    """
    if not examples.grouped:
        return {}
    rows = examples.rows(scored)
    figures, place = answer_figures(examples.instances), _places(examples)
    # Name → the figure that decides, and whether the largest or the smallest wins.
    margins: dict[str, tuple[npt.NDArray[Any], int]] = {}
    if place is not None:
        margins |= {"first_position": (place, -1), "last_position": (place, 1)}
    margins |= {"most_formatted": (figures["formatting"], 1), "most_overlap": (figures["prompt_words"], 1)}
    sizes, gold = examples.options[scored], examples.gold[scored]
    units = examples.instances.space.stored(examples.units("choices", scored))
    rules = {}
    for name, (figure, sign) in margins.items():
        guesses = guess_rows(sign * figure[rows].astype(np.float64), gold, sizes)
        if (guesses.named < sizes).sum() >= FEWEST_EXAMPLES:
            guesses = guesses.weighted(examples.weight(scored)).in_units(units)
            rules[name] = guesses.stored(examples.instances.space)
    return rules


def _places(examples: Examples) -> npt.NDArray[Any] | None:
    table = examples.instances.table
    if examples.instances.task == "choice":
        return table["position"].to_numpy()
    if FILE_POSITION in table.columns and table[FILE_POSITION].dtype.is_integer():
        return table[FILE_POSITION].fill_null(0).to_numpy()
    return None


def answer_figures(data: Instances) -> dict[str, npt.NDArray[Any]]:
    """Return for every answer how much formatting it has, and how many words it shares with the prompt."""
    marks = data.answer_marks()
    return {
        "formatting": formatting(data.table["hypothesis"], marks.signs),
        "prompt_words": marks.shared,
    }

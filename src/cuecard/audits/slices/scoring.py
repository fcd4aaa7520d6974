"""Every rule on every slice of a column: rules of place and form, tests of the slices, and the rest of the examples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from cuecard.audits.partial_input.guesses import Guesses, gold_of, guess_rows
from cuecard.audits.partial_input.rules import Battery
from cuecard.audits.slices.hits import (
    CountedGuesses,
    LabelCounts,
    SliceTest,
    can_be_counted,
    excess_of,
    is_plain,
    n_labels_of,
    slice_test,
)
from cuecard.data import Instances
from cuecard.data.examples import Examples
from cuecard.data.layout.responses import FILE_POSITION
from cuecard.features.style import formatting
from cuecard.stats.arrays import Array, Ints

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
    margins: dict[str, tuple[Array, int]] = {}
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


def _places(examples: Examples) -> Array | None:
    table = examples.instances.table
    if examples.instances.task == "choice":
        return table["position"].to_numpy()
    if FILE_POSITION in table.columns and table[FILE_POSITION].dtype.is_integer():
        return table[FILE_POSITION].fill_null(0).to_numpy()
    return None


def answer_figures(data: Instances) -> dict[str, Array]:
    """Return for every answer how much formatting it has, and how many words it shares with the prompt."""
    marks = data.answer_marks()
    return {
        "formatting": formatting(data.table["hypothesis"], marks.signs),
        "prompt_words": marks.shared,
    }


#: The test of a slice, if it has enough examples, and the rule's excess over luck on all other examples.
SliceResult = tuple[SliceTest | None, float]


class SliceScorer:
    """Scores the rules of a battery on the slices of columns."""

    def __init__(self, battery: Battery, fewest: int) -> None:
        self._gold, self._fewest = gold_of(battery.examples, battery.scored), max(fewest, 1)
        self._grouped, self._inflation = battery.examples.grouped, battery.inflation
        self._rules: Mapping[str, Guesses] = {
            # What is not needed is not copied for every slice.
            rule: replace(guesses, probability=None, template=None, table=_table_of(guesses))
            for rule, guesses in battery.guesses.items()
        }
        self._counted = {
            rule: CountedGuesses(guesses)
            for rule, guesses in self._rules.items()
            if can_be_counted(guesses, grouped=self._grouped, inflation=self._inflated(rule))
        }

    def is_tested(self, size: int) -> bool:
        """Return whether a slice has enough examples, and is not all of them."""
        return bool(self._fewest <= size < len(self._gold))

    def tests(self, codes: npt.NDArray[np.int16], sizes: Ints) -> dict[str, Sequence[SliceResult]]:
        """Return the results of every rule; `codes` are the slices of the examples, -1 where an example has none."""
        if not self._grouped:
            return self._of_labels(codes, sizes)
        return {
            rule: self._counted[rule].by_slice(codes.astype(np.int64), len(sizes))
            if rule in self._counted
            else self._of_choices(rule, codes, sizes)
            for rule in self._rules
        }

    def _of_labels(self, codes: npt.NDArray[np.int16], sizes: Ints) -> dict[str, Sequence[SliceResult]]:
        results: dict[str, list[SliceResult]] = {rule: [(None, 0.0)] * len(sizes) for rule in self._rules}
        rests = {rule: _rest_of_labels(guesses, self._gold) for rule, guesses in self._rules.items()}
        for i in np.flatnonzero([self.is_tested(size) for size in sizes]):
            here = np.flatnonzero(codes == i)
            for rule, guesses in self._rules.items():
                inside, gold = guesses.take(here), guesses.space.gathered(self._gold, here)
                test = slice_test(inside, gold, grouped=False, inflation=self._inflated(rule))
                results[rule][i] = test, rests[rule](inside, gold, here)
        return dict(results)

    def _of_choices(self, rule: str, codes: npt.NDArray[np.int16], sizes: Ints) -> list[SliceResult]:
        # Small numbers are sorted in one pass over them.
        order = np.argsort(codes, kind="stable")
        bounds = np.append(0, np.cumsum(sizes)) + len(codes) - sizes.sum()  # those without a value come first
        # In the order of their slices, those of a slice are a view and no copy.
        ranked, right = self._rules[rule].take(order), self._gold[order]
        rest, results = _rest_of_choices(ranked), list[SliceResult]()
        for start, end in pairwise(bounds.tolist()):
            if not self.is_tested(end - start):
                results.append((None, 0.0))
                continue
            inside = ranked.take(slice(start, end))
            test = slice_test(inside, right[start:end], grouped=True, inflation=self._inflated(rule))
            results.append((test, rest(start, end)))
        return results

    def _inflated(self, rule: str) -> float:
        return self._inflation.get(rule, 1.0)


def _table_of(guesses: Guesses) -> npt.NDArray[np.float64] | None:
    """Return the table where it says which labels are named: where several of them tie."""
    return None if guesses.named.max(initial=1) == 1 else guesses.table


def _rest_of_labels(guesses: Guesses, gold: Ints) -> Callable[[Guesses, Ints, Ints], float]:
    """Return the function that gives the excess over luck of all guesses but those of a slice."""
    if is_plain(guesses):
        n_labels = n_labels_of(guesses, gold)
        total = LabelCounts.of(guesses, gold, n_labels)
        return lambda inside, right, _: (total - LabelCounts.of(inside, right, n_labels)).excess

    def of_others(_: Guesses, __: Ints, here: Ints) -> float:
        outer = np.ones(len(gold), dtype=np.bool_)
        outer[here] = False
        others = np.flatnonzero(outer)
        return excess_of(guesses.take(others), guesses.space.gathered(gold, others))

    return of_others


def _rest_of_choices(guesses: Guesses) -> Callable[[int, int], float]:
    """Return the function that gives the excess over luck of all guesses but those from one place to another."""
    weight = np.ones(len(guesses)) if guesses.weight is None else guesses.weight
    over = np.append(0.0, np.cumsum((guesses.score - 1 / guesses.options) * weight))
    total = np.append(0.0, np.cumsum(weight))

    def of_choices(start: int, end: int) -> float:
        outside = total[-1] - (total[end] - total[start])
        return float((over[-1] - (over[end] - over[start])) / outside) if outside > 0 else 0.0

    return of_choices

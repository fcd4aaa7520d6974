"""Every rule on every slice of a column: exact tests of its hits against what the same guesses get by luck."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from cuecard.audits.partial_input.guesses import Guesses, gold_of, guess_rows
from cuecard.audits.partial_input.judging import counted_hits, exact_interval, interval
from cuecard.audits.partial_input.rules import Battery
from cuecard.data import Instances
from cuecard.data.examples import Examples
from cuecard.data.layout.responses import FILE_POSITION
from cuecard.features.style import formatting
from cuecard.stats import mixed_chance_log_p
from cuecard.stats.arrays import Array, Codes, Floats, Ints, counted
from cuecard.stats.scores.row_sums import number_of_units


@dataclass(frozen=True)
class SliceTest:
    """How a rule does on a slice: accuracy with its interval, luck, and the natural log of the two-sided p-value.

    `luck` is the mean chance of a hit by luck, so accuracy − luck is the excess, with its sign. `n` are the examples,
    of which `units` are distinct. `majority` is the share of the slice's most frequent label; choices have none.
    """

    accuracy: float
    low: float
    high: float
    luck: float
    log_p: float
    n: int
    units: int
    majority: float | None = None

    @property
    def excess(self) -> float:
        """Accuracy above what luck gives; negative where the rule is wrong more often than luck."""
        return self.accuracy - self.luck


def slice_test(guesses: Guesses, gold: Ints, *, grouped: bool, inflation: float = 1.0) -> SliceTest:
    """Return the test of the guesses for the examples of one slice.

    A guess that names t of k choices is a hit by luck with chance t/k; one that names labels, with the share these have
    in the slice. The number of hits is then Poisson-binomial, and its p-value exact. Where examples have weights, are
    copies of each other or were cross-fitted, hits are counted by their effective sample size.
    """
    shares, cells, luck = (
        _by_label(guesses, gold)
        if is_plain(guesses) and not grouped
        else _by_chance(guesses, gold, grouped=grouped)
    )
    low, high = interval(guesses.score, guesses.weight, unit=guesses.unit, inflation=inflation)
    hits, counts = counted_hits(guesses, cells)
    if inflation != 1.0:
        total = int(counts.sum())
        counts = np.rint(counts / inflation).astype(np.int64)
        hits = round(hits / max(total, 1) * int(counts.sum()))
    log_p = mixed_chance_log_p(hits, counts, np.minimum(shares, 1.0), "two-sided")
    n = len(guesses)
    units = n if guesses.unit is None else number_of_units(guesses.unit)
    majority = None if grouped else _majority(guesses, gold)
    return SliceTest(guesses.mean(guesses.score), low, high, luck, log_p, n, units, majority)


def is_plain(guesses: Guesses) -> bool:
    """Return whether every example counts once and every guess names one answer, so that counts of labels say all."""
    return guesses.weight is None and guesses.named.max(initial=1) == 1


@dataclass(frozen=True, eq=False)
class LabelCounts:
    """How many plain guesses are right, and how many right answers and guesses there are of every label."""

    hits: int
    gold: Ints
    named: Ints

    @classmethod
    def of(cls, guesses: Guesses, gold: Ints, n_labels: int) -> LabelCounts:
        """Return the counts of guesses."""
        hits = int(np.count_nonzero(guesses.score))
        return cls(hits, np.bincount(gold, minlength=n_labels), counted(guesses.answer, n_labels))

    def __sub__(self, other: LabelCounts) -> LabelCounts:
        """Return the counts of all guesses but some."""
        return LabelCounts(self.hits - other.hits, self.gold - other.gold, self.named - other.named)

    @property
    def excess(self) -> float:
        """The accuracy above luck: the mean share of the right answers that have the label of a guess."""
        n = int(self.gold.sum())
        return (self.hits - float(self.named @ (self.gold / n))) / n if n else 0.0


def n_labels_of(guesses: Guesses, gold: Ints) -> int:
    """Return one more than the largest label, right or guessed."""
    return int(max(gold.max(initial=0), guesses.answer.max(initial=0))) + 1


def _by_label(guesses: Guesses, gold: Ints) -> tuple[Floats, Codes, float]:
    """Return the different chances of plain guesses of labels, which each has, and their mean."""
    counts, answer = LabelCounts.of(guesses, gold, n_labels_of(guesses, gold)), guesses.answer
    chance, named = counts.gold / counts.gold.sum(), np.flatnonzero(counts.named)
    shares, place = _distinct(chance[named])
    cell = np.zeros(len(chance), dtype=np.int32)
    cell[named] = place
    luck = guesses.mean(guesses.computed(lambda chunk: chance[answer[chunk]]))
    return shares, guesses.computed(lambda chunk: cell[answer[chunk]], np.int32), luck


def _by_chance(guesses: Guesses, gold: Ints, *, grouped: bool) -> tuple[Floats, Codes, float]:
    """Return the different chances of any guesses, which each has, and the mean chance of a hit by luck."""
    chance = guesses.named / guesses.options if grouped else _share_named(guesses, gold)
    shares, cells = _by_places(guesses) if grouped else _distinct(chance)
    return shares, cells, guesses.mean(chance / guesses.named)


def _majority(guesses: Guesses, gold: Ints) -> float:
    counts = np.bincount(gold, weights=guesses.weight)
    return float(counts.max() / counts.sum())


def _distinct(chance: Floats) -> tuple[Floats, Ints]:
    shares, cells = np.unique(chance.round(12), return_inverse=True)
    return shares, cells


def _by_places(guesses: Guesses) -> tuple[Floats, Ints]:
    """Return the different chances t/k of the guesses and which each has, from small numbers without sorting."""
    most = int(guesses.options.max(initial=0)) + 1
    codes = guesses.named * most + guesses.options
    used = np.flatnonzero(np.bincount(codes))
    place = np.zeros(int(used.max(initial=0)) + 1, dtype=np.int64)
    place[used] = np.arange(len(used))
    return (used // most) / (used % most), place[codes]


def excess_of(guesses: Guesses, gold: Ints) -> float:
    """Return the accuracy of guessed labels above what the same guesses have by luck."""
    if not len(guesses):
        return 0.0
    return guesses.mean(guesses.score) - guesses.mean(_share_named(guesses, gold) / guesses.named)


def _share_named(guesses: Guesses, gold: Ints) -> Floats:
    """Return the share of the right answers that each guess names, one label or several tied ones."""
    most = n_labels_of(guesses, gold)
    counts = np.bincount(gold, weights=guesses.weight, minlength=most)
    shares = counts / counts.sum()
    tied = guesses.named > 1
    named: Floats = shares[guesses.answer]
    if tied.any():
        assert guesses.table is not None  # a rule that names several labels says which
        width = guesses.table.shape[1]
        shares = np.pad(shares, (0, max(width - len(shares), 0)))[:width]
        named[tied] = (guesses.table[tied] > 0) @ shares
    return named


class CountedGuesses:
    """The guesses of a rule among competing answers, as kinds: how many are named, of how many, and whether it hits.

    Use it where `can_be_counted`: then its tests are those of `slice_test`, to the last bit.
    """

    def __init__(self, guesses: Guesses) -> None:
        most = int(guesses.options.max(initial=0)) + 1
        kinds = (guesses.named * most + guesses.options) * 2 + (guesses.score > 0)
        used = np.flatnonzero(np.bincount(kinds))
        place = np.zeros(int(used.max(initial=0)) + 1, dtype=np.int64)
        place[used] = np.arange(len(used))
        self._kind: Ints = place[kinds]
        self._hit: Ints = used % 2
        self._named: Ints = used // 2 // most
        self._options: Ints = used // 2 % most

    def by_slice(self, codes: Ints, n: int) -> list[tuple[SliceTest | None, float]]:
        """Return the test of every slice, and the rule's excess over luck on all other examples.

        `codes` are the slices of the examples, from 0 to n - 1, and -1 where an example has none; an empty slice has no
        test.
        """
        size = len(self._hit)
        counts = np.bincount((codes + 1) * size + self._kind, minlength=(n + 1) * size).reshape(n + 1, size)
        total = counts.sum(axis=0)
        return [(self._test(row) if row.any() else None, self._excess(total - row)) for row in counts[1:]]

    def _test(self, counts: Ints) -> SliceTest:
        n = int(counts.sum())
        score = float(counts @ self._score)
        low, high = exact_interval(score, n)
        # Kinds are in the order of how many are named of how many; a hit and a miss of each stand together.
        chances = self._named * (int(self._options.max()) + 1) + self._options
        _, first, cells = np.unique(chances, return_index=True, return_inverse=True)
        in_cells = np.bincount(cells, weights=counts).astype(np.int64)
        there = in_cells > 0
        shares = (self._named[first] / self._options[first])[there]
        log_p = mixed_chance_log_p(int(counts @ self._hit), in_cells[there], shares, "two-sided")
        luck = float(counts @ (1 / self._options)) / n
        return SliceTest(score / n, low, high, luck, log_p, n, n)

    def _excess(self, counts: Ints) -> float:
        n = int(counts.sum())
        return float(counts @ (self._score - 1 / self._options)) / n if n else 0.0

    @property
    def _score(self) -> Floats:
        score: Floats = self._hit / self._named
        return score


def can_be_counted(guesses: Guesses, *, grouped: bool, inflation: float) -> bool:
    """Return whether kinds of guesses say all: every example counts once, and sums of shared hits have no rounding."""
    if not grouped or inflation != 1.0 or guesses.weight is not None or guesses.unit is not None:
        return False
    return all(_power_of_two(values) for values in (guesses.named, guesses.options))


def _power_of_two(values: Codes) -> bool:
    return bool(((values & (values - 1)) == 0).all() and (values > 0).all())


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

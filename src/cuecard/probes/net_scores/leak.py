"""Which examples blind rules solve, and weights under which none of these rules is better than chance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp

from cuecard.audits.partial_input import PartialInput
from cuecard.audits.partial_input.baselines.battery import Battery
from cuecard.audits.partial_input.baselines.guessing import Guesses
from cuecard.audits.partial_input.given_away import given_away
from cuecard.audits.slices.hits import slice_test
from cuecard.audits.slices.rules import answer_rules
from cuecard.data import Instances
from cuecard.stats import q_values
from cuecard.stats.arrays import Bools, Floats


@dataclass(frozen=True, eq=False)
class Leak:
    """The shortcuts that work on the test examples, what they solve, and weights that are neutral to them."""

    working: tuple[str, ...]
    solved: Bools
    weights: Floats
    #: How far above chance the best of them stays under these weights; above 0 where it solves nearly all examples.
    remaining: float
    #: Probability of the right answer by the learned choices-only model, where it is in the battery.
    choices_only: Floats | None


def measured_leak(data: Instances, *, tokens: str | None, seed: int, alpha: float) -> Leak:
    """Return the leak of the test split: every blind rule and partial input, tested against chance."""
    audit = PartialInput(tokens=tokens, seed=seed, cross_fit=False, learning_curve=False)
    audit.run(data)
    battery = Battery.kept(data, None)
    assert battery is not None
    rules: Mapping[str, Guesses] = {
        **battery.guesses,
        **answer_rules(battery.examples, battery.scored),
    }
    rules = {name: guesses for name, guesses in rules.items() if name != "most_overlap"}
    gold, grouped = battery.examples.gold[battery.scored], battery.examples.grouped
    tests = {
        name: slice_test(g, gold, grouped=grouped, inflation=battery.inflation.get(name, 1.0))
        for name, g in rules.items()
    }
    q = dict(zip(tests, q_values([t.log_p for t in tests.values()]), strict=True))
    working = tuple(name for name, test in tests.items() if test.excess > 0 and q[name] <= alpha)
    solved = np.zeros(len(gold), dtype=np.bool_)
    for name in working:
        solved |= _solves(rules[name], tests[name].luck)
    excess = [rules[name].score.astype(np.float64) - tests[name].luck for name in working]
    weights = neutral_weights(excess, len(gold))
    remaining = max((float(weights @ one) / len(gold) for one in excess), default=0.0)
    learned = rules.get("choices_only")
    return Leak(working, solved, weights, remaining, None if learned is None else learned.probability)


def _solves(guesses: Guesses, chance: float) -> Bools:
    """Return which examples a shortcut answers; one with probabilities only where it can tell."""
    if guesses.table is None:
        return np.asarray(guesses.score >= 1)
    confidence = np.nanmax(guesses.table, axis=1)
    return given_away(guesses.score.astype(np.float64), confidence, chance)


def neutral_weights(excess: list[Floats], n: int, most: float = 20.0) -> Floats:
    """Return weights of mean 1, as even as can be, under which the mean of every excess is 0.

    They are those of largest entropy: exp of a sum of the excesses; none is larger than `most` times the mean, or
    nearly so. Where a rule solves nearly all examples, no such weights take it to chance.
    """
    if not excess:
        return np.ones(n)
    matrix = np.stack(excess, axis=1)

    def dual(b: Floats) -> tuple[float, Floats]:
        utilities = matrix @ b
        total = float(logsumexp(utilities))
        share = np.exp(utilities - total)
        return total + 1e-4 * float(b @ b), share @ matrix + 2e-4 * b

    fitted = minimize(dual, np.zeros(matrix.shape[1]), jac=True, method="L-BFGS-B")
    utilities = matrix @ fitted.x
    weights = np.exp(utilities - logsumexp(utilities)) * n
    weights = np.minimum(weights, most)
    return np.asarray(weights / weights.mean())

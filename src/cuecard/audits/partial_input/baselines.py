"""How good a guess is: accuracy with interval, against chance, with an exact test."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from cuecard.audits.partial_input.guessing import Guesses
from cuecard.data.examples import Floats, Ints
from cuecard.stats import accuracy_log_p, clopper_pearson, log10_p, mixed_chance_log_p, q_values
from cuecard.stats.weighted import weighted_share


@dataclass(frozen=True)
class Baseline:
    """One line of the battery: what was guessed from, how often it was right, and whether that is luck.

    `chance` is the share of the commonest label among the examples scored, or the mean of 1/k over examples of
    k choices. `luck` is the accuracy expected of the same guesses if they had nothing to do with the labels.
    `direction` is "above", "below" or "at" chance, at the level of the test.
    """

    name: str
    kind: str
    accuracy: float
    low: float
    high: float
    chance: float
    luck: float
    p_value: float
    log10_p: float
    n: int
    direction: str = "at"
    q_value: float = 1.0
    delta_majority: float = 0.0
    percent_r: float | None = None
    information: float | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the line as it is written on the card."""
        return asdict(self)


def chance_of(guesses: Guesses, gold: Ints, *, grouped: bool) -> float:
    """Return the chance level: the commonest label's share, or the mean of 1/k."""
    return guesses.mean(1 / guesses.options) if grouped else float(_shares(gold, guesses).max())


def measured(
    name: str,
    kind: str,
    guesses: Guesses,
    gold: Ints,
    *,
    grouped: bool,
    null: Floats | None = None,
    counted: tuple[Guesses, Ints] | None = None,
) -> Baseline:
    """Return accuracy, interval and exact two-sided test of guesses.

    `counted` are the guesses, with the right answers, whose hits are tested, if they are not all of them.

    For grouped tasks the number of hits is tested against its exact distribution when every choice is as
    likely as any other: a guess that names t tied ones of k is a hit with chance t/k.

    For labels the two directions need different references, because the commonest label's share is the *best*
    a blind guess can do, not what it does on average. Above chance means: more right answers than always
    naming the commonest label gives, by the exact binomial tail; since any guess independent of the labels is
    right at most that often, the test keeps its level whatever the guesses. Below chance means: fewer right
    answers than the same guesses would give if labels were drawn anew, by the exact Poisson-binomial tail of
    the guessed labels' shares; a guess that merely spreads over the labels is not below chance. The shares are
    those of the scored examples, which makes both tests slightly conservative. p = 2 · min(both), at most 1.

    `null` are probabilities of the right answers by a model that sees nothing; with them the mean pointwise
    V-information is given, in bits.

    Where examples have weights, accuracy, chance and shares are weighted, and the same tests take effective counts:
    as many equal examples as would leave the weighted accuracy the same error, with hits, guessed labels and ties
    in their weighted shares, rounded.
    """
    n = len(guesses)
    accuracy, chance = guesses.mean(guesses.score), chance_of(guesses, gold, grouped=grouped)
    low, high = interval(guesses.score, guesses.weight)
    log_above, log_below = _tails(*(counted or (guesses, gold)), grouped=grouped)
    log_p = min(0.0, math.log(2) + min(log_above, log_below))
    return Baseline(
        name=name,
        kind=kind,
        accuracy=accuracy,
        low=low,
        high=high,
        chance=chance,
        luck=chance if grouped else guesses.mean(_shares(gold, guesses)[guesses.answer]),
        p_value=math.exp(log_p),
        log10_p=float(log10_p(log_p)),
        n=n,
        direction="above" if log_above < log_below else "below",
        delta_majority=accuracy - chance,
        information=mean_information(guesses, null),
    )


def _tails(guesses: Guesses, gold: Ints, *, grouped: bool) -> tuple[float, float]:
    """Return the logs of the chances of at least, and of at most, as many hits."""
    if grouped:
        shares, cells = np.unique(guesses.named / guesses.options, return_inverse=True)
        hits, counts = counted_hits(guesses, cells)
        above = mixed_chance_log_p(hits, counts, shares, "greater")
        return above, mixed_chance_log_p(hits, counts, shares, "less")
    prior = _shares(gold, guesses)
    hits, guessed = counted_hits(guesses, guesses.answer, len(prior))
    above = float(accuracy_log_p(hits, int(guessed.sum()), prior.max(), "greater"))
    return above, mixed_chance_log_p(hits, guessed, prior, "less")


def counted_hits(guesses: Guesses, cells: Ints, n_cells: int = 0) -> tuple[int, Ints]:
    """Return how many guesses are hits and how many fall into each cell; with weights, as effective counts."""
    hit = guesses.score > 0
    if guesses.weight is None:
        return int(hit.sum()), np.bincount(cells, minlength=n_cells)
    found = weighted_share(hit, guesses.weight)
    sums = np.bincount(cells, weights=guesses.weight, minlength=n_cells)
    counts = np.rint(sums / sums.sum() * found.effective_n).astype(np.int64)
    return round(found.share * int(counts.sum())), counts


def _shares(gold: Ints, guesses: Guesses) -> Floats:
    """Return the share of every label among the right answers."""
    counts = np.bincount(gold, weights=guesses.weight, minlength=int(guesses.answer.max(initial=0)) + 1)
    return np.asarray(counts / counts.sum())


def interval(score: Floats, weight: Floats | None = None, level: float = 0.95) -> tuple[float, float]:
    """Return the exact interval of a mean of scores; shared ties widen it to the whole hits on either side.

    With weights it is Wilson's, for as many equal examples as have the weighted accuracy's own error.
    """
    if weight is not None:
        found = weighted_share(score, weight, level)
        return found.low, found.high
    total, n = float(score.sum()), len(score)
    low, _ = clopper_pearson(math.floor(total + 1e-9), n, level)
    _, high = clopper_pearson(math.ceil(total - 1e-9), n, level)
    return float(low), float(high)


def pointwise_information(guesses: Guesses, null: Floats) -> Floats:
    """Return pointwise V-information in bits: log2 p(right | partial input) − log2 p(right | nothing)."""
    if guesses.probability is None:
        raise ValueError("these guesses come without probabilities")
    smallest = 1e-9
    bits: Floats = np.log2(np.maximum(guesses.probability, smallest)) - np.log2(np.maximum(null, smallest))
    return bits


def mean_information(guesses: Guesses, null: Floats | None) -> float | None:
    """Return the V-information of the input about the answer, in bits, where it is defined."""
    if null is None or guesses.probability is None:
        return None
    return guesses.mean(pointwise_information(guesses, null))


def judged(baselines: list[Baseline], alpha: float) -> list[Baseline]:
    """Return the lines with q-values over those that were tested, and "at" where chance is not excluded.

    Majority and prior are what chance is made of; they are shown, and not counted as tests. Nor are the full
    input and relations of both texts, which may well succeed: counted, they would make the others look better.
    """
    full = next((b.accuracy for b in baselines if b.kind == "full"), None)
    counted = [b for b in baselines if b.kind in ("content-blind", "partial")]
    adjusted = q_values([b.log10_p * math.log(10) for b in counted])
    q = {b.name: 1.0 if b.kind == "reference" else b.p_value for b in baselines}
    q |= dict(zip([b.name for b in counted], adjusted.tolist(), strict=True))
    return [
        replace(
            b,
            q_value=q[b.name],
            direction=b.direction if q[b.name] <= alpha else "at",
            percent_r=b.accuracy / full if full and b.kind != "full" else None,
        )
        for b in baselines
    ]

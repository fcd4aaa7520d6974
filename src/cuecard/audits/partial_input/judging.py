"""How good a guess is: accuracy with interval, against chance, with an exact test."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable
from dataclasses import asdict, dataclass, replace

import numpy as np

from cuecard.analysis import Summary
from cuecard.audits.partial_input.guesses import Guesses
from cuecard.stats import accuracy_log_p, clopper_pearson, log10_p, mixed_chance_log_p, q_values
from cuecard.stats.arrays import Bools, Codes, Floats, Ints, counted
from cuecard.stats.limits import detectable_auc, detectable_choice_auc
from cuecard.stats.scores.auc import choice_auc, label_auc
from cuecard.stats.scores.cross_fit_intervals import (
    effective_units,
    excess_interval,
    mean_interval,
    share_interval,
)
from cuecard.stats.scores.row_sums import number_of_units
from cuecard.stats.scores.score_test import ScoreTest, choice_score_test, score_test
from cuecard.stats.weighted import weighted_share

#: Inputs that should not be enough. The full input and relations of both texts may well succeed.
TESTED_KINDS = ("content-blind", "partial")


@dataclass(frozen=True)
class Baseline:
    """One line of the battery: what was guessed from, how often it was right, and whether that is luck.

    `chance` is the share of the commonest label among the examples scored, or the mean of 1/k over examples of
    k choices. `luck` is the accuracy expected of the same guesses if they had nothing to do with the labels.
    `p_value` is that of the test named by `test`: "score" where there are probabilities, "places" or "figures" where
    the input itself can be tested, otherwise "hits", whose own p-value is `hits_p_value`. `direction` is "above",
    "below" or "at" chance, at the level of the test. Where it is
    "below", `turned` is the accuracy of naming the least likely answer instead. `information` is in bits; `auc` is the
    mean area under the ROC curve of a label against the rest, or how often the right choice ranks above a wrong one.
    `detectable_auc` is the smallest one that the test would have found in four of five sets like this. `units` is the
    number of distinct texts (or choices) among the n examples; `majority_predicted` the share of them for which the
    most frequent label is predicted, of pairs and texts. `excess_low` and `excess_high` are the ends of the accuracy
    above chance; the share of the most frequent label is that of a sample as well.
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
    information_low: float | None = None
    information_high: float | None = None
    auc: float | None = None
    auc_low: float | None = None
    auc_high: float | None = None
    detectable_auc: float | None = None
    test: str = "hits"
    hits_p_value: float = 1.0
    turned: float | None = None
    turned_low: float | None = None
    turned_high: float | None = None
    units: int | None = None
    majority_predicted: float | None = None
    excess_low: float | None = None
    excess_high: float | None = None

    def as_json(self) -> Summary:
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
    chain: Chain | None = None,
) -> Baseline:
    """Return accuracy, information and ranking of guesses with intervals, and an exact or permutation test of them.

    `null` are probabilities of the right answers by a model that sees nothing; with them the mean pointwise
    V-information is given, in bits. `chain` is what a cross-fit adds: the fold of every guess, and the guesses of
    models that learned from earlier folds, which are tested in place of all.

    Where there are probabilities, their log score is tested (`score_test`): it is compared with the same predictions
    for permuted labels, within folds, or for choices with every choice as likely as any other. Accuracy alone cannot
    show a leak where one label is so common that it is always the likeliest.

    Otherwise hits are tested. For grouped tasks their number has a known distribution when every choice is as
    likely as any other: a guess that names t tied ones of k is a hit with chance t/k.

    For labels the two directions need different references, because the commonest label's share is the *best*
    a blind guess can do, not what it does on average. Above chance means: more right answers than always
    naming the commonest label gives, by the exact binomial tail; since any guess independent of the labels is
    right at most that often, the test keeps its level whatever the guesses. Below chance means: fewer right
    answers than the same guesses would give if labels were drawn again, by the exact Poisson-binomial tail of
    the guessed labels' shares; a guess that merely spreads over the labels is not below chance. The shares are
    those of the scored examples, which makes both tests slightly conservative. p = 2 · min(both), at most 1.

    Where examples have weights, or some are copies of others, the tests of hits take effective counts: as many equal
    examples as would leave the accuracy the same error, with hits, guessed labels and ties in their shares, rounded.
    """
    n = len(guesses)
    tested, answers = (guesses, gold) if chain is None else (chain.tested, chain.gold)
    accuracy, chance = guesses.mean(guesses.score), chance_of(guesses, gold, grouped=grouped)
    inflation = 1.0 if chain is None else chain.inflation
    low, high = interval(guesses.score, guesses.weight, unit=guesses.unit, inflation=inflation)
    test = against_chance(tested, answers, grouped=grouped, fold=None if chain is None else chain.tested_fold)
    line = Baseline(
        name=name,
        kind=kind,
        accuracy=accuracy,
        low=low,
        high=high,
        chance=chance,
        luck=chance if grouped else guesses.mean(_by_luck(guesses, gold)),
        p_value=test.p_value,
        log10_p=test.log10_p,
        n=n,
        direction="above" if test.log_above < test.log_below else "below",
        delta_majority=accuracy - chance,
        test=test.name,
        hits_p_value=test.hits_p,
        units=n if guesses.unit is None else number_of_units(guesses.unit),
        majority_predicted=None
        if grouped
        else guesses.mean(guesses.answer == _shares(gold, guesses).argmax()),
    )
    above = (low - chance, high - chance)
    if not grouped:  # the share of the most frequent label is that of a sample as well
        above = excess_interval(
            guesses.score, gold, units=guesses.unit, weights=guesses.weight, inflation=inflation
        )
    line = replace(line, excess_low=above[0], excess_high=above[1])
    line = _with_ranking(line, guesses, gold, tested, grouped=grouped, chain=chain)
    if null is not None and guesses.probability is not None:
        mean, least, most = mean_interval(
            pointwise_information(guesses, null),
            units=guesses.unit,
            weights=guesses.weight,
            inflation=inflation,
        )
        line = replace(line, information=mean, information_low=_finite(least), information_high=_finite(most))
    turned = guesses.turned_round(gold) if line.direction == "below" else None
    if turned is not None:
        low, high = interval(turned.score, turned.weight, unit=turned.unit, inflation=inflation)
        line = replace(line, turned=turned.mean(turned.score), turned_low=low, turned_high=high)
    return line


@dataclass(frozen=True, eq=False)
class Chain:
    """What a test of cross-fitted guesses needs: models that learned from earlier folds only, and the folds."""

    fold: Codes
    inflation: float
    tested: Guesses
    tested_fold: Codes
    gold: Ints


@dataclass(frozen=True)
class ChanceTest:
    """The logs of the chances of a score at least, and at most, as high; the p-value of hits; and which was tested."""

    log_above: float
    log_below: float
    hits_p: float
    name: str

    @property
    def log_p(self) -> float:
        """Natural log of the two-sided p-value."""
        return min(0.0, math.log(2) + min(self.log_above, self.log_below))

    @property
    def p_value(self) -> float:
        """The two-sided p-value."""
        return math.exp(self.log_p)

    @property
    def log10_p(self) -> float:
        """Its logarithm to the base of 10."""
        return float(log10_p(self.log_p))


def against_chance(guesses: Guesses, gold: Ints, *, grouped: bool, fold: Codes | None = None) -> ChanceTest:
    """Return the test of guesses: of their log score where there are probabilities, otherwise of their hits."""
    hits = ChanceTest(*_tails(guesses, gold, grouped=grouped), 1.0, "hits")
    test = replace(hits, hits_p=hits.p_value)
    if guesses.table is not None:
        scored = _score_test(guesses, gold, grouped=grouped, fold=fold)
        test = ChanceTest(scored.log_above, scored.log_below, hits.p_value, "score")
    if not grouped and guesses.named.max(initial=0) > 1:
        return replace(
            test, hits_p=test.p_value
        )  # tied labels have no whole hits; their score is the hits they share
    return test


def _score_test(guesses: Guesses, gold: Ints, *, grouped: bool, fold: Codes | None) -> ScoreTest:
    assert guesses.table is not None
    if not grouped:
        strata = _crossed(fold, guesses)
        return score_test(guesses.table, gold, strata=strata, units=guesses.unit, weights=guesses.weight)
    values = guesses.table[~np.isnan(guesses.table)]
    return choice_score_test(values, gold, guesses.options, units=guesses.unit, weights=guesses.weight)


def _crossed(fold: Codes | None, guesses: Guesses) -> Codes | None:
    """Return strata of folds and templates: what a template's sentences have in common is one observation."""
    template = guesses.template
    if fold is None or template is None:
        return template if fold is None else fold
    most = int(template.max(initial=-1)) + 2
    return guesses.computed(lambda chunk: fold[chunk].astype(np.int64) * most + template[chunk] + 1, np.int64)


def _with_ranking(
    line: Baseline, guesses: Guesses, gold: Ints, tested: Guesses, *, grouped: bool, chain: Chain | None
) -> Baseline:
    """Return the line with the area under the ROC curve of its probabilities."""
    if guesses.table is None or guesses.probability is None:
        return line
    inflation, fold = (1.0, None) if chain is None else (chain.inflation, chain.fold)
    size = effective_units(tested.score, tested.unit, tested.weight)
    if grouped:
        values = guesses.table[~np.isnan(guesses.table)]
        area = choice_auc(
            values, gold, guesses.options, units=guesses.unit, weights=guesses.weight, inflation=inflation
        )
        smallest = detectable_choice_auc(tested.options, share=size / len(tested))
    else:
        area = label_auc(
            guesses.table, gold, strata=fold, units=guesses.unit, weights=guesses.weight, inflation=inflation
        )
        smallest = detectable_auc(_shares(gold, guesses) * size)
    if math.isnan(area.value):
        return line
    return replace(line, auc=area.value, auc_low=area.low, auc_high=area.high, detectable_auc=smallest)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


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


def counted_hits(guesses: Guesses, cells: Codes, n_cells: int = 0) -> tuple[int, Ints]:
    """Return how many guesses are hits and how many fall into each cell; with weights or units, as effective counts."""
    hit = guesses.score > 0
    if guesses.weight is None and guesses.unit is None:
        return int(hit.sum()), counted(cells, n_cells)
    size = _effective(hit, guesses.weight, guesses.unit)
    if guesses.weight is None:
        sums = counted(cells, n_cells)
    else:
        sums = np.bincount(cells, weights=guesses.weight, minlength=n_cells)
    counts = np.rint(sums / sums.sum() * size).astype(np.int64)
    return round(guesses.mean(hit) * int(counts.sum())), counts


def _effective(values: Floats | Bools, weight: Floats | None, unit: Ints | None) -> float:
    """Return how many independent examples that count the same have the error of this mean."""
    if unit is not None:
        return effective_units(values, unit, weight)
    return len(values) if weight is None else weighted_share(values, weight).effective_n


def _shares(gold: Ints, guesses: Guesses) -> Floats:
    """Return the share of every label among the right answers."""
    counts = np.bincount(gold, weights=guesses.weight, minlength=int(guesses.answer.max(initial=0)) + 1)
    return np.asarray(counts / counts.sum())


def _by_luck(guesses: Guesses, gold: Ints) -> Floats:
    """Return the expected hit of every guess where it is independent of the labels."""
    table, answer = guesses.table, guesses.answer
    if table is not None and guesses.named.max(initial=0) > 1:  # tied labels share the hit
        counts = np.bincount(gold, weights=guesses.weight, minlength=table.shape[1])
        expected = counts / counts.sum()
        return guesses.computed(lambda chunk: table[chunk] @ expected)
    shares = _shares(gold, guesses)
    return guesses.computed(lambda chunk: shares[answer[chunk]])


def interval(
    score: Floats | Bools,
    weight: Floats | None = None,
    level: float = 0.95,
    *,
    unit: Ints | None = None,
    inflation: float = 1.0,
) -> tuple[float, float]:
    """Return the exact interval of a mean of scores; shared ties widen it to the whole hits on either side.

    With weights, units of several examples or a cross-fit (`inflation`) it is Wilson's, for as many equal examples as
    have the accuracy's own error.
    """
    if weight is not None or unit is not None or inflation != 1.0:
        size = _effective(score, weight, unit) / inflation
        return share_interval(float(np.average(score, weights=weight)), size, level)
    return exact_interval(float(score.sum()), len(score), level)


def exact_interval(total: float, n: int, level: float = 0.95) -> tuple[float, float]:
    """Return the exact interval of a share of n examples, of which `total` are hits, shared ones in part."""
    low, _ = clopper_pearson(math.floor(total + 1e-9), n, level)
    _, high = clopper_pearson(math.ceil(total - 1e-9), n, level)
    return float(low), float(high)


def pointwise_information(guesses: Guesses, null: Floats) -> Floats:
    """Return pointwise V-information in bits: log2 p(right | partial input) − log2 p(right | nothing)."""
    if guesses.probability is None:
        raise ValueError("these guesses come without probabilities")
    given, smallest = guesses.probability, 1e-9

    def bits(some: slice) -> Floats:
        return np.log2(np.maximum(given[some], smallest)) - np.log2(np.maximum(null[some], smallest))

    return guesses.computed(bits)


def judged(baselines: list[Baseline], alpha: float) -> list[Baseline]:
    """Return the lines with q-values over those that were tested, and "at" where chance is not excluded.

    Majority and prior are what chance is made of; they are shown, and not counted as tests. Nor are the full
    input and relations of both texts, which may well succeed: counted, they would make the others look better. A
    relation itself is corrected for all of them.
    """
    full = next((b.accuracy for b in baselines if b.kind == "full"), None)
    q = {b.name: 1.0 if b.kind == "reference" else b.p_value for b in baselines}
    relations = _adjusted(b for b in baselines if b.kind == "relation" or b.kind in TESTED_KINDS)
    q |= relations | _adjusted(b for b in baselines if b.kind in TESTED_KINDS)
    clear = {b.name for b in baselines if q[b.name] <= alpha and (b.direction == "above" or _surely_below(b))}
    lines = [
        b if b.name in clear else replace(b, turned=None, turned_low=None, turned_high=None)
        for b in baselines
    ]
    return [
        replace(
            b,
            q_value=q[b.name],
            direction=b.direction if b.name in clear else "at",
            percent_r=b.accuracy / full if full and b.kind != "full" else None,
        )
        for b in lines
    ]


def smallest_q(baselines: Iterable[Baseline], expect: Container[str]) -> float | None:
    """Return Simes' p-value of the claim that no line says anything; relations that are expected are not counted."""
    counted = (b for b in baselines if b.kind == "relation" or b.kind in TESTED_KINDS)
    return min(_adjusted(b for b in counted if b.name not in expect).values(), default=None)


def _adjusted(baselines: Iterable[Baseline]) -> dict[str, float]:
    lines = list(baselines)
    adjusted = q_values([b.log10_p * math.log(10) for b in lines])
    return dict(zip([b.name for b in lines], adjusted.tolist(), strict=True))


def _surely_below(baseline: Baseline) -> bool:
    """Return whether an interval shows it: of accuracy, of ranking, or of the score turned round.

    Where labels mirror each other by design, so little varies that a tiny distance is significant and means nothing.
    """
    below = baseline.high < baseline.luck or (baseline.auc_high is not None and baseline.auc_high < 0.5)
    return below or (baseline.turned_low is not None and baseline.turned_low > baseline.chance)

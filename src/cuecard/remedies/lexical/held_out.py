"""Features on which weights are judged besides those they were made for: strongest words, random n-grams."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.features import FAMILIES, Presence
from cuecard.remedies.lexical.balance_problem import BalanceProblem, Candidates, balance_problem
from cuecard.text import Encoded, presence, presence_counts, stop_words

#: The paper's numbers: 50 words of highest z per label, and 200 random n-grams that occur with every label.
STRONGEST_PER_LABEL = 50
RANDOM_NGRAMS = 200
#: Words rarer than this have no z worth ranking.
MIN_WORD_COUNT = 5
#: Draws of labels per n-gram that tell how far off sampling alone leaves it.
DRAWS = 100
#: A grouped task needs a margin: n-grams seen with both labels may still say nothing within any example.
CANDIDATES = 5 * RANDOM_NGRAMS


def strongest_words(encoded: Encoded) -> BalanceProblem:
    """Return the words of highest z for every label, function words left out where a list of them is known."""
    presence_of_words = FAMILIES.get("word")().presence(encoded)
    words = balance_problem([Candidates("word", presence_of_words, MIN_WORD_COUNT)], encoded.instances)
    if encoded.language == "en":
        words = words.only(~words.features["feature"].is_in(sorted(stop_words("en"))).to_numpy())
    if not words.features.height:
        return words
    order = np.argsort(-label_z(words), axis=0, kind="stable")
    return words.only(np.unique(order[:STRONGEST_PER_LABEL]))


def label_z(problem: BalanceProblem) -> npt.NDArray[np.float64]:
    """Return z of every feature and label: against the label's prior, or against chance within examples."""
    if problem.groups is not None:
        matrix = problem.matrix_in_memory
        surplus = matrix[::2] - matrix[1::2]
        spread = np.sqrt(np.asarray(surplus.multiply(surplus).sum(axis=0)).ravel())
        z = np.asarray(surplus.sum(axis=0)).ravel() / np.maximum(spread, 1e-12)
        return np.column_stack([z, -z])
    prior = np.bincount(problem.labels) / len(problem.labels)
    n = problem.features["count"].to_numpy()[:, None]
    shares = problem.shares(np.ones(len(problem.labels)))
    return np.asarray((shares - prior) / np.sqrt(prior * (1 - prior) / n))


def random_ngrams(encoded: Encoded, n: int, constrained: pl.Series, seed: int) -> BalanceProblem:
    """Return random n-grams that occur with every label and are not among the constrained features."""
    instances = encoded.instances
    runs = encoded.ngrams(n)
    counts = presence_counts(runs, instances.label_codes, len(instances.labels))
    everywhere = np.flatnonzero(np.all(counts > 0, axis=1))
    names = runs.names(everywhere)
    everywhere = everywhere[~names.is_in(constrained.implode()).to_numpy()]
    # Named order, not order of first occurrence: the draw must not depend on the order of the rows.
    everywhere = everywhere[np.argsort(runs.names(everywhere).to_numpy().astype(str), kind="stable")]
    drawn = np.random.default_rng(seed).permutation(everywhere)[:CANDIDATES]
    indptr, indices = presence(runs)
    numbers = pl.Series(np.arange(len(counts)))
    chosen = Presence(numbers, indptr, indices).columns(drawn)
    named = Presence(runs.names(drawn), chosen.indptr, chosen.indices)
    problem = balance_problem([Candidates(f"{n}-gram", named, 1)], instances)
    if not problem.features.height:
        return problem
    return problem.only(np.flatnonzero(problem.with_every_label())[:RANDOM_NGRAMS])


def chance_err_of_ngrams(
    problem: BalanceProblem, weights: npt.NDArray[np.float64], target: npt.NDArray[np.float64], seed: int
) -> float | None:
    """Return the Err of random n-grams if labels were drawn from the target, by simulation; None for grouped tasks.

    N-grams were chosen because every label occurs with them, which makes rare ones look balanced: three instances
    with three labels are so exactly. Only draws in which every label occurs are counted, so that equal weights
    and these are held against what the choice alone does.
    """
    if problem.groups is not None or not problem.features.height:
        return None
    rng = np.random.default_rng(seed)
    by_feature = problem.matrix_in_memory.tocsc()
    errors = []
    for j in range(by_feature.shape[1]):
        mass = weights[by_feature.indices[by_feature.indptr[j] : by_feature.indptr[j + 1]]]
        drawn = rng.choice(len(target), size=(DRAWS, len(mass)), p=target)
        hit = drawn[:, :, None] == np.arange(len(target))
        everywhere = hit.any(axis=1).all(axis=1)
        shares = np.einsum("dil,i->dl", hit[everywhere], mass) / mass.sum()
        if len(shares):
            errors.append(np.abs(shares - target).mean())
    return float(np.mean(errors)) if errors else None

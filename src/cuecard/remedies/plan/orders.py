"""In which order examples are proposed for a change: by convex weights, z-filtering, AFLite or at random."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

import numpy as np

from cuecard.data.examples import Bools, Floats, Ints
from cuecard.remedies.plan.cue_evidence import CueEvidence
from cuecard.stats.entropy_balancing import entropy_balance
from cuecard.stats.removal import weight_order, z_order

Method = Literal["weights", "z-filter", "aflite", "random"]
METHODS: tuple[Method, ...] = get_args(Method)
#: Number of rounds in which AFLite removes the easiest examples; it retrains after each.
ROUNDS = 5
#: Where cues are to go, they are brought to this share of the z of the weakest of them; where a model's accuracy is to
#: fall, which adds up many weak features, all features are brought to a z of chance.
BELOW, BY_CHANCE = 0.9, 1.0
#: The smallest effective sample size that the weights may leave.
LEAST_SAMPLE = 0.2

#: Return how likely the right answer of each of some examples is for a model that did not see it.
Score = Callable[[Ints], Floats]


def removal_order(
    method: Method,
    evidence: CueEvidence,
    allowed: Bools,
    *,
    score: Score,
    most: int,
    every_feature: bool = False,
    seed: int = 0,
) -> Ints:
    """Return the examples in the order in which to change them; those not allowed are left out.

    Args:
        method: weights, z-filter, aflite or random.
        evidence: which examples have which cues.
        allowed: the examples that may be proposed.
        score: fits a shortcut model on some examples, for AFLite.
        most: the largest number of examples that will be changed.
        every_feature: remove the associations of all features, not only those of cues.
        seed: of what is drawn.
    """
    if method == "random":
        return np.random.default_rng(seed).permutation(np.flatnonzero(allowed)).astype(np.int64)
    if method == "z-filter":
        target = BY_CHANCE if every_feature else BELOW * evidence.critical
        return z_order(evidence.deviations, evidence.variances, allowed, target)
    if method == "weights":
        return weight_order(balancing_weights(evidence, every_feature), allowed, seed=seed)
    return _aflite(allowed, score, most)


def balancing_weights(evidence: CueEvidence, every_feature: bool = False) -> Floats:
    """Return weights of the examples under which features do not predict the label, the closest to equal ones."""
    examples, data = evidence.examples, evidence.examples.instances
    least = BY_CHANCE if every_feature else BELOW * evidence.critical
    balanced_features = np.flatnonzero(np.abs(evidence.features["z"].to_numpy()) >= least)
    if not len(balanced_features):
        return np.ones(len(examples))
    balanced = entropy_balance(
        evidence.instances[:, balanced_features],
        data.label_codes,
        target="overall",
        groups=data.example_codes if data.grouped else None,
        min_ess=LEAST_SAMPLE,
        balance_labels=not data.grouped,
    )
    return balanced.weights[examples.first_rows[:-1]]


def _aflite(allowed: Bools, score: Score, most: int) -> Ints:
    """Return the examples by how easily a model that did not see them predicts them, learned again after each round."""
    left = np.ones(len(allowed), dtype=np.bool_)
    order: list[Ints] = []
    for _ in range(ROUNDS):
        here = np.flatnonzero(left)
        candidates = here[allowed[here]]
        if not len(candidates):
            break
        easiness = np.zeros(len(allowed))
        easiness[here] = score(here)
        slice_size = max(1, -(-most // ROUNDS))
        easiest = candidates[np.argsort(-easiness[candidates], kind="stable")][:slice_size]
        order.append(easiest)
        left[easiest] = False
    return np.concatenate([*order, np.empty(0, dtype=np.int64)]).astype(np.int64)

"""What a model is trained for besides the labels: the data behind a debiasing loss, whatever computes it."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal

import numpy as np

from cuecard.errors import UsageError
from cuecard.stats.arrays import Floats, Ints

Kind = Literal["product-of-experts", "learned-mixin", "confidence", "group-robust"]


@dataclass(frozen=True, eq=False)
class Objective:
    """A loss over all training examples, in their order.

    Attributes:
        kind: which loss.
        strength: exponent of the expert, weight of the entropy, or step size of the group weights.
        expert: log-probabilities of a bias expert, examples × answers.
        targets: probabilities to learn instead of labels, examples × answers.
        groups: the group of every example.
    """

    kind: Kind
    strength: float = 1.0
    expert: Floats | None = None
    targets: Floats | None = None
    groups: Ints | None = None

    @property
    def identity(self) -> str:
        """A hash of everything that the loss depends on, so that no run resumes from one of another loss."""
        digest = blake2b(f"{self.kind} {self.strength}".encode(), digest_size=16)
        for array in (self.expert, self.targets, self.groups):
            if array is not None:
                digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()


def check_objective(objective: Objective | None, model: str, kinds: tuple[Kind, ...] = ()) -> None:
    """Raise if a model cannot be trained for an objective."""
    if objective is not None and objective.kind not in kinds:
        raise UsageError(
            f"The model {model!r} cannot be trained with --debias {objective.kind}: choose fasttext, bilstm, "
            "siamese-lstm, esim or transformer."
        )


def scaled_confidence(teacher: Floats, bias: Floats) -> Floats:
    """Return the teacher's probabilities, flattened where the expert is sure of the label (Utama et al. 2020).

    p_j^(1 − β) / Σ_k p_k^(1 − β): at β = 0 the teacher itself, at β = 1 equal probabilities of all possible answers.

    >>> scaled_confidence(np.array([[0.8, 0.2], [0.8, 0.2]]), np.array([0.0, 1.0]))
    array([[0.8, 0.2],
           [0.5, 0.5]])
    """
    possible = teacher > 0
    raised = np.where(possible, np.where(possible, teacher, 1.0) ** (1 - bias)[:, None], 0.0)
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))

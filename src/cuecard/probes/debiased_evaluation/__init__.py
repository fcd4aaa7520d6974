"""A model's accuracy with and without the leak of the pair graph."""

from cuecard.probes.debiased_evaluation.estimate import debiased_evaluation
from cuecard.probes.debiased_evaluation.probe import DebiasedEvaluation

__all__ = ["DebiasedEvaluation", "debiased_evaluation"]

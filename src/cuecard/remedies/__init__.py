"""What can be done about what gives the answer away?"""

from cuecard.remedies.neutral_weights import NeutralWeighting, NeutralWeights, leakage_neutral_weights
from cuecard.remedies.stress_sets import StressSet, stress_set, write_stress_set

__all__ = [
    "NeutralWeighting",
    "NeutralWeights",
    "StressSet",
    "leakage_neutral_weights",
    "stress_set",
    "write_stress_set",
]

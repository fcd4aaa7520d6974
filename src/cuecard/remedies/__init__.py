"""What can be done about what gives the answer away?"""

from cuecard.remedies.neutral_weights import NeutralWeighting, NeutralWeights, leakage_neutral_weights

__all__ = ["NeutralWeighting", "NeutralWeights", "leakage_neutral_weights"]

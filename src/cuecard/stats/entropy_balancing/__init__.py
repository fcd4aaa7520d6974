"""Instance weights under which no feature predicts the label, as close to uniform as possible."""

from cuecard.stats.entropy_balancing.balance import (
    BalancedWeights,
    Reason,
    UnbalancedFeature,
    entropy_balance,
)
from cuecard.stats.entropy_balancing.constraints import (
    LabelledFeatures,
    Target,
    err,
    share_residuals,
)
from cuecard.stats.entropy_balancing.dual import SoftmaxWeights, softmax_weights
from cuecard.stats.entropy_balancing.held_out import RIDGES, HeldOut, held_out_balance
from cuecard.stats.entropy_balancing.search import Certificate
from cuecard.stats.entropy_balancing.stored import StoredFeatures

__all__ = [
    "RIDGES",
    "BalancedWeights",
    "Certificate",
    "HeldOut",
    "LabelledFeatures",
    "Reason",
    "SoftmaxWeights",
    "StoredFeatures",
    "Target",
    "UnbalancedFeature",
    "entropy_balance",
    "err",
    "held_out_balance",
    "share_residuals",
    "softmax_weights",
]

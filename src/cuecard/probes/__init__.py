"""Does this model use what gives the answer away?"""

from cuecard.probes.debiased_evaluation import debiased_evaluation
from cuecard.probes.identical_pairs import box_statistics, identical_pairs, score_identical_pairs
from cuecard.probes.option_order import OptionOrder, option_order

__all__ = [
    "OptionOrder",
    "box_statistics",
    "debiased_evaluation",
    "identical_pairs",
    "option_order",
    "score_identical_pairs",
]

"""Does this model use what gives the answer away?"""

from cuecard.probes.debiased_evaluation import debiased_evaluation
from cuecard.probes.identical_pairs import box_statistics, identical_pairs, score_identical_pairs

__all__ = ["box_statistics", "debiased_evaluation", "identical_pairs", "score_identical_pairs"]

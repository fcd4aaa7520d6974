"""Does this model use the cue? One question per file, asked with the model's predictions."""

from cuecard.analysis import Analysis
from cuecard.probes.copies import counted_once
from cuecard.probes.cues.cue_set import CueSet, choose_cues
from cuecard.probes.cues.stress_set import CueStressSet, cue_stress_set
from cuecard.probes.debiased_evaluation.estimate import debiased_evaluation
from cuecard.probes.debiased_evaluation.probe import DebiasedEvaluation
from cuecard.probes.examples import UNANSWERED, check_test
from cuecard.probes.identical_pairs.pairs import box_statistics, identical_pairs, score_identical_pairs
from cuecard.probes.identical_pairs.probe import IdenticalPairTest
from cuecard.probes.identical_pairs.scores import identical_scores, matching_label
from cuecard.probes.judge import JudgeTest, Verdicts, read_verdicts
from cuecard.probes.linear import LINEAR_MODELS, linear_predictions
from cuecard.probes.many_predictions import read_many_predictions
from cuecard.probes.net_scores import NetScores
from cuecard.probes.predictions import Predictions, PredictionSource, distinctly_named, read_predictions
from cuecard.probes.prompts.study import PromptStudy, find_prompt, prompted_answers, prompted_predictions
from cuecard.probes.registry import PROBES
from cuecard.probes.saliency import TokenRelevance, token_relevance
from cuecard.probes.tests.accuracy import AccuracyTest
from cuecard.probes.tests.agreement import AgreementOfModels
from cuecard.probes.tests.distribution import DistributionTest
from cuecard.probes.tests.hard_subset import HardSubset
from cuecard.probes.tests.option_order import OptionOrder, OptionOrderTest, option_order
from cuecard.probes.tests.paired import PairedComparison
from cuecard.probes.tests.permutation import PermutationTest
from cuecard.probes.tests.reliance import Reliance
from cuecard.probes.trained import asked_recipes, is_saved_model, trained_predictions

#: The order in which probes run and appear on a card.
_BUILT_IN: tuple[type[Analysis], ...] = (
    Reliance, AccuracyTest, DistributionTest, PermutationTest, AgreementOfModels, PairedComparison, OptionOrderTest,
    PromptStudy, HardSubset, DebiasedEvaluation, IdenticalPairTest, NetScores, JudgeTest,
)  # fmt: skip
for _probe in _BUILT_IN:
    PROBES.add(_probe.name, _probe)

__all__ = [
    "LINEAR_MODELS",
    "PROBES",
    "UNANSWERED",
    "AccuracyTest",
    "AgreementOfModels",
    "CueSet",
    "CueStressSet",
    "DebiasedEvaluation",
    "DistributionTest",
    "HardSubset",
    "IdenticalPairTest",
    "JudgeTest",
    "NetScores",
    "OptionOrder",
    "OptionOrderTest",
    "PairedComparison",
    "PermutationTest",
    "PredictionSource",
    "Predictions",
    "PromptStudy",
    "Reliance",
    "TokenRelevance",
    "Verdicts",
    "asked_recipes",
    "box_statistics",
    "check_test",
    "choose_cues",
    "counted_once",
    "cue_stress_set",
    "debiased_evaluation",
    "distinctly_named",
    "find_prompt",
    "identical_pairs",
    "identical_scores",
    "is_saved_model",
    "linear_predictions",
    "matching_label",
    "option_order",
    "prompted_answers",
    "prompted_predictions",
    "read_many_predictions",
    "read_predictions",
    "read_verdicts",
    "score_identical_pairs",
    "token_relevance",
    "trained_predictions",
]

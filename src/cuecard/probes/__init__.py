"""Does this model use the cue? One question per file, asked with the model's predictions."""

from cuecard.probes.accuracy import AccuracyTest
from cuecard.probes.agreement import AgreementOfModels
from cuecard.probes.cue_set import CueSet, choose_cues
from cuecard.probes.debiased_accuracy import DebiasedEvaluation
from cuecard.probes.debiased_evaluation import debiased_evaluation
from cuecard.probes.distribution import DistributionTest
from cuecard.probes.examples import UNANSWERED, TestExamples, check_test
from cuecard.probes.identical_pair_test import IdenticalPairTest
from cuecard.probes.identical_pairs import box_statistics, identical_pairs, score_identical_pairs
from cuecard.probes.identical_scores import identical_scores, matching_label
from cuecard.probes.linear import LINEAR_MODELS, linear_predictions
from cuecard.probes.option_order import OptionOrder, OptionOrderTest, option_order
from cuecard.probes.paired import PairedComparison
from cuecard.probes.permutation import PermutationTest
from cuecard.probes.predictions import Predictions, PredictionSource, distinctly_named, read_predictions
from cuecard.probes.probe import PROBES, Probe
from cuecard.probes.prompts import PromptStudy, find_prompt, prompted_predictions
from cuecard.probes.reliance import Reliance
from cuecard.probes.saliency import TokenRelevance, token_relevance
from cuecard.probes.stress_set import StressSet, stress_set
from cuecard.probes.trained import asked_recipes, is_saved, trained_predictions

#: The order in which probes run and stand on a card.
_BUILT_IN: tuple[type[Probe], ...] = (
    Reliance, AccuracyTest, DistributionTest, PermutationTest, AgreementOfModels, PairedComparison, OptionOrderTest,
    PromptStudy, DebiasedEvaluation, IdenticalPairTest,
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
    "DebiasedEvaluation",
    "DistributionTest",
    "IdenticalPairTest",
    "OptionOrder",
    "OptionOrderTest",
    "PairedComparison",
    "PermutationTest",
    "PredictionSource",
    "Predictions",
    "Probe",
    "PromptStudy",
    "Reliance",
    "StressSet",
    "TestExamples",
    "TokenRelevance",
    "asked_recipes",
    "box_statistics",
    "check_test",
    "choose_cues",
    "debiased_evaluation",
    "distinctly_named",
    "find_prompt",
    "identical_pairs",
    "identical_scores",
    "is_saved",
    "linear_predictions",
    "matching_label",
    "option_order",
    "prompted_predictions",
    "read_predictions",
    "score_identical_pairs",
    "stress_set",
    "token_relevance",
    "trained_predictions",
]

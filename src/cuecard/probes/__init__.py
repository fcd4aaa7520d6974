"""Does this model use the cue? One question per file, asked with the model's predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuecard._lazy import lazy_names
from cuecard.analysis import Analysis
from cuecard.registry import Registry, lacking

if TYPE_CHECKING:
    from cuecard.probes.cues.accuracy import AccuracyTest
    from cuecard.probes.cues.cue_set import CueSet, choose_cues
    from cuecard.probes.cues.distribution import DistributionTest
    from cuecard.probes.cues.members import CueStressSet, cue_stress_set
    from cuecard.probes.cues.open_shortcuts import OpenShortcuts
    from cuecard.probes.cues.permutation import PermutationTest
    from cuecard.probes.cues.reliance import Reliance
    from cuecard.probes.debiased_evaluation import DebiasedEvaluation
    from cuecard.probes.examples import UNANSWERED, check_test
    from cuecard.probes.hard_subset import HardSubset
    from cuecard.probes.identical_pair_scores import identical_scores, matching_label
    from cuecard.probes.identical_pairs import IdenticalPairTest, box_statistics
    from cuecard.probes.input_parts import PartsOfInput
    from cuecard.probes.judge import JudgeFairness, JudgeTest, Scored, Verdicts, read_scored, read_verdicts
    from cuecard.probes.model_pairs import (
        AgreementOfModels,
        PairedComparison,
        TokenRelevance,
        token_relevance,
    )
    from cuecard.probes.net_scores import NetScores
    from cuecard.probes.option_order import OptionOrder, OptionOrderTest
    from cuecard.probes.permutations import Permutations
    from cuecard.probes.predictions import (
        Predictions,
        PredictionSource,
        counted_once,
        distinctly_named,
        read_many_predictions,
        read_predictions,
    )
    from cuecard.probes.prompts.asking import find_prompt, prompted_answers
    from cuecard.probes.prompts.study import PromptStudy
    from cuecard.probes.runs import BenchmarkRuns, Runs, read_runs
    from cuecard.probes.trained import (
        LINEAR_MODELS,
        asked_recipes,
        is_saved_model,
        linear_predictions,
        trained_predictions,
    )

#: The probes, by name: built-in ones and those of other packages (entry points `cuecard.probes`).
PROBES: Registry[type[Analysis]] = Registry(
    "probe", group="cuecard.probes", check=lacking("name", "title", "tasks", "run", "__dataclass_fields__")
)
# The order in which probes run and appear on a card.
PROBES.declare("reliance", "cuecard.probes.cues.reliance:Reliance")
PROBES.declare("accuracy_test", "cuecard.probes.cues.accuracy:AccuracyTest")
PROBES.declare("distribution_test", "cuecard.probes.cues.distribution:DistributionTest")
PROBES.declare("permutation_test", "cuecard.probes.cues.permutation:PermutationTest")
PROBES.declare("agreement", "cuecard.probes.model_pairs:AgreementOfModels")
PROBES.declare("paired_comparison", "cuecard.probes.model_pairs:PairedComparison")
PROBES.declare("runs", "cuecard.probes.runs:BenchmarkRuns")
PROBES.declare("option_order", "cuecard.probes.option_order:OptionOrderTest")
PROBES.declare("prompts", "cuecard.probes.prompts.study:PromptStudy")
PROBES.declare("input_parts", "cuecard.probes.input_parts:PartsOfInput")
PROBES.declare("permutations", "cuecard.probes.permutations:Permutations")
PROBES.declare("hard_subset", "cuecard.probes.hard_subset:HardSubset")
PROBES.declare("debiased_evaluation", "cuecard.probes.debiased_evaluation:DebiasedEvaluation")
PROBES.declare("identical_pairs", "cuecard.probes.identical_pairs:IdenticalPairTest")
PROBES.declare("net_scores", "cuecard.probes.net_scores:NetScores")
PROBES.declare("open_shortcuts", "cuecard.probes.cues.open_shortcuts:OpenShortcuts")
PROBES.declare("judge", "cuecard.probes.judge:JudgeTest")
PROBES.declare("judge_tests", "cuecard.probes.judge:JudgeFairness")

__all__ = [
    "LINEAR_MODELS",
    "PROBES",
    "UNANSWERED",
    "AccuracyTest",
    "AgreementOfModels",
    "BenchmarkRuns",
    "CueSet",
    "CueStressSet",
    "DebiasedEvaluation",
    "DistributionTest",
    "HardSubset",
    "IdenticalPairTest",
    "JudgeFairness",
    "JudgeTest",
    "NetScores",
    "OpenShortcuts",
    "OptionOrder",
    "OptionOrderTest",
    "PairedComparison",
    "PartsOfInput",
    "PermutationTest",
    "Permutations",
    "PredictionSource",
    "Predictions",
    "PromptStudy",
    "Reliance",
    "Runs",
    "Scored",
    "TokenRelevance",
    "Verdicts",
    "asked_recipes",
    "box_statistics",
    "check_test",
    "choose_cues",
    "counted_once",
    "cue_stress_set",
    "distinctly_named",
    "find_prompt",
    "identical_scores",
    "is_saved_model",
    "linear_predictions",
    "matching_label",
    "prompted_answers",
    "read_many_predictions",
    "read_predictions",
    "read_runs",
    "read_scored",
    "read_verdicts",
    "token_relevance",
    "trained_predictions",
]

__getattr__ = lazy_names(__name__)

"""CueCard finds what gives the answer away.

>>> import cuecard as cc
>>> data = cc.load("train.parquet", test="test.parquet")  # doctest: +SKIP
>>> card = cc.audit(data)  # doctest: +SKIP
>>> card.findings, card["cues"].table  # doctest: +SKIP
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from cuecard._lazy import lazy_names
from cuecard._version import __version__

if TYPE_CHECKING:
    from cuecard.audits import (
        AnswerPlace,
        Clusters,
        Columns,
        Concepts,
        Cues,
        OpenAnswers,
        Overview,
        PairGraphAudit,
        PartialInput,
        Slices,
        Style,
        explain,
    )
    from cuecard.card import Card, board, compare, load_card, save_card
    from cuecard.data import Instances, load
    from cuecard.errors import CueCardError
    from cuecard.probes import (
        AccuracyTest,
        AgreementOfModels,
        BenchmarkRuns,
        DebiasedEvaluation,
        DistributionTest,
        HardSubset,
        IdenticalPairTest,
        JudgeFairness,
        JudgeTest,
        NetScores,
        OpenShortcuts,
        OptionOrderTest,
        PairedComparison,
        PartsOfInput,
        Permutations,
        PermutationTest,
        PromptStudy,
        Reliance,
        read_predictions,
    )
    from cuecard.remedies import Corrected, Correction, LexicalWeights, NeutralWeights
    from cuecard.report import render_html, write_report
    from cuecard.run import (
        Debiased,
        ask,
        ask_judge,
        audit,
        check,
        correct,
        debias,
        overlap,
        plan,
        probe,
        train,
    )
    from cuecard.stats import artifact_z, cueness, peco, token_relevance_agreement
    from cuecard.stats.entropy_balancing import entropy_balance
    from cuecard.stats.models.permutation import permutation_test
    from cuecard.stats.neutral_weights import leakage_neutral_weights

__all__ = [
    "AccuracyTest",
    "AgreementOfModels",
    "AnswerPlace",
    "BenchmarkRuns",
    "Card",
    "Clusters",
    "Columns",
    "Concepts",
    "Corrected",
    "Correction",
    "CueCardError",
    "Cues",
    "Debiased",
    "DebiasedEvaluation",
    "DistributionTest",
    "HardSubset",
    "IdenticalPairTest",
    "Instances",
    "JudgeFairness",
    "JudgeTest",
    "LexicalWeights",
    "NetScores",
    "NeutralWeights",
    "OpenAnswers",
    "OpenShortcuts",
    "OptionOrderTest",
    "Overview",
    "PairGraphAudit",
    "PairedComparison",
    "PartialInput",
    "PartsOfInput",
    "PermutationTest",
    "Permutations",
    "PromptStudy",
    "Reliance",
    "Slices",
    "Style",
    "__version__",
    "artifact_z",
    "ask",
    "ask_judge",
    "audit",
    "board",
    "check",
    "compare",
    "correct",
    "cueness",
    "debias",
    "entropy_balance",
    "explain",
    "leakage_neutral_weights",
    "load",
    "load_card",
    "overlap",
    "peco",
    "permutation_test",
    "plan",
    "probe",
    "read_predictions",
    "render_html",
    "save_card",
    "token_relevance_agreement",
    "train",
    "write_report",
]

if find_spec("cuecard.stats._native") is None:
    raise ImportError(
        "CueCard's compiled module has not been built; in a source checkout, type `python -m pip install -e .` "
        "or, with Cython installed, `python setup.py build_ext --inplace`."
    )

__getattr__ = lazy_names(__name__)


def __dir__() -> list[str]:
    return sorted(__all__)

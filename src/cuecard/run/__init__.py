"""The verbs as functions: check what an analysis needs, run it, put the result on a card."""

from typing import TYPE_CHECKING

from cuecard._lazy import lazy_names

if TYPE_CHECKING:
    from cuecard.run.applying import AUDIT_FOLDER, Applied, Plan, apply_worksheet
    from cuecard.run.auditing import audit, overlap, selected_audits
    from cuecard.run.checking import check, is_card, write_starter_policy
    from cuecard.run.choosing import Settings, parse_settings
    from cuecard.run.debiasing import Debiased, WeightedRows, debias, debias_file, selected_remedy
    from cuecard.run.finishing import check_labels
    from cuecard.run.planning import plan, plan_file
    from cuecard.run.predicting import ask, ask_file, ask_judge, ask_judge_file, correct, correct_file
    from cuecard.run.probing import probe, selected_probes
    from cuecard.run.running import Progress, run_analyses
    from cuecard.run.stressing import WrittenStressSet, hard_examples, identical_pairs_file
    from cuecard.run.training import Trained, WeightFile, train, train_recipe, training_recipe
    from cuecard.run.workspace import kept_until_written

__all__ = [
    "AUDIT_FOLDER",
    "Applied",
    "Debiased",
    "Plan",
    "Progress",
    "Settings",
    "Trained",
    "WeightFile",
    "WeightedRows",
    "WrittenStressSet",
    "apply_worksheet",
    "ask",
    "ask_file",
    "ask_judge",
    "ask_judge_file",
    "audit",
    "check",
    "check_labels",
    "correct",
    "correct_file",
    "debias",
    "debias_file",
    "hard_examples",
    "identical_pairs_file",
    "is_card",
    "kept_until_written",
    "overlap",
    "parse_settings",
    "plan",
    "plan_file",
    "probe",
    "run_analyses",
    "selected_audits",
    "selected_probes",
    "selected_remedy",
    "train",
    "train_recipe",
    "training_recipe",
    "write_starter_policy",
]

__getattr__ = lazy_names(__name__)

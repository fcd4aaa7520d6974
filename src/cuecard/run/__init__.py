"""The verbs as functions: check what an analysis needs, run it, put the result on a card."""

from cuecard.run.audit import audit, selected_audits
from cuecard.run.debias import Debiased, debias, selected_remedy
from cuecard.run.describing import check_labels
from cuecard.run.probe import probe, selected_probes
from cuecard.run.runner import Progress, run_analyses
from cuecard.run.settings import Settings, parse_settings
from cuecard.run.train import Trained, train, train_recipe, training_recipe

__all__ = [
    "Debiased",
    "Progress",
    "Settings",
    "Trained",
    "audit",
    "check_labels",
    "debias",
    "parse_settings",
    "probe",
    "run_analyses",
    "selected_audits",
    "selected_probes",
    "selected_remedy",
    "train",
    "train_recipe",
    "training_recipe",
]

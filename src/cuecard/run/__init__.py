"""The verbs as functions: check what an analysis needs, run it, put the result on a card."""

from cuecard.run.audit import Progress, assemble, audit, check_labels, check_options
from cuecard.run.debias import Debiased, configured_remedy, debias
from cuecard.run.probe import configured_probes, probe
from cuecard.run.settings import Settings, parse_settings
from cuecard.run.train import Trained, train, train_recipe, training_recipe

__all__ = [
    "Debiased",
    "Progress",
    "Settings",
    "Trained",
    "assemble",
    "audit",
    "check_labels",
    "check_options",
    "configured_probes",
    "configured_remedy",
    "debias",
    "parse_settings",
    "probe",
    "train",
    "train_recipe",
    "training_recipe",
]

"""The result: the card, its files and its schema."""

from cuecard.card.build import Progress, assemble, audit, check_labels, check_options
from cuecard.card.card import Card, DatasetInfo, FindingModel, Provenance, Section, SplitInfo
from cuecard.card.debias import Debiased, configured_remedy, debias
from cuecard.card.diff import Change, Comparison, CueChange, compare
from cuecard.card.files import load_card, save_card
from cuecard.card.joining import join_cards
from cuecard.card.probing import configured_probes, probe
from cuecard.card.schema import card_schema, schema_text
from cuecard.card.settings import Settings, parse_settings
from cuecard.card.training import Trained, train, train_recipe, training_recipe

__all__ = [
    "Card",
    "Change",
    "Comparison",
    "CueChange",
    "DatasetInfo",
    "Debiased",
    "FindingModel",
    "Progress",
    "Provenance",
    "Section",
    "Settings",
    "SplitInfo",
    "Trained",
    "assemble",
    "audit",
    "card_schema",
    "check_labels",
    "check_options",
    "compare",
    "configured_probes",
    "configured_remedy",
    "debias",
    "join_cards",
    "load_card",
    "parse_settings",
    "probe",
    "save_card",
    "schema_text",
    "train",
    "train_recipe",
    "training_recipe",
]

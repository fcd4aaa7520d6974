"""Which examples to change so that a shortcut stops working, and the worksheet in which people change them."""

from cuecard.remedies.plan.applying import applied, without
from cuecard.remedies.plan.cue_evidence import CueEvidence, cue_evidence
from cuecard.remedies.plan.orders import METHODS, Method, removal_order
from cuecard.remedies.plan.positions import balanced_positions, evenly_over
from cuecard.remedies.plan.repeats import conflicting_examples, repeated_examples
from cuecard.remedies.plan.worksheet import Change, read_worksheet, worksheet_rows, write_worksheet

__all__ = [
    "METHODS",
    "Change",
    "CueEvidence",
    "Method",
    "applied",
    "balanced_positions",
    "conflicting_examples",
    "cue_evidence",
    "evenly_over",
    "read_worksheet",
    "removal_order",
    "repeated_examples",
    "without",
    "worksheet_rows",
    "write_worksheet",
]

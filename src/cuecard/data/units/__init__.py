"""Units of independence: copies and near copies of a text are one observation about its words."""

from cuecard.data.units.copies import FoldedTexts, closest_copies, closest_folded, copies, divided_templates
from cuecard.data.units.find import (
    UNIT_SCOPES,
    UnitScope,
    choice_units,
    column_units,
    example_units,
    question_units,
)
from cuecard.data.units.sketches import Marks, read_marks, sketch

__all__ = [
    "UNIT_SCOPES",
    "FoldedTexts",
    "Marks",
    "UnitScope",
    "choice_units",
    "closest_copies",
    "closest_folded",
    "column_units",
    "copies",
    "divided_templates",
    "example_units",
    "question_units",
    "read_marks",
    "sketch",
]

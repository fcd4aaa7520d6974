"""Units of independence: copies and near copies of a text are one observation about its words."""

from cuecard.data.units.copies import FoldedTexts, copies
from cuecard.data.units.find import (
    UNIT_SCOPES,
    UnitScope,
    choice_units,
    column_units,
    example_units,
    question_units,
    text_units,
)

__all__ = [
    "UNIT_SCOPES",
    "FoldedTexts",
    "UnitScope",
    "choice_units",
    "column_units",
    "copies",
    "example_units",
    "question_units",
    "text_units",
]

"""Properties of texts that words carry, such as sentiment and tense, and which annotator serves a language."""

from __future__ import annotations

from cuecard.text.annotate.annotations import (
    BACKENDS,
    PROPERTIES,
    TENSES,
    Annotations,
    Annotator,
    Backend,
    NoAnnotatorError,
    get_annotator,
)

__all__ = [
    "BACKENDS",
    "PROPERTIES",
    "TENSES",
    "Annotations",
    "Annotator",
    "Backend",
    "NoAnnotatorError",
    "get_annotator",
]

"""Properties of texts that words carry: sentiment, tense, negation, entities, typos."""

from cuecard.text.annotate.annotations import PROPERTIES, TENSES, Annotations, Annotator, NoAnnotatorError
from cuecard.text.annotate.choose import BACKENDS, Backend, get_annotator

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

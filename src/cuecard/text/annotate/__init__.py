"""Properties of texts that words carry, such as sentiment and tense, and which annotator serves a language."""

from __future__ import annotations

from typing import Literal, get_args

from cuecard.errors import MissingExtraError
from cuecard.registry import unknown_name
from cuecard.text.annotate.annotations import PROPERTIES, TENSES, Annotations, Annotator, NoAnnotatorError
from cuecard.text.annotate.english import EnglishAnnotator
from cuecard.text.annotate.spacy_parser import SpacyAnnotator

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


Backend = Literal["auto", "builtin", "spacy"]
BACKENDS: tuple[Backend, ...] = get_args(Backend)


def get_annotator(language: str, backend: Backend = "auto") -> Annotator:
    """Return the annotator of a language ("en", "pt-BR" …), or raise an error that says what is missing.

    `auto` takes the built-in annotator for English, which is fast and the same everywhere, and an installed
    spaCy pipeline for any other language; `spacy` parses English, too.
    """
    code = language.replace("_", "-").split("-")[0].lower()
    lexical = EnglishAnnotator() if code == "en" else None
    if backend == "spacy":
        return SpacyAnnotator(code, lexical)
    if backend not in BACKENDS:
        raise unknown_name("annotator backend", backend, list(BACKENDS))
    if lexical is not None:
        return lexical
    if backend == "auto":
        try:
            return SpacyAnnotator(code)
        except MissingExtraError as error:
            raise NoAnnotatorError(
                f"There is no built-in annotator for language {language!r}, and no parser: {error}"
            ) from None
    raise NoAnnotatorError(
        f"The built-in annotator knows English only, not {language!r}; use backend 'spacy'."
    )

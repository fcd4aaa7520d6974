"""The spaCy backend: dependency parse for tense and negation, named-entity recogniser for entities."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, cached_property
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.errors import MissingExtraError
from cuecard.text.annotate.annotations import TENSES, Annotations, Annotator, NoAnnotatorError
from cuecard.text.tokens import Tokens

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc, Token


#: Our entity types by the labels of OntoNotes (English, Chinese) and WikiNER (other languages).
ENTITY_TYPES = {
    "PERSON": "PERSON",
    "PER": "PERSON",
    "ORG": "ORG",
    "GPE": "LOC",
    "LOC": "LOC",
    "FAC": "LOC",
    "NORP": "NORP",
    "DATE": "TIME",
    "TIME": "TIME",
    "CARDINAL": "CARDINAL",
    "ORDINAL": "CARDINAL",
    "QUANTITY": "CARDINAL",
    "PERCENT": "CARDINAL",
    "MONEY": "CARDINAL",
}
_AUXILIARY = ("aux", "auxpass", "aux:tense", "aux:pass", "cop")
_WILL = frozenset(("will", "'ll", "’ll", "wo", "shall", "sha"))
_NONE, _PAST, _PRESENT, _FUTURE = range(len(TENSES))


def doc_tense(doc: Doc) -> int:
    """Return the tense of the first root that has one, as an index into `TENSES`."""
    for root in (token for token in doc if token.dep_ == "ROOT"):
        tense = _root_tense(root)
        if tense != _NONE:
            return tense
    return _NONE


def doc_negation(doc: Doc) -> bool:
    """Return whether a word negates: by its relation (English) or its polarity (Universal Dependencies)."""
    return any(token.dep_ == "neg" or "Neg" in token.morph.get("Polarity") for token in doc)


def doc_entities(doc: Doc) -> frozenset[str]:
    """Return our types of the named entities; a label of no such type is kept under its own name."""
    return frozenset(ENTITY_TYPES.get(entity.label_, entity.label_) for entity in doc.ents)


def _root_tense(root: Token) -> int:
    """Return the tense of a root and its auxiliaries: the first finite one decides."""
    group = [token for token in root.children if token.dep_ in _AUXILIARY]
    for token in sorted([*group, root], key=lambda token: token.i):
        if token.tag_ == "MD":
            return _FUTURE if token.lower_ in _WILL else _NONE
        if "Fin" in token.morph.get("VerbForm"):
            tense = _finite_tense(token)
            # The French passé composé and its like: a present auxiliary of tense makes a past.
            perfect = token.dep_ == "aux:tense" and tense == _PRESENT
            return _PAST if perfect else tense
    return _NONE


def _finite_tense(token: Token) -> int:
    """Return the tense of a finite verb; conditional and imperative have none."""
    if token.morph.get("Mood") in (["Cnd"], ["Imp"]):
        return _NONE
    tenses = token.morph.get("Tense")
    if "Fut" in tenses:
        return _FUTURE
    if "Past" in tenses or "Imp" in tenses or "Pqp" in tenses:
        return _PAST
    return _PRESENT if "Pres" in tenses else _NONE


T = TypeVar("T")

#: Pipes a pass needs; whatever else the pipeline has stays off.
_SYNTAX = ("tok2vec", "transformer", "tagger", "morphologizer", "attribute_ruler", "parser")
_NAMES = ("tok2vec", "transformer", "ner")
#: Of several installed pipelines, the larger first; the transformer last, it is slow without a GPU.
_SIZES = ("lg", "md", "sm", "trf")


def installed_pipeline(language: str) -> str | None:
    """Return the name of the best installed spaCy pipeline of a language, or None."""
    try:
        from spacy.util import get_installed_models
    except ImportError:
        raise MissingExtraError("spacy", "spacy", f"Parsing texts in language {language!r}") from None

    def order(name: str) -> tuple[int, str]:
        size = name.rsplit("_", 1)[-1]
        return (_SIZES.index(size) if size in _SIZES else len(_SIZES), name)

    names = sorted((name for name in get_installed_models() if name.split("_")[0] == language), key=order)
    return names[0] if names else None


class SpacyAnnotator:
    """Tense, negation and entities from an installed spaCy pipeline; the rest from `lexical`, if given."""

    def __init__(self, language: str, lexical: Annotator | None = None) -> None:
        name = installed_pipeline(language)
        if name is None:
            raise NoAnnotatorError(
                f"No spaCy pipeline for language {language!r} is installed; "
                f"python -m spacy download {language}_core_news_sm gets one where spaCy has it."
            )
        self.language = language
        self.pipeline = name
        self.lexical = lexical

    @cached_property
    def properties(self) -> frozenset[str]:
        """What this pipeline's pipes support, with what the word lists add."""
        names = (
            frozenset()
            if self.lexical is None
            else self.lexical.properties - {"tense", "negation", "entities"}
        )
        pipes = _load(self.pipeline).pipe_names
        if "parser" in pipes:
            names |= {"tense", "negation"}
        return names | {"entities"} if "ner" in pipes else names

    def annotate(self, texts: pl.Series, tokens: Tokens | None = None) -> Annotations:
        """Return the texts' properties; each distinct text is parsed once."""
        lexical = None if self.lexical is None else self.lexical.annotate(texts, tokens)
        return SpacyAnnotations(self, texts, lexical)


class SpacyAnnotations(Annotations):
    """Properties of texts from a parser, each pass made at first use."""

    def __init__(self, annotator: SpacyAnnotator, texts: pl.Series, lexical: Annotations | None) -> None:
        super().__init__(annotator.language, f"The spaCy pipeline {annotator.pipeline}")
        self._annotator = annotator
        self._texts = texts
        self._lexical = lexical

    def rows(self, first: int, last: int) -> Annotations:
        """Return the properties of some texts."""
        lexical = None if self._lexical is None else self._lexical.rows(first, last)
        return SpacyAnnotations(self._annotator, self._texts.slice(first, last - first), lexical)

    @cached_property
    def sentiment(self) -> npt.NDArray[np.int8]:
        """Sentiment from the word lists of the language, if there are any."""
        return super().sentiment if self._lexical is None else self._lexical.sentiment

    @cached_property
    def typo(self) -> npt.NDArray[np.bool_]:
        """Typos from the word lists of the language, if there are any."""
        return super().typo if self._lexical is None else self._lexical.typo

    @cached_property
    def tense(self) -> npt.NDArray[np.int8]:
        """Tense of the root verb, by its form and its auxiliaries."""
        return self._syntax[0]

    @cached_property
    def negation(self) -> npt.NDArray[np.bool_]:
        """Whether a word has the relation `neg` or has negative polarity."""
        return self._syntax[1]

    @cached_property
    def entities(self) -> dict[str, npt.NDArray[np.bool_]]:
        """Whether a thing of each type that the pipeline knows is named."""
        if "entities" not in self._annotator.properties:
            raise self._lacking("entities")
        labels = _load(self._annotator.pipeline).get_pipe("ner").labels
        types = sorted({ENTITY_TYPES[label] for label in labels if label in ENTITY_TYPES})
        docs, where = self._parsed(_NAMES, doc_entities)
        columns = {name: np.array([name in doc for doc in docs], dtype=np.bool_)[where] for name in types}
        return {**columns, "any": np.array([bool(doc) for doc in docs], dtype=np.bool_)[where]}

    @cached_property
    def _syntax(self) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.bool_]]:
        if "tense" not in self._annotator.properties:
            raise self._lacking("tense and negation")
        docs, where = self._parsed(_SYNTAX, lambda doc: (doc_tense(doc), doc_negation(doc)))
        tense = np.array([doc[0] for doc in docs], dtype=np.int8)
        return tense[where], np.array([doc[1] for doc in docs], dtype=np.bool_)[where]

    def _parsed(
        self, pipes: tuple[str, ...], look: Callable[[Doc], T]
    ) -> tuple[list[T], npt.NDArray[np.int64]]:
        """Return what `look` sees in each distinct text, and for every text which of them it is."""
        texts = self._texts.fill_null("")
        distinct = texts.unique().sort()
        where = distinct.search_sorted(texts).to_numpy().astype(np.int64)
        nlp = _load(self._annotator.pipeline)
        with nlp.select_pipes(enable=[pipe for pipe in pipes if pipe in nlp.pipe_names]):
            docs: Iterator[Doc] = nlp.pipe(distinct.to_list(), batch_size=256)
            return [look(doc) for doc in docs], where


@cache
def _load(name: str) -> Language:
    import spacy

    return spacy.load(name, exclude=["lemmatizer", "trainable_lemmatizer", "senter", "textcat"])

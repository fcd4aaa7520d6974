"""What a parsed document says: tense of its root, negation, entity types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuecard.text.annotate.annotations import TENSES

if TYPE_CHECKING:
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

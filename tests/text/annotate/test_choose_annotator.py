from __future__ import annotations

import sys

import numpy as np
import polars as pl
import pytest

from cuecard.errors import MissingExtraError, UsageError
from cuecard.text import tokenise
from cuecard.text.annotate import PROPERTIES, Backend, NoAnnotatorError, get_annotator


@pytest.mark.parametrize("language", ["en", "EN", "en-GB", "en_US"])
@pytest.mark.parametrize("backend", ["auto", "builtin"])
def test_english_is_served_without_a_parser(language: str, backend: Backend) -> None:
    assert get_annotator(language, backend).properties == set(PROPERTIES)


def test_builtin_backend_says_that_it_knows_english_only() -> None:
    with pytest.raises(NoAnnotatorError, match="knows English only, not 'sw'"):
        get_annotator("sw", "builtin")


def test_unknown_backend_lists_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"'spacey'.*Did you mean 'spacy'.*auto, builtin, spacy"):
        get_annotator("en", "spacey")  # type: ignore[arg-type]


def test_without_spacy_other_languages_are_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy.util", None)
    with pytest.raises(NoAnnotatorError, match=r"pip install 'cuecard\[spacy\]'"):
        get_annotator("fr")
    with pytest.raises(MissingExtraError, match=r"pip install 'cuecard\[spacy\]'"):
        get_annotator("en", "spacy")


def test_tokens_at_hand_give_the_same_answers_as_none() -> None:
    texts = pl.Series(["The man didn't go to Paris.", "Two dogs run.", ""])
    with_tokens = get_annotator("en").annotate(texts, tokenise(texts))
    without = get_annotator("en").annotate(texts)
    np.testing.assert_array_equal(with_tokens.tense, without.tense)
    np.testing.assert_array_equal(with_tokens.negation, without.negation)
    for name, found in with_tokens.entities.items():
        np.testing.assert_array_equal(found, without.entities[name])


def test_a_text_is_annotated_alike_alone_and_among_others() -> None:
    texts = pl.Series(["Kentridge was born in 1955.", "Will you go?", "A man sitting.", "They said no."])
    together = get_annotator("en").annotate(texts)
    for i, text in enumerate(texts):
        alone = get_annotator("en").annotate(pl.Series([text]))
        assert alone.tense[0] == together.tense[i]
        assert {n for n, f in alone.entities.items() if f[0]} == {
            n for n, f in together.entities.items() if f[i]
        }


def test_no_texts_give_empty_answers() -> None:
    annotations = get_annotator("en").annotate(pl.Series([], dtype=pl.String))
    assert len(annotations.tense) == len(annotations.negation) == len(annotations.entities["any"]) == 0

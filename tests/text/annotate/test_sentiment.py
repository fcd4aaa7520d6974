from __future__ import annotations

import polars as pl
import pytest

from cuecard.errors import MissingExtraError
from cuecard.text.annotate import english as dictionaries
from cuecard.text.annotate import get_annotator


def test_sign_of_the_sum_of_polarities() -> None:
    pytest.importorskip("vaderSentiment", reason="needs the extra english")
    texts = pl.Series(["A great, happy day", "A terrible war", "The table", "a good bad", ""])
    signs = get_annotator("en").annotate(texts).sentiment
    assert signs[:3].tolist() == [1, -1, 0]
    assert signs[4] == 0


def test_sums_agree_with_the_lexicon_word_by_word(real_data) -> None:
    pytest.importorskip("vaderSentiment", reason="needs the extra english")
    texts = pl.read_parquet(real_data("sst2/dev.parquet"))["text"]
    from cuecard.text import tokenise

    tokens = tokenise(texts)
    polarity = dictionaries.word_polarities()
    expected = [
        (total > 1e-9) - (total < -1e-9)
        for total in (sum(polarity.get(w, 0.0) for w in tokens.words(i)) for i in range(len(texts)))
    ]
    assert get_annotator("en").annotate(texts, tokens).sentiment.tolist() == expected


def test_polarity_predicts_reviews_better_than_chance(real_data) -> None:
    pytest.importorskip("vaderSentiment", reason="needs the extra english")
    frame = pl.read_parquet(real_data("sst2/dev.parquet"))
    signs = get_annotator("en").annotate(frame["text"]).sentiment
    positive = frame["label"].cast(pl.String).is_in(["1", "positive"]).to_numpy()
    assert positive[signs > 0].mean() > positive.mean() + 0.1
    assert positive[signs < 0].mean() < positive.mean() - 0.1


def test_missing_lexicon_names_the_line_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    dictionaries.word_polarities.cache_clear()
    monkeypatch.setattr(dictionaries, "find_spec", lambda name: None)
    annotations = get_annotator("en").annotate(pl.Series(["good"]))
    with pytest.raises(MissingExtraError, match=r"pip install 'cuecard\[english\]'"):
        _ = annotations.sentiment
    assert not annotations.negation[0]

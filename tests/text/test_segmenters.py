from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from cuecard.errors import MissingExtraError
from cuecard.text import suggested_tokeniser, tokenise, tokenisers

SENTENCES = {
    "zh": ("我来到北京清华大学，OK！", ["北京", "清华大学", "ok"]),
    "ja": ("私は東京で勉強しています。", ["私", "東京", "勉強"]),
    "th": ("ฉันไม่ชอบโรงเรียน", ["ไม่", "โรงเรียน"]),
}


@pytest.mark.parametrize("language", SENTENCES)
def test_sentences_without_spaces_are_cut_into_words(language: str) -> None:
    pytest.importorskip(tokenisers.PACKAGES[language])
    text, some_words = SENTENCES[language]
    tokens = tokenise(pl.Series([text, None, "", text]), f"words-{language}")
    assert set(some_words) <= set(tokens.words(0))
    assert not set("，！。") & set(tokens.vocabulary)
    assert tokens.words(3) == tokens.words(0)
    assert tokens.lengths[1:3].tolist() == [0, 0]


def test_real_chinese_is_cut_into_words_of_more_than_one_character(real_data: Callable[[str], Path]) -> None:
    pytest.importorskip("rjieba")
    texts = pl.read_parquet(real_data("ocnli/dev.parquet"))["hypothesis"]
    tokens = tokenise(texts, "words-zh")
    assert {"没有", "不是", "我们"} <= set(tokens.vocabulary)
    assert 1.3 < tokens.vocabulary.str.len_chars().gather(tokens.ids).mean() < 2.0


@pytest.mark.parametrize("language", SENTENCES)
def test_without_the_package_the_line_to_install_it_is_given(
    language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(tokenisers.PACKAGES, language, "no_such_package_here")
    with pytest.raises(MissingExtraError, match=rf"pip install 'cuecard\[{language}\]'"):
        tokenise(pl.Series(["字"]), f"words-{language}")
    assert suggested_tokeniser(language) == "chars"

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from cuecard.data import load
from cuecard.text import UNDETERMINED, guess_language, reading_advice, suggested_tokeniser
from cuecard.text.encoded import language_of


@pytest.mark.parametrize(
    ("file", "language"),
    [
        ("xnli/test_en.parquet", "en"),
        ("xnli/test_de.parquet", "de"),
        ("xnli/test_fr.parquet", "fr"),
        ("xnli/test_sw.parquet", "sw"),
        ("xnli/test_zh.parquet", "zh"),
        ("ocnli/dev.parquet", "zh"),
        ("snli/test.parquet", "en"),
    ],
)
@pytest.mark.parametrize("sample", [20, 1000])
def test_the_language_of_real_sets_is_recognised(
    file: str, language: str, sample: int, real_data: Callable[[str], Path]
) -> None:
    table = pl.read_parquet(real_data(file))
    assert guess_language(table["hypothesis"], sample=sample) == language
    assert guess_language(table["premise"], sample=sample) == language


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("これは日本語の文章です。", "ja"),
        ("นี่คือประโยคภาษาไทย", "th"),
        ("यह एक वाक्य है", "hi"),
        ("هذا ليس صحيحا على الإطلاق", "ar"),
        ("یہ ایک جملہ ہے اور میں نہیں جانتا", "ur"),
        ("Это не так, как мы думали.", "ru"),
        ("Я не знаю, що це таке і чому.", "uk"),
        ("Това не е така, защото съм тук.", "bg"),
        ("Αυτό δεν είναι σωστό", "el"),
        ("이것은 한국어 문장입니다", "ko"),
        ("El perro no está en la casa.", "es"),
        ("Il cane non è nella casa.", "it"),
        ("O cão não está na casa.", "pt"),
        ("De hond is niet in het huis.", "nl"),
        ("Bu çok güzel bir ev değil.", "tr"),
        ("Tôi không biết đó là gì.", "vi"),
        ("Dia tidak ada di rumah ini.", "id"),
        ("Nie wiem, co to jest.", "pl"),
    ],
)
def test_one_sentence_is_enough_for_a_clear_case(text: str, language: str) -> None:
    assert guess_language(pl.Series([text])) == language


@pytest.mark.parametrize("texts", [[], [None], [""], ["12 + 30 = 42"], ["qwrty zxcvb"]])
def test_what_is_no_language_is_left_undetermined(texts: list[str | None]) -> None:
    assert guess_language(pl.Series(texts, dtype=pl.String)) == UNDETERMINED


def test_languages_with_spaces_have_the_default_tokeniser() -> None:
    assert {suggested_tokeniser(language) for language in ("en", "fr", "sw", UNDETERMINED)} == {"default"}


def test_korean_is_read_by_syllables():
    assert suggested_tokeniser("ko") == "chars"


@pytest.mark.parametrize(
    ("text", "language"),
    [("ຂ້ອຍຮັກເຈົ້າ", "lo"), ("ខ្ញុំស្រឡាញ់អ្នក", "km"), ("ငါမင်းကိုချစ်တယ်", "my")],
)
def test_scripts_without_spaces_are_read_by_characters(text, language):
    assert guess_language(pl.Series([text])) == language
    assert suggested_tokeniser(language) == "chars"
    assert "by characters" in (reading_advice(language, "chars") or "")


def test_the_advice_names_what_reads_words(monkeypatch):
    monkeypatch.setattr("cuecard.text.tokenisers.has_segmenter", lambda language: False)
    assert "pip install 'cuecard[zh]'" in (reading_advice("zh", "chars") or "")
    monkeypatch.setattr("cuecard.text.tokenisers.has_segmenter", lambda language: True)
    assert "--tokens words-zh" in (reading_advice("zh", "chars") or "")
    assert "--tokens default" in (reading_advice("ko", "chars") or "")
    assert reading_advice("ko", "default") is None


def test_the_language_of_a_dataset_is_that_of_all_its_texts():
    rows = [
        {
            "premise": f"Der Mann und die Frau sind nicht in dem Haus {i}.",
            "hypothesis": "42",
            "label": "ab"[i % 2],
        }
        for i in range(20)
    ]
    assert language_of(load(rows)) == "de"

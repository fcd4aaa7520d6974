"""Texts that a reader would call the same sentence have one normal form."""

from __future__ import annotations

import polars as pl
import pytest

from cuecard.data.fingerprint import composed, normalised


def forms(*texts: str) -> list[str]:
    return normalised(pl.Series(texts)).to_list()


@pytest.mark.parametrize(
    "texts",
    [
        ("A man runs.", "a man runs", "A  man\truns .", "“A man runs!”", "(a man, runs)", " A man runs…"),
        ("Café", "cafe\u0301", "CAFÉ?"),
        ("It's 3.14%.", "it's 3.14%", "It's “3.14%”"),
        ("什么？", "什么"),
    ],
)
def test_case_spaces_and_punctuation_around_words_make_no_difference(texts):
    assert len(set(forms(*texts))) == 1


@pytest.mark.parametrize(
    "texts",
    [
        ("1 < 2", "1 > 2", "1 = 2", "1 2"),
        ("C", "C++", "C#"),
        ("5", "-5", "$5", "5%", ".5"),
        ("a != b", "a = b", "a == b"),
        ("3.14", "314", "3,14"),
        ("?", "!", "...", ""),
        ("its", "it's"),
    ],
)
def test_signs_that_carry_meaning_keep_texts_apart(texts):
    assert len(set(forms(*texts))) == len(texts)


def test_only_a_text_without_a_visible_character_is_empty():
    assert forms("", " \t\n", "?!", "a") == ["", "", "?!", "a"]


def test_composing_changes_only_what_was_typed_apart_and_leaves_its_input_alone():
    texts = pl.Series(["cafe\u0301", None, "plain", "\u1112\u1161\u11ab\u1100\u1173\u11af"])
    assert composed(texts).to_list() == ["café", None, "plain", "한글"]
    assert texts[0] == "cafe\u0301"

from __future__ import annotations

import pytest

import cuecard as cc
from cuecard.features import FAMILIES, spelling
from cuecard.text import encode
from small_sets import pair_instances

pytest.importorskip("nltk", reason="needs the extra spelling")
pytest.importorskip("spellchecker", reason="needs the extra spelling")


@pytest.mark.parametrize("word", ["wrod", "recieve", "undercharged", "stenciled"])
def test_a_word_near_one_of_the_dictionary_is_corrected(word):
    assert spelling.would_correct(word)


@pytest.mark.parametrize("word", ["word", "the", ".", "3.5", "nan", "qqqqqqq", "x" * 200])
def test_known_words_marks_numbers_and_what_resembles_no_word_are_not(word):
    assert not spelling.would_correct(word)


def test_an_instance_with_one_word_to_correct_has_the_feature():
    rows = [("train", "A wrod", "The word", "a"), ("train", "", "The wrod is written", "b")]
    family = FAMILIES.get("spelling")()
    assert family.presence(encode(pair_instances(rows), language="en")).rows().tolist() == [1]
    both = family.presence(encode(pair_instances(rows), scope="both", language="en"))
    assert both.rows().tolist() == [0, 1]


def test_the_cueness_of_copas_typos_is_the_one_that_icq_prints(real_data):
    # 20 right and 29 wrong choices of the training set, 18 and 17 of the test set, as pyspellchecker 0.5.0 finds them.
    dataset = cc.load(real_data("copa/dev.parquet"), test=real_data("copa/test.parquet"))
    card = cc.audit(dataset, only=["cues"], features=("spelling",))
    (row,) = card["cues"].table.to_dicts()
    counts = ("train_right", "train_wrong", "test_right", "test_wrong")
    assert [row[name] for name in counts] == [20, 29, 18, 17]
    assert round(row["cueness"], 2) == 0.84

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    "arguments",
    [
        ["audit", "--test", "only.csv"],
        ["explain", "no", "--test=only.csv"],
        ["stress", "--test", "only.csv", "--out", "hard"],
        ["probe", "--test", "only.csv", "--predictions", "p.csv"],
    ],
)
def test_a_test_split_alone_is_answered_with_how_one_file_is_read(cuecard, arguments):
    ran = cuecard(*arguments)
    assert ran.code == 2
    assert "type its file before --test only.csv" in ran.err
    assert "read without --test: type just only.csv" in ran.err
    assert len(ran.err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        (["audit", "a.csv", "b.csv"], "type --test b.csv if it is the test split"),
        (["overlap", "a.csv", "b c.csv"], "type --with 'b c.csv' if it is the corpus to search"),
        (["audit", "a.csv", "b.csv", "--test", "c.csv"], "such as 'data/*.parquet'"),
        (["debias", "a.csv", "b.csv", "--out", "w.csv"], "such as 'data/*.parquet'"),
        (["audit", "a.csv", "b.csv", "c.csv"], "does not expect b.csv c.csv"),
    ],
)
def test_a_second_file_is_answered_with_the_option_it_belongs_to(cuecard, arguments, advice):
    ran = cuecard(*arguments)
    assert ran.code == 2
    assert advice in ran.err
    assert len(ran.err.strip().splitlines()) == 1


def test_extra_words_of_a_verb_without_a_dataset_are_an_error(cuecard):
    ran = cuecard("report", "card", "more")
    assert ran.code == 2
    assert "unexpected extra argument(s) (more)" in ran.err


def test_an_option_without_its_value_is_said_with_the_usage_of_its_verb(cuecard):
    ran = cuecard("report", "card", "--out")
    assert ran.code == 2
    assert "Usage: cuecard report" in ran.err
    assert "'--out' requires an argument" in ran.err

from __future__ import annotations

import numpy as np
import polars as pl

from cuecard.text import tokenise

TOKENS = tokenise(pl.Series(["a b", "", "c", "b c a"]))


def test_rows_are_gathered_in_the_order_asked_for_with_repeats() -> None:
    gathered = TOKENS.gather(np.array([3, 1, 0, 0]))
    assert [gathered.words(i) for i in range(4)] == [["b", "c", "a"], [], ["a", "b"], ["a", "b"]]


def test_most_rows_are_gathered_as_few_are() -> None:
    part = TOKENS.rows(1, 4)
    gathered = part.gather(np.array([0, 2]))
    assert [gathered.words(i) for i in range(2)] == [[], ["b", "c", "a"]]
    assert gathered.offsets.tolist() == [0, 0, 3]


def test_a_range_of_rows_is_a_view_of_the_same_tokens() -> None:
    part = TOKENS.rows(1, 4)
    assert [part.words(i) for i in range(3)] == [[], ["c"], ["b", "c", "a"]]
    assert np.shares_memory(part.ids, TOKENS.ids)


def test_types_of_one_name_become_one_type() -> None:
    renamed = TOKENS.renamed(pl.Series(["x", "y", "x"]))
    assert renamed.vocabulary.to_list() == ["x", "y"]
    assert renamed.words(3) == ["y", "x", "x"]


def test_new_names_that_differ_keep_every_type() -> None:
    renamed = TOKENS.renamed(pl.Series(["x", "y", "z"]))
    assert renamed.words(3) == ["y", "z", "x"]

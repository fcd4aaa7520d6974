from __future__ import annotations

import importlib

import numpy as np
import polars as pl
import pytest

from cuecard.data import Instances
from cuecard.data.units import FoldedTexts, copies, example_units
from cuecard.errors import CueCardError

#: The module, whose name the package gives to a function of it.
copies_module = importlib.import_module("cuecard.data.units.copies")


def codes(*texts: str) -> list[int]:
    return copies(pl.Series(texts)).tolist()


def test_copies_differ_only_in_case_space_and_punctuation() -> None:
    assert codes("A man sleeps.", "a man  sleeps", "A man, sleeps!", "A man eats.", "“A man sleeps”") == [
        0,
        0,
        0,
        1,
        0,
    ]


def test_signs_and_marks_that_carry_meaning_keep_texts_apart() -> None:
    assert codes("C", "C++", "5", "-5", "?", "!", "", " ") == [0, 1, 2, 3, 4, 5, 6, 6]


def test_case_and_accents_beyond_ascii_are_folded() -> None:
    assert codes("ÉTÉ", "été", "e\u0301te\u0301", "ete") == [0, 0, 0, 1]


def test_near_copies_share_most_of_their_words() -> None:
    text = "the old man walks slowly down the empty street at night"
    assert codes(
        text, text.replace("slowly", "quickly"), text + " again", "a dog runs over the wet grass"
    ) == [
        0,
        0,
        0,
        1,
    ]
    assert len(set(codes("a man sleeps", "a man eats"))) == 2  # too short to be alike by more than chance


def test_near_copies_are_alike_to_the_first_and_do_not_chain() -> None:
    words = [f"w{i}" for i in range(40)]
    chain = [" ".join(words[i : i + 20]) for i in range(0, 20, 2)]  # each shares 18 of 22 words with the next
    found = codes(*chain)
    assert 2 <= len(set(found)) < len(chain)
    assert found[-1] != found[0]


def test_nearly_all_near_copies_are_found_and_few_others() -> None:
    rng = np.random.default_rng(0)
    words = np.array([f"w{i}" for i in range(2_000)])
    texts = [" ".join(rng.choice(words, 12)) for _ in range(2_000)]
    edited = []
    for text in texts:
        parts = text.split()
        parts[rng.integers(12)] = str(rng.choice(words))
        edited.append(" ".join(parts))
    found = copies(pl.Series(texts + edited))
    assert (found[:2_000] == found[2_000:]).mean() > 0.99
    assert len(set(found[:2_000].tolist())) == 2_000


def test_chinese_texts_are_compared_by_character() -> None:
    assert codes("一个男人在街上慢慢地走路", "一个男人在街上快快地走路。", "孩子们正在公园里玩耍唱歌") == [
        0,
        0,
        1,
    ]


def pairs(premises: list[str], hypotheses: list[str], splits: list[str], **extra: list[object]) -> Instances:
    n = len(premises)
    table = pl.DataFrame(
        {
            "example_id": [str(i) for i in range(n)],
            "position": [0] * n,
            "split": splits,
            "premise": premises,
            "hypothesis": hypotheses,
            "label": pl.Series(["a", "b"] * n, dtype=pl.Enum(["a", "b"]))[:n],
            **extra,
        }
    )
    return Instances(table, "pair", ("a", "b"))


def test_units_follow_the_scope_and_are_the_same_in_a_split() -> None:
    data = pairs(["p", "p", "q", "p"], ["h", "g", "h", "H!"], ["train", "train", "test", "test"])
    assert data.units("hypothesis").tolist() == [0, 1, 0, 0]
    assert data.units("premise").tolist() == [0, 0, 1, 0]
    assert data.units("example").tolist() == [0, 1, 2, 0]
    assert data.test is not None
    assert data.test.units("hypothesis").tolist() == [0, 0]
    assert data.test.units("example").tolist() == [2, 0]


def test_a_column_of_clusters_takes_the_place_of_copies() -> None:
    data = pairs(["p"] * 4, ["h"] * 4, ["train"] * 4, writer=["x", "y", None, None])
    assert data.clustered_by("writer").units("hypothesis").tolist() == [0, 1, 2, 3]
    with pytest.raises(CueCardError, match="writer"):
        data.clustered_by("writers")


def test_examples_are_copies_whatever_the_order_of_their_choices() -> None:
    examples = np.array([0, 0, 1, 1, 2, 2])
    assert example_units(examples, np.array([4, 7, 7, 4, 4, 5])).tolist() == [0, 0, 0, 0, 1, 1]
    premise = np.array([0, 0, 1, 1, 0, 0])
    assert example_units(examples, np.array([4, 7, 7, 4, 4, 5]), premise).tolist() == [0, 0, 1, 1, 2, 2]


def questions(choices: list[list[str]]) -> Instances:
    many = [len(texts) for texts in choices]
    rows = [text for texts in choices for text in texts]
    table = pl.DataFrame(
        {
            "example_id": [str(i) for i, k in enumerate(many) for _ in range(k)],
            "position": [j for k in many for j in range(k)],
            "split": ["train"] * len(rows),
            "premise": ["why?"] * len(rows),
            "hypothesis": rows,
            "label": pl.Series(
                ["right" if j == 0 else "wrong" for k in many for j in range(k)],
                dtype=pl.Enum(["right", "wrong"]),
            ),
        }
    )
    return Instances(table, "choice", ("right", "wrong"))


def test_questions_with_short_choices_are_near_copies_by_all_their_choices_together() -> None:
    first = ["because of the rain", "to see his mother", "he lost a shoe", "the bus was late"]
    second = ["the bus was very late", "because of the rain", "to see his old mother", "he lost a shoe"]
    other = ["by way of Rome", "in the evening", "never at all", "since last week"]
    data = questions([first, second, other])
    assert len(set(data.units("hypothesis").tolist())) == 10  # too short to be alike one by one
    assert data.units("choices")[::4].tolist() == [0, 0, 1]
    choice = data.units("choice").tolist()
    assert choice[4:8] == [choice[3], choice[0], choice[1], choice[2]]
    assert len(set(choice)) == 8


def test_the_same_answer_to_another_question_is_another_choice() -> None:
    data = questions([["yes", "no"], ["no", "yes"], ["yes", "perhaps"]])
    choice = data.units("choice").tolist()
    assert choice[:2] == choice[3:1:-1]
    assert choice[4] != choice[0]


def test_words_that_two_texts_share_are_counted_once_each() -> None:
    responses = ["The cat, the dog.", "THE CAT", "nothing here", "", "a b a b"]
    prompts = ["the cat sat", "the cat sat", "the cat sat", "the cat", "b c"]
    first, second = FoldedTexts(), FoldedTexts()
    first.add(pl.Series(responses))
    second.add(pl.Series(prompts))
    assert first.shared_with(second).tolist() == [2, 2, 0, 0, 1]
    of_two, once = FoldedTexts(), FoldedTexts()
    of_two.add(pl.Series(["a b", "b b c", "c d", "e", "a"]))
    once.add(pl.Series(["a b c", "d c", ""]))
    assert of_two.shared_with(once, np.array([0, 2, 4, 5])).tolist() == [2, 2, 2, 0, 0]


def test_runs_of_texts_have_the_units_of_their_words_together() -> None:
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(400)]
    texts = [" ".join(rng.choice(words, 9)) for _ in range(60)]
    texts[40:44] = [texts[1], texts[0], texts[3], texts[2] + " more"]
    bounds = np.arange(0, 61, 2)
    folded = FoldedTexts()
    folded.add(pl.Series(texts))
    of_texts, of_runs = folded.copies_and_runs(bounds, 0.6, 0.4)
    assert of_texts.tolist() == copies(pl.Series(texts)).tolist()
    joined = copies(pl.Series([f"{a} {b}" for a, b in zip(texts[::2], texts[1::2], strict=True)]))
    assert of_runs.tolist() == joined.tolist()
    assert of_runs[20:22].tolist() == [0, 1]
    assert len(set(of_runs.tolist())) == 28


@pytest.mark.parametrize("threads", [2, 3, 7])
def test_texts_are_read_on_several_threads_as_on_one(monkeypatch, threads):
    rng = np.random.default_rng(0)
    # Words that grow when case and signs are brought to one form, so that hashes need more room than was reserved.
    words = np.array(["abc", "Ünï", "ﷺ" * 3, "İ" * 4, "don't", "x", "日本", "ß"])
    drawn = [" ".join(rng.choice(words, rng.integers(0, 12))) if i % 20 else None for i in range(2000)]
    texts = pl.Series([*drawn, *["İ" * 40 + "ﷺ" * 5] * 600])
    monkeypatch.setattr(copies_module, "ROWS_AT_ONCE", 200)
    monkeypatch.setattr(pl, "thread_pool_size", lambda: 1)
    one = copies_module._folded(texts)
    monkeypatch.setattr(pl, "thread_pool_size", lambda: threads)
    for expected, found in zip(one, copies_module._folded(texts), strict=True):
        np.testing.assert_array_equal(expected, found)

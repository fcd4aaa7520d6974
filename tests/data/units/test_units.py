from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from cuecard.data import Instances
from cuecard.data.units import copies, example_units, read_marks, sketch
from cuecard.data.units import sketches as folding
from cuecard.data.units.copies import copies_and_runs
from cuecard.errors import CueCardError


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


def test_words_that_a_text_shares_with_its_prompt_are_counted_once_each() -> None:
    responses = ["The cat, the dog.", "THE CAT", "nothing here", "", "a b a b"]
    prompts = ["the cat sat", "the cat sat", "the cat sat", "the cat", "b c"]
    marks = read_marks(pl.Series(responses), np.arange(6), pl.Series(prompts))
    assert marks.shared.tolist() == [2, 2, 0, 0, 1]
    of_two = pl.Series(["a b", "b b c", "c d", "e", "a"])
    marks = read_marks(of_two, np.array([0, 2, 4, 5]), pl.Series(["a b c", "d c", ""]))
    assert marks.shared.tolist() == [2, 2, 2, 0, 0]


@pytest.mark.parametrize("longest", [5, 400])
def test_words_shared_with_a_prompt_are_those_of_both_sets(longest: int) -> None:
    rng = np.random.default_rng(longest)
    words = [f"w{i}" for i in range(600)]
    texts, prompts = (
        [" ".join(rng.choice(words, rng.integers(0, longest))) for _ in range(n)] for n in (90, 30)
    )
    marks = read_marks(pl.Series(texts), np.arange(0, 91, 3), pl.Series(prompts))
    sets = [set(text.split()) & set(prompts[i // 3].split()) for i, text in enumerate(texts)]
    assert marks.shared.tolist() == [len(shared) for shared in sets]


def test_runs_of_texts_have_the_units_of_their_words_together() -> None:
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(400)]
    texts = [" ".join(rng.choice(words, 9)) for _ in range(60)]
    texts[40:44] = [texts[1], texts[0], texts[3], texts[2] + " more"]
    bounds = np.arange(0, 61, 2)
    of_texts, of_runs = copies_and_runs(sketch(pl.Series(texts), bounds), 0.6, 0.4)
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
    monkeypatch.setattr(folding, "ROWS_AT_ONCE", 200)
    monkeypatch.setattr(pl, "thread_pool_size", lambda: 1)
    one = folding.folded(texts)
    monkeypatch.setattr(pl, "thread_pool_size", lambda: threads)
    for expected, found in zip(one, folding.folded(texts), strict=True):
        np.testing.assert_array_equal(expected, found)


def test_a_sketch_does_not_depend_on_parts_and_threads(monkeypatch):
    rng = np.random.default_rng(1)
    words = np.array(
        ["abc", "Ünï", "ﷺ" * 3, "İ" * 4, "don't", "x", "日本", "ß", *(f"w{i}" for i in range(90))]
    )
    texts = pl.Series([" ".join(rng.choice(words, rng.integers(0, 120))) for _ in range(900)])
    prompts = pl.Series([" ".join(rng.choice(words, rng.integers(0, 30))) for _ in range(300)])
    runs = np.arange(0, 901, 3)
    monkeypatch.setattr(pl, "thread_pool_size", lambda: 1)
    whole = sketch(texts, runs, prompts)
    monkeypatch.setattr(folding, "ROWS_AT_ONCE", 100)
    monkeypatch.setattr(pl, "thread_pool_size", lambda: 3)
    parts = sketch(texts, runs, prompts)
    assert whole.texts.bits.shape[1] > 1
    for ours, theirs in ((parts.texts, whole.texts), (parts.runs, whole.runs)):
        for name in ("whole", "sizes", "keys", "bits"):
            np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))
        some = rng.choice(len(ours.sizes), 20, replace=False)
        words_of, starts = ours.words(some)
        np.testing.assert_array_equal(np.diff(starts), ours.sizes[some])
        assert len(words_of) == starts[-1]
    for name in ("signs", "shared"):
        np.testing.assert_array_equal(getattr(parts.marks, name), getattr(whole.marks, name))
    np.testing.assert_array_equal(read_marks(texts, runs, prompts).shared, whole.marks.shared)

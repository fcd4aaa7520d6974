import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from cuecard.stats import cueness, jensen_shannon


def word_counts(path: Path) -> dict[str, Counter[int]]:
    """Presence of lower-case words among right (1) and wrong (0) choices."""
    counts: dict[str, Counter[int]] = {}
    for row in pl.read_parquet(path).iter_rows(named=True):
        for position, choice in enumerate(row["choices"]):
            for word in set(re.findall(r"\w+(?:'\w+)*", choice.lower())):
                counts.setdefault(word, Counter())[int(position == row["answer"])] += 1
    return counts


@pytest.mark.parametrize(("word", "printed"), [("went", 3.61), ("got", 2.74), ("for", 2.14), ("with", 1.38)])
def test_copa_words_have_the_published_cueness(
    word: str, printed: float, real_data: Callable[[str], Path]
) -> None:
    train, test = word_counts(real_data("copa/dev.parquet")), word_counts(real_data("copa/test.parquet"))
    rows = [[[side[word][0], side[word][1]]] for side in (train, test)]
    assert cueness(*rows)[0] == pytest.approx(printed, abs=0.005)


def test_follows_the_formula_written_out_by_hand() -> None:
    train, test = np.array([[30, 10, 20]]), np.array([[3, 9, 6]])
    p, t = train[0] / 60, test[0] / 18
    m = (p + t) / 2
    divergence = (np.sum(p * np.log(p / m)) + np.sum(t * np.log(t / m))) / 2
    expected = 100 * np.mean((p - 1 / 3) ** 2) / np.exp(divergence)
    assert cueness(train, test)[0] == pytest.approx(expected, rel=1e-14)


def test_depends_on_proportions_and_not_on_counts() -> None:
    assert cueness([[3, 1]], [[2, 2]]) == pytest.approx(cueness([[3000, 1000]], [[20, 20]]))


def test_is_zero_for_a_balanced_feature_and_largest_for_a_one_label_feature() -> None:
    values = cueness([[5, 5], [9, 1], [10, 0]])
    assert values[0] == 0
    assert values[0] < values[1] < values[2] == pytest.approx(25)


def test_disagreement_with_test_divides_by_at_most_two() -> None:
    alone, agreeing, opposed = cueness([[4, 0]] * 3, [[0, 0], [9, 0], [0, 9]])
    assert alone == agreeing
    assert opposed == pytest.approx(alone / 2)
    assert jensen_shannon([4, 0], [0, 9]) == pytest.approx(np.log(2))


def test_is_nan_without_train_instances() -> None:
    assert np.isnan(cueness([[0, 0]], [[3, 4]])[0])


@pytest.mark.parametrize(
    ("train", "test", "sentence"),
    [
        ([[1, -1]], None, "train_counts must be whole"),
        ([[0.5, 0.5]], None, "train_counts must be whole"),
        ([1, 2], None, "a row per feature"),
        ([[1], [2]], None, "two or more labels"),
        ([[1, 2]], [[1, 2, 3]], "same shape"),
    ],
)
def test_refuses_what_is_not_a_table_of_counts(train: object, test: object, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        cueness(train, test)  # type: ignore[arg-type]

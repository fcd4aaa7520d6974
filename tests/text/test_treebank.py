from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuecard.errors import MissingExtraError
from cuecard.text import tokenise


def nltk_words(texts: list[str]) -> list[list[str]]:
    nltk = pytest.importorskip("nltk.tokenize")
    cut = nltk.NLTKWordTokenizer().tokenize
    return [[word.lower() for word in cut(text)] for text in texts]


def our_words(texts: list[str]) -> list[list[str]]:
    pytest.importorskip("nltk")
    tokens = tokenise(pl.Series(texts, dtype=pl.String), "treebank")
    vocabulary = tokens.vocabulary.to_list()
    return [
        [vocabulary[i] for i in tokens.ids[begin:end]]
        for begin, end in zip(tokens.offsets[:-1], tokens.offsets[1:], strict=True)
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I cannot; don't.", ["i", "can", "not", ";", "do", "n't", "."]),
        ("Gonna go? Wanna stay", ["gon", "na", "go", "?", "wan", "na", "stay"]),
        ('"Yes," he said. "No."', ["``", "yes", ",", "''", "he", "said.", "``", "no", ".", "''"]),
        ('He left (at 5.30). "', ["he", "left", "(", "at", "5.30", ")", ".", "``"]),
        ("It ends. )", ["it", "ends", ".", ")"]),
        ("Was 'tis Tom's, they're mine", ["was", "'", "tis", "tom", "'s", ",", "they", "'re", "mine"]),
        ("", []),
    ],
)
def test_words_are_cut_as_the_treebank_does(text: str, expected: list[str]) -> None:
    pytest.importorskip("nltk")
    assert our_words([text]) == [expected]


CHUNKS = [
    *(
        "can",
        "cannot",
        "gonna",
        "gonna.",
        "wanna",
        "wanna,",
        "'tis",
        "'Twas",
        "more'n",
        "d'ye",
        "don't",
        "DON'T",
    ),
    *("I'm", "it's", "'s", "x's'", "'90s", "n't", "'", "''", '"', '"x', 'x"', '("x', "''x", "x''", "``", "`"),
    *(".", "x.", 'x."', "...", "..", ",", "a,b", "3,4", "a:", ":", "a.)", ".)", ")", "]", "”", "’", "x.”"),
    *("—", "--", "a--b", "«a»", "‘a’", "*", "#", "<b>", "U.S.", "", "\n", "b\nc", "b\tc"),
]


@settings(max_examples=150, deadline=None)
@given(
    texts=st.lists(
        st.one_of(
            st.lists(st.sampled_from(CHUNKS), max_size=7).map(" ".join),
            st.text("an'\".,: )`\nsS5", max_size=12),
        ),
        max_size=8,
    )
)
def test_any_text_is_cut_as_nltk_cuts_it(texts: list[str]) -> None:
    assert our_words(texts) == nltk_words(texts)


def distinct_texts(path: Path, rows: int | None) -> list[str]:
    """All texts of a file, or of its first rows, choices included, each once."""
    table = pl.read_parquet(path, n_rows=rows).drop("id", "source", "label", "debate_info", strict=False)
    columns = [
        table[name].explode()
        for name, kind in table.schema.items()
        if kind in (pl.String, pl.List(pl.String))
    ]
    return (
        pl.concat(column.alias("text") for column in columns)
        .drop_nulls()
        .unique(maintain_order=True)
        .to_list()
    )


@pytest.mark.parametrize(
    ("file", "rows"),
    [
        ("arct/train.parquet", None),
        ("arct/test.parquet", None),
        ("copa/dev.parquet", None),
        ("mnli/dev_matched.parquet", 1_000),
        ("snli/train_partial.parquet", 1_000),
        ("hh_rlhf_harmless_base/test.parquet", 100),
    ],
)
def test_real_texts_are_cut_as_nltk_cuts_them(
    file: str, rows: int | None, real_data: Callable[[str], Path]
) -> None:
    texts = distinct_texts(real_data(file), rows)
    assert our_words(texts) == nltk_words(texts)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "rows"),
    [
        ("arct/dev.parquet", None),
        ("copa/test.parquet", None),
        ("mnli/dev_matched.parquet", None),
        ("snli/train_partial.parquet", 20_000),
        ("hh_rlhf_harmless_base/test.parquet", None),
        ("vitaminc/bigbench_sample.parquet", 5_000),
    ],
)
def test_all_real_texts_are_cut_as_nltk_cuts_them(
    file: str, rows: int | None, real_data: Callable[[str], Path]
) -> None:
    texts = distinct_texts(real_data(file), rows)
    assert our_words(texts) == nltk_words(texts)


def test_without_nltk_the_line_to_install_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nltk.tokenize", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'cuecard\[nltk\]'"):
        tokenise(pl.Series(["a"]), "treebank")

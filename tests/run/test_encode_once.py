"""A whole run reads the texts once per tokenisation, guesses their language once, and frees what it derived."""

from __future__ import annotations

import weakref
from collections import Counter
from dataclasses import replace

import polars as pl
import pytest

import cuecard as cc
from cuecard.data.demo import demo_choice, demo_nli
from cuecard.data.instances import Instances
from cuecard.models import MODELS
from cuecard.probes.trained import linear_predictions
from cuecard.text import TOKENISERS, Tokens, encoded, tokenise

GUESSED_FROM = 1000  # texts that the language is guessed from, which are tokenised for it


@pytest.fixture
def tokenised(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Number of texts that every tokeniser has read."""
    read: Counter[str] = Counter()

    def counted(name: str) -> object:
        tokeniser = TOKENISERS.get(name)

        def run(texts: pl.Series, *, threads: int | None = None) -> Tokens:
            read[name] += len(texts)
            return tokeniser.run(texts, threads=threads)

        return replace(tokeniser, run=run)

    for name in TOKENISERS.names():
        monkeypatch.setitem(TOKENISERS._items, name, counted(name))
    return read


@pytest.fixture
def guesses(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Number of texts of every guess of a language."""
    made: list[int] = []

    def guess(texts: pl.Series) -> str:
        made.append(len(texts))
        return "en"

    monkeypatch.setattr(encoded, "guess_language", guess)
    return made


def whole_run(data: Instances) -> None:
    """Audit, probe and debias, with a model that is trained on the way."""
    cc.audit(data, permutations=20, restarts=1, map="none", sweep=False, learning_curve=False)
    cc.probe(data, linear_predictions(data, "linear", cache=False))
    cc.debias(data, "lexical", reaudit=("all",), shuffles=2)


def test_a_run_reads_every_text_once_per_tokenisation(tokenised: Counter[str], guesses: list[int]) -> None:
    data = demo_nli(900, seed=3).instances
    assert data.test is not None
    whole_run(data)
    assert tokenised == {"default": 2 * len(data), "stubborn": 2 * len(data)}
    assert guesses == [min(2 * len(data), GUESSED_FROM)]  # premises and hypotheses, once


def test_questions_are_read_once_too(tokenised: Counter[str], guesses: list[int]) -> None:
    data = demo_choice(400, seed=3).instances
    whole_run(data)
    assert tokenised == {"default": 2 * len(data), "stubborn": 2 * len(data)}
    assert guesses == [min(2 * len(data), GUESSED_FROM)]  # premises and hypotheses, once


def test_models_read_the_same_tokens(tokenised: Counter[str]) -> None:
    data = demo_nli(900, seed=3).instances
    for name in ("linear", "fasttext"):
        model = MODELS.get(name)()
        model.fit(data.train)
        model.predict_proba(data.test)
    assert tokenised == {"default": 2 * len(data) + min(2 * len(data), GUESSED_FROM)}


def test_what_was_derived_is_freed_with_the_data() -> None:
    data = demo_nli(300, seed=3).instances
    held = (
        weakref.ref(encoded.encoded_texts(data.train, "default")),
        weakref.ref(data),
        weakref.ref(data.train),
    )
    assert all(reference() is not None for reference in held)
    del data
    assert [reference() for reference in held] == [None, None, None]  # without the garbage collector


def test_tokenise_itself_keeps_nothing(tokenised: Counter[str]) -> None:
    texts = pl.Series(["a b", "c"])
    tokenise(texts)
    tokenise(texts)
    assert tokenised == {"default": 4}

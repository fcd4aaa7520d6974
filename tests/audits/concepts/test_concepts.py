"""Concepts are found on one half and tested on the other; nothing is found where labels are shuffled."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom

import cuecard as cc
from cuecard.audits import AUDITS, Concepts
from cuecard.audits.concepts.finding import first_copies, halves
from cuecard.audits.concepts.naming import names_of
from cuecard.data import Instances
from cuecard.errors import UsageError
from cuecard.models.discovered_concepts import CONCEPTS, WEIGHTS, FoundConcepts, beside_rivals
from cuecard.models.embeddings import EMBEDDERS
from cuecard.stats.arrays import Singles
from small_sets import choice_instances

#: Words of a concept that share no letters with each other in the eyes of a tokeniser, and plain words.
HEDGES = [f"hedge{i}" for i in range(600)]
PLAIN = [f"plain{i}" for i in range(200)]
DIMENSIONS = 12


def _vector(text: str) -> np.ndarray:
    """Return what an encoder that knows hedges sees in a text: noise of its own, and one direction."""
    seed = int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")
    vector = np.random.default_rng(seed).normal(size=DIMENSIONS)
    vector[0] += 6.0 if "hedge" in text else 0.0
    return vector


def _encoder(texts: pl.Series, *, tokens: str, seed: int) -> Singles:
    del tokens, seed
    return np.stack([_vector(text) for text in texts]).astype(np.float32)


@pytest.fixture(autouse=True)
def encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register an encoder that knows what a hedge is."""
    monkeypatch.setitem(EMBEDDERS._items, "hedge-encoder", _encoder)


def _texts(seed: int, n: int, *, coverage: float = 0.15, share: float = 0.8, copies: int = 1) -> pl.DataFrame:
    """Return texts some of which have a hedge, of which no word is frequent."""
    rng = np.random.default_rng(seed)
    hedged = rng.random(n) < coverage
    rest = (0.5 - coverage * share) / (1 - coverage)
    yes = rng.random(n) < np.where(hedged, share, rest)
    texts = [
        " ".join(
            [*rng.choice(PLAIN, 6 if hedge else 7), *([rng.choice(HEDGES)] if hedge else []), f"unique{i}"]
        )
        for i, hedge in enumerate(hedged)
    ]
    table = pl.DataFrame({"text": texts, "label": np.where(yes, "yes", "no")})
    return pl.concat([table] * copies)


def _card(table: pl.DataFrame, **options: object) -> cc.Card:
    return cc.audit(table, audits=[Concepts(**{"embed": "hedge-encoder", **options})])  # type: ignore[arg-type]


def test_a_concept_that_no_word_says_is_found_and_leads() -> None:
    card = _card(_texts(1, 1_500, share=0.9))
    table = card.tables["concept_cues"]
    assert table["significant"][0]
    assert table["label"][0] == "yes"
    assert table["beyond_words"][0]
    assert 0.65 < table["share"][0] < 1  # a fifth of the texts have the concept, and 15 % a hedge
    leading = next(finding for finding in card.findings if finding.cue)
    assert leading.section == "concepts"
    assert leading.title.startswith("Concept for yes: ")
    assert "still significant" in leading.text
    examples = card.tables["concept_examples"].filter(pl.col("concept") == table["concept"][0])
    clear = examples.filter(pl.col("kind") == "clear")
    assert clear.height == 3
    assert clear["text"].str.contains("hedge").all()
    assert (examples.filter(pl.col("kind") == "near miss")["score"] <= 0).all()


def test_texts_are_listed_by_strength_with_the_share_of_the_label_down_to_each() -> None:
    card = _card(_texts(1, 1_500, share=0.9))
    name, label = card.tables["concept_cues"].row(0, named=True)["concept"], "yes"
    rows = card.tables["concept_strengths"].filter(pl.col("concept") == name)
    assert rows["strength"].is_sorted(descending=True)
    assert rows["text"].is_unique().all()
    assert rows["texts"][:20].to_list() == list(range(1, 21))
    hits = (rows["label"] == label)[:20].cum_sum()
    assert rows["share"][:20].to_list() == pytest.approx((hits / rows["texts"][:20]).to_list())
    having = rows.filter(pl.col("strength") > 0)
    assert having["texts"].max() <= card.tables["concept_cues"]["train_count"][0]
    assert 0 < having.height < rows.height  # down to texts that lack it
    assert (rows["share_low"] <= rows["share"]).all()


def test_no_word_of_the_planted_concept_is_a_cue() -> None:
    card = cc.audit(_texts(1, 1_500), audits=[cc.Cues(features=("word",))])
    assert not card.tables["cues"]["significant"].any()


def test_power_over_sets() -> None:
    found = sum(
        bool(table["significant"][0] and table["label"][0] == "yes")
        for table in (_card(_texts(seed, 1_000)).tables["concept_cues"] for seed in range(10))
    )
    assert found >= 8


@pytest.mark.parametrize("copies", [1, 3])
def test_shuffled_labels_rarely_give_a_concept(copies: int) -> None:
    """Labels say nothing, and copies of a text have the same one: at most 5 % of cards have a significant concept."""
    cards = 12
    alarms = sum(
        bool(_card(_texts(seed, 400, share=0.5, copies=copies)).tables["concept_cues"]["significant"].any())
        for seed in range(100, 100 + cards)
    )
    assert alarms <= binom.ppf(0.995, cards, 0.05)


def test_a_strong_word_is_not_said_to_add_to_words() -> None:
    """The concept is a word: given words, it adds nothing, and its finding is of low severity."""
    table = _texts(1, 1_500, coverage=0.2, share=0.85)
    one_word = table.with_columns(pl.col("text").str.replace(r"hedge\d+", "hedge"))
    card = _card(one_word)
    first = card.tables["concept_cues"].row(0, named=True)
    assert first["significant"]
    assert not first["beyond_words"]
    assert next(finding for finding in card.findings if finding.cue).severity == "low"


def _questions(n: int, seed: int = 0) -> Instances:
    """Questions with three choices, the right one more often with a hedge; some choices occur in several."""
    rng = np.random.default_rng(seed)
    questions = []
    for i in range(n):
        answer = int(rng.integers(3))
        choices = []
        for place in range(3):
            hedged = rng.random() < (0.35 if place == answer else 0.1)
            text = " ".join([*rng.choice(PLAIN, 6), *([rng.choice(HEDGES)] if hedged else [])])
            choices.append(f"shared {rng.integers(40)}" if rng.random() < 0.05 else text)
        questions.append(("train", f"question {i}", choices, answer))
    return choice_instances(questions)


def test_halves_share_no_text() -> None:
    data = _questions(400)
    parts = halves(data, "hypothesis", seed=0)
    texts = data.table["hypothesis"].to_numpy()
    assert not set(texts[parts.finding]) & set(texts[parts.testing])
    sides = np.stack([parts.finding, parts.testing])
    per_question = np.add.reduceat(sides, data.first_rows[:-1], axis=1)
    assert np.isin(per_question, (0, 3)).all()
    assert parts.testing.sum() > 300


def test_concepts_of_choices_are_tested_within_questions() -> None:
    card = cc.audit(_questions(900), audits=[Concepts(embed="hedge-encoder")])
    section = card["concepts"]
    assert section.summary["null"] == "within-example"
    first = card.tables["concept_cues"].row(0, named=True)
    assert first["significant"]
    assert first["label"] == "right"


def test_all_choices_of_a_question_count_once() -> None:
    data = _questions(40)
    assert first_copies(
        data, data.units("choices")
    ).all()  # not the first choice alone: some files have it right
    questions = [("train", "q", ["a", "b"], 0), ("train", "q", ["a", "b"], 0), ("train", "r", ["c", "d"], 1)]
    twice = choice_instances(questions)
    assert first_copies(twice, np.array([5, 5, 5, 5, 7, 7])).tolist() == [
        True,
        True,
        False,
        False,
        True,
        True,
    ]


def test_a_score_beside_rivals() -> None:
    data = choice_instances([("train", "q", ["a", "b", "c"], 0), ("train", "r", ["d"], 0)])
    values = np.array([[1.0], [2.0], [6.0], [5.0]])
    assert beside_rivals(values, data).ravel().tolist() == [-3.0, -1.5, 4.5, 0.0]


@pytest.mark.parametrize("embed", ["tfidf", "hedge-encoder"])
def test_concepts_are_read_again_from_the_tables_of_a_card(embed: str) -> None:
    data = cc.load(_texts(2, 600))
    card = cc.audit(data, audits=[Concepts(embed=embed)])
    read = FoundConcepts.of_tables({name: card.tables[name] for name in (CONCEPTS, WEIGHTS)})
    having = read.having(data)
    counts = dict(zip(read.names, having.sum(axis=0).tolist(), strict=True))
    for row in card.tables["concept_cues"].iter_rows(named=True):
        assert counts[row["concept"]] >= row["train_count"]
    assert len(set(read.names)) == len(read.names)


def test_the_same_input_gives_the_same_card() -> None:
    first, second = (_card(_texts(3, 600)) for _ in range(2))
    assert first.tables["concept_cues"].equals(second.tables["concept_cues"])
    assert first["concepts"].summary == second["concepts"].summary


def test_bits_are_those_of_unseen_texts() -> None:
    strong = _card(_texts(4, 1_500, coverage=0.3, share=0.95))["concepts"].summary["bits"]
    nothing = _card(_texts(4, 1_500, share=0.5))["concepts"].summary["bits"]
    assert strong["concepts"][1] > 0.03  # half of a bit is in 30 % of the texts
    assert nothing["concepts"][0] < 0.01


def test_concepts_run_by_name_only() -> None:
    table = _texts(5, 60)
    assert "concepts" in AUDITS.names()
    assert "concepts" not in cc.audit(table, skip=["clusters", "partial_input"]).sections
    named = cc.audit(_texts(5, 400), only=["concepts"], embed="tfidf")
    assert named["concepts"].status == "done"


def test_few_texts_are_said_to_be_few() -> None:
    card = cc.audit(_texts(6, 80), audits=[Concepts(embed="tfidf")])
    assert card["concepts"].status == "skipped"
    assert "needs at least 100 distinct texts" in str(card["concepts"].reason)


def test_wrong_parameters_are_refused() -> None:
    with pytest.raises(UsageError, match="most_texts must be at least 100"):
        Concepts(most_texts=50)
    with pytest.raises(UsageError, match="min_count"):
        Concepts(min_count=0)
    with pytest.raises(UsageError, match="embedding"):
        Concepts(embed="word2vek")


def test_a_sample_is_read_of_a_large_split() -> None:
    card = _card(_texts(7, 1_000), most_texts=400)
    summary = card["concepts"].summary
    assert summary["sampled"]
    assert summary["texts_found_on"] + summary["texts_tested_on"] == 400


def test_names_are_unique() -> None:
    words = [["a", "b", "c", "d"], ["a", "b", "c", "e"], ["a", "b", "c", "d"], ["a", "b", "c", "d"], []]
    assert names_of(words) == ["a+b+c", "a+b+c+e", "a+b+c+d", "a+b+c+4", "concept 5"]


def test_weights_count_in_the_tests() -> None:
    """Equal weights change no byte; unequal ones change shares, and not which concepts there are."""
    table = _texts(1, 1_500, share=0.9)
    weights = np.random.default_rng((2, 2)).choice([0.5, 4.0], table.height)
    plain = _card(table)
    equal = _card(table.with_columns(weight=pl.lit(2.0)), weights="weight")
    uneven = _card(table.with_columns(weight=pl.Series(weights)), weights="weight")
    assert equal.tables["concept_cues"].equals(plain.tables["concept_cues"])
    assert uneven.tables["concepts"].equals(plain.tables["concepts"])
    assert uneven.tables["concept_cues"]["significant"][0]
    first = uneven.tables["concept_cues"].row(0, named=True)
    same = plain.tables["concept_cues"].filter(pl.col("concept") == first["concept"])
    assert first["share"] != same["share"][0]
    assert first["share"] == pytest.approx(same["share"][0], abs=0.15)

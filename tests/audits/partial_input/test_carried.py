"""What carries a score: parts that add up, the shares that were planted, and every step again by brute force."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import softmax

from cuecard.audits.partial_input import PartialInput, audit, carried
from cuecard.audits.partial_input.carried import LENGTH, words_of_columns
from cuecard.data import Instances, load
from cuecard.models.linear import input_features
from cuecard.models.linear.learner import InputMatrix
from cuecard.models.linear.ngram_features import count_documents, frequent_columns, hash_rows
from cuecard.text import encode
from small_sets import choice_instances, pair_instances

FILLERS = ["red", "blue", "house", "tree", "dog", "cat", "runs", "big", "small", "green", "river", "cloud"]


def planted(
    n: int, cues: dict[str, tuple[float, float]], *, seed: int = 0, test: int = 0, copies: int = 1
) -> Instances:
    """Pairs in which at most one cue occurs: each with its share of the pairs, and the share of yes where it is."""
    generator = np.random.default_rng(seed)
    rows = []
    for i in range(n + test):
        draw, words, yes = generator.random(), list(generator.choice(FILLERS, 4)), 0.5
        for cue, (frequency, share) in cues.items():
            if 0 <= draw < frequency:
                words[int(generator.integers(4))] = cue
                yes = share
            draw -= frequency
        label = "yes" if generator.random() < yes else "no"
        rows += [("train" if i < n else "test", f"premise {i}", " ".join(words), label)] * copies
    return pair_instances(rows)


def planted_choices(n: int, *, seed: int = 0) -> Instances:
    """Questions with two to four choices of distinct words; "nobody" is in four of five right ones."""
    generator = np.random.default_rng(seed)
    questions = []
    for i in range(n):
        answer = int(generator.integers(2 + i % 3))
        choices = [" ".join(f"w{w}" for w in generator.integers(90, size=8)) for _ in range(2 + i % 3)]
        if generator.random() < 0.8:
            choices[answer] += " nobody"
        questions.append(("train", f"question {i}", choices, answer))
    return choice_instances(questions)


def explained(data: Instances, **options: object) -> tuple[carried.Carried | None, dict]:
    """Return what carries the score, and what it was computed from."""
    seen: dict = {}

    def watched(rows, examples, source, done, train, *, seed=0):
        result = carried.carried(rows, examples, source, done, train, seed=seed)
        seen.update(rows=rows, examples=examples, source=source, done=done, result=result)
        return result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(audit, "carried", watched)
        card = PartialInput(learning_curve=False, **options).run(data)
    seen["card"] = card
    return seen["result"], seen


def brute_force(seen: dict) -> dict[str, float]:
    """Return the bits that every word and the length carry, from dense arrays and numeric integrals."""
    done, source, examples = seen["done"], seen["source"], seen["examples"]
    encoded = seen["rows"].encoded
    grouped, gold = examples.grouped, examples.gold[done.examples]
    labels = np.bincount(gold, minlength=2) + 1.0
    tokens = encoded.hypothesis
    group = words_of_columns(tokens, source.slots, source.ngrams)
    names = [encoded.vocabulary[int(w)] if w >= 0 else None for w in group]
    names += [LENGTH] * (source.matrix.shape[1] - len(names))
    bits: dict[str, float] = {}
    for fold, promise in done.models:
        scorer = promise.result()
        weights = np.where(scorer.place[:, None] >= 0, scorer.weights[scorer.place], 0.0)
        own = np.flatnonzero(done.fold == fold)
        blocks = [examples.rows(done.examples[[i]]) for i in own]
        dense = [source.matrix[rows].toarray() for rows in blocks]
        centre = 0.0 if grouped else np.mean([x[0] for x in dense], axis=0)
        for i, x in zip(own, dense, strict=True):
            margins = (x @ weights)[:, 0] if grouped else x[0] @ weights + scorer.model.intercept_
            start = np.zeros(len(margins)) if grouped else np.log(labels / labels.sum())
            mean = [
                quad(lambda t, a=a, m=margins, s=start: softmax(s + t * (m - s))[a], 0, 1)[0]
                for a in range(len(margins))
            ]
            slope = (np.arange(len(margins)) == gold[i]) - np.array(mean)
            terms = (
                (x * slope[:, None]).sum(0) * weights[:, 0]
                if grouped
                else ((x[0] - centre)[:, None] * weights) @ slope
            )
            for name, term in zip(names, terms, strict=True):
                if name is not None:
                    bits[name] = bits.get(name, 0.0) + term / np.log(2) / len(gold)
    return bits


@pytest.mark.parametrize("task", ["pair", "choice"])
def test_every_part_is_what_dense_arrays_and_numeric_integrals_give(task):
    data = (
        planted(160, {"nobody": (0.3, 0.95), "maybe": (0.3, 0.1)}) if task == "pair" else planted_choices(60)
    )
    result, seen = explained(data, folds=3)
    expected = brute_force(seen)
    found = dict(result.table.select("feature", "bits").iter_rows())
    assert {name for name, value in expected.items() if abs(value) > 1e-12} <= found.keys()
    for name, value in found.items():
        assert value == pytest.approx(expected[name], abs=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_shares_add_up_to_the_information_of_the_baseline(seed):
    data = planted(800, {"nobody": (0.3, 0.95), "maybe": (0.2, 0.1)}, seed=seed, test=400)
    result, seen = explained(data)
    [line] = [b for b in seen["card"].summary["baselines"] if b["name"] == "hypothesis_only"]
    assert result.bits == pytest.approx(line["information"], abs=1e-9)
    assert result.table["share"].sum() + result.base == pytest.approx(1, abs=1e-9)
    assert result.table["bits"].sum() + result.base * result.bits == pytest.approx(result.bits, abs=1e-9)
    assert abs(result.base) < 0.1
    listed = result.table.filter("listed")
    assert result.share == pytest.approx(listed["share"].sum())
    assert result.low <= result.share <= result.high


def test_planted_shares_are_recovered():
    """Where cues never occur together, each has its own part of the information about the label."""
    cues = {"nobody": (0.15, 0.9), "maybe": (0.1, 0.1), "never": (0.1, 0.3)}  # even labels in all
    result, _ = explained(planted(6_000, cues, test=6_000))
    entropy = {c: f * (1 + p * np.log2(p) + (1 - p) * np.log2(1 - p)) for c, (f, p) in cues.items()}
    true = {c: bits / sum(entropy.values()) for c, bits in entropy.items()}
    found = dict(result.table.select("feature", "share").iter_rows())
    of_cues = sum(found[cue] for cue in cues)  # what the model takes for cues and is none costs it a little
    assert 0.95 < of_cues < 1.25
    for cue, share in true.items():
        assert found[cue] / of_cues == pytest.approx(share, abs=0.03)
    assert result.table["feature"][:3].to_list() == ["nobody", "maybe", "never"]
    assert all(abs(found[word]) < 0.02 for word in FILLERS)
    assert result.table["label"][:3].to_list() == ["yes", "no", "no"]


def test_nothing_is_said_to_carry_a_score_that_is_not_above_chance():
    result, seen = explained(planted(300, {"nobody": (0.3, 0.5)}, seed=1))
    assert result is None
    assert "carried" not in seen["card"].tables


def test_copies_widen_the_intervals_and_leave_the_shares():
    cues = {"nobody": (0.3, 0.95), "maybe": (0.3, 0.1)}
    once, _ = explained(planted(500, cues, test=300))
    tripled, _ = explained(planted(500, cues, test=300, copies=3))
    width = {name: r.high - r.low for name, r in {"once": once, "tripled": tripled}.items()}
    assert width["tripled"] > 0.85 * width["once"]


def test_an_ngram_counts_for_its_rarest_word():
    data = pair_instances(
        [("train", "", t, "a") for t in ["is sleeping", "is sleeping", "is red", "is red", "is big"]]
    )
    tokens = encode(data, language="en").hypothesis
    hashed = hash_rows([tokens], ngrams=2)
    frequency = np.zeros(1 << 22, dtype=np.int32)
    count_documents(hashed, np.ones(5, np.bool_), frequency)
    slots = frequent_columns(frequency, 5).slots
    words = tokens.vocabulary.gather(words_of_columns(tokens, slots, 2)).to_list()
    assert sorted(words) == ["is", "red", "red", "sleeping", "sleeping"]


@pytest.mark.parametrize("task", ["pair", "choice"])
def test_features_made_of_the_rows_asked_for_carry_the_same(task, monkeypatch):
    cues = {"nobody": (0.3, 0.95), "maybe": (0.3, 0.1)}
    data = planted(500, cues) if task == "pair" else planted_choices(120)
    at_once, _ = explained(data)
    monkeypatch.setattr(input_features, "MANY", 10)
    in_chunks, seen = explained(data)
    assert isinstance(seen["source"].matrix, InputMatrix)
    assert in_chunks.table.equals(at_once.table)
    assert in_chunks.as_json() == at_once.as_json()


@pytest.mark.parametrize("n", [100, 3_000])
def test_a_sample_of_many_examples_has_about_the_same_shares(n, monkeypatch):
    data = planted(800, {"nobody": (0.3, 0.95)}, test=3_000)
    whole, _ = explained(data)
    monkeypatch.setattr(carried, "MOST_EXPLAINED", n)
    sampled, _ = explained(data)
    assert sampled.examples == n
    assert sampled.low <= whole.share <= sampled.high
    assert sampled.table["share"].sum() + sampled.base == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize(
    ("train", "test"),
    [
        ("copa/dev", "copa/test"), ("arct/train", "arct/test"), ("openbookqa/train", "openbookqa/test"),
        ("llmbar/test", None), ("auto_j_pairwise/test", None), ("msrp/train", "msrp/test"),
        ("anli/r1_dev", "anli/r1_test"), ("fever_symmetric/dev", "fever_symmetric/test"),
    ],
)  # fmt: skip
def test_parts_add_up_on_public_datasets(train, test, real_data):
    data = load(real_data(f"{train}.parquet"), test=test and real_data(f"{test}.parquet"))
    result, seen = explained(data)
    name = carried.explained_input(data.task)
    [line] = [b for b in seen["card"].summary["baselines"] if b["name"] == name]
    assert (result is None) == (line["information_low"] <= 0)
    if result is not None:
        assert result.bits == pytest.approx(line["information"], abs=1e-9)
        assert result.table["share"].sum() + result.base == pytest.approx(1, abs=1e-9)
        assert (result.table.filter("listed")["share_low"] > 0).all()
        assert abs(result.base) < 0.25

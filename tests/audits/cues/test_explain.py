from __future__ import annotations

import io
import random

import pytest
from benchmarks.demo_shapes import demo_long_answers
from rich.console import Console

from cuecard.audits import Cues, explain
from cuecard.data import load
from cuecard.errors import UsageError
from cuecard.report import render_explanation
from small_sets import pair_instances

ROWS = [
    ("train", "p", "nobody sleeps" if i % 2 else "somebody sleeps", "yes" if i % 2 else "no")
    for i in range(40)
]
ROWS += [("test", "p", "everybody sleeps", "yes"), ("test", "p", "everybody runs", "no")]


def test_a_cue_seen_only_in_test_has_shares_and_no_association():
    told = explain(pair_instances(ROWS), "everybody")
    assert told.association is None
    assert told.touched == {"train": 0.0, "test": 1.0}
    of_test = told.shares.filter(split="test")
    assert dict(of_test.select("label", "count").iter_rows()) == {"no": 1, "yes": 1}
    assert told.shares.filter(split="train")["share"].to_list() == [None, None]


def test_a_feature_that_no_instance_has_is_said_to_be_absent():
    with pytest.raises(UsageError, match="No instance has the format 'emoji'"):
        explain(pair_instances(ROWS), "format:emoji")


def test_a_regular_expression_of_the_audit_can_be_explained():
    told = explain(pair_instances(ROWS), "regex:nobodies", audit=Cues(regex=(("nobodies", "^no"),)))
    assert (told.family, told.association["label"], told.association["share"]) == ("regex", "yes", 1.0)


def test_a_regular_expression_without_its_pattern_says_what_to_give():
    with pytest.raises(UsageError, match="--regex hedge=PATTERN"):
        explain(pair_instances(ROWS), "regex:hedge")


def test_a_misspelt_bigram_is_answered_with_a_frequent_one_of_its_length():
    rows = [("train", "p", f"word{i} other{i}", "yes" if i % 2 else "no") for i in range(60)]
    with pytest.raises(UsageError, match="'nobody sleeps'"):
        explain(pair_instances(ROWS + rows), "nobdy sleeps")


PAIRS = [
    {
        "premise": f"A man {i} walks.",
        "hypothesis": f"He is not {'happy' if i % 2 else 'positive and glad to walk for hours'} {i}.",
        "label": "neutral" if i % 4 else "contradiction",
    }
    for i in range(60)
]


@pytest.mark.parametrize(
    ("name", "family", "feature"),
    [
        ("negation", "negation", "negation"),
        ("length:up to 5 tokens", "length", "up to 5 tokens"),
        ("up to 5 tokens", "length", "up to 5 tokens"),
        ("positive words", "sentiment", "positive"),
        ("Cue for neutral: positive words", "sentiment", "positive"),
        ("Cue against neutral: “happy”", "word", "happy"),
        ("“not happy”", "bigram", "not happy"),
        ("positive", "word", "positive"),
    ],
)
def test_every_name_that_the_report_prints_is_understood(name, family, feature):
    explanation = explain(load(PAIRS), name)
    assert (explanation.family, explanation.feature) == (family, feature)


def test_a_word_that_is_also_the_name_of_another_feature_says_so():
    assert explain(load(PAIRS), "positive").also == ("sentiment:positive",)


def test_a_family_without_its_feature_is_answered_with_its_features():
    with pytest.raises(
        UsageError, match=r"'length' is a family of features; type one of them as length:FEATURE: 'up"
    ):
        explain(load(PAIRS), "length")


def test_examples_of_the_other_label_are_called_counter_examples():
    explained = explain(load(PAIRS), "positive")
    out = io.StringIO()
    render_explanation(explained, Console(file=out, width=200))
    usual = explained.association["label"]
    other = "neutral" if usual == "contradiction" else "contradiction"
    assert out.getvalue().index(f"Examples, labelled {usual}") < out.getvalue().index(
        f"Counter-examples, labelled {other}"
    )


def test_a_table_can_be_explained_without_loading_it_first():
    assert explain(PAIRS, "happy").family == "word"


@pytest.mark.parametrize(
    ("name", "feature"),
    [
        ("the longest answer", "longest"),
        ("longest choice", "longest"),
        ("the most tokens", "longest"),
        ("the longest response", "longest"),
        ("Cue for chosen responses: the fewest tokens", "shortest"),
    ],
)
def test_the_names_that_sentences_have_for_lengths_are_understood(name, feature):
    explanation = explain(demo_long_answers(200, seed=0), name)
    assert (explanation.family, explanation.feature) == ("length", feature)


def test_an_explanation_has_the_p_value_of_the_audit_where_texts_repeat():
    rows = [("train", f"p{i}", f"{'no' if i % 3 else 'so'} text {i % 17}", "ab"[i % 2]) for i in range(300)]
    rows += [("train", f"q{i}", f"no text {i % 17}", "a") for i in range(60)]
    data = pair_instances(rows)
    cues = Cues(features=("word",)).run(data).tables["cues"]
    explanation = explain(data, "no")
    assert explanation.association is not None
    assert explanation.association["log10_p"] == cues.filter(feature="no")["log10_p"].item()


def test_a_length_of_another_dataset_is_answered_with_the_lengths_of_this_one():
    with pytest.raises(UsageError, match=r"No length is called '99 or more tokens' .* 'up to 5 tokens'"):
        explain(load(PAIRS), "99 or more tokens")


def test_a_cue_has_the_numbers_of_the_audit():
    words = ["river", "stone", "bread", "lamp", "garden", "cloud", "paper", "violin", "engine", "market"]
    rng = random.Random(0)
    rows = []
    for split, n in (("train", 200), ("test", 100)):
        for i in range(n):
            text = " ".join(rng.choices(words, k=8))
            label = "yes" if i % 2 == (i % 7 == 0) else "no"
            rows.append((split, f"p{i}", f"{text} {'nobody' if i % 2 else 'somebody'}", label))
    data = pair_instances(rows)
    audited = Cues().run(data)
    finding = next(f for f in audited.findings if f.cue in ("nobody", "somebody"))
    told = explain(data, str(finding.cue))
    assert told.sentence == finding.text
    [q_value] = audited.tables["cues"].filter(family="word", feature=finding.cue)["q_value"]
    assert told.association is not None
    assert told.association["q_value"] == q_value

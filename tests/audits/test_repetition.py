from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from benchmarks.demo_shapes import demo_template, mixed_choices, random_labels, repeated, with_weights

from cuecard.audits import Cues, Overview
from cuecard.data import Instances, load
from cuecard.data.demo import demo_nli
from cuecard.data.demo.generated import demo_choice
from cuecard.errors import CueCardError

WORDS = np.array([f"w{i}" for i in range(300)])


def coin_flips(n: int, seed: int) -> Instances:
    """Texts of ten random words with labels that say nothing."""
    rng = np.random.default_rng(seed)
    texts = [" ".join(rng.choice(WORDS, 10)) for _ in range(n)]
    return load([{"text": t, "label": str(rng.integers(2))} for t in texts])


@pytest.mark.parametrize("near", [False, True])
def test_no_cue_comes_of_copies(near: bool) -> None:
    for seed in range(3):
        data = repeated(coin_flips(200, seed), 3, near=near, seed=seed)
        result = Cues(features=("word", "bigram")).run(data)
        assert result.summary["significant"] == 0
        texts = result.tables["cues"].select((pl.col("train_texts") <= pl.col("train_count")).all()).item()
        assert texts


def test_a_cue_is_seen_in_copies_and_says_in_how_many_texts() -> None:
    rng = np.random.default_rng(0)
    rows = [
        {
            "text": " ".join([*rng.choice(WORDS, 10), "planted" if i % 3 == 0 else "plain"]),
            "label": str(int(i % 3 == 0)),
        }
        for i in range(240)
    ]
    result = Cues(features=("word",)).run(repeated(load(rows), 2))
    row = result.tables["cues"].filter(feature="planted").row(0, named=True)
    assert (row["train_count"], row["train_texts"], row["effective_n"], row["significant"]) == (
        160,
        80,
        80,
        True,
    )
    assert (
        "160 instances with it have 80 distinct texts"
        in next(f for f in result.findings if f.cue == "planted").text
    )


@pytest.mark.parametrize("kind", ["inverse_frequency", "pareto"])
def test_weights_that_say_nothing_of_the_words_make_no_cue(kind: str) -> None:
    found = 0
    for seed in range(6):
        data = coin_flips(400, seed)
        rare = np.random.default_rng(seed).random(len(data)) < 0.1
        label = pl.Series("label", np.where(rare, "1", "0").tolist(), dtype=pl.Enum(["0", "1"]))
        data = with_weights(Instances(data.table.with_columns(label), "text", ("0", "1")), kind, seed=seed)
        found += bool(Cues(features=("word",), weights="weight").run(data).summary["significant"])
    assert found <= 1


def test_mixed_choices_keep_the_right_one_and_number_the_rest() -> None:
    data = demo_choice(60, cues=(), seed=1).instances
    mixed = mixed_choices(data, seed=1)
    sizes = np.bincount(mixed.example_codes)
    assert set(sizes.tolist()) == {2, 3, 4}
    assert (mixed.label_codes == 0).sum() == mixed.n_examples
    shuffled = random_labels(mixed, seed=2)
    assert np.bincount(shuffled.example_codes[shuffled.label_codes == 0]).tolist() == [1] * mixed.n_examples


def titles(data: Instances) -> dict[str, str]:
    return {finding.title: finding.text for finding in Overview().run(data).findings}


def test_few_distinct_hypotheses_are_a_finding() -> None:
    data = repeated(demo_nli(60, cues=(), seed=0).instances.train, 12)
    text = titles(data)["Few distinct hypotheses"]
    distinct = data.table["hypothesis"].n_unique()
    assert f"{len(data):,} hypotheses but only {distinct} distinct texts" in text
    assert "Few distinct hypotheses" not in titles(demo_nli(300, cues=(), seed=0).instances)


def test_sentences_of_a_template_are_said_to_be_near_copies_and_not_one_text() -> None:
    data = demo_template(400)
    distinct = data.table["hypothesis"].n_unique()
    assert (
        f"{distinct} distinct texts among 400 hypotheses" in titles(data)["Most hypotheses are near copies"]
    )


def test_repetition_alone_is_graded_low() -> None:
    data = repeated(demo_nli(60, cues=(), seed=0).instances.train, 20)
    [finding] = [f for f in Overview().run(data).findings if f.key == "few-texts/hypothesis"]
    assert finding.severity == "low"


def test_an_answer_that_is_right_too_often_is_a_finding() -> None:
    rng = np.random.default_rng(3)
    rows = [
        {
            "question": " ".join(rng.choice(WORDS, 8)),
            "choices": ["yes", "no"] if i < 200 else ["it is", f"w{i} it"],
            "answer": int(rng.random() < 0.25),
        }
        for i in range(240)
    ]
    text = titles(load(rows))["A repeated answer predicts the label"]
    assert "“yes” is right in 7" in text
    assert "of the 200 questions that offer it" in text


def test_all_questions_that_offer_an_answer_count_also_near_copies_of_each_other() -> None:
    """“all of these” is right in 75 % of 80 questions; twenty of them nearly copy another one."""
    rng = np.random.default_rng(3)
    rows = []
    for i in range(400):
        choices = [" ".join(rng.choice(WORDS, 4)) for _ in range(3)]
        question, answer = " ".join(rng.choice(WORDS, 12)), int(rng.integers(0, 3))
        if i < 60:
            choices, answer = [*choices[:2], "all of these"], 2 if i < 55 else 0
        rows.append({"question": question, "choices": choices, "answer": answer})
        if i < 20:
            rows.append({"question": f"{question} then", "choices": choices, "answer": 2 if i < 5 else 1})
    [finding] = [f for f in Overview().run(load(rows)).findings if f.key == "repeated-text"]
    assert (finding.n, finding.value) == (80, 60 / 80)
    assert finding.low <= finding.value <= finding.high
    assert "75.0\xa0% of the 80 questions that offer it" in finding.text


def test_an_answer_that_is_right_in_half_of_its_offers_predicts_nothing() -> None:
    rng = np.random.default_rng(4)
    rows = []
    for _ in range(60):
        question = " ".join(rng.choice(WORDS, 12))
        for copy, answer in (("", 0), (" again", 1)):  # the first copy is always right
            choices = ["yes it is", " ".join(rng.choice(WORDS, 4))]
            rows.append({"question": f"{question}{copy}", "choices": choices, "answer": answer})
    assert "A repeated answer predicts the label" not in titles(load(rows))


def test_a_repeated_answer_is_graded_by_what_it_gives_away_of_the_whole_dataset() -> None:
    """“all of these” is right in 80 % of 30 of 2,000 questions: much there, little in all."""
    rng = np.random.default_rng(3)
    rows = []
    for i in range(2_000):
        choices = [" ".join(rng.choice(WORDS, 4)) for _ in range(4)]
        answer = int(rng.integers(0, 4))
        if i < 30:
            choices[3], answer = "all of these", 3 if i < 24 else 0
        rows.append({"question": " ".join(rng.choice(WORDS, 8)), "choices": choices, "answer": answer})
    [finding] = [f for f in Overview().run(load(rows)).findings if f.key == "repeated-text"]
    assert finding.severity == "low"
    assert finding.gain < 0.04


def test_placeholders_are_counted() -> None:
    rows = [{"premise": f"p {i}", "hypothesis": f"h {i}", "label": "ab"[i % 2]} for i in range(40)]
    for i, text in enumerate(["NS", "<noinput>", "NS"]):
        rows[i]["hypothesis"] = text
    text = titles(load(rows))["Some texts are placeholders"]
    assert text == "3 instances have a placeholder as hypothesis: “NS” 2 times and “<noinput>” 1 time."
    for i, text in enumerate(["missing", "[removed]", "removed"]):
        rows[i]["hypothesis"] = text  # an answer may be "missing"
    text = titles(load(rows))["Some texts are placeholders"]
    assert text == "1 instance has a placeholder as hypothesis: “[removed]” 1 time."


def test_a_column_names_the_clusters() -> None:
    rows = [{"text": f"w{i} word", "label": "ab"[(i // 20) % 2], "writer": str(i // 20)} for i in range(400)]
    writer = load(rows, cluster="writer")
    assert len(np.unique(writer.units())) == 20
    cue = Cues(features=("word",)).run(writer).tables["cues"].filter(feature="word").row(0, named=True)
    assert (cue["train_texts"], cue["effective_n"]) == (20, 20)
    with pytest.raises(CueCardError, match="writers"):
        load(rows, cluster="writers")


def test_copies_of_whole_examples_do_not_make_their_text_go_with_a_label() -> None:
    for data in (coin_flips(40, 0), random_labels(demo_nli(90, cues=(), seed=0).instances.train)):
        assert "A repeated text predicts the label" not in titles(repeated(data, 25))


def test_one_text_with_many_premises_goes_with_its_label() -> None:
    rng = np.random.default_rng(5)
    rows = [
        {
            "premise": " ".join(rng.choice(WORDS, 10)),
            "hypothesis": "the same again" if i < 40 else " ".join(rng.choice(WORDS, 8)),
            "label": "yes" if i < 38 or i % 2 else "no",
        }
        for i in range(200)
    ]
    assert "“the same again” is yes in 97.5" in titles(load(rows))["A repeated text predicts the label"]


def test_a_repeated_text_is_compared_with_the_labels_of_near_copies_too() -> None:
    """Of each contrastive pair the first is "yes", so that "no" is rare among distinct examples and not in the set."""
    rng = np.random.default_rng(0)
    rows = {"premise": [], "hypothesis": [], "label": []}
    for i in range(300):
        words = [f"w{word}" for word in rng.integers(0, 5_000, 14)]
        for label in ("yes", "no"):
            rows["premise"].append(" ".join(words[:7]) + f" {i}")
            rows["hypothesis"].append(" ".join(words[7:]) + f" {label}")
            rows["label"].append(label)
    for i in range(40):
        rows["premise"].append(f"premise {i * 7919}")
        rows["hypothesis"].append("the same again")
        rows["label"].append("yes" if i % 2 else "no")
    assert "A repeated text predicts the label" not in titles(load(pl.DataFrame(rows)))


def test_edits_of_few_sources_are_named_and_words_that_go_with_a_label_are_not():
    rng = np.random.default_rng(8)
    words = np.array([f"w{k}" for k in range(400)])
    rows = []
    for source in range(200):
        text = rng.choice(words, 9)
        for _ in range(3):
            version = np.where(rng.random(9) < 0.3, rng.choice(words, 9), text)
            rows.append({"text": " ".join(version), "label": "yes" if source % 2 else "no"})
    [finding] = [f for f in Overview().run(load(pl.DataFrame(rows))).findings if f.key == "similar-texts"]
    assert finding.title == "Similar texts have the same label"
    assert "--cluster" in finding.text
    assert finding.low > 0.35
    assert "Similar hypotheses have the same label" not in titles(demo_nli(600, seed=0).instances)
